# SPDX-License-Identifier: MIT
"""Waiting for permits: order, handing out, and those who cannot be reached."""

import pytest
from permits import Semaphore
from world import DAY_MS


@pytest.fixture
def sem(world):
    return Semaphore(world)


# -- order


def test_a_release_lets_in_as_many_as_fit(sem):
    sem.acquire("a", 3)
    sem.queue("b", ("c", 2), "d")

    assert sem.release("a") == ["RELEASED", 0, 0]
    assert sem.holders() == {"b": 1, "c": 2}
    assert sem.line() == ["d"]
    told = sem.granted("c-b") + sem.granted("c-c")
    assert [token for token, _ in told] == ["b", "c"]
    assert told[0][1] < told[1][1]
    assert sem.granted("c-d") == []


def test_nobody_overtakes_one_who_asks_for_many(sem):
    sem.acquire("a", 2)
    sem.acquire("b", 1)
    sem.queue(("big", 3), "c")

    sem.release("b")
    assert sem.holders() == {"a": 2}
    assert sem.acquire("z", wait=False)[0] == "BUSY"
    sem.release("a")
    assert sem.holders() == {"big": 3}
    sem.release("big")
    assert sem.holders() == {"c": 1}


def test_a_newcomer_queues_behind_those_who_wait_though_it_would_fit(sem):
    sem.acquire("a", 2)
    sem.queue(("b", 2))

    assert sem.acquire("c")[0] == "QUEUED"
    assert sem.line() == ["b", "c"]


def test_an_entry_that_is_cancelled_lets_those_behind_in(sem):
    sem.acquire("a", 2)
    sem.queue(("big", 2), "c")

    assert sem.cancel("big", 2) == ["GONE"]
    assert sem.holders() == {"a": 2, "c": 1}


def test_a_grant_that_is_cancelled_goes_on(sem):
    sem.acquire("a", 3)
    sem.queue(("b", 3), "c")
    sem.release("a")

    assert sem.cancel("b", 3) == ["RELEASED", 0, 0]
    assert sem.holders() == {"c": 1}
    assert sem.cancel("b", 3) == ["GONE"]


def test_asking_again_keeps_the_place(sem):
    sem.acquire("a", 3)
    sem.queue("b", "c")

    assert sem.acquire("b")[0] == "QUEUED"
    assert sem.line() == ["b", "c"]


def test_one_who_asks_again_and_is_first_gets_it_without_a_message(sem):
    sem.acquire("a", 3, lease=1000)
    sem.queue(("b", 2), lease=7000)
    sem.world.advance(1000)

    assert sem.acquire("b", 2, lease=7000)[:2] == ["HELD", 7000]
    assert sem.granted("c-b") == []
    assert sem.line() == []


def test_a_grant_runs_short_until_it_is_seen(sem):
    sem.acquire("a", 3)
    sem.queue("b")
    sem.release("a")
    sem.world.advance(5000)

    assert sem.used() == 0


def test_a_hold_that_was_handed_over_ends_by_itself(sem):
    sem.acquire("a", 3, lease=1000)
    sem.queue("b")
    sem.release("a")

    assert 4000 < sem.world.redis("PTTL", sem.key) - DAY_MS <= 5000


def test_a_single_try_lets_waiters_in_first(sem):
    sem.acquire("a", 3, lease=1000)
    sem.queue("b")
    sem.world.advance(1000)

    held = sem.acquire("z", wait=False)

    assert held[0] == "HELD"
    assert held[2] > sem.granted("c-b")[0][1]
    assert sem.holders() == {"b": 1, "z": 1}


# -- messages to waiters


def test_a_waiter_gets_the_time_at_which_the_first_lease_ends(sem):
    sem.acquire("a", 2, lease=3000)
    sem.acquire("b", 1, lease=9000)

    assert sem.acquire("c")[:2] + sem.acquire("c")[3:] == ["QUEUED", 3000, 1]


def test_permits_that_lie_free_for_the_deaf_are_looked_after_soon(sem):
    sem.acquire("a", 3, lease=1000)
    sem.queue("b")
    sem.world.deaf("c-b")
    sem.world.advance(1000)

    assert sem.refresh("c-b", sem.entry("b")) == [
        "FREE",
        -2,
        sem.world.now,
        0,
        3,
        0,
        0,
    ]


def test_a_refresh_returns_how_each_stands(sem):
    held = sem.acquire("h", 2)
    sem.acquire("i", 1, lease=2000)
    sem.queue("b")
    entries = [sem.entry("h", 2), sem.entry("b"), sem.entry("x")]

    found = sem.refresh("c-b", *entries)

    assert found[:4] == ["BUSY", 2000, sem.world.now, 1]
    assert found[4:] == [1, 10000, held[2], 3, 0, 0, 7, 0, 0]


def test_a_refresh_hands_out_what_ran_out(sem):
    sem.acquire("a", 2, lease=1000)
    sem.acquire("b", 1, lease=9000)
    sem.queue("c", ("d", 2))
    sem.world.advance(1000)

    found = sem.refresh("c-c", sem.entry("c"))

    assert found[0] == "BUSY" and found[4:6] == [1, 5000]
    assert sem.holders() == {"b": 1, "c": 1}
    assert sem.line() == ["d"]


