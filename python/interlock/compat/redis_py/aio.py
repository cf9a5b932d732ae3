# SPDX-License-Identifier: MIT
"""A drop-in for ``redis.asyncio.lock.Lock``, as the blocking one.

    redis.asyncio.Redis().lock("orders", lock_class=interlock.compat.redis_py.aio.Lock)

A cancelled ``acquire()`` holds nothing. Each pool has one client for the event loop
that runs; a program that runs several loops in turn gets another one for each.
"""

from __future__ import annotations

import asyncio
import weakref
from typing import Any, Literal

import redis.asyncio.lock

from interlock import aio

from ..._client_lookup import timeouts_of, url_of
from ._shared import Hold, LockBase, not_owned, redis_errors, wait_of

_Loop = asyncio.AbstractEventLoop
_by_pool: weakref.WeakKeyDictionary[Any, tuple[_Loop, aio.Client]] = (
    weakref.WeakKeyDictionary()
)


def _client_for(conn: Any) -> aio.Client:
    """Return the client itself, or the one of this pool on the running loop."""
    if isinstance(conn, aio.Client):
        return conn
    pool = getattr(conn, "connection_pool", None)
    if pool is None or not hasattr(pool, "connection_kwargs"):
        raise TypeError(
            "redis must be an interlock.aio.Client or a redis.asyncio.Redis,"
            f" got {type(conn).__name__}"
        )
    loop = asyncio.get_running_loop()
    known = _by_pool.get(pool)
    if known is not None and known[0] is loop and not known[1].closed:
        return known[1]
    connecting, reply = timeouts_of(pool)
    client = aio.Client(url_of(pool), connect_timeout=connecting, reply_timeout=reply)
    _by_pool[pool] = loop, client
    return client


class _Hold(Hold, aio.Lock):
    """A hold of the awaited lock."""


class Lock(LockBase[aio.Lock], redis.asyncio.lock.Lock):
    """See the module. ``redis`` may also be an ``interlock.aio.Client``, except for
    ``locked()``, ``owned()`` and a ``token`` of the caller's.
    """

    async def acquire(
        self,
        blocking: bool | None = None,
        blocking_timeout: float | None = None,
        token: str | bytes | None = None,
    ) -> bool:
        """As in redis-py; a ``token`` of the caller's is acquired by polling."""
        blocking, blocking_timeout = self._limits(blocking, blocking_timeout)
        if token is not None:
            return bool(await super().acquire(blocking, blocking_timeout, token))
        with redis_errors():
            handle = self._new_handle()
            if not await handle.acquire(wait_of(blocking, blocking_timeout)):
                return False
        self._keep(handle)
        return True

    async def do_acquire(self, token: Any) -> bool:
        """Acquire a free lock under the caller's token, and hold it as ours."""
        lease = int(self._lease() * 1000)
        if not await self.redis.set(self.name, token, nx=True, px=lease):
            return False
        with redis_errors():
            handle = self._new_handle()
            if not await handle.adopt(token):
                return False
        self.local.handle = handle
        return True

    async def do_release(self, expected_token: Any) -> None:
        handle = await self._handle_for(expected_token)
        with redis_errors():
            if handle is not None and await handle.release():
                self.local.handle = None
                return
        raise not_owned("release")

    async def do_extend(
        self, additional_time: float, replace_ttl: bool
    ) -> Literal[True]:
        lease = float(additional_time)
        if not replace_ttl:
            lease += max(0, await self.redis.pttl(self.name)) / 1000
        return await self._extend(lease, "extend")

    async def do_reacquire(self) -> Literal[True]:
        return await self._extend(float(self.timeout or 0), "reacquire")

    async def _extend(self, lease: float, verb: str) -> Literal[True]:
        handle = await self._handle_for(self.local.token)
        with redis_errors():
            if handle is not None and await handle.extend(lease):
                return True
        raise not_owned(verb)

    def _new_handle(self) -> aio.Lock:
        options = self._options(self.sleep)
        return _Hold(_client_for(self.redis), self._key, options)

    async def _handle_for(self, token: Any) -> aio.Lock | None:
        """Return the handle of this token; a token that was set by hand is adopted."""
        handle = self._known(token)
        if handle is not None:
            return handle
        with redis_errors():
            handle = self._new_handle()
            if not await handle.adopt(token):
                return None
        self.local.handle = handle
        return handle
