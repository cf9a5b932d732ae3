# SPDX-License-Identifier: MIT
"""Wait until clients wait for a lock, and let one follow another."""

from __future__ import annotations

import contextlib

import crowd
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


def two_on(
    store: Store, client: interlock.Client, name: str, ttl: float = 20
) -> contextlib.AbstractContextManager[tuple[interlock.Lock, Waiter]]:
    """One holds and one waits; after the block the second gets the lock."""
    return crowd.two_on(store, client, name, ttl, store.waiters)
