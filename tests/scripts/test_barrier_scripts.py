# SPDX-License-Identifier: MIT
"""barrier_*: rounds of so many parties, full or broken."""

import pytest
from resp import ReplyError
from state_world import LIVENESS, Barrier
from test_inner_calls import inner_calls
from world import START_US


@pytest.fixture
def barrier(world):
    return Barrier(world, parties=3)


def arrive(barrier, *tokens):
    for token in tokens:
        assert barrier.wait(token)[0] == "QUEUED"


def test_last_party_fills_the_round_and_all_get_their_index(barrier, world):
    barrier.listen("c-a", "c-b")
    assert barrier.wait("a") == ["QUEUED", -1, START_US, 1, START_US]
    assert barrier.wait("b") == ["QUEUED", -1, START_US, 1, START_US + 1]
    assert barrier.read() == ["STATE", 2]

    assert barrier.wait("c") == ["STATE", 2, START_US]

    assert world.inbox("c-a") == world.inbox("c-b") == [barrier.change()]
    assert barrier.wait("b") == ["STATE", 1, START_US]
    assert barrier.wait("a") == ["STATE", 0, START_US]
    assert (barrier.line(), barrier.live()) == ([], [])
    assert barrier.read() == ["STATE", 0]


def test_next_round_begins_by_itself_and_is_a_later_one(barrier):
    arrive(barrier, "a", "b")
    first = barrier.wait("c")[2]
    arrive(barrier, "a2", "b2")

    assert barrier.wait("c2") == ["STATE", 2, first + 3]
    assert barrier.wait("a") == ["STATE", 0, first]


def test_barrier_of_one_lets_pass_at_once(world):
    barrier = Barrier(world, parties=1)

    assert [barrier.wait("a")[1], barrier.wait("b")[1]] == [0, 0]


def test_retried_arrival_counts_once(barrier):
    first = barrier.wait("a")

    assert barrier.wait("a") == first
    assert barrier.read() == ["STATE", 1]


def test_retry_of_the_last_arrival_returns_its_index_and_begins_no_round(barrier):
    arrive(barrier, "a", "b")
    first = barrier.wait("c")

    assert barrier.wait("c") == first
    assert barrier.read() == ["STATE", 0]


def test_try_arrives_only_as_the_last(barrier, world):
    arrive(barrier, "a")
    before = world.dump()
    assert barrier.ask("try", "x") == ["BUSY", -1, START_US, 1]
    assert world.dump() == before
    arrive(barrier, "b")

    assert barrier.ask("try", "y")[:2] == ["STATE", 2]


# -- breaking


def test_one_who_leaves_breaks_the_round_of_the_others(barrier, world):
    barrier.listen("c-a")
    arrive(barrier, "a", "b")

    assert barrier.ask("leave", "b") == ["GONE"]

    assert world.inbox("c-a") == [barrier.change()]
    assert barrier.wait("a") == ["LOST", b"left host:b"]
    assert barrier.read() == ["STATE", 0]


def test_a_repeated_leave_finds_what_it_did(barrier):
    """Its caller has a timeout, and no round that others broke."""
    arrive(barrier, "a", "b")
    barrier.ask("leave", "b")

    assert barrier.ask("leave", "b") == ["GONE"]
    assert barrier.wait("b") == ["LOST", b"left host:b"]
    assert barrier.ask("leave", "a") == ["LOST", b"left host:b"]
    arrive(barrier, "d", "e")
    assert barrier.ask("leave", "b") == ["GONE"]
    assert barrier.wait("f")[:2] == ["STATE", 2]


def test_round_after_a_broken_one_is_whole(barrier):
    arrive(barrier, "a")
    barrier.ask("leave", "a")
    arrive(barrier, "d", "e")

    assert barrier.wait("f")[:2] == ["STATE", 2]
    assert barrier.wait("a")[0] == "LOST"


def test_leaving_too_late_returns_that_the_round_was_full(barrier):
    arrive(barrier, "a", "b")
    barrier.wait("c")

    assert barrier.ask("leave", "a")[:2] == ["STATE", 0]


def test_one_who_never_arrived_leaves_nothing(barrier, world):
    arrive(barrier, "a")
    before = world.dump()

    assert barrier.ask("leave", "x") == ["GONE"]
    assert world.dump() == before


