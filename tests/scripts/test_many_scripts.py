# SPDX-License-Identifier: MIT
"""many_*: several names, all or none, one fence."""

from world import DAY_MS, START_US, keys_of

NAMES = (b"a", b"b", b"c")
KEYS = [key for name in NAMES for key in keys_of(name)]


def acquire(world, token="t", lease=10000, floor=0):
    return world.call("many_acquire", KEYS, token, lease, f"host:{token}", floor)


def release(world, token="t", limit=16):
    return world.call("many_release", KEYS, token, 5000, limit, 6000)


def extend(world, token="t", lease=10000, fence=0, renews=0):
    return world.call("many_extend", KEYS, token, lease, renews, fence)


def fences(world):
    return [int(world.redis("HGET", keys_of(name)[1], "fence")) for name in NAMES]


def queue(world, name, token):
    world.name = name
    world.listen(f"c-{token}")
    assert world.acquire(token)[0] == "QUEUED"


def test_all_free_are_taken_with_one_fence_above_each(world):
    world.name = b"b"
    world.acquire("x", floor=START_US + 500)
    world.release("x")

    assert acquire(world) == ["HELD", 10000, START_US + 502, START_US]
    assert world.redis("MGET", *NAMES) == [b"t"] * 3
    assert fences(world) == [START_US + 502] * 3
    for name in NAMES:
        assert world.redis("PTTL", name) > 9000
        assert world.redis("PTTL", keys_of(name)[1]) > 9000 + DAY_MS


def test_floor_lifts_the_fence(world):
    assert acquire(world, floor=START_US + 9)[2] == START_US + 10


def test_one_busy_name_is_returned_and_nothing_is_written(world):
    world.name = b"b"
    world.acquire("x")
    before = world.dump()

    code, index, pttl, now, ours = acquire(world)

    assert (code, index, now, ours) == ("BUSY", 1, START_US, 1)
    assert 9000 < pttl <= 10000
    assert world.dump() == before


def test_foreign_holder_is_busy_and_not_ours(world):
    world.redis("SET", b"c", "stranger")

    assert acquire(world) == ["BUSY", 2, -1, START_US, 0]


def test_readers_are_busy(world):
    world.name = b"a"
    world.read("r")

    assert acquire(world)[0:2] == ["BUSY", 0]


def test_free_but_awaited_name_is_busy(world):
    world.name = b"c"
    world.acquire("x")
    world.acquire("y")
    world.expire()

    assert acquire(world) == ["BUSY", 2, -2, START_US, 0]
    assert world.redis("EXISTS", *NAMES) == 0


def test_retry_returns_its_hold(world):
    first = acquire(world)
    world.advance(100)
    world.redis("PEXPIRE", b"b", 3000)

    code, left, fence, _ = acquire(world)

    assert (code, fence) == ("HELD", first[2])
    assert 2000 < left <= 3000


def test_retry_that_lost_one_takes_all_again_with_a_new_fence(world):
    first = acquire(world)
    world.redis("DEL", b"b")

    again = acquire(world)

    assert again[0] == "HELD" and again[2] > first[2]
    assert world.redis("MGET", *NAMES) == [b"t"] * 3
    assert fences(world) == [again[2]] * 3


def test_release_gives_all_up_and_hands_each_over(world):
    acquire(world)
    queue(world, b"a", "x")
    queue(world, b"c", "y")

    assert release(world) == ["RELEASED", 0, 0]
    assert world.redis("MGET", *NAMES) == [b"x", None, b"y"]
    assert world.inbox("c-x")[0].endswith(b" a")
    assert world.inbox("c-y")[0].endswith(b" c")


def test_release_with_one_lost_releases_the_others(world):
    acquire(world)
    world.redis("SET", b"b", "thief")

    assert release(world)[0] == "LOST"
    assert world.redis("MGET", *NAMES) == [None, b"thief", None]


def test_retried_release_has_lost_all(world):
    acquire(world)
    release(world)

    assert release(world)[0] == "LOST"


def test_release_says_more(world):
    acquire(world)
    for token in ("d0", "d1", "d2"):
        queue(world, b"b", token)
    world.advance(7000)

    assert release(world, limit=2) == ["RELEASED", 1, 0]


def test_extend_sets_every_lease(world):
    fence = acquire(world, lease=1000)[2]
    for name in NAMES:
        world.redis("PEXPIRE", keys_of(name)[1], 10000)

    assert extend(world, lease=60000) == ["HELD", 60000, fence, START_US]
    for name in NAMES:
        assert world.redis("PTTL", name) > 59000
        assert world.redis("PTTL", keys_of(name)[1]) > 59000 + DAY_MS


def test_extend_raises_every_fence_below(world):
    fence = acquire(world)[2]

    assert extend(world, fence=fence + 7)[2] == fence + 7
    assert fences(world) == [fence + 7] * 3
    assert extend(world, fence=fence)[2] == fence + 7
    assert fences(world) == [fence + 7] * 3


def test_extend_with_one_lost_changes_nothing(world):
    acquire(world, lease=1000)
    world.redis("SET", b"c", "thief", "PX", 1000)

    assert extend(world, lease=60000, fence=START_US + 99)[0] == "LOST"
    assert world.redis("PTTL", b"a") <= 1000
    assert fences(world)[0] == START_US


def test_free_name_for_which_only_the_dead_wait_is_taken(world):
    world.name = b"c"
    world.acquire("x")
    world.acquire("y")
    world.acquire("z")
    world.expire()
    world.advance(6000)

    assert acquire(world)[0] == "BUSY"
    world.advance(1)
    assert acquire(world)[0] == "HELD"
    assert release(world)[0] == "RELEASED"
    assert world.line() == []


def test_waiters_of_before_the_clock_was_set_back_keep_nobody_out(world):
    """As in a hand-over, until their clients refresh."""
    world.name = b"c"
    world.acquire("x")
    world.acquire("y")
    world.expire()
    world.set_clock(world.now - 3_600_000_000)

    assert acquire(world)[0] == "HELD"
    release(world)
    world.refresh("c-y")
    assert acquire(world)[0] == "BUSY"
