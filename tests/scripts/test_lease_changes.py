# SPDX-License-Identifier: MIT
"""A late renewal, a repeated release and a repeated break: their replies."""

import pytest
from permits import Semaphore
from test_many_scripts import acquire as acquire_many
from test_many_scripts import extend as extend_many
from test_many_scripts import release as release_many
from test_redisson_scripts import CHANNEL
from test_redisson_scripts import extend as extend_redisson
from world import START_US, keys_of


@pytest.fixture
def sem(world):
    return Semaphore(world)


# -- a renewal never shortens, an extend sets


def lock(world, scripts):
    world.acquire("a", lease=60000)
    return world.extend, lambda: world.redis("PTTL", world.name)


def reader(world, scripts):
    world.read("a", lease=60000)
    end = lambda: int(world.redis("ZSCORE", world.keys()[4], "a"))  # noqa: E731
    return world.read_extend, lambda: end() - world.now // 1000


def redisson(world, scripts):
    world.acquire("a", script="redisson_acquire", lease=60000)
    return (
        lambda *ask: extend_redisson(world, *ask),
        lambda: world.redis("PTTL", world.name),
    )


def many(world, scripts):
    acquire_many(world, "a", lease=60000)
    return (
        lambda token, lease, renews: extend_many(world, token, lease, renews=renews),
        lambda: world.redis("PTTL", b"b"),
    )


@pytest.mark.parametrize("kind", [lock, reader, redisson, many])
def test_only_an_extend_shortens(world, scripts, kind):
    extend, left = kind(world, scripts)

    code, lease, *_ = extend("a", 5000, 1)
    assert code == "HELD"
    assert 50000 < lease <= 60000 and 50000 < left() <= 60000

    assert extend("a", 5000, 0)[:2] == ["HELD", 5000]
    assert 4000 < left() <= 5000

    assert extend("a", 30000, 1)[:2] == ["HELD", 30000]
    assert 20000 < left() <= 30000


def test_only_an_extend_of_permits_shortens(sem):
    sem.acquire("a", lease=60000)

    assert sem.extend("a", 5000, 1)[1] == 60000
    assert sem.extend("a", 5000, 0)[1] == 5000
    assert sem.extend("a", 30000, 1)[1] == 30000


def test_only_an_extend_of_a_term_shortens(election):
    election.campaign("a", lease=60000)

    assert 50000 < election.renew("a", 5000, 1)[1] <= 60000
    assert election.renew("a", 5000, 0)[1] == 5000
    assert election.renew("a", 30000, 1)[1] == 30000


def test_a_key_without_expiry_gets_one(world):
    world.redis("SET", world.name, "a")

    assert world.extend("a", 5000, 1)[:2] == ["HELD", 5000]
    assert 0 < world.redis("PTTL", world.name) <= 5000


# -- what the record returns to a release that finds its token gone


def test_the_record_is_as_old_as_its_first_hold(world):
    world.acquire("a")
    world.release("a")
    world.advance(5000)
    world.acquire("b")
    world.release("b")

    assert world.release("b") == ["LOST", START_US, 0, b""]


def test_a_record_that_was_lost_is_younger(world):
    world.acquire("a")
    world.redis("FLUSHALL")
    world.set_clock(START_US + 7_000_000)

    assert world.release("a") == ["LOST", 0, 0, b""]
    world.acquire("b")
    assert world.release("a") == ["LOST", START_US + 7_000_000, 0, b""]


def test_a_waiter_that_creates_the_record_dates_it(world):
    world.redis("SET", world.name, "stranger", "PX", 5000)
    world.acquire("b", floor=START_US + 50)
    world.advance(1000)
    world.expire()
    world.listen("c-b")
    world.refresh("c-b", world.entry("b"))

    assert world.release("a") == ["LOST", START_US, 0, b""]


@pytest.mark.parametrize("named", [True, False])
def test_a_break_marks_the_hold_that_it_ends(world, named):
    fence = world.acquire("a")[2]
    world.break_lock("a" if named else "", request="r1")
    world.acquire("b")

    assert world.release("a") == ["LOST", START_US, -1, b""]
    world.release("b")
    assert world.release("b") == ["LOST", START_US, fence, b""]


