# SPDX-License-Identifier: MIT
"""Functions that many programs carry around, with their races taken out.

The usual `acquire_lock` of Redis tutorials keeps a random identifier at
``lock:<name>``. These do the same, so programs with the old functions and with
these exclude each other on the same names. What is better here: a lease
always goes with the lock, in one step, and is renewed while the process
lives; those who wait are served in their order and do not poll; releasing
compares and deletes in one step.
"""

from __future__ import annotations

from typing import Any

from . import _fork
from ._conn import client_for
from .lock import Lock

PREFIX = "lock:"

_guard = _fork.Guard()
# The handles that renew, by identifier. A forked child finds none of its
# parent's and releases by the identifier, as any other process would.
_held: dict[tuple[int, str], Lock] = {}


def acquire_lock(conn: Any, lockname: str, acquire_timeout: float = 10) -> str | bool:
    """Take the lock ``lock:<lockname>``; its identifier, or False.

    ``conn`` is an interlock.Client, a URL or a redis.Redis. The lease is
    renewed while this process lives.

    >>> identifier = acquire_lock(client, "market", acquire_timeout=1)
    >>> acquire_lock(client, "market", acquire_timeout=0.01)
    False
    >>> release_lock(client, "market", identifier)
    True

    Raises: ConnectionError, InvalidError and the others of ``Lock.acquire``.
    Blocks: at most ``acquire_timeout`` seconds. Thread: any thread.
    """
    lock = client_for(conn).lock(PREFIX + lockname)
    if not lock.acquire(acquire_timeout):
        return False
    with _guard:
        _held[_fork.generation, lock.token] = lock
    return lock.token


def release_lock(conn: Any, lockname: str, identifier: str | bytes) -> bool:
    """Give the lock up; False when it is no longer held by this identifier.

    The identifier may come from another process.

    Raises: ConnectionError, UnknownOutcomeError. Blocks: one or two round
    trips. Thread: any thread.
    """
    token = identifier.decode() if isinstance(identifier, bytes) else identifier
    name = PREFIX + lockname
    with _guard:
        mine = _held.get((_fork.generation, token))
        if mine is not None and mine.name == name:
            del _held[_fork.generation, token]
        else:
            mine = None
    if mine is not None:
        return mine.release()
    lock = client_for(conn).lock(name)
    return lock.adopt(token) and lock.release()
