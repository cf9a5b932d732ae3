# SPDX-License-Identifier: MIT
"""Somebody with a right to the server abuses it: docs/trust.md says how far that goes."""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import threading
import time

import interlock
import pytest
from attacker import Attacker, entries_of, inbox_of, waiting_lock
from support import Server, read_reply, wait_until

NO_SECRET = "0123456789abcdef"
FLOOD = 200_000
GROWTH_MIB = 24  # what the process may have grown by then
NO_FENCES = ["9007199254740991", "1e308", "inf", "nan", "-1", "1.5", "0x10", ""]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("trust")) as running:
        yield running


@pytest.fixture
def publisher(server):
    """Nothing but the right to publish to inboxes, which every user needs."""
    made = Attacker(
        server, "resetkeys", "resetchannels", "-@all", "+publish", "&ilk:inbox:*"
    )
    yield made
    made.close()


def forgeries(name):
    """Messages of all kinds, for waits that exist (1 to 9) and that do not."""
    for waiter in itertools.chain(range(1, 10), range(10**6, 10**6 + 11)):
        for kind in "xrpweqo":
            key = {"p": f"ilk:semaphore:{{{name}}}"}.get(kind, name)
            to = f"{kind}{waiter}.{NO_SECRET}"
            yield f"1 grant {to} token{waiter} 9000000000000000 60000 1 {key}"
            yield f"1 wake {to} {key}"
        yield f"1 signal s{waiter}.{NO_SECRET} id{waiter} {len(name)} {name}forged"
        yield f"1 wake s{waiter}.{NO_SECRET} "
        yield f"1 grant x{waiter} token 9000000000000000 60000 1 {name}"
    for kind in ("lock", "event", "semaphore"):
        yield f"1 change {NO_SECRET} ilk:{kind}:wait:{{{name}}}"
    yield f"1 notify 9007199254740991.{NO_SECRET} id {len(name)} {name}forged"
    yield f"1 notify 9007199254740991.- id {len(name)} {name}forged"
    yield "garbage"
    yield ""


def resident():
    with open("/proc/self/statm", encoding="ascii") as pages:
        return int(pages.read().split()[1]) * os.sysconf("SC_PAGESIZE")


class Waits:
    """Waits of every kind for a name, each in a thread of its own."""

    def __init__(self, client, name):
        self.client, self.got, self.threads = client, {}, []
        self.begin("lock", client.lock(name).acquire)
        self.begin("reader", client.rwlock(name).read.acquire)
        self.begin("semaphore", client.semaphore(name, 1).acquire)
        self.begin("candidate", client.election(name).campaign)
        self.begin("event", client.event(name).wait)
        self.begin("signal", client.signal(name).wait)
        self.begin("queue", client.queue(name).pop)

    def begin(self, what, wait):
        def run():
            try:
                self.got[what] = wait(timeout=120)
            except interlock.Error as error:
                self.got[what] = error

        thread = threading.Thread(target=run)
        thread.start()
        self.threads.append(thread)
        wait_until(lambda: self.client.stats().waiting == len(self.threads))

    def end(self):
        for thread in self.threads:
            thread.join()


@contextlib.contextmanager
def occupied(server, name):
    """Somebody else holds whatever can be held under the name."""
    with interlock.connect(server.unix_url) as holder:
        held = [holder.lock(name), holder.semaphore(name, 1), holder.election(name)]
        assert held[0].acquire(timeout=0)
        assert held[1].acquire(timeout=0)
        assert held[2].campaign(timeout=0)
        yield holder, held


def flood(publisher, client, batch, renewals):
    """Send the batch again and again, for at least so long."""
    refused = client.stats().messages_refused
    while refused < FLOOD or client.stats().renewals < renewals:
        assert set(publisher.calls(batch)) == {1}
        refused += len(batch)
        while client.stats().messages_refused < refused:
            time.sleep(0.001)


def own_commands(before, after):
    """The commands between two samples that are neither renewal nor refresh."""
    return (after.commands - before.commands) - (
        (after.renewals - before.renewals) + (after.refreshes - before.refreshes)
    )


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_a_flood_of_forged_messages_causes_nothing(server, publisher, client, name):
    with occupied(server, name) as (holder, held):
        own = client.lock(name + ".own", ttl=3)
        assert own.acquire(timeout=0)
        waits = Waits(client, name)
        texts = list(forgeries(name))
        batch = [("PUBLISH", inbox_of(client), text) for text in texts]
        publisher.calls(batch)
        wait_until(lambda: client.stats().messages_refused == len(batch))
        before, size = client.stats(), resident()

        flood(publisher, client, batch, before.renewals + 2)

        after, grown = client.stats(), resident() - size
        assert waits.got == {}
        assert after.waiting == before.waiting == 7
        assert after.passed_on == 0
        # one more is a renewal or a refresh that has no reply yet, or a claim
        assert own_commands(before, after) < 20
        assert grown < GROWTH_MIB << 20
        assert own.held
        assert own.check() is None
        assert after.losses == 0

        # the true messages arrive
        assert held[0].release()
        assert held[1].release()
        assert held[2].resign()
        holder.event(name).set()
        assert holder.signal(name).notify_one(b"true") == 1
        holder.queue(name).push(b"true")
        wait_until(lambda: "lock" in waits.got)
        assert client.break_lock(name)
        waits.end()
    assert waits.got.pop("signal") == b"true"
    assert waits.got.pop("queue") == b"true"
    assert set(waits.got.values()) == {True}