def test_cancel_breaks_like_leaving_and_a_retry_breaks_no_later_round(barrier):
    arrive(barrier, "a", "b")
    assert barrier.cancel("a") == ["GONE"]
    assert barrier.wait("b") == ["LOST", b"left host:a"]
    arrive(barrier, "c")

    assert barrier.cancel("a") == ["GONE"]
    assert barrier.read() == ["STATE", 1]


def test_dead_party_breaks_the_round_at_the_refresh_of_another(barrier, world):
    barrier.listen("c-b")
    arrive(barrier, "a")
    world.advance(1000)
    arrive(barrier, "b")
    world.advance(LIVENESS - 1000)
    reply = barrier.refresh("barrier_refresh", "c-b", "b")
    assert reply == ["BUSY", 0, world.now, 1, 3, 0, 0]
    world.advance(1)

    assert barrier.refresh("barrier_refresh", "c-b", "b")[4] == 7
    assert world.inbox("c-b") == [barrier.change()]
    assert barrier.wait("b") == ["LOST", b"dead host:a"]


def test_refresh_returns_when_somebody_may_be_found_dead(barrier, world):
    arrive(barrier, "a")
    world.advance(1500)

    assert barrier.refresh("barrier_refresh", "c-b")[1] == LIVENESS - 1500


def test_newcomer_does_not_join_the_round_of_a_dead_party(barrier, world):
    arrive(barrier, "a", "b")
    world.advance(LIVENESS + 1)

    assert barrier.wait("c")[0] == "QUEUED"

    assert barrier.read() == ["STATE", 1]
    assert barrier.wait("a") == ["LOST", b"dead host:a"]


def test_dead_client_that_does_not_wait_here_breaks_nothing(barrier, world):
    arrive(barrier, "x")
    barrier.ask("leave", "x")
    arrive(barrier, "a")
    world.redis("ZADD", barrier.keys[3], 1, "c-old")

    assert barrier.refresh("barrier_refresh", "c-a", "a")[4] == 3
    assert barrier.live() == ["c-a"]


def test_line_that_was_lost_breaks_the_round(barrier, world):
    arrive(barrier, "a", "b")
    world.redis("DEL", barrier.wait_key)

    assert barrier.wait("a") == ["LOST", b"forgotten"]


def test_refresh_between_rounds_writes_nothing(barrier, world):
    arrive(barrier, "a", "b")
    barrier.wait("c")
    before = world.dump()

    reply = barrier.refresh("barrier_refresh", "c-a", "a")
    assert reply == ["BUSY", -1, START_US, 1, 7, 0, 0]
    assert world.dump() == before


def test_after_a_flush_all_arrive_anew(barrier, world):
    known = {token: barrier.wait(token)[4] for token in ("a", "b")}
    world.redis("FLUSHALL")
    world.set_clock(START_US + 1000)

    for token, number in known.items():
        assert barrier.wait(token, known=number)[0] == "QUEUED"
    assert barrier.wait("c")[:2] == ["STATE", 2]


def test_a_round_that_is_forgotten_counts_as_broken(world):
    barrier = Barrier(world, parties=1)
    number = barrier.wait("a")[2]
    for i in range(256):
        assert barrier.wait("a")[0] == "STATE"
        barrier.wait(f"t{i}")

    assert barrier.wait("a", known=number) == ["LOST", b"forgotten"]
    assert world.redis("ZCARD", barrier.keys[1]) == 256
    assert world.redis("ZCARD", barrier.keys[4]) == 256


def test_round_whose_record_was_lost_alone_counts_as_broken(barrier, world):
    arrive(barrier, "a", "b")
    barrier.wait("c")
    world.redis("DEL", barrier.keys[4])

    assert barrier.wait("a") == ["LOST", b"forgotten"]


# -- set up in another way


def test_another_number_of_parties_is_refused_with_the_one_on_record(barrier, world):
    arrive(barrier, "a")
    other, before = Barrier(world, parties=4), world.dump()

    assert other.wait("x") == ["DIFFERS", 3]
    assert other.ask("try", "x") == ["DIFFERS", 3]
    assert other.read() == ["DIFFERS", 3]
    assert world.dump() == before


