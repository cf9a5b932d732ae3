# SPDX-License-Identifier: MIT
"""Operators take holds away, and the store ends sessions, with the store's own tools."""

from __future__ import annotations

import time

import interlock
import pytest
from cluster import PATIENCE, until
from crowd import Waiter
from etcd_store import Etcd
from mysql_store import MySql
from store import Store
from waiting import await_waiters

TTL = 3.0
LONG_TTL = 20.0


def test_a_hold_that_an_operator_removed_is_lost_and_the_next_one_gets_it(
    store: Store, client: interlock.Client, name: str
) -> None:
    news = client.notifications()
    lock = client.lock(name, ttl=TTL)
    assert lock.acquire(5)
    fence = lock.fence
    waiter = Waiter(store, name, LONG_TTL)
    await_waiters(store, client, name, 1)

    store.remove_hold(name)

    notification = news.get(TTL + 5 * PATIENCE)
    assert notification and notification.kind == "lock_lost"
    assert isinstance(notification.error, interlock.LostError)
    assert not lock.held
    assert waiter.acquired.wait(60 * PATIENCE)
    assert waiter.lock.fence > fence
    assert lock.release() is False
    assert waiter.lock.held
    waiter.end()


def test_an_extend_says_that_the_hold_was_removed(
    store: Store, client: interlock.Client, name: str
) -> None:
    lock = client.lock(name, ttl=LONG_TTL, renew=False)
    assert lock.acquire(5)
    store.remove_hold(name)
    until(lambda: lock.extend(LONG_TTL) is False, 5, "the loss")
    assert not lock.held
    assert client.inspect(name).state == "free"
    again = client.lock(name, ttl=LONG_TTL)
    assert again.acquire(5)
    assert again.fence > lock.fence
    assert again.release()


def test_a_lock_that_was_broken_goes_to_the_first_waiter(
    store: Store, client: interlock.Client, other: interlock.Client, name: str
) -> None:
    lock = client.lock(name, ttl=LONG_TTL)
    assert lock.acquire(5)
    waiter = Waiter(store, name, LONG_TTL)
    await_waiters(store, client, name, 1)
    assert not other.break_lock(name, "0" * 32)
    assert other.break_lock(name, lock.token)
    assert waiter.acquired.wait(30 * PATIENCE)
    assert lock.release() is False
    assert waiter.lock.held
    waiter.end()


def test_sessions_that_end_while_clients_wait(own: Store, name: str) -> None:
    """etcd's leases are revoked, MariaDB's connections are killed, ZooKeeper's server is
    restarted. A revoked lease takes the holds with it, and nobody holds twice."""
    with interlock.connect(own.url()) as client:
        news = client.notifications()
        lock = client.lock(name, ttl=LONG_TTL)
        assert lock.acquire(5)
        fence = lock.fence
        waiter = Waiter(own, name, LONG_TTL)
        await_waiters(own, client, name, 1)
        own.end_sessions()
        if not isinstance(own, Etcd):
            assert not waiter.acquired.wait(1)
            assert lock.extend(LONG_TTL)
            assert lock.release()
            assert waiter.acquired.wait(60 * PATIENCE)
            assert waiter.lock.fence > fence
            waiter.end()
            return
        notification = news.get(LONG_TTL + 5 * PATIENCE)
        assert notification and notification.kind == "lock_lost"
        assert waiter.acquired.wait(60 * PATIENCE)
        assert waiter.lock.fence > fence
        # Its own lease may have been revoked after it had got the lock.
        waiter.thread.join(60)
        waiter.lock.release()
        again = client.lock(name, ttl=LONG_TTL)
        assert again.acquire(60 * PATIENCE)
        assert again.fence > waiter.lock.fence
        assert again.release()
        waiter.client.close()


@pytest.mark.parametrize("kind", ["etcd"], indirect=True, scope="session")
def test_a_waiter_whose_lease_alone_is_revoked_joins_again(
    own: Store, name: str
) -> None:
    assert isinstance(own, Etcd)
    with interlock.connect(own.url()) as client:
        lock = client.lock(name, ttl=LONG_TTL)
        assert lock.acquire(5)
        before = set(own.leases())
        waiter = Waiter(own, name, LONG_TTL)
        await_waiters(own, client, name, 1)
        revoked = set(own.leases()) - before
        assert revoked
        for lease in revoked:
            own.ctl("lease", "revoke", lease)
        assert not waiter.acquired.wait(1)
        assert lock.held
        await_waiters(own, client, name, 1)
        fence = lock.fence
        assert lock.release()
        assert waiter.acquired.wait(60 * PATIENCE)
        assert waiter.lock.fence > fence
        waiter.end()


@pytest.mark.parametrize("kind", ["etcd"], indirect=True, scope="session")
def test_compaction_costs_nothing(own: Store, name: str) -> None:
    assert isinstance(own, Etcd)
    with interlock.connect(own.url()) as client:
        lock = client.lock(name, ttl=LONG_TTL)
        assert lock.acquire(5)
        waiter = Waiter(own, name, LONG_TTL)
        await_waiters(own, client, name, 1)
        for number in range(20):
            own.ctl("put", "elsewhere", str(number))
        status = own.ctl("get", "elsewhere", "-w", "fields")
        revision = next(
            line.split(":")[1].strip()
            for line in status.splitlines()
            if line.startswith('"Revision"')
        )
        own.ctl("compact", revision)
        own.restart()
        assert until(lambda: client.inspect(name).waiting == 1, 30, "the waiter")
        assert lock.release()
        assert waiter.acquired.wait(60 * PATIENCE)
        waiter.end()


@pytest.mark.parametrize("kind", ["mysql"], indirect=True, scope="session")
def test_connections_that_are_killed_all_the_time_cost_nothing(
    own: Store, name: str
) -> None:
    assert isinstance(own, MySql)
    with interlock.connect(own.url()) as client:
        lock = client.lock(name, ttl=LONG_TTL)
        assert lock.acquire(5)
        waiter = Waiter(own, name, LONG_TTL)
        await_waiters(own, client, name, 1)
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline:
            own.end_sessions()
        assert until(lambda: lock.extend(LONG_TTL), 10, "an extension")
        assert not waiter.acquired.is_set()
        assert lock.release()
        assert waiter.acquired.wait(60 * PATIENCE)
        waiter.end()
