# SPDX-License-Identifier: MIT
"""The semaphore's scripts: permits, leases, fences and the limit."""

import time

import pytest
from permits import Semaphore
from resp import ReplyError
from world import DAY_MS


@pytest.fixture
def sem(world):
    return Semaphore(world)


# -- taking and giving back


def test_permits_are_taken_up_to_the_limit(sem):
    for token in ("a", "b", "c"):
        assert sem.acquire(token)[:2] == ["HELD", 10000]

    assert sem.acquire("d", wait=False)[0] == "BUSY"
    assert sem.holders() == {"a": 1, "b": 1, "c": 1}


def test_several_permits_are_taken_together_or_not_at_all(sem):
    sem.acquire("a", 2)

    assert sem.acquire("b", 2, wait=False)[0] == "BUSY"
    assert sem.acquire("c", 1, wait=False)[0] == "HELD"
    assert sem.holders() == {"a": 2, "c": 1}


def test_release_gives_all_permits_of_the_hold_back_and_no_others(sem):
    sem.acquire("a", 2)
    sem.acquire("b", 1)

    assert sem.release("a") == ["RELEASED", 0, 0]
    assert sem.holders() == {"b": 1}
    assert b"+a" not in sem.record()


def test_a_second_release_finds_nothing(sem):
    sem.acquire("a")
    sem.acquire("b")
    sem.release("a")
    before = sem.world.dump()

    assert sem.release("a")[0] == "LOST"
    assert sem.world.dump() == before


def test_all_permits_of_the_greatest_semaphore_fit_into_one_hold(world):
    sem = Semaphore(world, 1024)

    assert sem.acquire("a", 1024)[0] == "HELD"
    assert sem.used() == 1024
    assert sem.extend("a", 20000)[:2] == ["HELD", 20000]
    assert sem.inspect()[1:4] == [1024, 1024, world.now]
    assert sem.release("a")[0] == "RELEASED"
    assert sem.used() == 0


def test_one_permit_makes_a_lock(world):
    sem = Semaphore(world, 1)

    assert sem.acquire("a")[0] == "HELD"
    assert sem.acquire("b", wait=False)[0] == "BUSY"
    sem.release("a")
    assert sem.acquire("b", wait=False)[0] == "HELD"


def test_a_retried_acquire_returns_its_hold_and_takes_no_more(sem):
    held = sem.acquire("a", 2)
    sem.world.advance(400)

    again = sem.acquire("a", 2)

    assert again == ["HELD", 9600, held[2], sem.world.now]
    assert sem.used() == 2


def test_a_retry_that_finds_all_taken_still_returns_its_hold(sem):
    held = sem.acquire("a", 3)

    assert sem.acquire("a", 3, wait=False)[:3] == ["HELD", 10000, held[2]]


# -- fences


def test_every_hold_has_a_fence_above_all_before(sem):
    fences = [sem.acquire(token)[2] for token in ("a", "b", "c")]
    sem.release("b")
    fences.append(sem.acquire("d")[2])

    assert fences == sorted(set(fences))
    assert fences[0] == sem.world.now


def test_the_floor_of_a_caller_is_passed(sem):
    floor = sem.world.now + 5_000_000

    assert sem.acquire("a", floor=floor)[2] == floor + 1


def test_the_floor_of_one_who_waits_is_passed_by_who_grants(sem):
    sem.acquire("a", 3)
    sem.world.listen("c-b")
    floor = sem.world.now + 5_000_000
    sem.acquire("b", floor=floor)

    sem.release("a")

    assert sem.granted("c-b")[0][1] > floor


def test_the_clock_set_back_lowers_no_fence(sem):
    first = sem.acquire("a")[2]
    sem.world.advance(-5000)

    assert sem.acquire("b")[2] == first + 1


# -- leases


def test_permits_come_back_when_their_lease_ends(sem):
    sem.acquire("a", 2, lease=1000)
    sem.acquire("b", 1, lease=5000)
    sem.world.advance(1000)

    assert sem.acquire("c", 2, wait=False)[0] == "HELD"
    assert sem.holders() == {"b": 1, "c": 2}
    assert b"+a" not in sem.record()


