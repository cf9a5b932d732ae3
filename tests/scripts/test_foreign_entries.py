# SPDX-License-Identifier: MIT
"""Entries in a wait queue that this version did not write."""

import pytest
from resp import ReplyError

GARBAGE = [b"x%d" % i for i in range(2000)]


def fill(world, key, entries):
    pairs = [part for i, text in enumerate(entries) for part in (str(i), text)]
    for at in range(0, len(pairs), 1000):
        world.redis("ZADD", key, *pairs[at : at + 1000])


@pytest.mark.parametrize("text", [b"", b"x", b"1", b"1 x", b"1 x ", b"x c w t 1 1 me"])
def test_an_entry_of_no_version_is_removed(world, text):
    wait = world.keys()[2]
    world.listen("c-a")
    world.acquire("holder")
    world.redis("ZADD", wait, "-1", text)
    world.queue("a")

    world.release("holder")

    assert world.redis("GET", world.name) == b"a"
    assert world.redis("ZRANGE", wait, 0, -1) == []


def test_an_entry_of_another_version_stays_while_its_client_lives(world):
    wait, live = world.keys()[2:4]
    alive, dead = b"2 x c-new something", b"2 x c-dead something"
    world.listen("c-a")
    world.acquire("holder")
    world.redis("ZADD", wait, "-2", alive, "-1", dead)
    world.redis("ZADD", live, str(world.now // 1000 + 5000), "c-new")
    world.queue("a")

    world.release("holder")

    assert world.redis("GET", world.name) == b"a"
    assert world.redis("ZRANGE", wait, 0, -1) == [alive]


@pytest.mark.parametrize("way", ["release", "refresh"])
def test_an_entry_with_a_lease_of_0_is_passed_over(world, way):
    wait = world.keys()[2]
    world.listen("c-a")
    world.acquire("holder")
    world.redis("ZADD", wait, "-1", "1 x c-a w-0 t 0 1 me")
    world.queue("a")
    world.advance(1)

    if way == "release":
        assert world.release("holder") == ["RELEASED", 0, 0]
    else:
        world.expire()
        world.refresh("c-a", world.entry("a"))

    assert world.redis("GET", world.name) == b"a"
    assert world.record()[b"token"] == b"a"


def test_nobody_waits_with_a_lease_of_0(world):
    world.acquire("holder")
    world.queue("a")
    entry = world.entry("b", client="c-a", lease=0)

    with pytest.raises(ReplyError, match="ILKARG"):
        world.call("lock_acquire", world.keys(), "b", 1, "me", 0, entry, "c-a")


def test_each_step_over_garbage_makes_progress(world):
    """A refresh says MORE until a waiter behind any number of entries is served."""
    wait = world.keys()[2]
    world.listen("c-a")
    fill(world, wait, GARBAGE)
    world.queue("a") if world.redis("EXISTS", world.name) else world.acquire("a")
    entry = world.entry("a")

    refreshes = 0
    while world.redis("GET", world.name) != b"a":
        before = world.redis("ZCARD", wait)
        world.refresh("c-a", entry, limit=64)
        refreshes += 1
        assert world.redis("ZCARD", wait) < before

    assert refreshes <= 2000 // (16 * 64) + 1
