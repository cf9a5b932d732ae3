# SPDX-License-Identifier: MIT
"""The hot path's cost on the server: commands inside each script."""

import re

from queue_world import Queue, ending


def inner_calls(world, action):
    """Commands that ran inside a script, by name, counted by the server."""
    world.redis("CONFIG", "RESETSTAT")
    action()
    info = world.redis("INFO", "commandstats").decode()
    calls = {
        name: int(count)
        for name, count in re.findall(r"cmdstat_([a-z|]+):calls=(\d+)", info)
    }
    return {
        name: count
        for name, count in calls.items()
        if name not in ("eval", "evalsha", "info", "config|resetstat", "config")
    }


def test_uncontended_acquire_makes_five_calls(real_world):
    real_world.acquire("a")
    real_world.release("a")

    calls = inner_calls(real_world, lambda: real_world.acquire("b"))

    assert calls == {"hmget": 1, "exists": 1, "time": 1, "set": 1, "hset": 1}


def test_first_acquire_of_a_name_makes_six_calls(real_world):
    calls = inner_calls(real_world, lambda: real_world.acquire("a"))

    assert calls == {
        "hmget": 1,
        "time": 1,
        "exists": 1,
        "set": 1,
        "hset": 1,
        "pexpire": 1,
    }


def test_uncontended_release_makes_three_calls(real_world):
    real_world.acquire("a")

    calls = inner_calls(real_world, lambda: real_world.release("a"))

    assert calls == {"get": 1, "del": 1, "exists": 1}


def test_extend_makes_five_calls(real_world):
    real_world.acquire("a")

    calls = inner_calls(real_world, lambda: real_world.extend("a"))

    assert sum(calls.values()) == 5


def test_hand_over_makes_ten_calls_however_long_the_line(real_world):
    real_world.acquire("a")
    real_world.listen("c-t0")
    for i in range(50):
        real_world.acquire(f"t{i}")

    calls = inner_calls(real_world, lambda: real_world.release("a"))

    assert real_world.holder() == b"t0"
    assert sum(calls.values()) == 10


def test_enqueue_does_not_depend_on_the_length_of_the_line(real_world):
    real_world.acquire("a")
    real_world.acquire("b")
    first = inner_calls(real_world, lambda: real_world.acquire("c"))
    for i in range(50):
        real_world.acquire(f"t{i}")

    assert inner_calls(real_world, lambda: real_world.acquire("z")) == first


def test_a_message_costs_sixteen_calls_from_push_to_ack(real_world):
    queue = Queue(real_world)
    queue.push("warm")
    queue.take("w")

    push = inner_calls(real_world, lambda: queue.push("a"))
    reserve = inner_calls(real_world, lambda: queue.take("t"))
    ack = inner_calls(real_world, lambda: queue.ack(ending("a", "t")))

    assert [sum(calls.values()) for calls in (push, reserve, ack)] == [6, 8, 2]


def test_pop_makes_six_calls(real_world):
    queue = Queue(real_world)
    queue.push("warm", "a")
    queue.take("w", lease=0)

    calls = inner_calls(real_world, lambda: queue.take("t", lease=0))

    assert sum(calls.values()) == 6


def test_ack_with_the_next_reserve_makes_ten_calls(real_world):
    queue = Queue(real_world)
    queue.push("a", "b")
    queue.take("t")

    calls = inner_calls(real_world, lambda: queue.reserve("u", ending("a", "t")))

    assert sum(calls.values()) == 10


def test_batch_costs_as_many_calls_as_one(real_world):
    queue = Queue(real_world)
    queue.push(*["x"] * 64)

    push = inner_calls(real_world, lambda: queue.push(*["x"] * 32))
    take = inner_calls(real_world, lambda: queue.take("t", count=32))

    assert (sum(push.values()), take["hset"], take["zadd"]) == (6, 1, 1)
    assert sum(take.values()) < 20
