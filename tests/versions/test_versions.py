# SPDX-License-Identifier: MIT
"""Processes of two versions on the same names: what docs/abi.md promises for each.

Each test runs with either version first.
"""

from __future__ import annotations

import json
import socket

import pytest
from shell import wait_until

FOREVER = -1
# The noun, what its keys are called, and its verbs.
HOLDS = {
    "lock": ("lock", "acquire", "release", "extend", "fence"),
    "writer": ("lock", "acquire", "release", "extend", "fence"),
    "semaphore": ("semaphore", "acquire", "release", "extend", "fence"),
    "election": ("election", "campaign", "resign", "renew", "term"),
}

# But for signals the older version has entries of the same version. "raised" has no
# entry or message of the same version.
ALIKE = [("older", "newer"), ("newer", "older")]
UNLIKE = [("raised", "newer"), ("newer", "raised")]
alike = pytest.mark.parametrize(("one", "other"), ALIKE)
unlike = pytest.mark.parametrize(("one", "other"), UNLIKE)
either = pytest.mark.parametrize(("one", "other"), ALIKE + UNLIKE)


@alike
@pytest.mark.parametrize("noun", HOLDS)
def test_they_exclude_each_other_and_hand_over_in_order(
    one, other, noun, crew, name, waiting
):
    keys, acquire, release, extend, fence = HOLDS[noun]
    first, second, third = crew(one), crew(other), crew(one)
    first.ok(noun, acquire, name, 0)
    assert second.do(noun, acquire, name, 0)[0] in ("ILK_EBUSY", "ILK_ETIMEOUT")
    fences = [first.get(noun, fence, name)]

    for number, waiter in enumerate((second, third), 1):
        waiter.start(noun, acquire, name, FOREVER)
        waiting(keys, number)
    for holder, next_one in ((first, second), (second, third)):
        holder.ok(noun, release, name)
        next_one.finish_ok()
        fences.append(next_one.get(noun, fence, name))
        next_one.ok(noun, extend, name, 60000)
        assert first.do(noun, acquire, name, 0)[0] in ("ILK_EBUSY", "ILK_ETIMEOUT")

    third.ok(noun, release, name)
    assert fences == sorted(set(fences))


@alike
@pytest.mark.parametrize("noun", HOLDS)
def test_tickets_of_both_are_in_one_order(
    one, other, noun, crew, name, waiting, server
):
    """The older version's are numbers from 1, or one more than the greatest."""
    keys, acquire, release, *_ = HOLDS[noun]
    holders = [crew(version) for version in (one, other, one, other, one)]
    holders[0].ok(noun, acquire, name, 0)
    for number, waiter in enumerate(holders[1:], 1):
        waiter.start(noun, acquire, name, FOREVER)
        waiting(keys, number)

    found = server.call("ZRANGE", f"ilk:{keys}:wait:{{{name}}}", 0, -1, "WITHSCORES")
    tickets = [float(score) for score in found[1::2]]

    assert tickets == sorted(set(tickets))
    assert tickets[-1] > 1e15
    for holder, next_one in zip(holders, holders[1:]):
        holder.ok(noun, release, name)
        next_one.finish_ok()
    holders[-1].ok(noun, release, name)


@unlike
@pytest.mark.parametrize("noun", HOLDS)
def test_a_waiter_of_another_form_gets_what_is_free(
    one, other, noun, crew, name, waiting
):
    """The hand-over passes over its entry; its own refresh grants."""
    keys, acquire, release, extend, fence = HOLDS[noun]
    first, second = crew(one), crew(other)
    first.ok(noun, acquire, name, 0)
    before = first.get(noun, fence, name)
    assert second.do(noun, acquire, name, 0)[0] in ("ILK_EBUSY", "ILK_ETIMEOUT")
    second.start(noun, acquire, name, FOREVER)
    waiting(keys, 1)

    first.ok(noun, release, name)

    second.finish_ok()
    second.ok(noun, extend, name, 60000)
    assert second.get(noun, fence, name) > before
    assert first.do(noun, acquire, name, 0)[0] in ("ILK_EBUSY", "ILK_ETIMEOUT")


@either
@pytest.mark.parametrize("noun", ["lock", "semaphore"])
def test_a_hold_is_renewed_while_the_other_claims_it(
    one, other, noun, crew, name, waiting, server
):
    holder, waiter = crew(one), crew(other)
    holder.ok(noun, "acquire_ttl", name, 0, 1500)
    waiter.start(noun, "acquire", name, FOREVER)
    waiting(noun, 1)
    fence = holder.get(noun, "fence", name)

    for _ in range(3):
        before = ends(server, noun, name)
        wait_until(lambda last=before: ends(server, noun, name) > last, "a renewal")

    assert holder.get(noun, "held", name) == 1
    holder.ok(noun, "release", name)
    waiter.finish_ok()
    assert waiter.get(noun, "fence", name) > fence


def ends(server, noun, name):
    """The server's time at which the lease ends."""
    if noun == "lock":
        return server.call("PEXPIRETIME", name)
    return int(
        server.call("ZRANGE", f"ilk:semaphore:{{{name}}}", -1, -1, "WITHSCORES")[1]
    )


@either
def test_a_lock_that_the_other_breaks_goes_to_the_next(one, other, crew, name, waiting):
    holder, waiter, breaker = crew(one), crew(one), crew(other)
    holder.ok("lock", "acquire", name, 0)
    waiter.start("lock", "acquire", name, FOREVER)
    waiting("lock", 1)

    breaker.ok("lock", "break", name)

    waiter.finish_ok()
    assert holder.do("lock", "extend", name, 0)[0] == "ILK_ELOST"


