# SPDX-License-Identifier: MIT
"""redisson_*: the layout of Redisson's RLock, a hash owner -> count."""

import pytest
from resp import Inbox, ReplyError
from world import DAY_MS, START_US

A = "0b7c9a3e-5d0f-4a51-9d0b-0d4a5f2f7a11:1"
B = "5f1d1d0a-8f2b-4b6e-8a36-1c1b1a0f0e22:7"
JAVA = "9e107d9d-3720-4b6c-a3b1-55c0ffee0001:52"
CHANNEL = b"redisson_lock__channel:{orders}"


@pytest.fixture
def channel(world):
    inbox = Inbox(world.path, CHANNEL)
    yield inbox
    inbox.close()


def acquire(world, owner, **options):
    return world.acquire(owner, script="redisson_acquire", **options)


def release(world, owner):
    return world.call(
        "redisson_release", world.keys(), owner, CHANNEL, 5000, 16, 6000, ""
    )


def cancel(world, owner):
    return world.call(
        "redisson_cancel",
        world.keys(),
        world.entry(owner, kind="w"),
        owner,
        CHANNEL,
        5000,
        16,
        6000,
    )


def extend(world, owner, lease=10000, renews=0):
    return world.call("redisson_extend", world.keys(2), owner, lease, renews)


def refresh(world, client, *entries, limit=16):
    return world.refresh(client, *entries, script="redisson_refresh", limit=limit)


def java_holds(world, owner=JAVA, count=1, lease=30000):
    """The hash that Redisson's own script writes."""
    world.redis("HINCRBY", world.name, owner, count)
    world.redis("PEXPIRE", world.name, lease)


def queue(world, owner):
    world.listen(f"c-{owner}")
    assert acquire(world, owner)[0] == "QUEUED"


def test_free_lock_is_taken_in_redissons_form(world):
    assert acquire(world, A) == ["HELD", 10000, START_US, START_US]
    assert world.redis("HGETALL", world.name) == [A.encode(), b"1"]
    assert 9000 < world.redis("PTTL", world.name) <= 10000
    assert world.redis("PTTL", world.keys()[1]) > 9000 + DAY_MS


def test_retried_acquire_keeps_the_count_at_one(world):
    fence = acquire(world, A)[2]

    assert acquire(world, A)[2] == fence
    assert world.redis("HGETALL", world.name) == [A.encode(), b"1"]


def test_redissons_hold_is_busy_and_not_ours(world):
    java_holds(world, count=2)

    code, pttl, _, ours = acquire(world, A, wait=False)

    assert (code, ours) == ("BUSY", 0)
    assert 29000 < pttl <= 30000
    assert world.redis("HGETALL", world.name) == [JAVA.encode(), b"2"]


def test_our_hold_is_busy_and_ours(world):
    acquire(world, A)

    assert acquire(world, B, wait=False)[3] == 1
    assert acquire(world, B)[0] == "QUEUED"
    assert world.line() == [B.encode()]


def test_redissons_hold_after_ours_is_not_ours(world):
    acquire(world, A)
    release(world, A)
    java_holds(world)

    assert acquire(world, B)[3] == 0


def test_newcomer_passes_the_line(world):
    acquire(world, A)
    queue(world, B)
    world.expire()

    assert acquire(world, JAVA)[0] == "HELD"
    assert world.line() == [B.encode()]


def test_waiter_that_takes_the_lock_leaves_the_line(world):
    acquire(world, A)
    queue(world, B)
    world.expire()

    assert acquire(world, B)[0] == "HELD"
    assert world.line() == []


def test_release_publishes_to_redisson_and_wakes_our_first(world, channel):
    acquire(world, A)
    queue(world, B)

    assert release(world, A) == ["RELEASED", 0, 0]
    assert world.redis("EXISTS", world.name) == 0
    assert channel.take() == [b"0"]
    assert world.inbox(f"c-{B}") == [b"1 wake w-%s orders" % B.encode()]
    assert world.line() == []


def test_release_by_stranger_is_lost_and_silent(world, channel):
    java_holds(world)

    assert release(world, A)[0] == "LOST"
    assert world.redis("HGETALL", world.name) == [JAVA.encode(), b"1"]
    assert channel.take() == []


def test_retried_release_is_lost(world):
    acquire(world, A)
    release(world, A)

    assert release(world, A)[0] == "LOST"


