# SPDX-License-Identifier: MIT
"""Queues from Python: order, leases, waits, what is refused."""

from __future__ import annotations

import os
import signal
import threading
import time

import interlock
import pytest
from support import in_child, patience, raise_after


@pytest.fixture
def queue(client, name):
    return client.queue(name)


def test_the_contract(client, name):
    queue = client.queue(name, order="fifo")
    queue.push(b"a\0\xff")
    queue.push("text")
    assert queue.size() == 2
    assert queue.pop(timeout=0) == b"a\0\xff"
    job = queue.reserve(timeout=0, lease=30.0)
    assert job.data == b"text"
    assert queue.size() == 0
    assert job.nack(delay=0) is True
    job = queue.reserve()
    assert job.attempts == 2
    assert job.ack() is True
    assert queue.pop() is None
    assert queue.reserve(timeout=0.02) is None


def test_filo_and_the_other_order(client, name):
    pile = client.queue(name, order="filo")
    assert list(pile.push_many([b"a", b"b", b"c"])) == [1, 2, 3]
    assert [pile.pop(), pile.pop()] == [b"c", b"b"]
    with pytest.raises(interlock.DiffersError, match="the queue is filo, not fifo"):
        client.queue(name).push(b"d")
    with pytest.raises(interlock.DiffersError):
        client.queue(name).pop(timeout=1)


def test_late_answers_are_refused(queue):
    queue.push(b"a")
    late = queue.reserve(lease=1)
    assert 0 < late.remaining() <= 1
    time.sleep(1.05)
    job = queue.reserve()

    assert (job.data, job.attempts) == (b"a", 2)
    assert late.ack() is False
    assert job.ack() is True
    with pytest.raises(interlock.NotOwnedError):
        job.ack()


def test_job_as_a_context(queue):
    queue.push(b"a")
    with pytest.raises(KeyError), queue.reserve():
        raise KeyError("no")
    with queue.reserve() as job:
        assert job.attempts == 2
    assert queue.inspect().finished == 1

    queue.push(b"b")
    with pytest.raises(interlock.LostError), queue.reserve(lease=0.5):
        queue.reserve(timeout=60).ack()


def test_a_message_is_known_by_its_id_and_its_push(queue):
    """Ids begin again; the time of the push is the same at each delivery."""
    assert queue.push(b"a") == 1
    first = queue.reserve()
    first.nack()
    second = queue.reserve()
    assert (first.id, first.pushed) == (second.id, second.pushed)
    second.ack()
    queue.purge()
    time.sleep(0.002)  # the time is in milliseconds
    assert queue.push(b"b") == 1
    assert queue.reserve().pushed > first.pushed


def test_batches(queue):
    queue.push_many([b"a", b"b", b"c", b"d"])
    first = queue.reserve_many(3)
    assert [job.data for job in first] == [b"a", b"b", b"c"]
    assert first[1].ack() is True
    second = queue.reserve_many(3, done=first)
    assert [job.data for job in second] == [b"d"]
    assert queue.inspect().finished == 3
    assert second.ack() is True
    assert second.lost == 0
    assert queue.reserve_many(3) is None


def test_request_id(queue):
    assert queue.push(b"a", once="order 7") == 1
    assert queue.push(b"b") == 2
    assert queue.push(b"a", once=b"order 7") == 1
    assert [queue.pop(), queue.pop(), queue.pop()] == [b"a", b"b", None]


def test_delay(queue):
    queue.push(b"a", delay=1)
    assert queue.pop() is None
    assert queue.inspect().delayed == 1
    began = time.monotonic()
    assert queue.pop(timeout=5) == b"a"
    assert time.monotonic() - began < patience(2)


def test_dead_letters(client, name):
    queue = client.queue(name, max_attempts=1)
    queue.push_many([b"a", b"b"])
    assert queue.reserve().nack() is True
    assert queue.reserve().bury("no use") is True
    dead = queue.peek("dead")
    assert [(job.data, job.reason, job.attempts) for job in dead] == [
        (b"a", "given back too often", 1),
        (b"b", "no use", 1),
    ]
    assert queue.requeue(id=dead[1].id) == 1
    assert [job.data for job in queue.peek()] == [b"b"]
    assert queue.requeue() == 1
    assert queue.purge("ready") == 2
    assert queue.requeue(count=0) == 0


def test_inspect(queue):
    assert queue.inspect().order is None
    queue.push_many([b"a", b"b", b"c"])
    queue.push(b"d", delay=60)
    job = queue.reserve()
    info = queue.inspect()
    assert (info.order, info.ready, info.delayed, info.taken) == ("fifo", 2, 1, 1)
    assert (info.pushed, info.finished, info.dead) == (4, 0, 0)
    assert 0 <= info.oldest < 5
    assert job.ack()
    assert queue.purge() == 3
    assert queue.size() == 0


def test_several_queues(client, name):
    low, high = client.queue(f"{name}:low"), client.queue(f"{name}:high")
    both = client.queues([f"{name}:high", f"{name}:low"])
    low.push(b"l")
    high.push(b"h")
    assert [both.pop(), both.pop(), both.pop()] == [b"h", b"l", None]
    with pytest.raises(interlock.InvalidError):
        both.push(b"x")


