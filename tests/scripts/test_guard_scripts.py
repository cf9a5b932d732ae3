# SPDX-License-Identifier: MIT
"""guard_*: a value that refuses reads and writes with an older fence."""

import pytest
from resp import ReplyError

KEYS = [b"stock", b"ilk:guard:{stock}"]


def put(world, fence, value):
    return world.call("guard_set", KEYS, fence, value)


def get(world, fence=0):
    return world.call("guard_get", KEYS, fence)


def test_value_is_written_and_read_with_its_fence(world):
    assert put(world, 7, b"a\0\r\n\xff") == ["WRITTEN"]
    assert get(world) == ["HELD", 7, b"a\0\r\n\xff"]
    assert world.redis("GET", "stock") == b"a\0\r\n\xff"


def test_older_fence_is_refused_with_the_greater(world):
    put(world, 8, "new")

    assert put(world, 7, "late") == ["STALE", 8]
    assert get(world) == ["HELD", 8, b"new"]


def test_same_fence_may_write_again(world):
    put(world, 7, "a")

    assert put(world, 7, "b") == ["WRITTEN"]
    assert get(world) == ["HELD", 7, b"b"]


def test_fence_zero_is_not_checked_and_not_recorded(world):
    put(world, 9, "a")

    assert put(world, 0, "b") == ["WRITTEN"]
    assert get(world) == ["HELD", 9, b"b"]


def test_fences_near_two_to_the_53_are_exact(world):
    put(world, 2**53 - 1, "a")

    assert put(world, 2**53 - 2, "b") == ["STALE", 2**53 - 1]


def test_read_under_a_fence_puts_it_on_record(world):
    put(world, 7, "a")

    assert get(world, 8) == ["HELD", 8, b"a"]
    assert put(world, 7, "late") == ["STALE", 8]
    assert put(world, 8, "b") == ["WRITTEN"]
    assert get(world) == ["HELD", 8, b"b"]


def test_retried_read_changes_nothing_more(world):
    put(world, 7, "a")
    first, after = get(world, 8), world.dump()

    assert get(world, 8) == first
    assert world.dump() == after


def test_read_under_an_older_fence_is_refused_and_changes_nothing(world):
    put(world, 8, "new")
    before = world.dump()

    assert get(world, 7) == ["STALE", 8]
    assert world.dump() == before


def test_read_under_fence_zero_writes_nothing(world):
    assert get(world) == ["FREE", 0]
    put(world, 8, "a")
    before = world.dump()

    assert get(world) == ["HELD", 8, b"a"]
    assert world.dump() == before


def test_read_under_a_fence_guards_a_value_that_is_not_there(world):
    assert get(world, 2**53 - 1) == ["FREE", 2**53 - 1]
    assert put(world, 2**53 - 2, "late") == ["STALE", 2**53 - 1]
    assert world.redis("GET", "stock") is None


def test_empty_value_is_a_value(world):
    put(world, 1, "")

    assert get(world) == ["HELD", 1, b""]


def test_missing_value_is_free_and_keeps_its_fence(world):
    assert get(world) == ["FREE", 0]
    put(world, 5, "a")
    world.redis("DEL", "stock")

    assert get(world) == ["FREE", 5]
    assert put(world, 4, "late") == ["STALE", 5]


def test_remove_forgets_value_and_fence(world):
    put(world, 5, "a")

    assert world.call("guard_remove", KEYS) == ["RELEASED"]
    assert world.call("guard_remove", KEYS) == ["RELEASED"]
    assert get(world) == ["FREE", 0]


@pytest.mark.parametrize(
    "make",
    [
        ("HSET", "stock", "a", "b"),
        ("RPUSH", "stock", "a"),
        ("SET", "stock", "a", KEYS[1]),
    ],
)
def test_wrong_type_is_refused_and_nothing_written(world, make):
    if make[0] == "SET":
        world.redis("RPUSH", KEYS[1], "x")
    else:
        world.redis(*make)
    before = world.dump()

    with pytest.raises(ReplyError, match="WRONGTYPE"):
        put(world, 3, "v")
    with pytest.raises(ReplyError, match="WRONGTYPE"):
        get(world)
    with pytest.raises(ReplyError, match="WRONGTYPE"):
        get(world, 3)
    assert world.dump() == before
