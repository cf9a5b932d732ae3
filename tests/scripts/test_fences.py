# SPDX-License-Identifier: MIT
"""Fences rise, whatever happens to the record and the clock."""

import pytest
from resp import ReplyError
from world import DAY_MS, START_US


def hold(world, token, **options):
    fence = world.acquire(token, **options)[2]
    world.release(token)
    return fence


def test_fence_is_the_clock_in_microseconds(world):
    assert hold(world, "a") == START_US
    assert world.record()[b"fence"] == b"%d" % START_US


def test_fence_rises_within_one_microsecond(world):
    assert [hold(world, f"t{i}") for i in range(5)] == [START_US + i for i in range(5)]


def test_fence_follows_the_clock_when_that_is_ahead(world):
    hold(world, "a")
    world.advance(10)

    assert hold(world, "b") == START_US + 10_000


def test_fence_rises_when_the_clock_is_set_back(world):
    first = hold(world, "a")
    world.set_clock(START_US - 10**12)

    assert hold(world, "b") == first + 1


def test_fence_rises_after_a_flush(world):
    first = hold(world, "a")
    world.redis("FLUSHALL")
    world.set_clock(START_US + 1)

    assert hold(world, "b") > first


def test_floor_is_exceeded_when_record_and_clock_are_behind(world):
    assert hold(world, "a", floor=START_US + 10**9) == START_US + 10**9 + 1


def test_floor_below_changes_nothing(world):
    assert hold(world, "a", floor=START_US - 5) == START_US


def test_floor_of_a_waiter_counts_when_it_is_granted(world):
    world.acquire("a")
    world.listen("c-b")
    world.acquire("b", floor=START_US + 10**9)

    world.release("a")

    assert world.fence() > START_US + 10**9
    assert int(world.inbox("c-b")[0].split(b" ")[4]) == world.fence()


def test_low_floor_of_a_waiter_changes_nothing(world):
    fence = world.acquire("a")[2]
    world.acquire("b", floor=5)

    assert world.fence() == fence


def test_floor_of_a_waiter_keeps_the_holders_record(world):
    world.acquire("a", lease=60000)
    world.acquire("b", floor=START_US + 10**9, lease=1000)

    assert world.record()[b"token"] == b"a"
    assert world.redis("PTTL", world.keys()[1]) > 59000 + DAY_MS
    fence = world.fence()
    world.acquire("b", floor=START_US + 10**9, lease=1000)
    assert world.fence() == fence


def test_floor_of_a_waiter_behind_a_foreign_holder_expires(world):
    world.redis("SET", world.name, "stranger", "PX", 9000)
    world.acquire("b", floor=START_US + 10**9)

    assert DAY_MS < world.redis("PTTL", world.keys()[1]) <= DAY_MS + 10000


def test_highest_fences_are_exact(world):
    highest = 2**53 - 1_000_010
    assert hold(world, "a", floor=highest) == highest + 1
    assert hold(world, "b") == highest + 2
    assert world.record()[b"fence"] == b"%d" % (highest + 2)


@pytest.mark.parametrize("lease", [1, 1000, 365 * DAY_MS])
def test_record_outlives_the_lease_by_a_day(world, lease):
    world.acquire("a", lease=lease)

    assert (
        lease + DAY_MS - 1000 < world.redis("PTTL", world.keys()[1]) <= lease + DAY_MS
    )


def test_record_outlives_a_granted_lease_by_a_day(world):
    world.acquire("a", lease=1000)
    world.queue("b")
    world.redis("PEXPIRE", world.keys()[1], 10000)
    world.release("a")

    assert world.redis("PTTL", world.keys()[1]) > DAY_MS + 4000
    world.redis("PEXPIRE", world.keys()[1], 10000)
    world.extend("b", 60000)
    assert world.redis("PTTL", world.keys()[1]) > DAY_MS + 59000


def test_hand_overs_of_all_kinds_rise_strictly(world):
    fences = [world.acquire("a")[2]]
    for token, ask in (
        ("b", world.acquire),
        ("r", world.read),
        ("s", world.read),
        ("w", world.acquire),
    ):
        world.listen(f"c-{token}")
        ask(token)
    world.release("a")
    world.release("b")
    world.read_release("r")
    world.read_release("s")
    for token in ("b", "r", "s", "w"):
        fences.append(int(world.inbox(f"c-{token}")[0].split(b" ")[4]))
    world.release("w")
    fences.append(world.acquire("z")[2])

    assert fences == sorted(set(fences))


def test_shipped_clock_is_the_servers(real_world):
    seconds, micros = map(int, real_world.redis("TIME"))
    fence = real_world.acquire("a")[2]

    assert 0 <= fence - (seconds * 1_000_000 + micros) < 60_000_000


def test_shipped_clock_may_come_before_writes_however_scripts_replicate(real_world):
    try:
        real_world.redis("CONFIG", "SET", "lua-replicate-commands", "no")
    except ReplyError:
        pytest.skip("nothing to test: this server replicates effects only")
    try:
        assert real_world.acquire("a")[0] == "HELD"
        assert real_world.extend("a")[0] == "HELD"
        real_world.listen("c-b")
        real_world.acquire("b")
        real_world.release("a")
        assert real_world.holder() == b"b"
    finally:
        real_world.redis("CONFIG", "SET", "lua-replicate-commands", "yes")
