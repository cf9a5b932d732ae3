# SPDX-License-Identifier: MIT
"""Sharing a name with other libraries, which poll: when it is left free, and for whom."""

import pytest

FREE_MS = 100
OURS_LEAST_MS = 150


def polled(world):
    return [int(number) for number in world.record()[b"polled"].split()]


def foreign(world, ms=0, value="theirs"):
    """Another library holds for `ms`, while the first of our waiters looks."""
    world.redis("SET", world.name, value, "PX", 60000)
    first = world.line()[0].decode()
    for step in range(0, ms + 1, 50):
        world.refresh(f"c-{first}")
        world.advance(min(50, ms - step))
    world.redis("DEL", world.name)
    return first


@pytest.fixture
def shared(world):
    """`b` holds behind a foreign holder that had 300 ms, and `c` and `d` wait."""
    world.redis("SET", world.name, "theirs", "PX", 60000)
    world.queue("b", "c", "d")
    foreign(world, 300)
    world.refresh("c-b")
    assert world.holder() == b"b"
    for token in "bcd":
        world.inbox(f"c-{token}")
    return world


def leave_free(shared):
    """A release of ours at which it is the turn of others."""
    shared.advance(300)
    assert shared.release("b") == ["RELEASED", 0, 0]
    assert shared.holder() is None


# -- what is written down


def test_a_foreign_holder_is_written_down(world):
    world.redis("SET", world.name, "theirs", "PX", 60000)
    world.queue("b")
    began = world.now // 1000

    assert polled(world) == [began, began, 0]
    world.advance(50)
    world.refresh("c-b")
    assert polled(world) == [began, began + 50, 0]
    assert world.record()[b"poller"] == b"%d theirs" % began


def test_a_look_soon_after_another_writes_nothing(world):
    world.redis("SET", world.name, "theirs", "PX", 60000)
    world.queue("b")
    world.advance(10)
    world.refresh("c-b")
    before = polled(world)

    world.advance(5)
    world.refresh("c-b")

    assert polled(world) == before


