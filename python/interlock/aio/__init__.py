# SPDX-License-Identifier: MIT
"""The same names as :mod:`interlock`, awaited: for asyncio, uvloop and trio.

    async with interlock.aio.connect() as client:
        async with client.lock("orders", ttl=10):
            ...

One client serves all tasks of an event loop over one connection, without
threads. What a handle owns belongs to the handle, not to a task. A task that
is cancelled while it waits leaves nothing behind: no place in the line, and no
lock that nobody holds. What needs no server (``held``, ``remaining()``,
``fence``, ``detach()``, ...) is not awaited.
"""

from __future__ import annotations

from .client import Client, connect
from .events import Events
from .lock import Lock
from .rwlock import RWLock

__all__ = ["Client", "Events", "Lock", "RWLock", "connect"]
