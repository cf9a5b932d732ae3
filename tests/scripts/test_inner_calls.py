# SPDX-License-Identifier: MIT
"""What the hot path costs on the server: commands inside each script."""

import re


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


def test_uncontended_acquire_makes_six_calls(real_world):
    calls = inner_calls(real_world, lambda: real_world.acquire("a"))

    assert calls == {
        "exists": 1,
        "set": 1,
        "time": 1,
        "hmget": 1,
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


def test_hand_over_makes_twelve_calls_however_long_the_line(real_world):
    real_world.acquire("a")
    real_world.listen("c-t0")
    for i in range(50):
        real_world.acquire(f"t{i}")

    calls = inner_calls(real_world, lambda: real_world.release("a"))

    assert real_world.holder() == b"t0"
    assert sum(calls.values()) == 12


def test_enqueue_does_not_depend_on_the_length_of_the_line(real_world):
    real_world.acquire("a")
    real_world.acquire("b")
    first = inner_calls(real_world, lambda: real_world.acquire("c"))
    for i in range(50):
        real_world.acquire(f"t{i}")

    assert inner_calls(real_world, lambda: real_world.acquire("z")) == first
