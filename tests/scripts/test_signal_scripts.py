# SPDX-License-Identifier: MIT
"""signal_*: who waits and who leaves, and what cannot be done."""

import pytest
from resp import Connection, ReplyError
from signal_world import Signals, entry, keys_of, secret


@pytest.fixture
def signals(world):
    return Signals(world)


# -- waiting


def test_a_waiter_is_in_the_list_alive_and_counted(signals):
    code, now, ticket = signals.wait("a", 1)

    assert code == "QUEUED"
    assert now == signals.world.now
    assert ticket >= now
    assert signals.waiting() == [entry("a", 1)]
    assert signals.counts() == {"a": 1}
    assert int(signals.redis("ZSCORE", keys_of(b"go")[1], "a")) == now // 1000 + 6000
    assert all(0 < signals.redis("PTTL", key) <= 60_000 for key in keys_of(b"go")[:3])


def test_retried_wait_keeps_its_place_and_counts_once(signals):
    first = signals.wait("a", 1)
    signals.wait("b", 2)
    signals.world.advance(10)

    assert signals.wait("a", 1)[2] == first[2]
    assert signals.waiting() == [entry("a", 1), entry("b", 2)]
    assert signals.counts() == {"a": 1, "b": 1}


def test_without_an_entry_nothing_is_written(signals):
    keys = keys_of(b"go")

    assert signals.world.call("signal_wait", keys, "", "a", 6000, 64) == ["BUSY"]
    assert signals.world.dump().keys() == {b"ilk:test:now"}


def test_one_entry_waits_in_several_lists_with_a_ticket_in_each(signals):
    signals.crowd("b", 7)
    reply = signals.wait("a", 1, b"go", b"stop")

    assert reply[0] == "QUEUED"
    assert len(reply) == 4
    assert signals.waiting() == [entry("b", 7), entry("a", 1)]
    assert signals.waiting(b"stop") == [entry("a", 1)]


def test_tickets_rise_across_a_list_that_was_emptied(signals):
    last = signals.crowd("a", *range(1, 50))
    signals.all()

    assert signals.crowd("a", 50) == last + 1
    signals.cancel("a", 50)
    assert signals.crowd("a", 51) > last
    assert signals.counts() == {"a": 1}


@pytest.mark.parametrize(
    "who",
    [
        b"",
        b"2 s b s1.5ec - 1 1 h",
        b"2 s a s1 - 1 1 h",
        b"2 x a x1.5ec - 1 1 h",
        b"1 s a s1.5ec - 1 1 h",
        b"3 s a s1.5ec - 1 1 h",
    ],
)
def test_entry_that_is_not_the_callers_is_refused(signals, who):
    keys = keys_of(b"go")
    if who:
        with pytest.raises(ReplyError, match="ILKARG no entry"):
            signals.world.call("signal_wait", keys, who, "a", 6000, 64, "5ec")
    for script, args in (
        ("signal_cancel", (who, "ask", 64)),
        ("signal_refresh", ("a", 6000, 0, 64, b"go", 1, who)),
    ):
        if who != b"2 s b s1.5ec - 1 1 h" or script == "signal_refresh":
            with pytest.raises(ReplyError, match="ILKARG no entry"):
                signals.world.call(script, keys, *args)
    assert signals.world.dump().keys() == {b"ilk:test:now"}


# -- leaving


def test_a_waiter_that_leaves_is_gone_and_not_counted(signals):
    signals.crowd("a", 1, 2)

    assert signals.cancel("a", 1) == ["RELEASED"]
    assert signals.waiting() == [entry("a", 2)]
    assert signals.counts() == {"a": 1}
    assert signals.world.inbox("a") == []


def test_a_waiter_that_leaves_after_a_signal_gets_a_word_behind_it(signals):
    signals.crowd("a", 1)
    signals.one()

    assert signals.cancel("a", 1) == ["GONE", 1]
    assert signals.world.inbox("a") == [
        b"1 signal s1.%b n.1 2 god" % secret("a"),
        b"1 signal s1.%b n.1 2 god" % secret("a"),
        b"1 wake s1.5ec ",
    ]


def test_a_word_that_two_connections_receive_is_one(signals):
    """One of them is about to end; in a cluster the sum counts nodes."""
    signals.crowd("a", 1)
    signals.one()
    first = signals.world.inboxes["a"]
    signals.world.listen("a")

    assert signals.cancel("a", 1) == ["GONE", 1]
    first.close()


def test_retried_cancel_sends_the_word_and_changes_nothing(signals):
    signals.crowd("a", 1, 2)
    signals.cancel("a", 1)
    before = signals.world.dump()

    assert signals.cancel("a", 1) == ["GONE", 1]
    assert signals.world.dump() == before


def test_cancel_leaves_all_lists_and_returns_one_that_has_signalled(signals):
    signals.world.listen("a")
    signals.wait("a", 1, b"go", b"stop")
    signals.one(name=b"stop")

    assert signals.cancel("a", 1, b"go", b"stop") == ["GONE", 1]
    assert signals.waiting() == signals.waiting(b"stop") == []
    assert signals.counts() == signals.counts(b"stop") == {}
    assert signals.world.inbox("a")[2:] == [b"1 wake s1.5ec "]