def test_redissons_unlock_sees_our_lock_as_one_hold(world):
    acquire(world, A)

    assert world.redis("HINCRBY", world.name, A, -1) == 0


def test_cancel_leaves_the_line(world, channel):
    java_holds(world)
    queue(world, A)

    assert cancel(world, A) == ["GONE"]
    assert world.line() == []
    assert channel.take() == []


def test_cancel_after_the_wake_wakes_the_next(world):
    acquire(world, A)
    queue(world, B)
    queue(world, JAVA)
    release(world, A)

    assert cancel(world, B) == ["GONE"]
    assert len(world.inbox(f"c-{JAVA}")) == 1


def test_cancel_of_a_hold_releases_it(world, channel):
    acquire(world, A)

    assert cancel(world, A) == ["RELEASED", 0, 0]
    assert world.redis("EXISTS", world.name) == 0
    assert channel.take() == [b"0"]


def test_extend_sets_the_lease(world):
    fence = acquire(world, A, lease=1000)[2]

    assert extend(world, A, 60000) == ["HELD", 60000, fence, START_US]
    assert world.redis("PTTL", world.name) > 59000


def test_extend_by_stranger_is_lost(world):
    java_holds(world)

    assert extend(world, A)[0] == "LOST"


def test_refresh_returns_how_waiters_stand(world):
    acquire(world, A)
    queue(world, B)

    reply = refresh(
        world,
        f"c-{B}",
        world.entry(B, kind="w"),
        world.entry(A, kind="w"),
        world.entry(JAVA, kind="w"),
    )

    assert reply[0] == "BUSY" and reply[3] == 1
    assert reply[4:7] == [3, 0, 0]
    assert reply[7] == 1 and reply[9] == world.fence()
    assert reply[10:] == [7, 0, 0]


def test_refresh_on_a_free_key_wakes_the_first(world):
    java_holds(world)
    queue(world, A)
    queue(world, B)
    world.expire()

    reply = refresh(world, f"c-{B}", world.entry(B, kind="w"))

    assert reply[:2] == ["FREE", -2] and reply[4] == 3
    assert len(world.inbox(f"c-{A}")) == 1


def test_refresh_keeps_its_client_alive(world):
    acquire(world, A)
    queue(world, B)
    world.advance(4000)
    refresh(world, f"c-{B}", world.entry(B, kind="w"))
    world.advance(4000)

    release(world, A)

    assert len(world.inbox(f"c-{B}")) == 1


def test_floor_of_a_waiter_lifts_the_next_fence(world):
    java_holds(world)
    acquire(world, A, floor=START_US + 99)
    world.expire()

    assert acquire(world, B)[2] == START_US + 101


def test_refresh_says_more(world):
    java_holds(world)
    for i in range(3):
        queue(world, f"dead:{i}")
    world.advance(7000)
    queue(world, B)
    world.expire()

    assert refresh(world, f"c-{B}", world.entry(B, kind="w"), limit=2)[0] == "MORE"
    assert refresh(world, f"c-{B}", world.entry(B, kind="w"), limit=2)[0] == "FREE"
    assert len(world.inbox(f"c-{B}")) == 1


def test_inspect_names_redissons_owner(world):
    java_holds(world)

    reply = world.inspect()

    assert reply[:3] == ["HELD", b"hash", b""]
    assert reply[11] == JAVA.encode()


def test_inspect_takes_no_owner_from_a_hash_of_many_fields(world):
    java_holds(world)
    world.redis("HSET", world.name, "mode", "read")

    assert world.inspect()[11] == b""


@pytest.mark.parametrize(
    "call",
    [
        lambda w: acquire(w, A),
        lambda w: acquire(w, A, wait=False),
        lambda w: release(w, A),
        lambda w: cancel(w, A),
        lambda w: extend(w, A),
        lambda w: refresh(w, "c", w.entry(A, kind="w")),
    ],
)
def test_plain_lock_is_the_wrong_type(world, call):
    world.redis("SET", world.name, "token")
    before = world.dump()

    with pytest.raises(ReplyError, match="WRONGTYPE"):
        call(world)
    assert world.dump() == before


def test_fence_goes_on_from_plain_locks_of_the_name(world):
    plain = world.acquire("a")[2]
    world.release("a")

    assert acquire(world, A)[2] == plain + 1
