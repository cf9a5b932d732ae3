# SPDX-License-Identifier: MIT
"""A server that refuses the semaphore's scripts, and what they cost it."""

import pytest
from permits import Semaphore
from resp import Connection, ReplyError
from test_inner_calls import inner_calls


@pytest.fixture
def sem(world):
    return Semaphore(world)


# -- a server that refuses

CALLS = {
    "semaphore_acquire": lambda s: s.acquire("b"),
    "semaphore_release": lambda s: s.release("b"),
    "semaphore_cancel": lambda s: s.cancel("b"),
    "semaphore_extend": lambda s: s.extend("b"),
    "semaphore_refresh": lambda s: s.refresh("c-b", s.entry("b")),
    "semaphore_limit": lambda s: s.set_limit(2),
    "semaphore_inspect": lambda s: s.inspect(),
}


@pytest.mark.parametrize("call", CALLS)
def test_wrong_type_at_the_key_is_raised_and_nothing_written(sem, call):
    sem.world.redis("SET", sem.key, "x")
    before = sem.world.dump()

    with pytest.raises(ReplyError, match="WRONGTYPE"):
        CALLS[call](sem)
    assert sem.world.dump() == before


def test_wrong_type_at_the_record_takes_no_permit(sem):
    sem.world.redis("SET", sem.keys[1], "x")

    with pytest.raises(ReplyError, match="WRONGTYPE"):
        sem.acquire("a")
    assert sem.used() == 0


@pytest.fixture
def full(world):
    """Call it to make the server refuse whatever needs memory."""
    yield lambda: world.redis("CONFIG", "SET", "maxmemory", "1")
    world.redis("CONFIG", "SET", "maxmemory", "0")


def test_without_memory_nothing_is_taken_and_nobody_enqueued(sem, full):
    sem.acquire("a", 2)
    before = sem.world.dump()
    full()

    for permits in (1, 2):
        with pytest.raises(ReplyError, match="OOM"):
            sem.acquire("b", permits)
    assert sem.world.dump() == before


def test_without_memory_release_works_and_hands_over(sem, full):
    sem.acquire("a", 3)
    sem.queue("b", ("c", 2))
    full()

    assert sem.release("a") == ["RELEASED", 0, 0]
    assert sem.holders() == {"b": 1, "c": 2}


def test_without_memory_a_hold_is_renewed(sem, full):
    sem.acquire("a", 2)
    sem.world.advance(5000)
    full()

    assert sem.extend("a")[:2] == ["HELD", 10000]
    sem.world.redis("CONFIG", "SET", "maxmemory", "0")
    sem.world.advance(9999)
    assert sem.used() == 2


def test_a_user_that_may_not_publish_releases_and_leaves_the_permits_free(sem):
    sem.acquire("a", 3)
    sem.queue("b")
    sem.world.redis(
        "ACL", "SETUSER", "mute", "on", ">x", "~*", "+@all", "resetchannels"
    )
    mute = Connection(sem.world.path)
    mute("AUTH", "mute", "x")

    assert sem.release("a", via=mute) == ["RELEASED", 0, 1]
    assert sem.used() == 0 and sem.line() == ["b"]
    mute.close()
    sem.world.redis("ACL", "DELUSER", "mute")


# -- what it costs


def test_an_acquire_and_a_release_without_a_line_cost_little(real_world):
    sem = Semaphore(real_world)
    sem.acquire("warm")
    sem.release("warm")

    taking = inner_calls(real_world, lambda: sem.acquire("a"))
    giving = inner_calls(real_world, lambda: sem.release("a"))

    assert sum(taking.values()) == 10
    assert sum(giving.values()) == 6


def test_a_hand_over_costs_the_same_however_long_the_line(real_world):
    sem = Semaphore(real_world, 1)
    sem.acquire("a")
    sem.queue("b", "c")
    short = inner_calls(real_world, lambda: sem.release("a"))
    for i in range(60):
        sem.acquire(f"t{i}")

    assert inner_calls(real_world, lambda: sem.release("b")) == short
    assert sem.granted("c-c")