def test_a_word_to_a_waiter_without_an_inbox_reaches_nobody(signals):
    assert signals.cancel("a", 1) == ["GONE", 0]


# -- refreshing


def test_refresh_keeps_the_client_alive(signals):
    signals.crowd("a", 1)
    signals.world.advance(5000)

    reply = signals.refresh("a", 1)

    queued = signals.world.scripts["signal_refresh"].codes["QUEUED"]
    assert reply == ["FREE", -1, signals.world.now, 1, queued, 0, 0]
    signals.world.advance(5000)
    assert signals.one()[1] == 1


def test_missing_entry_is_reported_behind_the_signal(signals):
    signals.crowd("a", 1, 2)
    signals.one()

    signals.refresh("a", 1, 2)

    assert signals.world.inbox("a") == [
        b"1 signal s1.%b n.1 2 god" % secret("a"),
        b"1 wake s1.5ec go",
    ]


def test_refresh_of_several_lists_returns_which_one_misses_the_entry(signals):
    signals.world.listen("a")
    signals.wait("a", 1, b"go", b"stop")
    signals.redis("DEL", *keys_of(b"stop"))

    signals.refresh("a", 1, names=(b"go", b"stop"))

    assert signals.world.inbox("a") == [b"1 wake s1.5ec stop"]


def test_retried_refresh_changes_nothing(signals):
    signals.crowd("a", 1)
    signals.refresh("a", 1)
    before = signals.world.dump()

    signals.refresh("a", 1)
    assert signals.world.dump() == before


def test_refresh_that_announces_another_number_of_entries_is_refused(signals):
    args = ("a", 6000, 0, 64, b"go", 2, entry("a", 1))

    with pytest.raises(ReplyError, match="ILKARG 2 entries announced, got 1"):
        signals.world.call("signal_refresh", keys_of(b"go"), *args)


# -- what cannot be done


@pytest.mark.parametrize(
    ("verb", "index"),
    [
        *((verb, index) for verb in ("wait", "one", "all") for index in range(3)),
        *(("refresh", 0), ("refresh", 1), ("cancel", 0), ("cancel", 2)),
    ],
)
def test_wrong_type_at_a_key_is_raised_and_nobody_woken(signals, verb, index):
    signals.crowd("a", 1)
    key = keys_of(b"go")[index]
    signals.redis("DEL", key)
    signals.redis("RPUSH", key, "x")
    before = signals.world.dump()
    calls = {
        "wait": lambda: signals.wait("a", 2),
        "one": signals.one,
        "all": signals.all,
        "refresh": lambda: signals.refresh("a", 1),
        "cancel": lambda: signals.cancel("a", 1),
    }

    with pytest.raises(ReplyError, match="WRONGTYPE"):
        calls[verb]()
    assert signals.world.inbox("a") == []
    assert signals.world.dump() == before


def test_wrong_type_in_the_second_list_leaves_the_first_alone(signals):
    signals.redis("SET", keys_of(b"stop")[2], "x")
    before = signals.world.dump()

    with pytest.raises(ReplyError, match="WRONGTYPE"):
        signals.wait("a", 1, b"go", b"stop")
    assert signals.world.dump() == before


@pytest.fixture
def stranger(signals):
    """A connection that may publish on no inbox."""
    rights = ("+@all", "~*", "resetchannels", "&ilk:signal:*")
    signals.redis("ACL", "SETUSER", "mute", "on", ">pw", *rights)
    connection = Connection(signals.world.path)
    connection("AUTH", "mute", "pw")
    yield connection
    connection.close()
    signals.redis("ACL", "DELUSER", "mute")


def test_without_the_right_to_publish_it_is_refused_and_the_list_stays(
    signals, stranger
):
    signals.crowd("a", 1)

    assert signals.one(via=stranger) == ["SIGNALLED", 0, 0, 1]
    assert signals.all(via=stranger) == ["SIGNALLED", 0, 0, 1]
    assert signals.waiting() == [entry("a", 1)]
    assert signals.counts() == {"a": 1}


def test_without_the_right_to_publish_to_many_it_is_refused_and_the_list_stays(
    signals, stranger
):
    for number in range(300):
        signals.crowd(f"c{number}", number, listens=number < 10)

    assert signals.all(via=stranger) == ["SIGNALLED", 0, 0, 1]
    assert len(signals.waiting()) == len(signals.counts()) == 300
    assert signals.all() == ["SIGNALLED", 10, 1, 0]


def test_full_server_still_delivers(signals):
    signals.crowd("a", 1, 2, 3)
    with signals.world.full():
        assert signals.one()[1] == 1
        assert signals.cancel("a", 2) == ["RELEASED"]
        assert signals.all("n.2")[1] == 1
        with pytest.raises(ReplyError, match="OOM"):
            signals.wait("a", 4)


@pytest.mark.parametrize("bad", ["", "a b", "a\n"])
def test_signal_id_of_another_form_is_refused(signals, bad):
    for verb in (signals.one, signals.all):
        with pytest.raises(ReplyError, match="ILKARG argument 1"):
            verb(bad)
