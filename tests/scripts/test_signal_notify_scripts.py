# SPDX-License-Identifier: MIT
"""signal_notify_*: which waiters receive the signal, and how many."""

import pytest
from resp import Inbox
from signal_world import KEEP_MS, Signals, entry, keys_of, secret


@pytest.fixture
def signals(world):
    return Signals(world)


# -- one


def test_the_one_who_waits_longest_gets_the_signal_and_leaves(signals):
    signals.crowd("a", 1)
    signals.crowd("b", 2)

    assert signals.one(data=b"\0\r\n x") == ["SIGNALLED", 1, 0, 0]
    assert signals.world.inbox("a") == [
        b"1 signal s1.%b n.1 2 go\0\r\n x" % secret("a")
    ]
    assert signals.world.inbox("b") == []
    assert signals.waiting() == [entry("b", 2)]
    assert signals.counts() == {"b": 1}


def test_where_nobody_waits_nobody_is_reached_and_nothing_is_kept(signals):
    assert signals.one() == ["SIGNALLED", 0, 0, 0]
    assert signals.all() == ["SIGNALLED", 0, 0, 0]
    assert signals.world.dump().keys() == {b"ilk:test:now"}


def test_retried_signal_reaches_no_second(signals):
    signals.crowd("a", 1, 2)

    assert signals.one("n.1") == signals.one("n.1") == ["SIGNALLED", 1, 0, 0]
    assert len(signals.world.inbox("a")) == 1
    assert signals.one("n.2")[1] == 1
    assert len(signals.world.inbox("a")) == 1


def test_signal_that_reached_nobody_may_reach_somebody_when_retried(signals):
    signals.one("n.1")
    signals.crowd("a", 1)

    assert signals.one("n.1")[1] == 1


def test_requests_of_two_handles_do_not_meet(signals):
    signals.crowd("a", 1, 2, 3)

    assert signals.one("n.1", sent="n")[1] == 1
    assert signals.one("m.1", sent="m")[1] == 1
    assert signals.one("n.1", sent="n")[1] == 1
    assert signals.counts() == {"a": 1}


def test_memory_of_a_signal_ends_by_itself(signals):
    signals.crowd("a", 1)
    signals.one()

    left = signals.redis("PTTL", b"ilk:signal:sent:{go}:n")
    assert KEEP_MS - 10_000 < left <= KEEP_MS


def test_a_waiter_without_an_inbox_is_passed_over_and_keeps_its_place(signals):
    signals.crowd("deaf", 1, listens=False)
    signals.crowd("b", 2)

    assert signals.one()[1] == 1
    assert signals.world.inbox("b") == [b"1 signal s2.%b n.1 2 god" % secret("b")]
    assert signals.waiting() == [entry("deaf", 1)]


def test_the_dead_leave_the_list(signals):
    signals.crowd("dead", 1, 2)
    signals.world.advance(6001)
    signals.crowd("b", 3)

    assert signals.one()[1] == 1
    assert signals.waiting() == []
    assert signals.counts() == {}
    assert signals.world.inbox("dead") == []


def test_many_waiters_without_an_inbox_hide_nobody(signals):
    signals.crowd("deaf", *range(1, 101), listens=False)
    signals.crowd("b", 200)

    assert signals.one(limit=16) == ["SIGNALLED", 1, 0, 0]


def test_work_in_one_call_is_bounded_and_says_so(signals):
    signals.crowd("dead", *range(1, 41))
    signals.world.advance(6001)
    signals.crowd("b", 200)

    replies = [signals.one(limit=16) for _ in range(3)]

    assert [reply[1:3] for reply in replies] == [[0, 1], [0, 1], [1, 0]]


def test_a_waiter_without_a_secret_in_the_list_is_passed_over(signals):
    signals.crowd("a", 1)
    signals.crowd("b", 2)
    signals.redis("HDEL", keys_of(b"go")[2], "2 a")

    assert signals.one()[1] == 1
    assert signals.world.inbox("a") == []
    assert signals.world.inbox("b") == [b"1 signal s2.%b n.1 2 god" % secret("b")]


