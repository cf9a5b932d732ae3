# SPDX-License-Identifier: MIT
"""A client that is closed gives back what it renews, and nothing else, within a second."""

from __future__ import annotations

import time

import interlock
from cluster import PATIENCE, until
from crowd import Waiter
from store import Store
from waiting import await_waiters
from zookeeper_store import ZooKeeper

LONG_TTL = 30.0
SOON = 10 * PATIENCE  # long before a lease ends


def close_in_time(client: interlock.Client) -> None:
    began = time.monotonic()
    client.close()
    assert time.monotonic() - began < 1 + 2 * PATIENCE


def test_renewed_holds_are_given_back(
    store: Store, other: interlock.Client, name: str
) -> None:
    client = interlock.connect(store.url())
    names = [f"{name} {number}" for number in range(20)]
    locks = [client.lock(one, ttl=LONG_TTL) for one in names]
    for lock in locks:
        assert lock.acquire(5)
    close_in_time(client)
    for one, lock in zip(names, locks):
        theirs = other.lock(one, ttl=LONG_TTL)
        assert theirs.acquire(SOON)
        assert theirs.fence > lock.fence
        assert theirs.release()


def test_the_next_waiter_gets_it(
    store: Store, other: interlock.Client, name: str
) -> None:
    client = interlock.connect(store.url())
    assert client.lock(name, ttl=LONG_TTL).acquire(5)
    waiter = Waiter(store, name, LONG_TTL)
    await_waiters(store, other, name, 1)
    close_in_time(client)
    assert waiter.acquired.wait(SOON)
    assert waiter.lock.held
    waiter.end()


def test_a_leader_resigns(store: Store, other: interlock.Client, name: str) -> None:
    client = interlock.connect(store.url())
    assert client.election(name, ttl=LONG_TTL).campaign(5)
    close_in_time(client)
    theirs = other.election(name, ttl=LONG_TTL)
    assert theirs.campaign(SOON)
    assert theirs.resign()


def test_a_hold_that_is_not_renewed_runs_out(
    store: Store, other: interlock.Client, name: str
) -> None:
    client = interlock.connect(store.url())
    lock = client.lock(name, ttl=5, renew=False)
    assert lock.acquire(5)
    end = time.monotonic() + 4
    close_in_time(client)
    if isinstance(store, ZooKeeper):  # where the session has ended
        until(lambda: other.inspect(name).state == "free", 10, "a free name")
        return
    while time.monotonic() < end:
        assert other.inspect(name).state == "held"
        time.sleep(0.2)
    assert other.lock(name, ttl=LONG_TTL).acquire(30 * PATIENCE)


def test_a_store_that_is_silent_delays_it_by_a_second_at_most(
    own: Store, name: str
) -> None:
    client = interlock.connect(own.url())
    for number in range(5):
        assert client.lock(f"{name} {number}", ttl=LONG_TTL).acquire(5)
    own.freeze()
    try:
        close_in_time(client)
    finally:
        own.thaw()
