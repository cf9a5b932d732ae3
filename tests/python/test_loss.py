# SPDX-License-Identifier: MIT
"""Why a hold was lost: in notifications, in exceptions and in the log."""

from __future__ import annotations

import os
import re
import signal
import socket
import time

import interlock
import pytest
from aio_case import on_both_kinds
from interlock import aio
from support import Server, wait_until

ME = f"{socket.gethostname()}:{os.getpid()}"
BROKEN = f"broken by {ME}"
DELETED = "its key was deleted, evicted or overwritten"


def lost(client, timeout=10):
    """The next notification of a loss."""
    for notification in client.notifications():
        if notification.kind.endswith("_lost"):
            return notification
    raise AssertionError("the client was closed")


KINDS = {
    "lock": (lambda c, n: c.lock(n, ttl=3), "{}"),
    "reader": (lambda c, n: c.rwlock(n).read, "{}"),
    "semaphore": (lambda c, n: c.semaphore(n, 2, ttl=3), "ilk:semaphore:{{{}}}"),
    "election": (lambda c, n: c.election(n, ttl=3), "ilk:election:{{{}}}"),
    "many": (lambda c, n: c.lock_many([n, n + "2"], ttl=3), "{}"),
    "redisson": (lambda c, n: c.lock(n, ttl=3, layout="redisson"), "{}"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_deleted_key(client, other, server, name, kind):
    make, key = KINDS[kind]
    hold = make(client, name)
    assert hold.acquire(0)
    server.call("DEL", key.format(name))

    refused = pytest.raises(interlock.LostError, match="was lost.*: " + DELETED)
    with refused, hold_again(hold):
        pass
    with pytest.raises(interlock.LostError, match=f'"{name}".* was lost') as caught:
        again = make(client, name)
        assert again.acquire(0)
        server.call("DEL", key.format(name))
        assert not again.extend()
        again.check()
    assert DELETED in str(caught.value)
    notification = lost(client)
    assert notification.cause == "deleted"
    assert "deleted" in str(notification.error)


def hold_again(hold):
    """Leave a block of a hold that is there already."""

    class Block:
        def __enter__(self):
            return hold

        def __exit__(self, *exc):
            return type(hold).__exit__(hold, *exc)

    return Block()


@pytest.mark.parametrize("kind", ["lock", "redisson", "election", "many", "reader"])
def test_a_break_names_who_did_it(client, other, name, kind):
    hold = KINDS[kind][0](client, name)
    assert hold.acquire(0)
    if kind == "election":
        assert other.break_election(name)
    else:
        assert other.break_lock(name)

    assert not hold.extend()
    with pytest.raises(interlock.LostError, match=BROKEN):
        hold.check()
    assert lost(client).cause == "broken"
    # The release of many names does not say who broke one of them.
    why = "broken" if kind == "many" else BROKEN
    with pytest.raises(interlock.LostError, match="inside its block: " + why), hold:
        other.break_election(name) if kind == "election" else other.break_lock(name)


def test_the_server_lost_everything(client, server, name):
    lock = client.lock(name, ttl=3)
    assert lock.acquire(0)
    server.call("FLUSHALL")

    assert not lock.extend()
    with pytest.raises(interlock.LostError, match="lost its key and its record"):
        lock.check()
    assert lost(client).cause == "wiped"


def test_a_member(client, server, name):
    member = client.group(name).join("me", ttl=3)
    server.call("DEL", f"ilk:group:{{{name}}}")

    with pytest.raises(interlock.LostError, match='the member "me" was lost: '):
        member.update(b"x")
    assert lost(client).cause == "deleted"
    refused = pytest.raises(interlock.LostError, match="inside its block: the store")
    with refused, client.group(name).join("you", ttl=3):
        server.call("DEL", f"ilk:group:{{{name}}}", f"ilk:group:data:{{{name}}}")


def test_an_outage(tmp_path, name, caplog):
    with Server(tmp_path) as server, interlock.connect(server.unix_url) as client:
        lock = client.lock(name, ttl=1)
        assert lock.acquire(0)
        began = time.time()
        server.pause()

        notification = lost(client)
        assert notification.cause == "unreachable"
        with pytest.raises(interlock.LostError, match="unreachable, since") as caught:
            lock.check()
        since = re.search(r"since (\S+Z)", str(caught.value)).group(1)
        told = time.mktime(time.strptime(since, "%Y-%m-%dT%H:%M:%SZ")) - time.timezone
        assert began - 3 < told < time.time()
        wait_until(lambda: "unreachable" in caplog.text)
        server.resume()


def test_a_process_that_was_suspended(run_child, name):
    child = run_child(
        "import interlock, os, sys\n"
        "client = interlock.connect(os.environ['TEST_URL'])\n"
        "lock = client.lock(sys.argv[1], ttl=1)\n"
        "print(lock.acquire(0))\n"
        "for one in client.notifications():\n"
        "    print(one.cause)\n"
        "    break\n"
        "try:\n"
        "    lock.check()\n"
        "except interlock.LostError as error:\n"
        "    print(error)\n",
        name,
    )
    assert child.stdout.readline() == "True\n"
    time.sleep(0.1)
    child.send_signal(signal.SIGSTOP)
    time.sleep(1.5)
    child.send_signal(signal.SIGCONT)

    assert child.stdout.readline() == "expired\n"
    assert "its lease ended before this process renewed it" in child.stdout.readline()


def test_the_longest_hold(client, name):
    lock = client.lock(name, ttl=30, max_hold=0.3)
    assert lock.acquire(0)

    notification = lost(client)
    assert (notification.cause, type(notification.error)) == (
        "ended",
        interlock.TimeoutError,
    )
    with pytest.raises(interlock.LostError, match="was lost: its lease ended"):
        lock.check()


def test_an_uncontended_hold_is_bounded_like_any_other(client, other, name):
    lock = client.lock(name, ttl=30, max_hold=0.5)
    assert lock.acquire(0)
    assert lock.remaining() <= 0.5
    assert other.lock(name).acquire(timeout=5)
    assert not lock.held


def test_a_release_without_a_reply_names_the_lock(client, other, name):
    lock = client.lock(name)
    assert lock.acquire(0)
    assert other.break_lock(name)
    assert lock.release(confirm=False)
    client.ping()

    with pytest.raises(
        interlock.LostError, match=f'hold of the lock "{name}" was lost'
    ):
        lock.acquire(0)


@on_both_kinds
async def test_the_same_for_tasks(url, other, name):
    async with aio.connect(url) as client:
        lock = client.lock(name)
        assert await lock.acquire(0)
        assert other.break_lock(name)
        assert not await lock.extend()
        notification = await client.notifications().get(5)
        assert notification.cause == "broken"
        with pytest.raises(interlock.LostError, match="inside its block: " + BROKEN):
            async with client.lock(name) as second:
                assert other.break_lock(name)
                assert not await second.extend()


def test_wrongtype_names_the_key(client, server, name):
    server.call("RPUSH", name, "x")

    with pytest.raises(interlock.Error, match=f'WRONGTYPE.*the key "{name}"') as caught:
        client.lock(name).acquire(0)
    assert caught.value.status == "ILK_ETYPE"
    assert "script:" not in str(caught.value)