def test_a_millisecond_before_the_end_they_are_still_taken(sem):
    sem.acquire("a", 3, lease=1000)
    sem.world.advance(999)

    assert sem.acquire("b", wait=False)[:2] == ["BUSY", 1]


def test_extend_moves_the_end_of_all_permits(sem):
    fence = sem.acquire("a", 2)[2]
    sem.world.advance(9000)

    assert sem.extend("a", 10000) == ["HELD", 10000, fence, sem.world.now]
    sem.world.advance(9999)
    assert sem.used() == 2


def test_extend_can_shorten(sem):
    sem.acquire("a", 2)
    sem.extend("a", 100)
    sem.world.advance(100)

    assert sem.used() == 0


@pytest.mark.parametrize("purged", [False, True])
def test_a_hold_that_ran_out_is_neither_extended_nor_released(sem, purged):
    sem.acquire("a", 2, lease=1000)
    sem.world.advance(1000)
    if purged:
        sem.acquire("b", 3)

    assert sem.extend("a")[0] == "LOST"
    assert sem.release("a")[0] == "LOST"
    assert "a" not in sem.holders()


def test_the_keys_outlive_the_longest_lease_by_a_day(sem):
    sem.acquire("a", lease=100000)
    sem.acquire("b", lease=1000)

    for key in sem.keys[:2]:
        assert 99000 < sem.world.redis("PTTL", key) - DAY_MS <= 100000


def test_the_record_forgets_holds_that_nobody_released(real_world):
    sem = Semaphore(real_world)
    for token in ("a", "b", "c"):
        sem.acquire(token, lease=5)
        time.sleep(0.01)

    assert sem.inspect()[0] == "FREE"
    sem.acquire("d")
    assert [field for field in sem.record() if field[:1] == b"+"] == [b"+d"]


def test_extending_a_short_lease_does_not_cut_a_long_one(sem):
    sem.acquire("a", lease=100000)
    sem.acquire("b", lease=1000)
    sem.extend("b", 2000)

    assert 99000 < sem.world.redis("PTTL", sem.key) - DAY_MS <= 100000


def test_a_hold_whose_record_was_lost_goes_on_without_a_fence(sem):
    sem.acquire("a", 2)
    sem.world.redis("DEL", sem.keys[1])

    assert sem.extend("a") == ["HELD", 10000, 0, sem.world.now]
    assert sem.release("a") == ["RELEASED", 0, 0]


# -- the limit


def test_another_limit_is_refused_while_the_semaphore_is_in_use(sem):
    sem.acquire("a")
    before = sem.world.dump()

    for wait in (True, False):
        assert sem.acquire("b", limit=4, wait=wait) == ["DIFFERS", 3, 3]
    assert sem.world.dump() == before


def test_another_limit_is_refused_while_somebody_waits(sem):
    sem.acquire("a", 3, lease=1000)
    sem.world.listen("c-b")
    sem.acquire("b")
    sem.world.advance(1000)

    assert sem.acquire("z", limit=4) == ["DIFFERS", 3, 3]
    assert sem.holders() == {"b": 1}


def test_dead_waiters_keep_no_limit(sem):
    sem.acquire("a", 3, lease=1000)
    sem.queue("b")
    sem.world.advance(6001)

    assert sem.acquire("z", limit=4)[0] == "HELD"
    assert sem.record()[b"limit"] == b"4"
    assert sem.line() == []


def test_an_idle_semaphore_takes_any_limit(sem):
    fence = sem.acquire("a")[2]
    sem.release("a")

    assert sem.acquire("b", 5, limit=5)[2] > fence
    assert sem.acquire("c", limit=3) == ["DIFFERS", 5, 5]


def test_more_permits_than_the_limit_in_force_are_refused(sem):
    assert sem.set_limit(2) == ["WRITTEN", 0, 0, 0]

    assert sem.acquire("a", 3) == ["DIFFERS", 2, 3]
    assert sem.acquire("a", 2)[0] == "HELD"


def test_a_changed_limit_holds_for_those_of_the_old_and_of_the_new(sem):
    sem.acquire("a")
    assert sem.set_limit(5) == ["WRITTEN", 3, 0, 0]

    assert sem.acquire("b", limit=3)[0] == "HELD"
    assert sem.acquire("c", 3, limit=5)[0] == "HELD"
    assert sem.acquire("d", limit=3, wait=False)[0] == "BUSY"
    assert sem.acquire("d", limit=4) == ["DIFFERS", 5, 3]


