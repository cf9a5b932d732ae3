# SPDX-License-Identifier: MIT
"""Fences on record that nobody of this library wrote: no grant rises above them."""

import pytest
from resp import ReplyError

# The record's hash field, or the guard's string.
NO_FENCES = [
    "9007199254740991",
    "9007199254740992",
    "1e308",
    "inf",
    "nan",
    "-1",
    "1.5",
    "0x10",
    " 7",
    "",
    "9" * 400,
]


@pytest.mark.parametrize("text", NO_FENCES)
def test_a_lock_is_not_granted_above_no_fence(world, text):
    world.redis("HSET", world.keys()[1], "fence", text, "token", "x")

    with pytest.raises(ReplyError, match="ILKFENCE"):
        world.acquire("t")

    assert world.redis("EXISTS", world.name) == 0
    assert world.redis("HGET", world.keys()[1], "fence") == text.encode()


def test_a_floor_that_leaves_no_room_is_refused(world):
    with pytest.raises(ReplyError, match="ILKFENCE"):
        world.acquire("t", floor=2**53 - 1)

    assert world.redis("EXISTS", world.name) == 0


def test_the_last_fences_before_the_end_still_rise(world):
    world.redis("HSET", world.keys()[1], "fence", 2**53 - 1_000_002, "token", "x")

    assert world.acquire("t")[2] == 2**53 - 1_000_001


@pytest.mark.parametrize("text", NO_FENCES)
def test_a_release_frees_the_lock_and_grants_nothing(world, text):
    """A waiter would get a fence that does not rise; it finds the error itself."""
    world.acquire("holder")
    world.queue("w")
    world.redis("HSET", world.keys()[1], "fence", text)

    assert world.release("holder")[0] == "RELEASED"
    assert world.redis("EXISTS", world.name) == 0
    assert world.inbox("c-w") == []


@pytest.mark.parametrize("text", NO_FENCES)
def test_an_extend_answers_without_a_fence(world, text):
    world.acquire("holder")
    world.redis("HSET", world.keys()[1], "fence", text)

    assert world.call("lock_extend", world.keys()[:2], "holder", 9000, 0)[:3] == [
        "HELD",
        9000,
        0,
    ]
    assert world.call("lock_inspect", world.keys(), 10)[5] == 0


@pytest.mark.parametrize("text", [t for t in NO_FENCES if t != "9007199254740991"])
def test_a_guard_with_no_fence_is_an_error(world, text):
    keys = [b"value", b"ilk:guard:{value}"]
    world.redis("SET", keys[1], text)

    with pytest.raises(ReplyError, match="ILKFENCE"):
        world.call("guard_set", keys, 7, "x")
    with pytest.raises(ReplyError, match="ILKFENCE"):
        world.call("guard_get", keys, 7)
    assert world.redis("EXISTS", keys[0]) == 0


# -- those who wait already


def test_a_refresh_sends_waiters_for_the_error(world):
    world.acquire("holder")
    world.queue("w")
    world.redis("HSET", world.keys()[1], "fence", "inf")

    gone = world.scripts["lock_refresh"].codes["GONE"]
    assert world.refresh("c-w", world.entry("w"))[4:] == [gone, 0, 0]
