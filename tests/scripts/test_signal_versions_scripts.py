# SPDX-License-Identifier: MIT
"""Signals where waiters of an earlier and of a later version are in the list."""

import pytest
from signal_world import Signals, entry, keys_of, secret

WAIT, LIVE, CROWD, GIVEN = keys_of(b"go")
# The fields of crowd are those that the versions have.
OTHERS = {
    "of a build before": (b"1 s old s1 - 1000 1 h", [b"old", b"1"]),
    "of the last before": (
        *(b"1 s old s1.5ec ack 1000 1 h",),
        *([b"old", b"1", b".old", b"5ec"],),
    ),
    "of the next version": (b"3 s new anything", [b"3 new", b"1 5ec"]),
}


@pytest.fixture
def signals(world):
    return Signals(world)


@pytest.fixture(params=OTHERS)
def foreign(request, signals):
    """The entry of another version's waiter, which has waited longest."""
    text, crowd = OTHERS[request.param]
    client = text.split()[2]
    signals.world.listen(client.decode())
    signals.redis("ZADD", WAIT, "1", text)
    signals.redis("HSET", CROWD, *crowd)
    signals.redis("ZADD", LIVE, str(signals.world.now // 1000 + 5000), client)
    return text, crowd


def inbox_of(signals, foreign):
    return signals.world.inbox(foreign.split()[2].decode())


def crowd_of(signals, fields):
    return signals.redis("HMGET", CROWD, *fields[::2])


@pytest.mark.parametrize("verb", ["one", "all"])
def test_a_signal_is_neither_counted_nor_sent(signals, foreign, verb):
    text, crowd = foreign

    assert getattr(signals, verb)()[1] == 0

    assert inbox_of(signals, text) == []
    assert signals.waiting() == [text]
    assert crowd_of(signals, crowd) == crowd[1::2]


@pytest.mark.parametrize("verb", ["one", "all"])
def test_the_waiter_behind_it_is_reached(signals, foreign, verb):
    text, crowd = foreign
    signals.crowd("a", 1)

    assert getattr(signals, verb)()[1] == 1

    assert len(signals.world.inbox("a")) == 1
    assert signals.waiting() == [text]
    assert signals.redis("HEXISTS", CROWD, "2 a") == 0
    assert crowd_of(signals, crowd) == crowd[1::2]


def test_a_signal_to_all_reaches_none_that_comes_later(signals, foreign):
    """Tickets rise also where the list was not emptied."""
    last = signals.crowd("a", 1)
    signals.all()

    assert signals.crowd("a", 2) > last
    assert signals.waiting() == [foreign[0], entry("a", 2)]


def test_the_entry_of_a_dead_client_leaves_the_list(signals, foreign):
    signals.redis("DEL", LIVE)

    assert signals.one()[1] == 0

    assert signals.waiting() == []


def test_a_given_signal_of_another_form_is_not_handed_on(signals):
    """Its version hands it on, when one of its clients refreshes."""
    signals.redis("HSET", GIVEN, b"3 new s1", b"anything")
    signals.crowd("a", 1)

    signals.refresh("a", 1)

    assert signals.redis("HGET", GIVEN, b"3 new s1") == b"anything"
    assert signals.world.inbox("a") == []


def test_waits_count_themselves_only(signals, foreign):
    signals.crowd("a", 1, 2)
    signals.cancel("a", 1)

    assert signals.redis("HGET", CROWD, "2 a") == b"1 " + secret("a")
    assert crowd_of(signals, foreign[1]) == foreign[1][1::2]