def test_their_time_begins_anew_after_a_hold_of_ours(shared):
    shared.advance(40)
    shared.redis("SET", shared.name, "again", "PX", 60000)
    shared.refresh("c-c")

    assert polled(shared)[:2] == [shared.now // 1000] * 2


def test_nothing_is_written_where_only_ours_are(world):
    world.acquire("a")
    world.queue("b")
    world.release("a")
    world.refresh("c-b")

    assert b"polled" not in world.record()
    assert b"poller" not in world.record()


def test_a_record_that_a_look_creates_expires(world):
    world.redis("SET", world.name, "theirs", "PX", 60000)
    world.queue("b")

    assert world.redis("PTTL", world.keys()[1]) > 0
    assert b"fence" not in world.record()
    world.redis("DEL", world.name)
    assert world.refresh("c-b", world.entry("b"))[4] == 1  # HELD


# -- how often to look


def test_only_the_client_of_the_first_waiter_looks_often(world):
    world.redis("SET", world.name, "theirs", "PX", 60000)
    world.queue("b", "c")

    assert world.refresh("c-b")[3] == -5
    assert world.refresh("c-c")[3] == 0
    world.advance(1000)
    assert world.refresh("c-b")[3] == -20
    world.redis("SET", world.name, "another", "PX", 60000)
    assert world.refresh("c-b")[3] == -5


# -- whose turn it is


def test_release_leaves_the_name_free_after_a_turn_as_long_as_theirs(shared):
    shared.advance(290)
    assert shared.release("b") == ["RELEASED", 0, 0]
    assert shared.holder() == b"c"
    shared.advance(10)

    assert shared.release("c") == ["RELEASED", 0, 0]

    assert shared.holder() is None
    assert shared.line() == [b"d"]
    assert shared.inbox("c-d") == [b"1 wake w-d orders"]
    assert polled(shared)[2] == shared.now // 1000 + FREE_MS


def test_our_turn_has_a_least_length(world):
    world.redis("SET", world.name, "theirs", "PX", 60000)
    world.queue("b", "c", "d")
    foreign(world)
    world.refresh("c-b")

    world.advance(OURS_LEAST_MS - 1)
    world.release("b")
    assert world.holder() == b"c"
    world.advance(1)
    world.release("c")
    assert world.holder() is None


def test_a_time_that_nobody_took_costs_a_longer_turn(shared):
    leave_free(shared)
    shared.advance(FREE_MS)
    shared.refresh("c-c")
    assert shared.holder() == b"c"

    shared.advance(4 * FREE_MS - 1)
    shared.release("c")
    assert shared.holder() == b"d"
    shared.queue("e")
    shared.advance(1)
    shared.release("d")
    assert shared.holder() is None


@pytest.mark.parametrize("gone_ms", [60_000, -1_000_000])
def test_after_a_minute_or_with_the_clock_set_back_all_is_as_before(shared, gone_ms):
    shared.advance(gone_ms)
    shared.refresh("c-c", shared.entry("c"))
    shared.release("b")

    assert shared.holder() == b"c"


def test_only_a_release_leaves_the_name_free(shared):
    shared.advance(300)
    shared.expire()
    shared.refresh("c-c")

    assert shared.holder() == b"c"


def test_the_name_is_free_at_once_when_nobody_of_ours_waits(shared):
    shared.cancel("c")
    shared.cancel("d")
    shared.advance(300)
    before = polled(shared)
    shared.release("b")

    assert polled(shared) == before
    assert shared.acquire("z")[0] == "HELD"


# -- whom it binds


def test_the_waiter_that_comes_back_gets_the_time(shared):
    leave_free(shared)
    shared.advance(30)

    assert shared.acquire("c") == ["QUEUED", FREE_MS - 30, shared.now, 1]
    assert shared.line() == [b"c", b"d"]


@pytest.mark.parametrize("barge", [0, 1])
def test_it_binds_a_try_and_a_newcomer(shared, barge):
    leave_free(shared)

    assert shared.acquire("z", wait=False, barge=barge)[:2] == ["BUSY", FREE_MS]
    shared.listen("c-z")
    assert shared.acquire("z", barge=barge)[:2] == ["QUEUED", FREE_MS]
    assert shared.holder() is None


def test_it_binds_a_try_when_the_waiters_have_left(shared):
    leave_free(shared)
    shared.cancel("c")
    shared.cancel("d")

    assert shared.acquire("z", wait=False)[:2] == ["BUSY", FREE_MS]
    shared.advance(FREE_MS)
    assert shared.acquire("z", wait=False)[0] == "HELD"


def test_it_binds_readers_and_locks_of_several_names(shared):
    leave_free(shared)

    assert shared.read("r", wait=False)[:2] == ["BUSY", FREE_MS]
    keys = shared.keys()
    assert shared.call("many_acquire", keys, "m", 1000, "h", 0) == [
        "BUSY",
        0,
        FREE_MS,
        shared.now,
        1,
    ]


def test_it_binds_a_claim_and_runs_out_by_itself(shared):
    leave_free(shared)

    assert shared.refresh("c-d", shared.entry("d"))[:2] == ["BUSY", FREE_MS]
    assert shared.holder() is None
    shared.advance(FREE_MS)
    assert shared.refresh("c-d", shared.entry("d"))[0] == "BUSY"
    assert shared.holder() == b"c"


def test_a_waiter_that_leaves_wakes_the_next_to_come_back(shared):
    leave_free(shared)
    shared.inbox("c-c")

    shared.cancel("c")

    assert shared.holder() is None
    assert shared.inbox("c-d") == [b"1 wake w-d orders"]


def test_a_reader_that_leaves_wakes_the_next_to_come_back(shared):
    shared.cancel("c")
    shared.cancel("d")
    shared.queue("r", reads=True)
    shared.queue("e")
    leave_free(shared)
    assert shared.inbox("c-r") == [b"1 wake w-r orders"]

    shared.read_cancel("r")

    assert shared.holder() is None
    assert shared.inbox("c-e") == [b"1 wake w-e orders"]


def test_a_lock_that_another_library_released_is_ours_at_once(shared):
    leave_free(shared)
    shared.redis("SET", shared.name, "theirs", "PX", 60000)
    shared.advance(10)
    assert shared.refresh("c-c", shared.entry("c"))[3] < 0
    shared.redis("DEL", shared.name)
    shared.advance(10)

    shared.refresh("c-c")

    assert shared.holder() == b"c"


@pytest.mark.parametrize("text", ["", "x", "1 2", "9" * 400 + " 1 1", "1 1 1 1"])
def test_a_field_that_is_none_is_as_none(shared, text):
    shared.redis("HSET", shared.keys()[1], "polled", text)
    shared.advance(1000)

    shared.release("b")

    assert shared.holder() == b"c"
