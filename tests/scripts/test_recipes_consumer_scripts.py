# SPDX-License-Identifier: MIT
"""recipes_*: consumers of raw lists; and what all refuse whole."""

import pytest
from recipes_calls import (
    T1,
    T2,
    T3,
    A,
    B,
    contents,
    due,
    give_back,
    lead,
    park,
    permit,
    pop,
    push,
    recover,
    renew,
    restore,
    settle,
    take,
    unpark,
)
from resp import ReplyError

# -- consumers of raw lists


def test_a_taken_message_is_returned_again_until_it_is_settled(world):
    world.redis("RPUSH", "q", "1", "2")

    assert take(world) == take(world) == ["HELD", 0, b"1"]
    assert settle(world, "done", "1") == settle(world, "done", "1") == ["RELEASED"]
    assert take(world) == ["HELD", 0, b"2"]
    assert settle(world, "back", "2", token=T2) == ["RELEASED"]
    assert contents(world, "q") == [b"2"]
    take(world)
    assert settle(world, "dead", "2", token=T3) == ["RELEASED"]
    assert contents(world, "dead") == [b"2"]
    assert take(world) == ["EMPTY"]
    with pytest.raises(ReplyError, match="done, back or dead"):
        world.redis("RPUSH", b"taken:" + A + b"q", "x")
        settle(world, "away", "x", token=f"{9:032x}")


def test_the_first_list_that_has_one_gives_it(world):
    world.redis("RPUSH", "low", "sweep")
    queues = (b"high", b"middle", b"low")

    assert take(world, queues=queues) == ["HELD", 2, b"sweep"]
    world.redis("DEL", b"taken:" + A + b"low")
    world.redis("RPUSH", "high", "extinguish")
    world.redis("RPUSH", "low", "sweep")
    assert take(world, queues=queues) == ["HELD", 0, b"extinguish"]


def test_messages_of_a_dead_consumer_go_back_and_are_next(world):
    world.redis("RPUSH", "q", "1", "2")
    take(world, A)
    assert take(world, B) == ["HELD", 0, b"2"]
    settle(world, "done", "2", B)
    assert take(world, B) == ["EMPTY"]
    world.advance(15001)

    assert take(world, B) == ["EMPTY", 0, A]
    assert recover(world) == ["RELEASED", 1]
    assert recover(world) == ["RELEASED", 0]
    assert take(world, B) == ["HELD", 0, b"1"]
    assert settle(world, "done", "1", A, T2) == ["LOST"]


def test_a_consumer_whose_inbox_has_a_subscriber_is_alive(world):
    world.redis("RPUSH", "q", "1")
    take(world, A)
    world.advance(15001)
    world.listen("a" * 16)

    assert take(world, B) == ["EMPTY"]
    assert recover(world) == ["BUSY"]
    assert recover(world, leaves=1) == ["RELEASED", 1]
    assert contents(world, "q") == [b"1"]


def test_giving_back_is_bounded_and_keeps_the_order(world):
    world.redis("RPUSH", b"taken:" + A + b"q", "1", "2", "3")
    world.redis("RPUSH", "q", "4")

    assert recover(world, limit=2, leaves=1) == ["MORE", 2]
    assert recover(world, limit=2, leaves=1) == ["RELEASED", 1]
    assert contents(world, "q") == [b"1", b"2", b"3", b"4"]


def test_dead_letters_are_bounded(world):
    world.redis("RPUSH", "dead", *range(1000))
    world.redis("RPUSH", "q", "x")
    take(world)
    settle(world, "dead", "x")

    assert contents(world, "dead")[-1] == b"x"
    assert world.redis("LLEN", "dead") == 1000


# -- refused whole

CALLS = {
    "push": push,
    "pop": pop,
    "park": park,
    "restore": restore,
    "take": take,
    "recover": lambda w, *a: recover(w, leaves=1),
    "settle": lambda w, *a: settle(w, "done", "x"),
    "due": due,
    "delay": lambda w, *a: w.call("recipes_delay", [b"z"], 0, "x"),
    "permit": lambda w, *a: permit(w, "x"),
    "permit_back": lambda w, *a: give_back(w, "x"),
    "permit_renew": lambda w, *a: renew(w, "x"),
    "master": lambda w, *a: lead(w, "a" * 16, 0, T1),
}


@pytest.mark.parametrize("call", CALLS)
def test_wrong_types_are_raised_and_nothing_is_written(world, call):
    for key in ("q", "z", "s", "m"):
        world.redis("HSET", key, "a", "b")
    before = world.dump()

    with pytest.raises(ReplyError, match="WRONGTYPE"):
        CALLS[call](world, "x") if call == "push" else CALLS[call](world)
    assert world.dump() == before


@pytest.mark.parametrize("call", ["push", "park", "take", "delay", "permit", "master"])
def test_without_memory_nothing_is_done(world, call):
    world.redis("LPUSH", "q", "a")
    before = world.dump()
    world.redis("CONFIG", "SET", "maxmemory", "1")
    try:
        with pytest.raises(ReplyError, match="OOM"):
            CALLS[call](world, "x") if call == "push" else CALLS[call](world)
    finally:
        world.redis("CONFIG", "SET", "maxmemory", "0")
    assert world.dump() == before


def test_without_memory_what_frees_some_works(world):
    world.redis("LPUSH", "q", "a")
    world.redis("ZADD", "z", 1, "t")
    permit(world, "x")
    park(world)
    world.redis("LPUSH", "q", "b")
    world.redis("CONFIG", "SET", "maxmemory", "1")
    try:
        assert pop(world) == ["HELD", b"b"]
        assert due(world) == ["HELD", b"t"]
        assert unpark(world, T1) == ["RELEASED"]
        assert give_back(world, "x", T2) == ["RELEASED"]
    finally:
        world.redis("CONFIG", "SET", "maxmemory", "0")