def test_a_changed_limit_outlives_a_moment_without_users(sem):
    sem.acquire("a")
    sem.set_limit(5)
    sem.release("a")

    sem.acquire("b")
    assert sem.record()[b"limit"] == b"5"


def test_a_limit_set_before_the_first_use_is_kept_for_a_day(sem):
    sem.set_limit(5, base=3)

    assert DAY_MS - 1000 < sem.world.redis("PTTL", sem.keys[1]) <= DAY_MS
    assert sem.acquire("a", 3)[0] == "HELD"
    assert sem.record()[b"limit"] == b"5"


def test_setting_the_limit_again_changes_nothing(sem):
    sem.acquire("a")
    sem.set_limit(5)

    assert sem.set_limit(5, base=7) == ["WRITTEN", 5, 0, 0]
    assert sem.record()[b"base"] == b"3"


def test_a_lowered_limit_takes_nothing_away(sem):
    sem.acquire("a")
    sem.acquire("b")
    sem.acquire("c")
    sem.set_limit(1)

    assert sem.used() == 3
    assert sem.extend("c")[0] == "HELD"
    sem.release("a")
    sem.release("b")
    assert sem.acquire("d", wait=False)[0] == "BUSY"
    sem.release("c")
    assert sem.acquire("d", wait=False)[0] == "HELD"


# -- looking


def test_inspection_lists_holders_by_fence_and_waiters_in_order(sem):
    f1 = sem.acquire("z", 2)[2]
    sem.world.advance(1000)
    f2 = sem.acquire("a", 1, lease=5000)[2]
    sem.queue(("q", 2), "p")
    sem.world.advance(5)
    before, now = sem.world.dump(), sem.world.now

    found = sem.inspect()

    assert found[:9] == ["HELD", 3, 3, now, f2, 2, 2, 2, b"z"]
    assert found[8:14] == [b"z", b"c-z host:z", 2, f1, sem.ms - 1005, 8995]
    assert found[14:20] == [b"a", b"c-a host:a", 1, f2, sem.ms - 5, 4995]
    assert found[20:] == [sem.entry("q", 2), 5, sem.entry("p"), 4]
    assert sem.world.dump() == before


def test_inspection_lists_no_more_than_its_limit(sem):
    sem.acquire("a")
    sem.acquire("b", 2)
    sem.queue("c", "d")

    found = sem.inspect(1)

    assert found[5:8] == [2, 2, 1]
    assert found[8] == b"a" and len(found) == 8 + 6 + 2
    assert len(sem.inspect(0)) == 8


def test_an_unknown_name_is_free_and_has_no_limit(sem):
    assert sem.inspect() == ["FREE", 0, 0, sem.world.now, 0, 0, 0, 0]


def test_inspection_does_not_count_what_ran_out(sem):
    sem.acquire("a", 2, lease=1000)
    sem.world.advance(1000)

    assert sem.inspect()[:3] == ["FREE", 3, 0]


# -- misuse

BAD = {
    "token": (0, ""),
    "lease": (1, 0),
    "floor": (3, -1),
    "liveness": (7, 0),
    "grant ms": (8, 0),
    "walk": (9, 0),
    "permits": (10, 0),
    "limit": (11, 0),
    "a fraction": (10, "1.5"),
    "an entry of another": (4, b"1 p c-x w-x x 10000 1 h"),
    "an entry of other permits": (4, b"1 p c-a w-a a 10000 2 h"),
    "an entry of the lock": (4, b"1 x c-a w-a a 10000 1 h"),
}


@pytest.mark.parametrize("fault", BAD)
def test_misuse_is_refused_before_anything_is_written(sem, fault):
    sem.acquire("z", 3)
    args = ["a", 10000, "h", 0, sem.entry("a"), "c-a", 0, 6000, 5000, 16, 1, 3]
    at, value = BAD[fault]
    args[at] = value
    before = sem.world.dump()

    with pytest.raises(ReplyError, match="ILKARG"):
        sem.world.call("semaphore_acquire", sem.keys, *args)
    assert sem.world.dump() == before
