# SPDX-License-Identifier: MIT
"""Ctrl-C and other signals while a process waits."""

from __future__ import annotations

import signal
import threading
import time

import pytest
from interlock import _ffi
from interlock._core import lib
from support import patience, wait_until

WAITER = """
import interlock, os, sys, time
client = interlock.connect(os.environ["TEST_URL"])
lock = client.lock(sys.argv[1])
try:
    print("ready", flush=True)
    lock.acquire(timeout=eval(sys.argv[2]))
except KeyboardInterrupt:
    print("interrupted", time.monotonic(), lock.held, flush=True)
    sys.stdin.readline()
    print("again", lock.acquire(timeout=5), flush=True)
"""

RAINED_ON = """
import interlock, os, signal, sys, time
hits = 0
def count(*_):
    global hits
    hits += 1
signal.signal(signal.SIGALRM, count)
client = interlock.connect(os.environ["TEST_URL"])
lock = client.lock(sys.argv[1])
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
began = time.monotonic()
got = lock.acquire(timeout=float(sys.argv[2]))
signal.setitimer(signal.ITIMER_REAL, 0)
print(got, time.monotonic() - began, hits, flush=True)
"""


@pytest.mark.parametrize("timeout", ["None", "60"])
def test_ctrl_c_inside_a_wait_takes_effect_at_once(
    client, run_child, name, waiting, timeout
):
    with client.lock(name):
        child = run_child(WAITER, name, timeout)
        assert child.stdout.readline() == "ready\n"
        waiting(name, 1)
        time.sleep(0.1)

        sent = time.monotonic()
        child.send_signal(signal.SIGINT)
        word, at, held = child.stdout.readline().split()

        assert (word, held) == ("interrupted", "False")
        assert 0 <= float(at) - sent < patience(0.05)
        wait_until(lambda: client.inspect(name).waiting == 0, 2)

    child.stdin.write("\n")
    child.stdin.flush()
    assert child.stdout.readline() == "again True\n"


def test_ctrl_c_at_any_moment_leaves_no_waiter(client, run_child, name, waiting):
    with client.lock(name):
        for pause in (0, 0.001, 0.003, 0.01, 0.03):
            child = run_child(WAITER, name, "None")
            assert child.stdout.readline() == "ready\n"
            time.sleep(pause)
            child.send_signal(signal.SIGINT)
            assert child.stdout.readline().startswith("interrupted")
            waiting(name, 0)


def test_a_signal_that_another_thread_got_takes_effect_too(
    client, run_child, name, waiting
):
    code = (
        "import signal, threading, time\n"
        "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\n"
    )
    with client.lock(name):
        child = run_child(code + WAITER, name, "None")
        assert child.stdout.readline() == "ready\n"
        waiting(name, 1)

        sent = time.monotonic()
        child.send_signal(signal.SIGINT)
        word, at, _ = child.stdout.readline().split()

        assert word == "interrupted"
        assert 0 <= float(at) - sent < patience(0.6)
        waiting(name, 0)


def test_a_rain_of_signals_moves_no_deadline(client, run_child, name):
    with client.lock(name):
        child = run_child(RAINED_ON, name, "0.6")
        got, elapsed, hits = child.stdout.readline().split()

    assert got == "False"
    assert 0.59 <= float(elapsed) < 0.6 + patience(0.15)
    assert int(hits) > 50


def test_a_rain_of_signals_keeps_the_place_in_the_line(
    client, other, run_child, name, waiting
):
    lock = client.lock(name)
    assert lock.acquire(0)
    child = run_child(RAINED_ON, name, "30")
    waiting(name, 1)
    first = client.inspect(name).waiters[0].token
    time.sleep(0.5)
    assert client.inspect(name).waiters[0].token == first
    lock.release()

    assert child.stdout.readline().startswith("True")


def test_interruptions_to_the_very_end_leave_no_waiter(client, other, name, took):
    """ilk_client_interrupt() is what a signal is, from another thread."""
    stop = threading.Event()

    def rain():
        while not stop.wait(0.0002):
            lib.ilk_client_interrupt(other._handle)

    thread = threading.Thread(target=rain)
    with client.lock(name):
        thread.start()
        try:
            for _ in range(8):
                lock = other.lock(name)
                with took(0.049, 0.15):
                    assert lock.acquire(0.05) is False
                wait_until(lambda: client.inspect(name).waiting == 0, 1)
        finally:
            stop.set()
            thread.join()


def test_a_handler_that_does_not_raise_does_not_end_the_wait(
    client, run_child, name, waiting
):
    code = (
        "import interlock, os, signal, sys;"
        "signal.signal(signal.SIGUSR1, lambda *_: print('hit', flush=True));"
        "c = interlock.connect(os.environ['TEST_URL']);"
        "print(c.lock(sys.argv[1]).acquire(30), flush=True)"
    )
    lock = client.lock(name)
    assert lock.acquire(0)
    child = run_child(code, name)
    waiting(name, 1)

    child.send_signal(signal.SIGUSR1)
    assert child.stdout.readline() == "hit\n"
    lock.release()

    assert child.stdout.readline() == "True\n"


def interrupted_calls(statuses):
    """A function of C that is interrupted until `statuses` are used up, and the times
    that it was given."""
    given = []

    def call(_handle, left, _err):
        given.append(left)
        time.sleep(0.03)
        return statuses.pop(0) if statuses else lib.ILK_ETIMEOUT

    return call, given


def test_the_core_ends_a_wait_whose_time_is_up_after_a_signal():
    call, given = interrupted_calls([lib.ILK_EINTR])

    assert _ffi.call_blocking(call, None, 20, (), None) == lib.ILK_ETIMEOUT
    assert given == [20, 1]


def test_a_wait_that_is_interrupted_again_and_again_ends_all_the_same():
    call, _ = interrupted_calls([lib.ILK_EINTR] * 1000)

    began = time.monotonic()
    assert _ffi.call_blocking(call, None, 20, (), None) == lib.ILK_EINTR
    assert 1 < time.monotonic() - began < 10