def test_a_break_of_one_reader_is_its_own(world):
    world.read("a")
    fence = world.read("b")[2]
    world.break_lock("a", request="r1")

    assert world.read_release("a") == ["LOST", START_US, -1, b""]
    world.read_release("b")
    assert world.read_release("b") == ["LOST", START_US, fence, b""]


def test_a_break_of_all_readers_is_everybodys(world):
    world.read("a")
    fence = world.read("b")[2]
    world.break_lock("", request="r1")

    assert world.read_release("a") == ["LOST", START_US, fence, b""]
    assert world.read_release("b") == ["LOST", START_US, fence, b""]


def test_a_break_of_a_foreign_hold_is_marked_for_a_day(world):
    world.redis("SET", world.name, "stranger", "PX", 5000)
    world.break_lock("", request="r1")

    assert world.redis("PTTL", world.keys()[1]) > 86_000_000


@pytest.mark.parametrize("token", ["a", ""])
def test_a_repeated_break_breaks_nobody_else(world, token):
    world.acquire("a")
    assert world.break_lock(token, request="r1") == ["RELEASED", 0, 0]
    world.acquire("b")

    assert world.break_lock(token, request="r1") == ["RELEASED", 0, 0]

    assert world.holder() == b"b"
    assert world.break_lock("", request="r2") == ["RELEASED", 0, 0]
    assert world.holder() is None


def break_redisson(world, owner, request):
    keys = world.keys()
    return world.call("redisson_release", keys, owner, CHANNEL, 5000, 16, 6000, request)


def test_a_break_of_a_redisson_lock_leaves_the_mark(world):
    world.acquire("a", script="redisson_acquire")
    assert break_redisson(world, "a", "r1") == ["RELEASED", 0, 0]
    world.acquire("b", script="redisson_acquire")

    assert break_redisson(world, "a", "r1") == ["RELEASED", 0, 0]
    assert break_redisson(world, "a", "") == ["LOST", START_US, -1, b""]
    assert world.redis("HGET", world.name, "b") == b"1"


def test_many_names_return_the_youngest_record_and_any_break(world):
    acquire_many(world, "a")
    assert release_many(world, "a")[0] == "RELEASED"
    assert release_many(world, "a") == ["LOST", START_US, 0, 3, 0]

    world.redis("DEL", keys_of(b"b")[1])
    assert release_many(world, "a") == ["LOST", 0, 0, 3, 0]

    world.name = b"c"
    world.acquire("a")
    world.break_lock("a", request="r1")
    assert release_many(world, "a") == ["LOST", 0, -1, 3, 0]


def test_a_semaphore_and_an_election_return_the_age_of_their_records(sem, election):
    sem.acquire("a")
    sem.release("a")
    assert sem.release("a")[:3] == ["LOST", START_US, 0]

    election.campaign("a")
    election.resign("a")
    assert election.resign("a")[:3] == ["LOST", START_US, 0]


def test_a_release_on_a_full_server_still_breaks(world):
    world.acquire("a")
    world.redis("CONFIG", "SET", "maxmemory", "1")
    try:
        assert world.break_lock("", request="r1") == ["RELEASED", 0, 0]
    finally:
        world.redis("CONFIG", "SET", "maxmemory", "0")
    assert world.holder() is None


@pytest.mark.parametrize("named", [True, False])
def test_the_holder_finds_who_broke_its_hold(world, named):
    world.acquire("a")
    world.break_lock("a" if named else "", request="r1 web-1:7 of x")

    assert world.extend("a") == ["LOST", START_US, -1, b"web-1:7 of x"]
    assert world.release("a") == ["LOST", START_US, -1, b"web-1:7 of x"]
    assert world.extend("b")[3] == b""


def test_all_readers_find_who_broke_their_hold(world):
    world.read("a")
    fence = world.read("b")[2]
    world.break_lock("", request="r1 web-1:7")

    assert world.read_extend("a") == ["LOST", START_US, fence, b"web-1:7"]
    assert world.read_release("b") == ["LOST", START_US, fence, b"web-1:7"]