def test_reset_breaks_the_round_and_sets_the_number_of_parties(barrier, world):
    barrier.listen("c-a")
    arrive(barrier, "a")
    other = Barrier(world, parties=2)

    assert other.reset("r") == ["STATE", 1, 0]

    assert world.inbox("c-a") == [barrier.change()]
    assert barrier.wait("a") == ["LOST", b"reset op:1"]
    assert barrier.wait("b") == ["DIFFERS", 2]
    assert other.wait("x")[0] == "QUEUED"


def test_retried_reset_breaks_no_later_round(barrier):
    barrier.reset("r")
    arrive(barrier, "a")

    assert barrier.reset("r") == ["STATE", 0, 0]
    assert barrier.read() == ["STATE", 1]


def test_everything_goes_after_its_time_of_disuse(barrier, world):
    arrive(barrier, "a", "b")
    barrier.wait("c")

    for key in world.redis("KEYS", "ilk:barrier*"):
        assert 0 < world.redis("PTTL", key) <= 60_000


def test_refresh_keeps_a_barrier_that_is_waited_at(barrier, world):
    arrive(barrier, "a")
    world.redis("PEXPIRE", barrier.keys[0], 1000)
    barrier.refresh("barrier_refresh", "c-a", "a")

    assert world.redis("PTTL", barrier.keys[0]) > 55_000


# -- refusals


@pytest.mark.parametrize(
    "script, args",
    [
        ("barrier_wait", (b"", "c", 1, 1, "wait", "t", 1, 1, 0, "h")),
        ("barrier_wait", (b"", "c", 1, 1, "try", "", 1, 1, 0, "h")),
        ("barrier_wait", (b"", "c", 1, 1, "try", "t", 0, 1, 0, "h")),
        ("barrier_wait", (b"", "c", 1, 1, "try", "t", 1, 0, 0, "h")),
        ("barrier_cancel", (b"", "", 1, 1, 1)),
        ("barrier_refresh", ("c", 1, 1, 1, 2)),
        ("barrier_reset", ("t", 0, 1, "h", 1)),
    ],
)
def test_misuse_is_refused_and_nothing_written(barrier, world, script, args):
    before = world.dump()

    with pytest.raises(ReplyError, match="ILKARG"):
        barrier.call(script, *args)
    assert world.dump() == before


def test_a_look_that_names_no_parties_returns_them(barrier):
    assert barrier.call("barrier_read", 0, keys=1) == ["STATE", 0, 0]
    arrive(barrier, "a", "b")
    assert barrier.call("barrier_read", 0, keys=1) == ["STATE", 2, barrier.parties]


def test_misuse_of_a_look_is_refused(barrier):
    with pytest.raises(ReplyError, match="ILKARG"):
        barrier.call("barrier_read", -1, keys=1)


def test_wrong_type_is_refused_and_nothing_written(barrier, world):
    world.redis("SET", barrier.keys[0], "x")
    before = world.dump()

    for ask in (
        lambda: barrier.wait("t"),
        lambda: barrier.cancel("t"),
        lambda: barrier.reset("t"),
        barrier.read,
        lambda: barrier.refresh("barrier_refresh", "c", "t"),
    ):
        with pytest.raises(ReplyError, match="WRONGTYPE"):
            ask()
    assert world.dump() == before


def test_without_memory_nobody_arrives_but_who_fills_the_round(barrier, world):
    before = world.dump()
    world.redis("CONFIG", "SET", "maxmemory", "1")
    with pytest.raises(ReplyError, match="OOM"):
        barrier.wait("a")
    world.redis("CONFIG", "SET", "maxmemory", "0")
    assert world.dump() == before
    arrive(barrier, "a", "b")

    world.redis("CONFIG", "SET", "maxmemory", "1")
    try:
        assert barrier.wait("c")[:2] == ["STATE", 2]
    finally:
        world.redis("CONFIG", "SET", "maxmemory", "0")
    assert barrier.wait("a")[:2] == ["STATE", 0]


def test_a_thousand_parties_are_woken_in_few_calls(world):
    barrier = Barrier(world, parties=1000)
    for i in range(999):
        barrier.wait(f"p{i}")

    calls = inner_calls(world, lambda: barrier.wait("last"))

    assert sum(calls.values()) < 1040  # one message each, and little else
