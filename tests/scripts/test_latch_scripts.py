# SPDX-License-Identifier: MIT
"""latch_*: a number that is counted down, and those who wait for its end."""

import pytest
from resp import ReplyError
from state_world import Latch
from world import START_US


@pytest.fixture
def latch(world):
    return Latch(world, count=3)


def test_latch_that_nobody_touched_has_all_left_and_no_key(latch, world):
    assert latch.read() == ["STATE", 3]
    assert latch.wait("w", look=True) == ["BUSY", -1, START_US, 1]
    assert world.dump().keys() == {b"ilk:test:now"}


def test_it_counts_down_to_nothing_and_no_further(latch):
    left = [latch.count_down(f"t{i}")[1] for i in range(5)]

    assert left == [2, 1, 0, 0, 0]
    assert latch.read() == ["STATE", 0]


def test_it_counts_by_more_than_one_and_stops_at_nothing(latch):
    assert latch.count_down("t1", by=2)[1] == 1
    assert latch.count_down("t2", by=2)[1] == 0


def test_retry_counts_nothing_again(latch, world):
    latch.count_down("t1")
    latch.count_down("t2")
    before = world.dump()

    assert latch.count_down("t1") == ["STATE", 1, 0, 0]
    assert world.dump() == before


def test_last_count_wakes_all_waiters(latch, world):
    latch.listen("p", "q")
    for token, client in (("a", "p"), ("b", "p"), ("c", "q")):
        assert latch.wait(token, client=client) == ["QUEUED", -1, START_US, 1]
    latch.count_down("t1", by=2)
    assert world.inbox("p") == []
    assert latch.line() == ["a", "b", "c"]

    assert latch.count_down("t2") == ["STATE", 0, 0, 0]

    assert world.inbox("p") == world.inbox("q") == [latch.change()]
    assert latch.wait("a", client="p") == ["STATE", 0]
    assert latch.line() == []


def test_retry_of_the_last_count_wakes_those_that_are_left(latch):
    for i in range(3):
        latch.wait(f"w{i}")

    assert latch.count_down("t1", by=3, limit=2) == ["STATE", 0, 1, 0]
    assert latch.count_down("t1", by=3, limit=2) == ["STATE", 0, 0, 0]
    assert latch.live() == []


def test_retry_of_an_earlier_count_wakes_nobody(latch, world):
    latch.listen("c-w")
    latch.count_down("t1")
    latch.wait("w")

    latch.count_down("t1")

    assert world.inbox("c-w") == []
    assert latch.live() == ["c-w"]


def test_late_comer_finds_it_open(latch, world):
    latch.count_down("t1", by=3)
    before = world.dump()

    assert latch.wait("w") == ["STATE", 0]
    assert world.dump() == before


def test_another_count_is_refused_with_the_one_on_record(latch, world):
    latch.count_down("t1")
    other, before = Latch(world, count=4), world.dump()

    assert other.read() == ["DIFFERS", 3]
    assert other.count_down("t2") == ["DIFFERS", 3]
    assert other.wait("w") == ["DIFFERS", 3]
    assert world.dump() == before


def test_the_first_waiter_puts_the_count_on_record(latch, world):
    latch.wait("w")

    assert Latch(world, count=4).count_down("t1") == ["DIFFERS", 3]


def test_it_goes_after_its_time_of_disuse(latch, world):
    latch.count_down("t1")
    assert 55_000 < world.redis("PTTL", latch.keys[0]) <= 60_000
    world.redis("DEL", latch.keys[0])

    assert latch.read() == ["STATE", 3]


def test_refresh_keeps_a_latch_that_is_waited_for(latch, world):
    latch.wait("w")
    world.redis("PEXPIRE", latch.keys[0], 1000)

    reply = latch.refresh("latch_refresh", "c-w", "w")

    assert reply == ["BUSY", -1, START_US, 1, 3, 0, 0]
    assert world.redis("PTTL", latch.keys[0]) > 55_000


def test_waiter_whose_message_was_lost_is_gone_at_its_refresh(latch):
    latch.wait("w")
    latch.count_down("t1", by=3)

    assert latch.refresh("latch_refresh", "c-w", "w")[4] == 7


def test_waiter_puts_a_latch_that_was_lost_on_record_again(latch, world):
    latch.wait("w")
    world.redis("DEL", latch.keys[0])

    assert latch.refresh("latch_refresh", "c-w", "w")[4] == 7
    assert latch.wait("w")[0] == "QUEUED"
    assert latch.refresh("latch_refresh", "c-w", "w")[4] == 3


def test_reset_begins_anew_and_lets_all_look_again(latch, world):
    latch.count_down("t1", by=2)
    latch.listen("c-w")
    latch.wait("w")
    other = Latch(world, count=5)

    assert other.reset("t2") == ["STATE", 5, 0, 0]

    assert world.inbox("c-w") == [latch.change()]
    assert latch.wait("w") == ["DIFFERS", 5]
    assert other.wait("w")[0] == "QUEUED"


def test_retried_reset_takes_no_count_back(latch):
    latch.reset("t1")
    latch.count_down("t2")

    assert latch.reset("t1")[1] == 2
    assert latch.read() == ["STATE", 2]


@pytest.mark.parametrize(
    "script, args",
    [
        ("latch_count_down", ("", 1, 1, 1, 1)),
        ("latch_count_down", ("t", 0, 1, 1, 1)),
        ("latch_count_down", ("t", 1, 0, 1, 1)),
        ("latch_count_down", ("t", 1, 1, 0, 1)),
        ("latch_wait", (b"no entry", "c", 1, 1, "t", 1, 1)),
        ("latch_wait", (b"", "c", 1, 1, "t", 1.5, 1)),
        ("latch_reset", ("t", 0, 1, 1)),
        ("latch_refresh", ("c", 1, 1, 1, 2)),
    ],
)
def test_misuse_is_refused_and_nothing_written(latch, world, script, args):
    before = world.dump()

    with pytest.raises(ReplyError, match="ILKARG"):
        latch.call(script, *args)
    assert world.dump() == before


def test_a_look_that_names_no_count_returns_it(latch):
    assert latch.call("latch_read", 0, keys=1) == ["STATE", 0, 0]
    latch.count_down("op:1")
    assert latch.call("latch_read", 0, keys=1) == [
        "STATE",
        latch.count - 1,
        latch.count,
    ]


def test_misuse_of_a_look_is_refused(latch):
    with pytest.raises(ReplyError, match="ILKARG"):
        latch.call("latch_read", -1, keys=1)


def test_wrong_type_is_refused_and_nothing_written(latch, world):
    world.redis("SET", latch.keys[0], "x")
    before = world.dump()

    for ask in (
        lambda: latch.count_down("t"),
        lambda: latch.wait("t"),
        latch.read,
    ):
        with pytest.raises(ReplyError, match="WRONGTYPE"):
            ask()
    assert world.dump() == before


def test_without_memory_a_latch_opens_but_nobody_is_enqueued(latch, world):
    latch.wait("w")
    world.redis("CONFIG", "SET", "maxmemory", "1")
    try:
        with pytest.raises(ReplyError, match="OOM"):
            latch.wait("v")
        assert latch.count_down("t1", by=3) == ["STATE", 0, 0, 0]
    finally:
        world.redis("CONFIG", "SET", "maxmemory", "0")
    assert latch.line() == []
