# SPDX-License-Identifier: MIT
"""Events that stay set, as Python sees them."""

from __future__ import annotations

import signal
import threading
import time

import interlock
import pytest
from support import patience, wait_until

LISTENER = """
import interlock, os, sys
client = interlock.connect(os.environ["TEST_URL"])
event = client.event(sys.argv[1])
print("ready", flush=True)
try:
    print(event.wait(timeout=30), event.data, event.generation, flush=True)
except KeyboardInterrupt:
    print("interrupted", event.is_set(), flush=True)
"""


@pytest.fixture
def in_line(server, name):
    """Wait until so many stand in the line of the event."""

    def wait(count):
        key = f"ilk:event:wait:{{{name}}}"
        wait_until(lambda: server.call("ZCARD", key) == count, 10)

    return wait


def in_thread(call):
    answers = []
    thread = threading.Thread(target=lambda: answers.append(call()))
    thread.start()
    return thread, answers


def test_it_is_a_threading_event_with_data(client, other, name):
    event, same = client.event(name), other.event(name)
    assert (event.is_set(), event.wait(timeout=0)) == (False, False)

    generation = event.set(b"a\0\xff")

    assert same.wait() is True
    assert (same.data, same.generation) == (b"a\0\xff", generation)
    assert same.read() == interlock.EventState(True, generation, b"a\0\xff")
    assert same.clear() > generation
    assert (same.data, event.is_set()) == (b"", False)


def test_a_set_that_is_cleared_at_once_ends_all_waits(client, other, name, in_line):
    waits = [in_thread(lambda: other.event(name).wait(timeout=20)) for _ in range(20)]
    in_line(20)

    event = client.event(name)
    event.set(b"short")
    event.clear()

    for thread, answers in waits:
        thread.join()
        assert answers == [True]
    assert other.event(name).wait(timeout=0) is False


def test_set_wakes_a_process_that_waits(client, run_child, name, in_line):
    child = run_child(LISTENER, name)
    assert child.stdout.readline() == "ready\n"
    in_line(1)

    generation = client.event(name).set("now")

    assert child.stdout.readline() == f"True b'now' {generation}\n"


def test_one_object_serves_many_threads(client, name, in_line):
    event = client.event(name)
    threads = [in_thread(lambda: event.wait(timeout=20)) for _ in range(30)]
    in_line(30)

    event.set(b"go")

    for thread, answers in threads:
        thread.join(10)
        assert answers == [True]
    in_line(0)


def test_data_and_generation_are_what_this_thread_has_seen(client, name):
    event = client.event(name)
    event.set(b"mine")

    thread, answers = in_thread(lambda: (event.generation, event.data))
    thread.join()

    assert answers == [(0, b"")]
    assert event.data == b"mine"


def test_time_runs_out_on_time(client, name):
    began = time.monotonic()

    assert client.event(name).wait(timeout=0.2) is False
    assert 0.2 <= time.monotonic() - began < 0.2 + patience(0.3)


def test_change_is_waited_for(client, other, name, in_line):
    event = client.event(name)
    known = event.set(b"1")
    assert event.wait_change(known, timeout=0) is None
    thread, answers = in_thread(lambda: event.wait_change(known, timeout=20))
    in_line(1)

    generation = other.event(name).clear()

    thread.join(10)
    assert answers == [interlock.EventState(False, generation, b"")]
    assert event.wait_change(0).generation == generation


def test_set_with_a_time_ends_by_itself(client, name):
    event = client.event(name, ttl=1)
    event.set()
    assert event.is_set()
    time.sleep(1.05)

    assert not event.is_set()


def test_ctrl_c_ends_a_wait_at_once_and_leaves_the_line(run_child, name, in_line):
    child = run_child(LISTENER, name)
    assert child.stdout.readline() == "ready\n"
    in_line(1)

    sent = time.monotonic()
    child.send_signal(signal.SIGINT)

    assert child.stdout.readline() == "interrupted False\n"
    assert time.monotonic() - sent < patience(0.5)
    in_line(0)


def test_a_signal_handler_may_set_what_its_thread_waits_for(client, name):
    event = client.event(name)
    before = signal.signal(signal.SIGALRM, lambda *_: event.set(b"handler"))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        assert event.wait(timeout=10) is True
    finally:
        signal.signal(signal.SIGALRM, before)
    assert event.data == b"handler"


def test_close_ends_waits(url, name, in_line):
    client = interlock.connect(url)
    event = client.event(name)
    failures = []

    def wait():
        try:
            event.wait()
        except interlock.ClosedError as error:
            failures.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    in_line(1)
    client.close()
    thread.join(5)

    assert [error.status for error in failures] == ["ILK_ECLOSED"]
    with pytest.raises(interlock.ClosedError):
        event.set()


@pytest.mark.parametrize(
    "call, kind",
    [
        (lambda c: c.event(""), interlock.InvalidError),
        (lambda c: c.event("ilk:x"), interlock.InvalidError),
        (lambda c: c.event(3), TypeError),
        (lambda c: c.event("x", ttl=0), interlock.InvalidError),
        (lambda c: c.event("x", ttl=-1), interlock.InvalidError),
        (lambda c: c.event("x").set(7), TypeError),
        (lambda c: c.event("x").set(b"x" * (2**20 + 1)), interlock.InvalidError),
        (lambda c: c.event("x").wait(timeout=-1), interlock.InvalidError),
        (lambda c: c.event("x").wait(timeout="1"), TypeError),
        (lambda c: c.event("x").wait_change(-1), interlock.InvalidError),
        (lambda c: c.event("x").wait_change(2**53), interlock.InvalidError),
        (lambda c: c.event("x").wait_change(True), TypeError),
    ],
)
def test_bad_input_is_refused(client, call, kind):
    with pytest.raises(kind):
        call(client)


def test_a_failed_call_leaves_the_object_usable(client, server, name):
    event = client.event(name)
    server.call("SET", f"ilk:event:{{{name}}}", "x")
    for _ in range(3):
        with pytest.raises(interlock.WrongTypeError):
            event.wait(timeout=1)
    server.call("DEL", f"ilk:event:{{{name}}}")

    assert event.set() == event.generation
    assert len(event._free_handles) == 1
    assert repr(event) == f"<interlock.Event {name!r}>"
