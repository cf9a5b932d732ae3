# SPDX-License-Identifier: MIT
"""Signals: who waits, who receives, threads, Ctrl-C, fork."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time

import interlock
import pytest
from support import patience, wait_until

WAITER = """
import interlock, os, sys, time
client = interlock.connect(os.environ["TEST_URL"])
sig = client.signal(sys.argv[1])
try:
    print("ready", flush=True)
    print(sig.wait(timeout=eval(sys.argv[2])), flush=True)
except KeyboardInterrupt:
    print("interrupted", time.monotonic(), flush=True)
    sys.stdin.readline()
    print("again", sig.wait(timeout=5), flush=True)
"""

RAINED_ON = """
import interlock, os, signal, sys
signal.signal(signal.SIGALRM, lambda *_: None)
client = interlock.connect(os.environ["TEST_URL"])
sig = client.signal(sys.argv[1])
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
print("ready", flush=True)
print(sum(sig.wait(timeout=5) is not None for _ in range(200)), flush=True)
"""


class Waits(threading.Thread):
    """A wait in a thread of its own."""

    def __init__(self, wait, *args):
        super().__init__(daemon=True)
        self.call, self.result = (wait, args), None
        self.start()

    def run(self):
        try:
            self.result = self.call[0](*self.call[1])
        except interlock.Error as error:
            self.result = error

    def answer(self):
        self.join(10)
        assert not self.is_alive()
        return self.result


@pytest.fixture
def waiting(server):
    """Waits until so many wait for a name."""

    def check(name, count):
        key = f"ilk:signal:wait:{{{name}}}"
        wait_until(lambda: server.call("ZCARD", key) == count)

    return check


def test_threads_wait_with_one_signal_each_for_itself(client, other, name, waiting):
    sig = client.signal(name)
    waits = [Waits(sig.wait, 5) for _ in range(20)]
    waiting(name, 20)

    assert other.signal(name).notify_one(b"one") == 1
    assert other.signal(name).notify_all(b"all") == 19
    assert sorted(wait.answer() for wait in waits) == [b"all"] * 19 + [b"one"]
    assert sig.notify_all() == 0


def test_a_waiter_behind_those_of_many_clients_is_signalled_to(
    server, client, other, name, waiting
):
    """One call of the server signals to 128; the others here are dead."""
    entries, counts = [], []
    for number in range(300):
        entries += [number + 1, f"2 s dead{number} s1.5ec - 1000 1 host"]
        counts += [f"2 dead{number}", "1 5ec"]
    server.call("ZADD", f"ilk:signal:wait:{{{name}}}", *entries)
    server.call("HSET", f"ilk:signal:crowd:{{{name}}}", *counts)
    wait = Waits(client.signal(name).wait, 5)
    waiting(name, 301)

    assert other.signal(name).notify_all(b"all") == 1
    assert other.stats().commands == 3
    assert wait.answer() == b"all"
    waiting(name, 0)


def test_the_signals_of_ended_threads_are_freed(client, name, server, waiting):
    sig = client.signal(name)
    for _ in range(10):
        Waits(sig.wait, 0.01).answer()
    gc.collect()

    assert len(sig._handles) <= 2
    waiting(name, 0)


def test_any_of_several_is_returned_with_its_signal(client, other, name, waiting):
    first, second = client.signal(name + "a"), client.signal(name + "b")
    wait = Waits(interlock.wait_any, [first, second], 5)
    waiting(name + "b", 1)

    assert other.signal(name + "b").notify_one(b"x") == 1
    assert wait.answer() == (second, b"x")
    waiting(name + "a", 0)


def test_all_of_several_are_returned_by_signal(client, other, name, waiting):
    first, second = client.signal(name + "a"), client.signal(name + "b")
    wait = Waits(interlock.wait_all, [first, second], 5)
    waiting(name + "b", 1)

    assert other.signal(name + "b").notify_all(b"2") == 1
    assert other.signal(name + "a").notify_all(b"1") == 1
    assert wait.answer() == {first: b"1", second: b"2"}
    assert interlock.wait_all([first, second], 0.02) is None


def test_a_signal_of_a_pattern_has_its_name(client, other, name, server):
    listener = client.signal(pattern=name + ".*")
    wait = Waits(listener.receive, 5)
    wait_until(lambda: server.call("PUBSUB", "NUMPAT") >= 1)

    assert other.signal(name + ".mail").notify_all(b"x") == 1
    assert wait.answer() == ((name + ".mail").encode(), b"x")
    assert (listener.name, listener.pattern) == (None, name + ".*")


def test_a_signal_after_listen_is_kept(client, other, name):
    sig = client.signal(name)
    sig.listen()

    assert other.signal(name).notify_one(b"\0 any") == 1
    time.sleep(0.05)
    assert sig.wait(0) == b"\0 any"
    assert sig.wait(0) is None


def test_cancel_ends_the_waits_of_all_threads(client, name, waiting):
    sig = client.signal(name)
    waits = [Waits(sig.wait) for _ in range(3)]
    waiting(name, 3)

    sig.cancel()

    assert [type(wait.answer()) for wait in waits] == [interlock.CancelledError] * 3
    waiting(name, 0)


def test_close_ends_a_wait(url, name, waiting):
    with interlock.connect(url) as client:
        wait = Waits(client.signal(name).wait)
        waiting(name, 1)
    assert isinstance(wait.answer(), interlock.ClosedError)


@pytest.mark.parametrize("timeout", ["None", "60"])
def test_ctrl_c_takes_effect_at_once_and_leaves_the_list(
    run_child, name, waiting, client, timeout
):
    child = run_child(WAITER, name, timeout)
    assert child.stdout.readline() == "ready\n"
    waiting(name, 1)
    time.sleep(0.1)

    sent = time.monotonic()
    child.send_signal(signal.SIGINT)
    word, at = child.stdout.readline().split()

    assert word == "interrupted"
    assert 0 <= float(at) - sent < patience(0.05)
    waiting(name, 0)
    child.stdin.write("\n")
    child.stdin.flush()
    waiting(name, 1)
    assert client.signal(name).notify_one(b"now") == 1
    assert child.stdout.readline() == "again b'now'\n"


def test_signals_of_the_system_lose_none(run_child, name, client):
    child = run_child(RAINED_ON, name)
    assert child.stdout.readline() == "ready\n"
    sig, reached = client.signal(name), 0
    end = time.monotonic() + 30

    while reached < 200 and time.monotonic() < end:
        reached += sig.notify_one(b"x")

    assert child.stdout.readline() == "200\n"


def test_killed_waiters_are_not_counted(run_child, name, client, waiting):
    children = [run_child(WAITER, name, "60") for _ in range(3)]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    waiting(name, 3)
    for child in children[:2]:
        child.kill()
        child.wait()
    time.sleep(0.1)

    assert client.signal(name).notify_all(b"x") == 1
    assert children[2].stdout.readline() == "b'x'\n"


def test_forked_child_waits_for_itself(client, other, name, waiting):
    sig = client.signal(name)
    sig.listen()
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            text = repr(sig.wait(1))
        except BaseException as error:
            text = f"{type(error).__name__} {sig.wait(5)!r}"
        os.write(writer, text.encode())
        os._exit(0)
    os.close(writer)
    waiting(name, 2)

    assert other.signal(name).notify_all(b"both") == 2
    assert sig.wait(5) == b"both"
    with os.fdopen(reader) as answer:
        assert answer.read() == "ForkedError b'both'"
    os.waitpid(pid, 0)


@pytest.mark.parametrize("data", [b"", b"\0\r\n\xff", bytes(range(256)) * 4096])
def test_data_are_any_bytes(client, other, name, data):
    sig = client.signal(name)
    sig.listen()

    assert other.signal(name).notify_all(memoryview(data)) == 1
    assert sig.wait(5) == data


def test_senseless_arguments_are_refused(client, other, name):
    sig = client.signal(name)
    with pytest.raises(interlock.InvalidError, match="1048576"):
        sig.notify_one(b"x" * (1024 * 1024 + 1))
    with pytest.raises(TypeError, match="data must be bytes, got str"):
        sig.notify_all("text")
    with pytest.raises(TypeError, match="a name or a pattern"):
        client.signal()
    with pytest.raises(TypeError, match="a name or a pattern"):
        client.signal("a", pattern="b")
    with pytest.raises(interlock.InvalidError, match="not signalled"):
        client.signal(pattern="a*").notify_all()
    with pytest.raises(interlock.InvalidError, match="of one name"):
        interlock.wait_any([sig, client.signal(name)], 0.1)
    with pytest.raises(interlock.InvalidError, match="of another client"):
        interlock.wait_all([sig, other.signal("b")], 0.1)
    with pytest.raises(interlock.InvalidError, match="count must be 1 to 64"):
        interlock.wait_any([], 0.1)
    with pytest.raises(TypeError, match="not a Signal"):
        interlock.wait_any([sig, "b"], 0.1)
    assert repr(sig) == f"<interlock.Signal {name!r}>"
