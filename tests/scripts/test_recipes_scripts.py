# SPDX-License-Identifier: MIT
"""recipes_*: raw lists, the safe queue's cache, delayed tasks."""

import pytest
from recipes_calls import (
    ONCE,
    T1,
    T2,
    T3,
    contents,
    due,
    park,
    pop,
    push,
    restore,
    take,
    unpark,
)
from resp import ReplyError
from world import START_US

# -- lists


def test_push_and_pop_are_those_of_the_raw_list(world):
    assert push(world, b"a\0\xff", token=T1) == ["WRITTEN", 1]
    assert push(world, b"b", token=T2) == ["WRITTEN", 2]
    assert contents(world, "q") == [b"b", b"a\0\xff"]
    assert push(world, b"c", "R", token=T3) == ["WRITTEN", 3]

    assert pop(world, "R", T1) == ["HELD", b"c"]
    assert pop(world, "L", T2) == ["HELD", b"b"]
    assert pop(world, "R", T3) == ["HELD", b"a\0\xff"]
    assert pop(world, "R", T1) == ["EMPTY"]


def test_a_repeated_push_pushes_once(world):
    first = push(world, b"a")
    push_again = push(world, b"a")

    assert first == push_again == ["WRITTEN", 1]
    assert contents(world, "q") == [b"a"]


def test_a_repeated_pop_takes_once(world):
    world.redis("RPUSH", "q", "a", "b")

    assert pop(world, "R") == pop(world, "R") == ["HELD", b"b"]
    assert contents(world, "q") == [b"a"]
    assert 0 < world.redis("PTTL", ONCE) <= 60000


def test_an_empty_value_is_a_value(world):
    push(world, b"")

    assert pop(world) == pop(world) == ["HELD", b""]


def test_a_value_that_cannot_be_read_stays(world):
    world.redis("RPUSH", "q", "long")

    for ask in (
        lambda: pop(world, most=3),
        lambda: world.call("recipes_park", [b"q", b"c", b"p"], T1, 3),
        lambda: take(world, most=3),
    ):
        with pytest.raises(ReplyError, match="'q' has 4 bytes, at most 3"):
            ask()
    assert contents(world, "q") == [b"long"]


@pytest.mark.parametrize("end", ["", "l", "LEFT"])
def test_another_end_is_refused(world, end):
    for ask in (lambda: push(world, b"x", end), lambda: pop(world, end)):
        with pytest.raises(ReplyError, match="ILKARG argument 2 must be L or R"):
            ask()


# -- the safe queue


def test_a_parked_value_lies_in_the_cache_until_it_is_unparked(world):
    world.redis("LPUSH", "q", "a", "b")

    assert park(world, T1) == park(world, T1) == ["HELD", b"a"]
    assert park(world, T2) == ["HELD", b"b"]
    assert contents(world, "cache") == [b"b", b"a"]
    assert unpark(world, T1) == unpark(world, T1) == ["RELEASED"]
    assert contents(world, "cache") == [b"b"]
    assert park(world, T3) == ["EMPTY"]


def test_one_of_equal_values_is_removed(world):
    world.redis("LPUSH", "q", "same", "same", "same")
    for token in (T1, T2, T3):
        park(world, token)

    assert unpark(world, T2) == ["RELEASED"]
    assert contents(world, "cache") == [b"same", b"same"]


def test_a_late_unpark_removes_nothing_of_the_next_delivery(world):
    world.redis("LPUSH", "q", "a")
    park(world, T1)
    assert restore(world) == ["RELEASED", 1]
    assert park(world, T2) == ["HELD", b"a"]

    assert unpark(world, T1) == ["LOST"]
    assert contents(world, "cache") == [b"a"]
    assert unpark(world, T2) == ["RELEASED"]


def test_a_value_that_others_removed_from_the_cache_is_lost(world):
    world.redis("LPUSH", "q", "a")
    park(world, T1)
    world.redis("DEL", "cache")

    assert unpark(world, T1) == ["LOST"]


def test_restored_values_are_popped_next_in_their_order(world):
    world.redis("LPUSH", "q", "a", "b", "c", "d")
    for token in (T1, T2, T3):
        park(world, token)

    assert restore(world, 2) == ["MORE", 2]
    assert restore(world, 2) == ["RELEASED", 1]
    assert restore(world, 2) == ["RELEASED", 0]
    assert [pop(world, "R", f"{n:032x}")[1] for n in range(4, 8)] == [
        *(b"a", b"b", b"c", b"d")
    ]


# -- delayed tasks


def test_tasks_are_due_by_the_servers_clock(world):
    for ms, task in ((1500, "b"), (0, "a"), (-10, "before"), (60000, "later")):
        assert world.call("recipes_delay", [b"z"], ms, task) == ["WRITTEN"]
    assert float(world.redis("ZSCORE", "z", "b")) == pytest.approx(START_US / 1e6 + 1.5)

    assert due(world, T1) == ["HELD", b"before", b"a"]
    assert due(world, T2) == ["HELD"]
    world.advance(1500)
    assert due(world, T3) == ["HELD", b"b"]
    assert world.redis("ZRANGE", "z", 0, -1) == [b"later"]


def test_a_repeated_question_gets_the_same_tasks(world):
    world.redis("ZADD", "z", 1, "a", 2, "b")

    assert due(world, T1, limit=1) == ["MORE", b"a"]
    assert due(world, T1, limit=1) == ["MORE", b"a"]
    assert due(world, T2) == ["HELD", b"b"]
    assert due(world, T2) == ["MORE", b"b"]


def test_an_answer_has_a_bounded_number_of_bytes(world):
    world.redis("ZADD", "z", 1, "x" * 6, 2, "y" * 6)

    assert due(world, T1, most=10) == ["MORE", b"x" * 6]
    assert due(world, T2, most=10) == ["HELD", b"y" * 6]
    world.redis("ZADD", "z", 1, "x" * 11)
    with pytest.raises(ReplyError, match="'z' has 11 bytes"):
        due(world, T3, most=10)
    assert world.redis("ZCARD", "z") == 1
