# SPDX-License-Identifier: MIT
"""Keeping a place, claiming, leaving it: refresh, cancel, break, upkeep."""

import pytest
from world import READERS, START_US


def test_more_at_the_limit_then_settled_by_refresh(world):
    world.acquire("a")
    world.queue(*(f"d{i}" for i in range(5)))
    world.advance(7000)
    world.queue("b")

    assert world.release("a", limit=3) == ["RELEASED", 1, 0]
    assert world.holder() is None
    reply = world.refresh("c-b", world.entry("b"), limit=2)
    assert reply[:2] == ["MORE", -2]
    reply = world.refresh("c-b", world.entry("b"), limit=2)
    assert reply[0] == "BUSY"
    assert world.holder() == b"b"


def test_no_more_when_the_limit_was_just_enough(world):
    world.acquire("a")
    world.queue("b", "c")
    world.advance(7000)

    assert world.release("a", limit=2) == ["RELEASED", 0, 0]


def test_no_more_when_asking_again_would_change_nothing(world):
    world.acquire("a")
    for token in "bcd":
        world.acquire(token)

    assert world.release("a", limit=2) == ["RELEASED", 0, 0]
    assert world.refresh("c-b", world.entry("b"), limit=2)[0] == "FREE"


def test_limit_bounds_the_walk(world):
    world.acquire("a")
    world.queue(*(f"d{i}" for i in range(9)))
    world.advance(7000)

    world.release("a", limit=4)

    assert len(world.line()) == 5


def test_refresh_returns_how_each_waiter_stands(world):
    world.acquire("a")
    world.queue("b", "c")
    world.release("a")

    reply = world.refresh("c-b", world.entry("b"), world.entry("c"), world.entry("z"))

    assert reply[0] == "BUSY" and 0 < reply[1] <= 5000
    assert reply[2:4] == [START_US, 1]
    states = [tuple(reply[i : i + 3]) for i in range(4, len(reply), 3)]
    assert (
        states[0][0] == 1 and 0 < states[0][1] <= 5000 and states[0][2] == world.fence()
    )
    assert states[1:] == [(3, 0, 0), (7, 0, 0)]


def test_refresh_keeps_its_client_alive(world):
    world.acquire("a")
    world.queue("b", "c")
    world.advance(4000)
    world.refresh("c-b", world.entry("b"))
    world.advance(4000)

    world.release("a")

    assert world.holder() == b"b"


def test_refresh_hands_a_free_key_to_the_first_not_to_the_caller(world):
    world.acquire("a")
    world.queue("b", "c")
    world.expire()

    reply = world.refresh("c-c", world.entry("c"))

    assert reply[0] == "BUSY" and reply[4] == 3
    assert world.holder() == b"b"
    assert len(world.inbox("c-b")) == 1


def test_retried_refresh_changes_nothing_more(world):
    world.acquire("a")
    world.queue("b")
    world.expire()

    first = world.refresh("c-b", world.entry("b"))
    again = world.refresh("c-b", world.entry("b"))

    assert first[4] == again[4] == 1
    assert first[6] == again[6] == world.fence()
    assert len(world.inbox("c-b")) == 1


def test_refresh_of_a_free_empty_line_is_free(world):
    assert world.refresh("c", world.entry("b"))[:2] == ["FREE", -2]
    assert world.refresh("c", world.entry("b"))[4:] == [7, 0, 0]


def test_refresh_of_an_adopted_foreign_hold_has_no_fence(world):
    world.acquire("a")
    world.release("a")
    world.redis("SET", world.name, "stranger", "PX", 3000)

    reply = world.refresh("c", world.entry("stranger"))

    assert reply[4] == 1 and reply[6] == 0


def test_refresh_of_a_foreign_holder_is_not_ours(world):
    world.redis("SET", world.name, "stranger", "PX", 3000)
    world.queue("b")

    assert world.refresh("c-b", world.entry("b"))[3] == -5


def test_cancel_leaves_the_line(world):
    world.acquire("a")
    world.queue("b", "c")

    assert world.cancel("b") == ["GONE"]
    assert world.line() == [b"c"]
    assert world.holder() == b"a"


def test_cancel_passes_a_late_grant_on(world):
    world.acquire("a")
    world.queue("b", "c")
    world.release("a")

    assert world.cancel("b") == ["RELEASED", 0, 0]
    assert world.holder() == b"c"
    assert len(world.inbox("c-c")) == 1


def test_retried_cancel_is_gone(world):
    world.acquire("a")
    world.queue("b", "c")
    world.release("a")
    world.cancel("b")

    assert world.cancel("b") == ["GONE"]
    assert world.holder() == b"c"


def test_cancel_on_a_free_key_hands_it_to_the_next(world):
    world.acquire("a")
    world.queue("b", "c")
    world.expire()

    assert world.cancel("b") == ["GONE"]
    assert world.holder() == b"c"


def test_cancel_reports_more(world):
    world.acquire("a")
    world.queue("d0", "d1", "d2")
    world.advance(7000)
    world.queue("b")
    world.redis("SET", world.name, "b")

    assert world.cancel("b", limit=2) == ["RELEASED", 1, 0]


def test_break_hands_over(world):
    world.acquire("a")
    world.queue("b")

    assert world.break_lock("a") == ["RELEASED", 0, 0]
    assert world.holder() == b"b"


def test_break_of_readers_hands_over(world):
    world.read("r")
    world.queue("b")

    assert world.break_lock() == ["RELEASED", 0, 0]
    assert world.holder() == b"b"


def test_line_and_clients_expire_on_their_own(world):
    world.acquire("a")
    world.queue("b", liveness=3000)
    _, _, wait, live, _ = world.keys()

    for key in (wait, live):
        assert 29000 < world.redis("PTTL", key) <= 30000
    world.redis("PEXPIRE", wait, 5000)
    world.redis("PEXPIRE", live, 5000)
    world.refresh("c-b", world.entry("b"), liveness=3000)
    for key in (wait, live):
        assert 29000 < world.redis("PTTL", key) <= 30000


def test_clients_long_dead_are_forgotten_at_the_next_enqueue(world):
    world.acquire("a")
    world.queue("b")
    world.advance(7000)
    world.queue("c")

    assert world.redis("ZRANGE", world.keys()[3], 0, -1) == [b"c-c"]


def test_deadline_from_a_clock_set_back_is_passed_over_until_refreshed(world):
    world.acquire("a")
    world.queue("b", "c")
    world.set_clock(START_US - 3_600_000_000)
    world.refresh("c-c", world.entry("c"))

    world.release("a")
    assert world.holder() == b"c"
    assert world.line() == [b"b"]
    world.refresh("c-b", world.entry("b"))
    world.release("c")
    assert world.holder() == b"b"


@pytest.mark.parametrize("value", ["a", READERS])
def test_cancel_of_a_stranger_changes_nothing_but_its_entry(world, value):
    if value == "a":
        world.acquire("a")
    else:
        world.read("r")
    world.queue("b")

    world.cancel("z")

    assert world.line() == [b"b"]
    assert world.holder() == (b"a" if value == "a" else READERS)
