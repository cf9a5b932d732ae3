# SPDX-License-Identifier: MIT
"""recipes_*: the fair semaphore, the master, signals."""

import pytest
from recipes_calls import ONCE, T1, T2, T3, give_back, lead, permit, renew, single
from resp import Inbox
from world import START_US

# -- the fair semaphore


def test_there_are_as_many_permits_as_the_limit_says(world):
    assert permit(world, "a") == permit(world, "a") == ["HELD"]
    assert permit(world, "b") == ["HELD"]
    assert permit(world, "c") == ["BUSY"]
    assert give_back(world, "a") == give_back(world, "a") == ["RELEASED"]
    assert permit(world, "c") == ["HELD"]
    assert give_back(world, "a", T2) == ["LOST"]


def test_the_formats_are_those_of_the_document(world):
    permit(world, "a")
    permit(world, "b")

    seconds = world.redis("ZRANGE", "s", 0, -1, "WITHSCORES")
    turns = world.redis("ZRANGE", "s:owner", 0, -1, "WITHSCORES")
    assert seconds[::2] == turns[::2] == [b"a", b"b"]
    assert float(seconds[1]) == pytest.approx(START_US / 1e6)
    assert turns[1::2] == [b"1", b"2"]
    assert world.redis("GET", "s:counter") == b"2"


def test_permits_run_out_and_renewed_ones_do_not(world):
    permit(world, "a")
    permit(world, "b")
    world.advance(6000)
    assert renew(world, "a") == renew(world, "a") == ["HELD"]
    world.advance(5000)

    assert permit(world, "c") == ["HELD"]
    assert permit(world, "d") == ["BUSY"]
    assert renew(world, "b") == ["LOST"]
    assert world.redis("ZRANGE", "s", 0, -1) == [b"a", b"c"]
    assert sorted(world.redis("ZRANGE", "s:owner", 0, -1)) == [b"a", b"c"]


def test_an_identifier_that_only_a_late_refresh_put_there_is_lost(world):
    world.redis("ZADD", "s", START_US / 1e6, "phantom")

    assert renew(world, "phantom") == ["LOST"]
    assert world.redis("EXISTS", "s") == 0


def test_a_counter_that_was_lost_lets_nobody_in(world):
    permit(world, "a")
    permit(world, "b")
    world.redis("DEL", "s:counter")

    assert permit(world, "c") == ["BUSY"]
    give_back(world, "a")
    assert permit(world, "d") == ["HELD"]
    assert float(world.redis("ZSCORE", "s:owner", "d")) > 2


# -- the master


def test_the_master_stays_it_and_the_counter_counts(world):
    assert lead(world, "a" * 16, 0, T1) == ["HELD", 1]
    assert lead(world, "a" * 16, 0, T1) == ["HELD", 1]
    assert lead(world, "b" * 16, 0, T2) == ["BUSY"]
    assert lead(world, "a" * 16, 1, T3) == ["HELD", 2]
    assert world.redis("GET", "m") == b"2"
    assert 19000 < world.redis("PTTL", "m") <= 20000


def test_a_client_that_gives_its_selector_up_stands_down(world):
    lead(world, "a" * 16, 0, T1)

    assert lead(world, "a" * 16, 0, T2) == ["BUSY"]


def test_a_counter_without_an_expiry_gets_one(world):
    world.redis("SET", "m", 1)

    assert lead(world, "a" * 16, 0, T1) == ["BUSY"]
    assert 19000 < world.redis("PTTL", "m") <= 20000


@pytest.mark.parametrize(
    "foreign",
    [
        [("INCR", "m"), ("PEXPIRE", "m", 20500)],
        [("DEL", "m"), ("INCR", "m"), ("PEXPIRE", "m", 20500)],
        [("PERSIST", "m")],
        [("SET", "m", 1, "KEEPTTL")],
    ],
    ids=["stolen", "begun anew", "without expiry", "turned back"],
)
def test_the_master_yields_to_another_kind(world, foreign):
    lead(world, "a" * 16, 0, T1)
    lead(world, "a" * 16, 1, T2)
    for command in foreign:
        world.redis(*command)

    assert lead(world, "a" * 16, 2, T3) == ["BUSY"]


def test_losers_of_another_kind_do_not_end_a_tenure(world):
    lead(world, "a" * 16, 0, T1)
    world.redis("INCRBY", "m", 7)

    assert lead(world, "a" * 16, 1, T2) == ["HELD", 9]


# -- signals


def test_a_broadcast_is_sent_once_and_counted(world):
    ears = [Inbox(world.path, "ch") for _ in range(2)]

    def ask():
        return world.call("recipes_publish", [ONCE], T1, "ch", b"x\0")

    assert ask() == ask() == ["WRITTEN", 2]
    assert [ear.take() for ear in ears] == [[b"x\0"], [b"x\0"]]
    for ear in ears:
        ear.close()


def test_a_single_signal_reaches_one_and_takes_the_prefix_literally(world):
    ears = [Inbox(world.path, name) for name in ("j*1", "j*2", "jx3")]

    assert single(world, T1) == single(world, T1) == ["WRITTEN", 1]
    assert sorted(len(ear.take()) for ear in ears) == [0, 0, 1]
    assert ears[2].take() == []
    for ear in ears:
        ear.close()
    assert single(world, T2, b"nobody") == ["WRITTEN", 0]


def test_a_waiter_of_ours_is_woken_once_until_it_is_ready(world):
    ear = Inbox(world.path, "j*1")
    ear.connection("SUBSCRIBE", "ilk:recipes:one:j*1")

    assert single(world, T1) == ["WRITTEN", 1]
    assert single(world, T2) == ["WRITTEN", 0]
    ready = world.call("recipes_listen", [b"ilk:recipes:signalled:{j*}"], "j*1")
    assert ready == ["RELEASED"]
    assert single(world, T3) == ["WRITTEN", 1]
    ear.close()


def test_a_shared_id_comes_last(world):
    ears = [Inbox(world.path, name) for name in ("j*1", "j*1", "j*2")]

    for random in range(4):
        token = f"{random + 10:032x}"
        assert single(world, token, random=random) == ["WRITTEN", 1]
    assert [len(ear.take()) for ear in ears] == [0, 0, 4]
    for ear in ears:
        ear.close()