def test_blocked_consumer_wakes_at_once(client, other, name):
    took = []

    def consume():
        job = client.queue(name).reserve(timeout=None)
        took.append(time.monotonic())
        job.ack()

    thread = threading.Thread(target=consume)
    thread.start()
    queue = other.queue(name)
    while queue.inspect().waiting == 0:
        time.sleep(0.001)
    pushed = time.monotonic()
    queue.push(b"a")
    thread.join(5)
    assert took[0] - pushed < patience(0.2)


def test_each_message_reaches_one_of_many_threads(client, name):
    queue = client.queue(name)
    seen, lock = [], threading.Lock()

    def consume():
        while (data := queue.pop(timeout=2)) != b"end":
            with lock:
                seen.append(data)

    threads = [threading.Thread(target=consume) for _ in range(8)]
    for thread in threads:
        thread.start()
    for i in range(200):
        queue.push(str(i))
    while len(seen) < 200:
        time.sleep(0.005)
    queue.push_many([b"end"] * 8)
    for thread in threads:
        thread.join(5)
    assert sorted(map(int, seen)) == list(range(200))


def test_ctrl_c_ends_a_wait_and_leaves_the_line(client, other, name):
    queue = client.queue(name)

    def interrupt(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            queue.pop(timeout=None)
        assert time.monotonic() - began < patience(2)
    finally:
        signal.signal(signal.SIGALRM, before)
    end = time.monotonic() + patience(5)
    while other.queue(name).inspect().waiting and time.monotonic() < end:
        time.sleep(0.005)
    assert other.queue(name).inspect().waiting == 0


def test_the_next_pop_returns_what_an_interrupted_one_has_taken(
    client, other, name, monkeypatch
):
    queue = client.queue(name)
    queue.push_many([b"first", b"second"])
    raise_after(monkeypatch, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        queue.pop(timeout=None)

    assert in_child(lambda: queue.pop(timeout=5)) == "b'second'"
    assert other.queue(name).pop() is None
    assert queue.pop() == b"first"
    assert queue.pop() is None


def test_an_interrupted_reserve_gives_its_messages_back(client, name, monkeypatch):
    queue = client.queue(name)
    queue.push_many([b"first", b"second"])
    for reserve in (
        lambda: queue.reserve(timeout=None),
        lambda: queue.reserve_many(2, timeout=None),
    ):
        raise_after(monkeypatch, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            reserve()
        info = queue.inspect()
        assert (info.ready, info.taken) == (2, 0)

    assert [job.data for job in queue.reserve_many(2)] == [b"first", b"second"]


def test_cancel_and_close_end_waits(url, name):
    client = interlock.connect(url)
    queue = client.queue(name)
    for end, expected in (
        (queue.cancel, interlock.CancelledError),
        (client.close, interlock.ClosedError),
    ):
        timer = threading.Timer(0.1, end)
        timer.start()
        with pytest.raises(expected):
            queue.reserve(timeout=None)
        timer.join()


def test_senseless_arguments_are_refused(client, name):
    queue = client.queue(name)
    with pytest.raises(interlock.InvalidError, match="at most 1048576 bytes"):
        queue.push(b"x" * (1 << 20) + b"x")
    for wrong in ({"order": "lifo"}, {"max_attempts": 0}, {"once": 0}):
        with pytest.raises(interlock.InvalidError):
            client.queue(name, **wrong)
    for call in (
        lambda: queue.push(b"x", delay=-1),
        lambda: queue.push(b"x", once=""),
        lambda: queue.push_many([]),
        lambda: queue.push_many([b"x"] * 257),
        lambda: queue.reserve(lease=0),
        lambda: queue.reserve(timeout=-1),
        lambda: queue.reserve_many(0),
        lambda: queue.peek("nowhere"),
        lambda: queue.purge("nowhere"),
        lambda: client.queues([]),
        lambda: client.queues([name, name]),
        lambda: client.queue(""),
    ):
        with pytest.raises(interlock.InvalidError):
            call()
    with pytest.raises(TypeError):
        queue.push(5)
    with pytest.raises(TypeError):
        client.queues(name)
    with pytest.raises(TypeError):
        client.queue(name, max_attempts="5")


def test_wrong_type(client, server, name):
    server.call("SET", f"ilk:queue:ready:{{{name}}}", "x")
    with pytest.raises(interlock.WrongTypeError):
        client.queue(name).push(b"a")


def test_fork(client, name):
    queue = client.queue(name)
    queue.push(b"a")
    job = queue.reserve()
    pid = os.fork()
    if pid == 0:
        fine = 1
        try:
            job.ack()
        except interlock.ForkedError:
            queue.push(b"child")
            fine = 0
        finally:
            os._exit(fine)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert job.ack()
    assert queue.pop() == b"child"


def test_shown(client, name):
    queue = client.queue(name)
    queue.push(b"abc")
    assert repr(queue) == f"<interlock.Queue {name!r}>"
    assert queue.names == (name,)
    job = queue.reserve()
    assert repr(job) == f"<interlock.Job 1 of {name!r}, attempt 1, 3 bytes>"
    assert abs(job.pushed - time.time()) < 60