def test_entry_of_another_version_is_left_alone(signals):
    other, dead, garbage = b"3 s new whatever", b"3 s old whatever", b"what"
    wait, live, *_ = keys_of(b"go")
    signals.redis("ZADD", wait, 1, other, 2, dead, 3, garbage)
    signals.redis("ZADD", live, signals.world.now // 1000 + 9000, "new")
    signals.crowd("a", 1)

    assert signals.one()[1] == 1
    assert signals.waiting() == [other]


# -- all


def test_a_broadcast_is_one_message_for_each_client(signals):
    signals.crowd("a", *range(1, 301))
    last = signals.crowd("b", 301)

    assert signals.all(data=b"x y") == ["SIGNALLED", 301, 0, 0]
    for client in ("a", "b"):
        proof = f"{last}.{secret(client).decode()}"
        message = f"1 notify {proof} n.1 2 gox y".encode()
        assert signals.world.inbox(client) == [message]
    assert signals.waiting() == []
    assert signals.counts() == {}


def test_the_dead_and_the_deaf_are_not_counted(signals):
    signals.crowd("dead", 1, 2)
    signals.world.advance(6001)
    signals.crowd("deaf", 3, listens=False)
    signals.crowd("b", 4)

    assert signals.all() == ["SIGNALLED", 1, 0, 0]
    assert signals.world.inbox("dead") == []
    assert signals.waiting() == []


def test_retried_broadcast_returns_the_same_number(signals):
    signals.crowd("a", 1, 2)
    first = signals.all("n.1")
    signals.crowd("a", 3)

    assert signals.all("n.1") == first == ["SIGNALLED", 2, 0, 0]
    assert len(signals.world.inbox("a")) == 1
    assert signals.all("n.2") == ["SIGNALLED", 1, 0, 0]


STEP = 128  # of signal_notify_all.lua


@pytest.fixture
def many(signals):
    """More clients than one call signals to; the first waits last as well."""
    signals.crowd("c0", 0)
    for number in range(1, STEP + 44):
        signals.crowd(f"c{number}", number, listens=number % 10 == 0)
    signals.crowd("c0", STEP + 44)
    return signals


def test_a_broadcast_to_many_clients_goes_step_by_step(many):
    assert many.all() == ["SIGNALLED", 13, 1, 0]
    assert len(many.waiting()) == 45
    assert len(many.counts()) == 45
    assert many.world.inbox("c170") == []

    assert many.all() == ["SIGNALLED", 19, 0, 0]
    assert many.waiting() == []
    assert many.counts() == {}
    for number in range(10, STEP + 44, 10):
        assert len(many.world.inbox(f"c{number}")) == 1
    assert len(many.world.inbox("c0")) == 2


def test_a_step_signals_to_no_later_entries(many):
    """Not those of its own client, nor those that came since the first step."""
    _, ticket = many.redis(
        "ZRANGE", keys_of(b"go")[0], STEP - 1, STEP - 1, "WITHSCORES"
    )
    last = many.redis("ZRANGE", keys_of(b"go")[0], -1, -1, "WITHSCORES")[1]
    many.all()
    later = many.crowd("c0", STEP + 45)
    many.crowd("new", STEP + 46)
    assert many.all() == ["SIGNALLED", 19, 0, 0]

    assert int(ticket) < int(last) < later
    assert [text.split()[2] for text in many.world.inbox("c0")] == [
        b"%b.%b" % (number, secret("c0")) for number in (ticket, last)
    ]
    assert many.world.inbox("new") == []
    assert many.waiting() == [entry("c0", STEP + 45), entry("new", STEP + 46)]
    assert many.counts() == {"c0": 1, "new": 1}
    assert many.all("n.2") == ["SIGNALLED", 2, 0, 0]


def test_tickets_rise_above_a_broadcast_whose_last_waiter_left_early(many):
    last = int(many.redis("ZRANGE", keys_of(b"go")[0], -1, -1, "WITHSCORES")[1])
    many.all()
    for number in range(STEP, STEP + 44):
        many.cancel(f"c{number}", number)
    many.cancel("c0", STEP + 44)
    assert many.waiting() == []
    many.world.advance(-5000)
    assert many.crowd("new", 1) > last
    assert many.all() == ["SIGNALLED", 13, 0, 0]
    assert many.world.inbox("new") == []


def test_a_repeated_step_counts_once_and_the_end_is_kept(many):
    many.all("n.1")
    end = many.all("n.1")
    many.crowd("c0", 500)

    assert many.all("n.1") == end == ["SIGNALLED", 19, 0, 0]
    assert len(many.world.inbox("c0")) == 2
    assert many.waiting() == [entry("c0", 500)]


def test_a_waiter_that_leaves_between_two_steps_is_not_counted(many):
    many.all()

    assert many.cancel("c170", 170) == ["RELEASED"]
    assert many.all() == ["SIGNALLED", 18, 0, 0]
    assert many.world.inbox("c170") == []


def test_entries_of_another_version_outlast_all_steps(many):
    wait, live, *_ = keys_of(b"go")
    other = b"3 s new whatever"
    many.redis("ZADD", live, many.world.now // 1000 + 9000, "new")
    many.redis("ZADD", wait, 1, other)

    assert many.all() == ["SIGNALLED", 13, 1, 0]
    assert many.all() == ["SIGNALLED", 19, 0, 0]
    assert many.waiting() == [other]


def test_nobody_reached_in_all_steps_leaves_nothing_behind(signals):
    for number in range(STEP + 44):
        signals.crowd(f"c{number}", number, listens=False)

    assert signals.all() == ["SIGNALLED", 0, 1, 0]
    assert signals.all() == ["SIGNALLED", 0, 0, 0]
    assert signals.redis("KEYS", "ilk:signal:sent:*") == []
    assert signals.waiting() == []


def test_a_full_server_signals_to_many_clients_in_one_step(many):
    with many.world.full():
        assert many.all() == ["SIGNALLED", 19, 0, 0]
    assert many.waiting() == []


def test_a_server_that_is_full_meanwhile_goes_on(many):
    many.all()
    with many.world.full():
        assert many.all() == ["SIGNALLED", 19, 0, 0]
    assert many.waiting() == []
    assert many.counts() == {}


def test_listeners_of_the_channel_are_counted_as_processes(signals):
    listener = Inbox(signals.world.path, b"ilk:signal:go")
    signals.crowd("a", 1, 2)

    assert signals.all() == ["SIGNALLED", 3, 0, 0]
    assert listener.take() == [b"1 notify 1.- n.1 2 god"]
    assert signals.one("n.2") == ["SIGNALLED", 0, 0, 0]
    assert listener.take() == []
    listener.close()


def test_other_names_receive_nothing(signals):
    signals.world.listen("a")
    signals.wait("a", 1, b"stop")

    assert signals.all()[1] == 0
    assert signals.one()[1] == 0
    assert signals.world.inbox("a") == []


@pytest.mark.parametrize("name", [b"a b", b"{t}x", b"\0\xff\r\n", b"x" * 512])
def test_any_name_and_any_data_arrive_as_they_are(signals, name):
    signals.world.listen("a")
    signals.wait("a", 1, name)
    data = bytes(range(256)) * 4096

    assert signals.one(name=name, data=data)[1] == 1
    head = b"1 signal s1.%b n.1 %d " % (secret("a", name), len(name))
    assert signals.world.inbox("a") == [head + name + data]