# -- secrets of other waits


def test_the_secret_of_another_wait_proves_nothing(
    server, publisher, client, other, name
):
    """Neither for another waiter, nor of another kind, nor for another name."""
    names = [name, name + ".b"]
    holders = [other.lock(each) for each in names]
    for holder in holders:
        assert holder.acquire(timeout=0)
    waiters = [waiting_lock(client, each) for each in names]
    (first,), (second,) = (entries_of(server, "lock", each) for each in names)
    (to_a, token_a), (to_b, token_b) = first[3:5], second[3:5]
    secret_a = to_a.partition(".")[2]
    forged = [
        f"1 grant {to_b.partition('.')[0]}.{secret_a} {token_b} 9000000000000000 60000 1 {names[1]}",
        f"1 grant {to_a} {token_a} 9000000000000000 60000 1 {names[1]}",
        f"1 grant {to_a} {holders[1].token} 9000000000000000 60000 1 {names[1]}",
        f"1 grant r{to_a[1:]} {holders[1].token} 9000000000000000 60000 1 {names[1]}",
        f"1 wake {to_a} {names[1]}",
        f"1 signal s{to_a[1:]} id {len(names[0])} {names[0]}forged",
        f"1 change {secret_a} ilk:lock:wait:{{{names[0]}}}",
    ]
    before = client.stats()

    publisher.calls([("PUBLISH", inbox_of(client), text) for text in forged])

    wait_until(lambda: client.stats().messages_refused == len(forged))
    assert client.stats().passed_on == 0
    assert own_commands(before, client.stats()) <= 4
    assert [got for _, _, got in waiters] == [[], []]
    assert all(holder.check() is None for holder in holders)
    for holder, (lock, thread, got) in zip(holders, waiters):
        assert holder.release()
        thread.join()
        assert got == [True]
        assert lock.release()


def test_a_signal_is_not_forged_by_the_secret_of_another_name(
    server, publisher, client, other, name
):
    """Nor does the client pass such a signal on to others."""
    here, there = client.signal(name), other.signal(name + ".b")
    also = client.signal(name + ".b")
    for signal in (here, there, also):
        signal.listen()
    to = entries_of(server, "signal", name)[0][3]
    crowd = f"ilk:signal:crowd:{{{name}}}"
    of_list = server.call("HGET", crowd, f"2 {client.id}").decode().split()[1]
    text = f"{len(name) + 2} {name}.bforged"
    ended = "s1000000." + of_list
    forged = [f"1 signal {each} id{i} {text}" for i, each in enumerate([to, ended])]
    forged.append(f"1 notify 9007199254740991.{of_list} id {text}")

    publisher.calls([("PUBLISH", inbox_of(client), each) for each in forged])

    wait_until(lambda: client.stats().messages_refused == len(forged))
    assert client.stats().passed_on == 0
    assert [each.wait(0.01) for each in (here, there, also)] == [None] * 3


# -- who may read as well


def test_a_reader_who_publishes_is_believed_until_the_next_renewal(
    server, publisher, client, other, name
):
    """The page says so: the right to read an entry is the right to its secret."""
    holder = other.lock(name)
    assert holder.acquire(timeout=0)
    lock, thread, got = waiting_lock(client, name)
    news = client.notifications()
    to, token = entries_of(server, "lock", name)[0][3:5]

    seconds, us = map(int, server.call("TIME"))
    text = f"1 grant {to} {token} 9000000000000000 3000 {seconds * 10**6 + us} {name}"
    publisher.call("PUBLISH", inbox_of(client), text)

    thread.join()
    assert got == [True]
    assert holder.check() is None
    assert news.get(timeout=30).kind == "lock_lost"
    assert not lock.held


