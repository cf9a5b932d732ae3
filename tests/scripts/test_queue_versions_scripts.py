# SPDX-License-Identifier: MIT
"""Messages of another version in a queue."""

import pytest
from queue_world import Queue, ending
from resp import ReplyError

LATER = b"2 of another form"


@pytest.fixture(params=["fifo", "filo"])
def queue(request, world):
    """`a` can be taken, then a message of another version, then `b`."""
    queue = Queue(world, order=request.param)
    ready = [b"a", LATER, b"b"][:: 1 if queue.order == "fifo" else -1]
    for data in ready:
        if data is LATER:
            world.redis("RPUSH", queue.key("ready"), data)
        else:
            queue.push(data)
    return queue


def ready(queue):
    """The messages that can be reserved, in order."""
    blobs = queue.world.redis("LRANGE", queue.key("ready"), 0, -1)
    return [
        blob.split(b" ")[-1] for blob in blobs[:: 1 if queue.order == "fifo" else -1]
    ]


@pytest.mark.parametrize("count", [1, 2, 9])
@pytest.mark.parametrize("lease", [0, 30000])
def test_messages_before_it_are_reserved_and_then_nothing(queue, count, lease):
    assert queue.take("t", count=count, lease=lease) == [b"a"]
    before = queue.world.dump()

    with pytest.raises(ReplyError, match="ILKARG .* another version"):
        queue.reserve("u", count=count, lease=lease)

    assert queue.world.dump() == before
    assert ready(queue) == [b"form", b"b"]


def test_lease_counts_what_was_taken(queue):
    queue.take("t", count=3)

    assert queue.take("t", count=3) == [b"a"]
    assert queue.ack(ending("a", "t")) == ["RELEASED", b"1"]
    assert queue.world.redis("EXISTS", queue.key("leases")) == 0


@pytest.mark.parametrize("count", [1, 2])
def test_messages_that_are_done_are_settled(queue, count):
    queue.take("t")

    reply = queue.reserve("u", ending("a", "t"), count=count)

    assert reply[:2] == ["REFUSED", b"1"]
    assert b"another version" in reply[2]
    assert queue.world.redis("EXISTS", queue.key("flight")) == 0


def test_one_whose_lease_ran_out_is_in_the_queue_again_as_it_was(queue):
    queue.take("t")
    queue.world.redis("HSET", queue.key("flight"), "t:1", LATER)
    queue.world.advance(30001)

    with pytest.raises(ReplyError, match="another version"):
        queue.reserve("u")

    assert ready(queue) == [b"form", b"form", b"b"]


def test_a_dead_one_is_put_back_as_it_was(queue):
    queue.world.redis("HSET", queue.key("dead"), "9", b"3 why" + LATER)
    queue.world.redis("ZADD", queue.key("died"), "1", "9")

    assert queue.requeue() == ["WRITTEN", 1]

    assert LATER in queue.world.redis("LRANGE", queue.key("ready"), -1, -1)