def test_without_a_record_waiters_are_woken_to_come_again(sem):
    sem.acquire("a", 3)
    sem.queue("b")
    sem.world.redis("DEL", sem.keys[1])

    assert sem.refresh("c-b", sem.entry("b"))[4:] == [7, 0, 0]
    assert sem.acquire("b")[0] == "QUEUED"
    assert sem.refresh("c-b", sem.entry("b"))[4:] == [3, 0, 0]


# -- the dead and the deaf


def test_the_dead_are_dropped_and_the_next_served(sem):
    sem.acquire("a", 3)
    sem.queue(("b", 3))
    sem.world.advance(4000)
    sem.queue("c")
    sem.world.advance(2001)

    sem.release("a")

    assert sem.holders() == {"c": 1}
    assert sem.line() == []


def test_the_deaf_are_passed_over_and_keep_their_place(sem):
    sem.acquire("a", 3)
    sem.queue(("b", 2), "c")
    sem.world.deaf("c-b")
    fence = sem.inspect()[4]

    sem.release("a")

    assert sem.holders() == {"c": 1}
    assert sem.line() == ["b"]
    assert b"+b" not in sem.record()
    assert sem.granted("c-c")[0][1] > fence


def test_a_deaf_line_longer_than_the_walk_does_not_end_it(sem):
    sem.acquire("a", 3)
    sem.world.listen("c-deaf")
    for i in range(40):
        sem.acquire(f"d{i}", client="c-deaf")
    sem.queue("b")
    sem.world.deaf("c-deaf")

    sem.release("a", walk=4)

    assert sem.holders() == {"b": 1}


def test_more_is_returned_until_the_dead_are_gone(sem):
    sem.acquire("a", 3)
    for i in range(6):
        sem.acquire(f"d{i}")
    sem.world.advance(6001)
    sem.queue("b")

    assert sem.release("a", walk=4) == ["RELEASED", 1, 0]
    assert sem.refresh("c-b", walk=4)[0] == "BUSY"
    assert sem.holders() == {"b": 1}


def test_a_walk_at_its_limit_says_that_more_can_be_served(world):
    sem = Semaphore(world, 8)
    sem.acquire("a", 8)
    sem.queue(*[f"w{i}" for i in range(8)])

    assert sem.release("a", walk=3) == ["RELEASED", 1, 0]
    assert len(sem.holders()) == 3
    assert sem.refresh("c-w7", walk=3)[0] == "MORE"
    assert sem.refresh("c-w7", walk=3)[0] == "BUSY"
    assert len(sem.holders()) == 8


# -- the limit, raised and lowered


def test_a_raised_limit_lets_in(sem):
    sem.acquire("a", 3)
    sem.queue("b", ("c", 2), "d")

    assert sem.set_limit(6) == ["WRITTEN", 3, 0, 0]
    assert sem.holders() == {"a": 3, "b": 1, "c": 2}
    assert [token for token, _ in sem.granted("c-c")] == ["c"]


def test_a_lowered_limit_lets_nobody_in_before_enough_is_back(sem):
    for token in ("a", "b", "c"):
        sem.acquire(token)
    sem.queue("d", "e")
    sem.set_limit(2)

    sem.release("a")
    assert sem.line() == ["d", "e"]
    sem.release("b")
    assert sem.holders() == {"c": 1, "d": 1}


def test_a_waiter_for_more_than_a_lowered_limit_is_woken_to_be_refused(sem):
    sem.acquire("a", 3)
    sem.queue(("big", 3), "c")
    sem.set_limit(2)

    assert sem.world.inbox("c-big") == [b"1 wake w-big " + sem.key]
    assert sem.line() == ["c"]
    assert sem.acquire("big", 3) == ["DIFFERS", 2, 3]
    sem.release("a")
    assert sem.holders() == {"c": 1}


# -- past the line


def test_a_barger_takes_free_permits_past_those_who_wait(sem):
    sem.acquire("a", 2)
    sem.queue(("b", 2))

    assert sem.acquire("z", barge=1, wait=False)[0] == "HELD"
    assert sem.used() == 3


def test_a_barger_takes_no_more_than_is_free(sem):
    sem.acquire("a", 2)

    assert sem.acquire("z", 2, barge=1, wait=False)[0] == "BUSY"


def test_a_barger_in_line_is_woken_and_asks_again(sem):
    sem.acquire("a", 3)
    sem.queue("b", kind="w", barge=1)

    sem.release("a")

    assert sem.world.inbox("c-b") == [b"1 wake w-b " + sem.key]
    assert sem.line() == [] and sem.used() == 0
    assert sem.acquire("b", kind="w", barge=1)[0] == "HELD"


def test_a_release_by_a_barger_wakes_as_many_as_fit(sem):
    sem.acquire("a", 3)
    sem.queue("b", ("c", 2), "d")

    assert sem.release("a", barge=1) == ["RELEASED", 0, 0]

    assert sem.used() == 0
    assert sem.line() == ["b", "c", "d"]
    for token, woken in (("b", 1), ("c", 1), ("d", 0)):
        wake = b"1 wake w-" + token.encode() + b" " + sem.key
        assert sem.world.inbox(f"c-{token}") == [wake] * woken
    assert sem.acquire("c", 2)[0] == "HELD"
    assert sem.holders() == {"b": 1, "c": 2}


def test_a_barger_that_takes_leaves_the_line(sem):
    sem.acquire("a", 3, lease=1000)
    sem.queue("b", kind="w", barge=1)
    sem.world.advance(1000)

    assert sem.acquire("b", kind="w", barge=1)[0] == "HELD"
    assert sem.line() == []