def test_a_repeated_grant_ends_no_hold(server, publisher, client, other, name):
    """Its hold was detached: the waiter is gone, but the token is in use."""
    listener = Attacker(
        server, "resetkeys", "resetchannels", "-@all", "+subscribe", "&ilk:inbox:*"
    )
    holder = other.lock(name)
    assert holder.acquire(timeout=0)
    listener.call("SUBSCRIBE", inbox_of(client))
    lock, thread, got = waiting_lock(client, name)
    assert holder.release()
    thread.join()
    grant = read_reply(listener.replies)[2]
    adopted = other.lock(name)
    assert adopted.adopt(lock.detach())
    del lock
    gc.collect()

    publisher.call("PUBLISH", inbox_of(client), grant)
    publisher.call("PUBLISH", inbox_of(client), "garbage")

    wait_until(lambda: client.stats().messages_refused == 1)
    assert got == [True]
    assert client.stats().passed_on == 0
    assert adopted.check() is None
    assert adopted.release()
    listener.close()


# -- the inbox's connection


def test_a_burst_is_read_to_its_end(server, client, other, name):
    """One turn of the keeper reads a part; the rest needs no other event."""
    with other.lock(name):
        assert client.lock(name).acquire(timeout=0.05) is False
    script = "for i = 1, 5000 do redis.call('PUBLISH', KEYS[1], '1') end"

    server.call("EVAL", script, 1, inbox_of(client))

    wait_until(lambda: client.stats().messages_refused == 5000)


def test_a_message_that_is_too_long_costs_a_connection_and_no_wait(
    server, publisher, client, other, name
):
    holder = other.lock(name)
    assert holder.acquire(timeout=0)
    lock, thread, got = waiting_lock(client, name)
    before = client.stats().connects

    publisher.call("PUBLISH", inbox_of(client), b"x" * (9 << 20))

    wait_until(lambda: client.stats().connects > before)
    assert holder.release()
    thread.join()
    assert got == [True]
    assert lock.release()


# -- fences that no lock wrote


def hold_of(client, kind, name):
    """How to take something of this kind, and the key of its record."""
    lock = f"ilk:lock:fence:{{{name}}}"
    return {
        "lock": lambda: (client.lock(name).acquire, lock),
        "barging": lambda: (client.lock(name, fair=False).acquire, lock),
        "redisson": lambda: (client.lock(name, layout="redisson").acquire, lock),
        "reader": lambda: (client.rwlock(name).read.acquire, lock),
        "writer": lambda: (client.rwlock(name).write.acquire, lock),
        "many": lambda: (client.lock_many([name, name + ".b"]).acquire, lock),
        "semaphore": lambda: (
            client.semaphore(name, 1).acquire,
            f"ilk:semaphore:fence:{{{name}}}",
        ),
        "election": lambda: (
            client.election(name).campaign,
            f"ilk:election:fence:{{{name}}}",
        ),
    }[kind]()


KINDS = [
    *("lock", "barging", "redisson", "reader", "writer", "many"),
    *("semaphore", "election"),
]


@pytest.mark.parametrize("timeout", [0, 5])
@pytest.mark.parametrize("text", NO_FENCES)
@pytest.mark.parametrize("kind", KINDS)
def test_an_impossible_fence_is_an_error_and_no_hold(
    server, client, name, kind, text, timeout
):
    take, record = hold_of(client, kind, name)
    server.call("HSET", record, "fence", text, "token", "x")

    with pytest.raises(interlock.ServerError, match="ILKFENCE") as caught:
        take(timeout=timeout)

    assert caught.value.status == "ILK_ESERVER"
    assert client.stats().acquires == client.stats().held == 0
    assert server.call("EXISTS", name) == 0


@pytest.mark.parametrize("kind", [k for k in KINDS if k not in ("barging", "many")])
def test_a_waiter_finds_the_impossible_fence(server, client, other, name, kind):
    """It is no silent wait without end: a refresh finds it."""
    hold, _ = hold_of(other, "writer" if kind == "reader" else kind, name)
    assert hold(timeout=0)
    take, record = hold_of(client, kind, name)
    got = []

    def run():
        try:
            got.append(take(timeout=120))
        except interlock.Error as error:
            got.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    wait_until(lambda: client.stats().waiting == 1)

    server.call("HSET", record, "fence", "1e308")

    wait_until(lambda: got, 30)
    thread.join()
    assert "ILKFENCE" in str(got[0])
    assert client.stats().waiting == client.stats().held == 0


@pytest.mark.parametrize("text", [t for t in NO_FENCES if t != "9007199254740991"])
def test_a_guard_with_an_impossible_fence_is_an_error(server, client, name, text):
    interlock.guard.set(client, name, "true", 7)
    server.call("SET", f"ilk:guard:{{{name}}}", text)

    with pytest.raises(interlock.ServerError, match="ILKFENCE"):
        interlock.guard.set(client, name, "late", 8)
    with pytest.raises(interlock.ServerError, match="ILKFENCE"):
        interlock.guard.get(client, name, 8)

    assert server.call("GET", name) == b"true"