@either
def test_a_killed_holder_of_one_version_is_succeeded_by_the_other(
    one, other, crew, name, waiting
):
    holder, waiter = crew(one), crew(other)
    holder.ok("lock", "acquire_ttl", name, 0, 1500)
    waiter.start("lock", "acquire", name, FOREVER)
    waiting("lock", 1)

    holder.stop()

    waiter.finish_ok()


@alike
def test_readers_share_and_a_writer_waits_for_both(one, other, crew, name, waiting):
    first, second, writer, reader = crew(one), crew(other), crew(one), crew(other)
    first.ok("reader", "acquire", name, 0)
    second.ok("reader", "acquire", name, 0)
    writer.start("writer", "acquire", name, FOREVER)
    waiting("lock", 1)
    reader.start("reader", "acquire", name, FOREVER)
    waiting("lock", 2)

    first.ok("reader", "release", name)
    waiting("lock", 2)
    second.ok("reader", "release", name)
    writer.finish_ok()
    waiting("lock", 1)
    writer.ok("writer", "release", name)

    reader.finish_ok()


@either
def test_an_observer_follows_leaders_of_both(one, other, crew, name, waiting):
    leader, next_leader, observer = crew(one), crew(other), crew(other)
    leader.ok("election", "campaign", name, 0)
    assert observer.ok("observer", "next", name, FOREVER) == leader.get(
        "election", "term", name
    )
    next_leader.start("election", "campaign", name, FOREVER)
    waiting("election", 1)

    leader.ok("election", "resign", name)

    next_leader.finish_ok()
    term = next_leader.get("election", "term", name)
    wait_until(lambda: observer.ok("observer", "next", name, FOREVER) == term)


@either
def test_a_message_of_one_is_delivered_to_the_other(one, other, crew, name, waiting):
    producer, consumer = crew(one), crew(other)
    producer.ok("queue", "push", name, "ready")
    assert consumer.ok("queue", "reserve", name, 0, 30000) == "ready"
    consumer.ok("job", "nack", name, 0)
    assert producer.ok("queue", "reserve", name, 0, 30000) == "ready"
    producer.ok("job", "ack", name)

    consumer.start("queue", "reserve", name, FOREVER, 30000)
    waiting("queue", 1)
    producer.ok("queue", "push", name, "awaited")

    assert consumer.finish_ok() == "awaited"
    assert producer.do("queue", "reserve", name, 0, 30000)[0] != "ILK_OK"
    consumer.ok("job", "ack", name)


@either
def test_an_event_set_by_one_ends_the_wait_of_the_other(
    one, other, crew, name, waiting
):
    setter, waiter = crew(one), crew(other)
    waiter.start("event", "wait", name, FOREVER)
    waiting("event", 1)

    setter.ok("event", "set", name, "data")

    waiter.finish_ok()
    waiter.ok("event", "clear", name)
    setter.ok("event", "read", name)
    assert setter.get("event", "is_set", name) == 0


@either
def test_both_count_a_latch_down(one, other, crew, name, waiting):
    first, second, waiter = crew(one), crew(other), crew(one)
    waiter.start("latch", "wait", name, FOREVER)
    waiting("latch", 1)

    assert first.ok("latch", "count_down", name, 1) == 1
    assert second.ok("latch", "count_down", name, 1) == 0

    waiter.finish_ok()


@either
def test_both_meet_at_a_barrier(one, other, crew, name, waiting):
    first, second = crew(one), crew(other)
    for _ in range(2):
        first.start("barrier", "wait", name, FOREVER)
        waiting("barrier", 1)
        second.start("barrier", "wait", name, FOREVER)
        assert sorted([first.finish_ok(), second.finish_ok()]) == [0, 1]


@either
def test_a_signal_is_for_waiters_of_the_same_form(one, other, crew, name, waiting):
    """The other's waiter is not counted, and has missed nothing that was."""
    waiter, same, sender = crew(one), crew(one), crew(other)
    for verb in ("notify_one", "notify_all"):
        waiter.start("signal", "wait", name, FOREVER)
        waiting("signal", 1)

        assert sender.ok("signal", verb, name, "to nobody") == 0

        wait_until(lambda v=verb: same.ok("signal", v, name, v) == 1, "the waiter")
        assert waiter.finish_ok() == verb


@either
def test_each_command_shows_what_the_other_holds(
    one, other, crew, name, waiting, server, versions
):
    holder, waiter = crew(one), crew(one)
    mine = versions[other]
    for noun in ("lock", "semaphore", "election"):
        _, acquire, _, _, fence = HOLDS[noun]
        holder.ok(noun, acquire, name, 0)
        waiter.start(noun, acquire, name, FOREVER)
        waiting(noun, 1)
        ours = [w for w in ("--kind", noun) if noun != "lock"]

        shown = json.loads(mine.command(server, "inspect", name, "--json", *ours))
        listed = mine.command(server, "ls", name, "--kind", noun, "--quiet")

        assert str(holder.get(noun, fence, name)) in json.dumps(shown)
        if other == "newer":
            label = f"{socket.gethostname()}:{holder.process.pid}"
            assert shown["holder"] == label
        older = "candidates" if noun == "election" else "waiters"
        assert shown.get("waiters", shown.get(older)) == 1
        assert listed.split() == [name]
        holder.ok(noun, HOLDS[noun][2], name)
        waiter.finish_ok()
