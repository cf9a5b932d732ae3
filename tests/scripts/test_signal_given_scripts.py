# SPDX-License-Identifier: MIT
"""A signal for one waiter stays on the server until the waiter has acknowledged
it, and goes to another when the waiter is gone."""

import pytest
from resp import Connection, ReplyError
from signal_world import Signals, keys_of, secret


@pytest.fixture
def signals(world):
    return Signals(world)


def message(client, number, data=b"d"):
    return b"1 signal s%d.%b n.1 2 go%b" % (number, secret(client), data)


def test_signal_stays_until_it_is_acknowledged(signals):
    signals.crowd("a", 1)
    assert signals.one()[1] == 1
    assert signals.given() == ["a s1"]
    assert 0 < signals.redis("PTTL", keys_of(b"go")[3]) <= 60_000

    assert signals.cancel("a", 1, what="1") == ["RELEASED"]

    assert signals.given() == []
    assert signals.world.inbox("a") == [message("a", 1)]


def test_refresh_after_a_reconnect_sends_it_again(signals):
    signals.crowd("a", 1, 2)
    signals.one(data=b"\0 \n\xff")
    signals.world.inbox("a")

    signals.refresh("a", 1, 2)
    assert signals.world.inbox("a") == [b"1 wake s1.5ec go"]
    signals.refresh("a", 1, 2, again=1)

    assert signals.world.inbox("a") == [
        message("a", 1, b"\0 \n\xff"),
        b"1 wake s1.5ec go",
    ]
    assert signals.given() == ["a s1"]


def test_wait_that_is_repeated_gets_it_again_and_no_entry(signals):
    signals.crowd("a", 1)
    signals.one()

    assert signals.wait("a", 1)[0] == "QUEUED"

    assert signals.world.inbox("a") == [message("a", 1)] * 2
    assert signals.waiting() == []
    assert signals.counts() == {}


def test_withdrawn_wait_hands_it_on(signals):
    signals.crowd("a", 1)
    signals.crowd("b", 2)
    signals.one()

    assert signals.cancel("a", 1, what="0") == ["RELEASED"]
    assert signals.cancel("a", 1, what="0") == ["RELEASED"]  # a late copy

    assert signals.world.inbox("b") == [message("b", 2)]
    assert signals.given() == ["b s2"]
    assert signals.waiting() == []


def test_wait_for_several_keeps_one_and_hands_the_other_on(signals):
    signals.world.listen("a")
    signals.wait("a", 1, b"go", b"stop")
    signals.crowd("b", 2)
    signals.one()
    signals.one(name=b"stop")

    signals.cancel("a", 1, b"go", b"stop", what="01")

    assert signals.given() == ["b s2"]
    assert signals.given(b"stop") == []


def test_it_is_dropped_when_nobody_else_waits(signals):
    signals.crowd("a", 1)
    signals.one()

    signals.cancel("a", 1, what="0")

    assert signals.given() == []
    signals.crowd("b", 2)
    signals.refresh("b", 2)
    assert signals.world.inbox("b") == []


def test_it_waits_for_one_that_cannot_be_reached_now(signals):
    signals.crowd("a", 1)
    signals.one()
    signals.crowd("deaf", 2, listens=False)

    signals.cancel("a", 1, what="0")
    assert signals.given() == ["- a.s1"]
    signals.refresh("deaf", 2)
    assert signals.given() == ["- a.s1"]
    signals.world.listen("deaf")
    signals.refresh("deaf", 2)

    assert signals.world.inbox("deaf") == [message("deaf", 2)]
    assert signals.given() == ["deaf s2"]


def test_refresh_of_another_client_hands_on_what_the_dead_had(signals):
    signals.crowd("a", 1)
    signals.one()
    signals.crowd("b", 2)
    signals.refresh("b", 2)
    assert signals.world.inbox("b") == []

    signals.world.advance(6001)
    signals.refresh("b", 2)

    assert signals.world.inbox("b") == [message("b", 2)]
    assert signals.given() == ["b s2"]


