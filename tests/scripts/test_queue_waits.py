# SPDX-License-Identifier: MIT
"""Consumers in line: exactly one is woken for a message, and none forgotten."""

import pytest
from queue_world import Queue, ending


@pytest.fixture
def queue(world):
    return Queue(world)


def line(queue, of=0):
    entries = queue.world.redis("ZRANGE", queue.key("wait", of), 0, -1)
    return [entry.split(b" ")[4].decode() for entry in entries]


def test_push_wakes_exactly_the_first(queue):
    queue.wait("t1", "t2", "t3")

    assert queue.push("a")[3:] == [1, 0]
    assert queue.woken("t1", "t2", "t3") == ["t1"]
    assert line(queue) == ["t2", "t3"]


def test_as_many_are_woken_as_there_are_messages(queue):
    queue.wait("t1", "t2", "t3")

    assert queue.push("a", "b")[3] == 2
    assert queue.woken("t1", "t2", "t3") == ["t1", "t2"]


def test_long_line_is_woken_to_its_end(queue):
    tokens = [f"t{i}" for i in range(100)]
    queue.wait(*tokens)

    assert queue.push(*["x"] * 100)[3] == 100
    assert line(queue) == []


def test_a_waiter_without_an_inbox_is_passed_over_and_kept(world, queue):
    queue.wait("t1", "t2")
    world.deaf("c-t1")

    assert queue.push("a")[3] == 1
    assert queue.woken("t2") == ["t2"]
    assert line(queue) == ["t1"]


def test_a_dead_waiter_leaves_the_wait_queue(world, queue):
    queue.wait("t1")
    world.advance(6001)
    queue.wait("t2")

    assert queue.push("a")[3] == 1
    assert queue.woken("t1", "t2") == ["t2"]
    assert line(queue) == []


def test_repeated_push_wakes_nobody_else(queue):
    queue.wait("t1", "t2")
    queue.push("a", once="r")

    assert queue.push("a", once="r")[3] == 0
    assert queue.woken("t1", "t2") == ["t1"]


def test_retried_wait_keeps_its_place(queue):
    queue.wait("t1", "t2")
    queue.reserve("t1", wait=True, queued=1)

    assert line(queue) == ["t1", "t2"]


def test_a_waiter_that_reserves_leaves_every_wait_queue(world):
    queue = Queue(world, b"high", b"low")
    queue.wait("t")
    Queue(world, b"low").push("a")

    assert queue.reserve("t", wait=True, queued=1)[0] == "JOBS"
    assert (line(queue, 0), line(queue, 1)) == ([], [])


def test_a_waiter_woken_by_two_queues_passes_one_wake_on(world):
    queue = Queue(world, b"high", b"low")
    high, low = Queue(world, b"high"), Queue(world, b"low")
    queue.wait("t1", "t2")
    high.push("h")
    low.push("l")
    assert queue.woken("t1", "t2") == ["t1", "t1"]

    queue.reserve("t1", wait=True, queued=1)

    assert queue.woken("t2") == ["t2"]
    assert queue.take("t2", wait=True, queued=1) == [b"l"]


def test_wake_for_one_who_left_is_passed_on(queue):
    queue.wait("t1", "t2")
    queue.push("a")
    assert queue.woken("t1", "t2") == ["t1"]

    assert queue.cancel("t1") == ["GONE"]
    assert queue.woken("t1", "t2") == ["t2"]


def test_leaving_without_a_wake_wakes_nobody(queue):
    queue.push("a")
    queue.take("x")
    queue.wait("t1", "t2")

    assert queue.cancel("t1") == ["GONE"]
    assert queue.woken("t1", "t2") == []
    assert line(queue) == ["t2"]


def test_cancel_gives_back_untouched_what_was_taken(world, queue):
    queue.push("a", "b")
    queue.take("t", count=2)
    queue.wait("u")

    assert queue.cancel("t") == ["RELEASED", 2]
    assert queue.woken("u") == ["u"]
    reply = queue.reserve("u", count=2)
    assert [blob.split(b" ")[2] for blob in reply[5:]] == [b"0", b"0"]
    after = world.dump()
    assert queue.cancel("t") == ["GONE"]
    assert world.dump() == after


def test_refresh_wakes_for_what_a_lost_wake_left(world, queue):
    queue.wait("t1")
    queue.push("a")
    world.listen("c")
    assert queue.reserve("t2", wait=True, client="c", lease=0)[0] == "JOBS"
    queue.push("b")
    queue.world.redis("ZADD", queue.key("wait"), 9, queue.entry("t3", "c"))

    assert queue.refresh("c", "t3") == [
        "BUSY",
        -1,
        world.now,
        1,
        world_gone(world),
        0,
        0,
    ]
    assert world.inbox("c") == [b"1 wake q-t3 ilk:queue:{mail}"]


def world_gone(world):
    return world.scripts["queue_refresh"].codes["GONE"]


def test_refresh_returns_how_each_stands_and_keeps_it_alive(world, queue):
    queue.wait("t1")
    codes = world.scripts["queue_refresh"].codes
    world.advance(5000)

    reply = queue.refresh("c-t1", "t1", "t9")

    assert reply[4:] == [codes["QUEUED"], 0, 0, codes["GONE"], 0, 0]
    world.advance(5000)
    assert queue.push("a")[3] == 1


def test_a_waiter_in_one_of_two_wait_queues_only_is_gone(world):
    queue = Queue(world, b"high", b"low")
    queue.wait("t")
    Queue(world, b"low").push("a")

    assert queue.refresh("c-t", "t")[4] == world_gone(world)


def test_waiter_gets_the_time_at_which_a_lease_ends(world, queue):
    queue.push("a")
    queue.take("t1", lease=1500)
    world.listen("c-t2")

    assert queue.reserve("t2", wait=True)[:3] == ["EMPTY", b"", 1500]
    world.advance(1500)
    queue.refresh("c-t2", "t2")
    assert queue.woken("t2") == ["t2"]
    assert queue.take("t2") == [b"a"]


def test_waiter_gets_the_time_at_which_a_delayed_message_is_due(world, queue):
    queue.push("a", delay=700)
    world.listen("c-t")

    assert queue.reserve("t", wait=True)[2] == 700
    world.advance(699)
    assert queue.refresh("c-t", "t")[1] == 1
    assert queue.woken("t") == []
    world.advance(1)
    queue.refresh("c-t", "t")
    assert queue.woken("t") == ["t"]


def test_delayed_push_wakes_one_to_learn_of_it(queue):
    queue.wait("t1", "t2")

    assert queue.push("a", delay=300)[3] == 1
    assert queue.reserve("t1", wait=True)[2] == 300
    assert queue.push("b", delay=400)[3] == 0


def test_failing_wakes_another_for_the_message(queue):
    queue.push("a")
    queue.take("t")
    queue.wait("u")

    queue.finish(ending("n", "t"))

    assert queue.woken("u") == ["u"]


def test_batch_that_comes_back_wakes_the_rest(world, queue):
    queue.push("a", "b", "c")
    queue.take("t", count=3, lease=1000)
    queue.wait("u1", "u2", "u3")
    world.advance(1000)

    assert queue.take("v") == [b"a"]
    assert queue.woken("u1", "u2", "u3") == ["u1", "u2"]
