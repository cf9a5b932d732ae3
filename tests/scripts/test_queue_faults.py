# SPDX-License-Identifier: MIT
"""Queues on a server that refuses, and with more due than one call may take."""

import pytest
from queue_world import KINDS, Queue, ending
from resp import Connection, ReplyError
from test_inner_calls import inner_calls

CALLS = {
    "push": lambda q: q.push("x"),
    "push later": lambda q: q.push("x", delay=1000),
    "reserve": lambda q: q.reserve("t9"),
    "reserve many": lambda q: q.reserve("t9", count=9),
    "reserve with an ending": lambda q: q.reserve("t9", ending("a", "t1")),
    "pop": lambda q: q.reserve("t9", lease=0),
    "wait": lambda q: q.reserve("t9", wait=True),
    "ack": lambda q: q.ack(ending("a", "t1")),
    "fail": lambda q: q.finish(ending("n", "t1")),
    "fail later": lambda q: q.finish(ending("n", "t1", delay=5)),
    "bury": lambda q: q.finish(ending("d", "t1")),
    "extend": lambda q: q.extend("t1"),
    "cancel": lambda q: q.cancel("t1"),
    "refresh": lambda q: q.refresh("c", "t9"),
    "inspect": lambda q: q.inspect(),
    "peek": lambda q: q.peek(),
    "purge": lambda q: q.purge(),
    "requeue": lambda q: q.requeue(),
}


def furnish(queue):
    """Something of everything: 6 messages, in every place."""
    queue.push("a", "b", "c", "d")
    queue.push("e", delay=60000)
    queue.take("t1")
    queue.take("t2")
    queue.finish(ending("d", "t2"))
    queue.push("f")


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", KINDS)
def test_wrong_type_at_any_key_loses_no_message(world, kind, call):
    queue = Queue(world)
    furnish(queue)
    kept = queue.places()
    saved = world.redis("DUMP", queue.key(kind))
    world.redis("SET", queue.key(kind), "wrong")

    refused = False
    try:
        CALLS[call](queue)
    except ReplyError as error:
        refused = "WRONGTYPE" in str(error)
        assert refused, error
    if kind in ("ready", "delayed", "flight", "dead"):
        world.redis("DEL", queue.key(kind))
        if saved:
            world.redis("RESTORE", queue.key(kind), 0, saved, "REPLACE")
        assert not refused or set(kept) <= set(queue.places())


def test_the_end_is_returned_when_the_request_is_refused(world):
    queue = Queue(world)
    furnish(queue)
    world.redis("SET", queue.key("delayed"), "wrong")

    reply = queue.reserve("t9", ending("a", "t1"), count=2)

    assert reply[:2] == ["REFUSED", b"1"]
    assert b"WRONGTYPE" in reply[2]


@pytest.fixture
def full(world):
    """Call it to make the server refuse whatever needs memory."""
    yield lambda: world.redis("CONFIG", "SET", "maxmemory", "1")
    world.redis("CONFIG", "SET", "maxmemory", "0")


@pytest.mark.parametrize("call", CALLS)
def test_without_memory_nothing_is_half_done(world, full, call):
    queue = Queue(world)
    furnish(queue)
    before, kept = world.dump(), queue.places()
    full()

    try:
        answer = CALLS[call](queue)
    except ReplyError as error:
        assert "OOM" in str(error)
        assert world.dump() == before
        return
    if call in ("ack", "purge", "pop", "reserve with an ending"):
        assert answer[0] in ("RELEASED", "WRITTEN", "JOBS")
        assert len(queue.places()) < len(kept)
    elif call in ("fail", "fail later", "bury"):
        assert answer == ["RELEASED", b"-1"]
        assert world.dump() == before
    else:
        assert queue.places() == kept


def test_without_memory_a_reservation_is_extended(world):
    queue = Queue(world)
    queue.push("a")
    queue.take("t1", lease=1000)

    with world.full():
        assert queue.extend("t1", 9000, renews=1) == ["HELD", 9000, 0, world.now]
    world.advance(8999)
    assert queue.reserve("t2")[0] == "EMPTY"


def test_without_memory_a_message_that_became_due_is_popped(world):
    queue = Queue(world)
    queue.push("a", delay=1000)
    world.advance(1000)

    with world.full():
        assert queue.take("t1", lease=0) == [b"a"]
    assert queue.places() == []


def test_without_memory_a_message_whose_lease_is_over_is_popped(world):
    queue = Queue(world)
    queue.push("a", "b")
    queue.take("t1", count=2, lease=1000)
    world.advance(1000)

    with world.full():
        assert queue.take("t2", count=2, lease=0) == [b"a", b"b"]
    assert queue.places() == []
    assert queue.inspect()["expired"] == 2


def test_right_to_publish_is_missing_and_the_message_is_in(world):
    queue = Queue(world)
    queue.wait("t")
    world.redis("ACL", "SETUSER", "mute", "on", ">pw", "~*", "+@all", "resetchannels")
    mute = Connection(world.path)
    mute("AUTH", "mute", "pw")
    world.redis, admin = mute, world.redis
    try:
        assert queue.push("a")[3:] == [0, 1]
    finally:
        world.redis = admin
        mute.close()
    assert queue.take("t") == [b"a"]


# -- bounded work


def push_later(world, queue, count):
    for _ in range(0, count, 250):
        queue.push(*["x" * 50] * 250, delay=1000)
    world.advance(1000)


def test_many_due_messages_come_a_few_at_a_time(world):
    queue = Queue(world)
    push_later(world, queue, 20000)

    calls = inner_calls(world, lambda: queue.take("t1"))
    moved = 20000 - queue.inspect()["delayed"]

    assert moved == 64
    assert sum(calls.values()) < 40


def test_long_messages_come_fewer_at_a_time(world):
    queue = Queue(world)
    for _ in range(64):
        queue.push("x" * (1 << 18), delay=1000)
    world.advance(1000)
    queue.take("t1")

    assert 64 - queue.inspect()["delayed"] == 8


def test_many_leases_that_ran_out_come_a_few_at_a_time(world):
    queue = Queue(world)
    for i in range(10):
        queue.push(*["x"] * 250)
        queue.take(f"t{i}", count=250, lease=1000)
    world.advance(1000)

    calls = inner_calls(world, lambda: queue.take("u1"))
    assert queue.inspect()["expired"] == 64
    assert sum(calls.values()) < 160
    seen = 1
    while (reply := queue.reserve(f"v{seen}", count=200))[0] == "JOBS":
        seen += len(reply[5:])
    assert seen == 2500


def test_line_of_sleepers_makes_a_push_no_slower(world):
    queue = Queue(world)
    queue.wait("t0")
    first = inner_calls(world, lambda: queue.push("a"))
    queue.take("t0")
    queue.wait(*[f"t{i}" for i in range(1, 60)])

    many = inner_calls(world, lambda: queue.push("a"))
    assert sum(many.values()) <= sum(first.values()) + 2