def test_refresh_of_its_client_keeps_it(signals):
    signals.crowd("a", 1)
    signals.one()
    signals.crowd("b", 2)

    for _ in range(4):
        signals.world.advance(4000)
        signals.refresh("a", 1)
        signals.refresh("b", 2)

    assert signals.world.inbox("b") == []
    assert signals.given() == ["a s1"]


def test_the_dead_are_found_after_the_clock_was_set_back(signals):
    signals.crowd("a", 1)
    signals.one()
    signals.crowd("b", 2)
    signals.world.set_clock(signals.world.now - 3_600_000_000)

    for _ in range(4):
        signals.refresh("b", 2)
        assert signals.world.inbox("b") == []
        signals.world.advance(2000)
    signals.refresh("b", 2)

    assert signals.world.inbox("b") == [message("b", 2)]
    assert signals.given() == ["b s2"]


def test_a_live_holder_keeps_it_when_the_clock_is_set_back(signals):
    signals.crowd("a", 1)
    signals.one()
    signals.crowd("b", 2)
    signals.world.set_clock(signals.world.now - 3_600_000_000)

    for _ in range(8):
        signals.refresh("b", 2)
        signals.world.advance(2000)
        signals.refresh("a", 1)

    assert signals.world.inbox("b") == []
    assert signals.given() == ["a s1"]


def test_many_that_the_dead_had_are_handed_on_in_parts(signals):
    signals.crowd("a", *range(1, 301))
    for number in range(300):
        signals.one(request=f"n.{number}")
    signals.crowd("b", *range(1, 301))
    signals.world.advance(6001)

    for _ in range(100):
        signals.refresh("b", 1, limit=16)

    assert {field.split()[0] for field in signals.given()} == {"b"}
    assert len(signals.given()) == 300


def test_signal_moves_only_from_where_it_is(signals):
    signals.crowd("a", 1)
    signals.one()
    signals.crowd("b", 2)

    moved = signals.one(request="a.7", sent="a.7", source="a s1")
    again = signals.one(request="a.7", sent="a.7", source="a s1")
    other = signals.one(request="a.8", sent="a.8", source="a s1")

    assert (moved[1], again[1], other[1]) == (1, 1, 0)
    assert signals.given() == ["b s2"]
    assert len(signals.world.inbox("b")) == 1


def test_moved_signal_waits_for_one_that_cannot_be_reached_now(signals):
    signals.crowd("a", 1)
    signals.one()
    signals.crowd("deaf", 2, listens=False)

    moved = signals.one(request="a.7", sent="a.7", source="a s1")
    again = signals.one(request="a.7", sent="a.7", source="a s1")

    assert (moved, again) == (["SIGNALLED", 0, 0, 0],) * 2
    assert signals.given() == ["- a.s1"]
    signals.world.listen("deaf")
    signals.refresh("deaf", 2)
    assert signals.world.inbox("deaf") == [message("deaf", 2)]
    assert signals.given() == ["deaf s2"]


def test_moved_signal_is_kept_without_the_right_to_publish(signals):
    signals.crowd("a", 1)
    signals.one()
    signals.crowd("b", 2)
    redis = signals.redis
    redis("ACL", "SETUSER", "mute", "on", ">pw", "~*", "+@all", "resetchannels")
    mute = Connection(signals.world.path)
    mute("AUTH", "mute", "pw")
    try:
        moved = signals.one(request="a.7", sent="a.7", source="a s1", via=mute)
    finally:
        mute.close()
        redis("ACL", "DELUSER", "mute")

    assert moved == ["SIGNALLED", 0, 0, 1]
    signals.refresh("b", 2)
    assert signals.world.inbox("b") == [message("b", 2)]
    assert signals.given() == ["b s2"]


def test_moved_signal_is_dropped_when_nobody_else_waits(signals):
    signals.crowd("a", 1)
    signals.one()

    signals.one(request="a.7", sent="a.7", source="a s1")

    assert signals.given() == []


@pytest.mark.parametrize("what", ["", "11", "x", "asks"])
def test_wrong_digits_are_refused(signals, what):
    with pytest.raises(ReplyError, match="ILKARG ask or 1 digits are needed"):
        signals.cancel("a", 1, what=what)
