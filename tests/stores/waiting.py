# SPDX-License-Identifier: MIT
"""Wait until clients wait for a lock, and let one follow another."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import interlock
from cluster import until
from crowd import Waiter
from store import Store


def await_waiters(
    store: Store, client: interlock.Client, name: str, count: int
) -> None:
    """So many clients wait for the name, each once."""
    until(
        lambda: store.waiters(client, name) == count, what=f"{count} clients that wait"
    )


@contextlib.contextmanager
def two_on(
    store: Store, client: interlock.Client, name: str, ttl: float = 20
) -> Iterator[tuple[interlock.Lock, Waiter]]:
    """One holds and one waits; after the block the second gets the lock."""
    lock = client.lock(name, ttl=ttl)
    assert lock.acquire(5)
    waiter = Waiter(store, name, ttl)
    try:
        await_waiters(store, client, name, 1)
        yield lock, waiter
        assert not waiter.acquired.is_set()
        fence = lock.fence
        assert lock.release()
        assert waiter.acquired.wait(60)
        assert waiter.lock.fence > fence
        waiter.end()
    finally:
        waiter.client.close()
