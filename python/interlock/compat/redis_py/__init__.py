# SPDX-License-Identifier: MIT
"""A drop-in for ``redis.lock.Lock``: the same interface, another implementation.

    redis.Redis().lock("orders", timeout=10, lock_class=interlock.compat.redis_py.Lock)

Constructor, methods, exceptions and the value at the key are redis-py's, so
both kinds exclude each other on one name. Two things are better: waiters are
served in their order and woken at once. ``sleep`` matters only while a stock
redis-py lock holds the name, because its release wakes no waiter.

With ``timeout=None`` redis-py's lock never expires, not even when its owner
dies. This one has a lease of 30 s, renewed while the owner lives.
"""

from __future__ import annotations

from typing import Any, Literal

import redis.lock

import interlock

from ..._client_lookup import client_for
from ._shared import Hold, LockBase, not_owned, redis_errors, wait_of


class _Hold(Hold, interlock.Lock):
    """A hold of the blocking lock."""


class Lock(LockBase[interlock.Lock], redis.lock.Lock):
    """See the module. ``redis`` may also be an ``interlock.Client`` or a URL, except
    for ``locked()``, ``owned()`` and a ``token`` of the caller's.
    """

    def acquire(
        self,
        sleep: float | None = None,
        blocking: bool | None = None,
        blocking_timeout: float | None = None,
        token: str | bytes | None = None,
    ) -> bool:
        """As in redis-py; a ``token`` of the caller's is acquired by polling."""
        sleep = self.sleep if sleep is None else sleep
        blocking, blocking_timeout = self._limits(blocking, blocking_timeout)
        if token is not None:
            raw: Any = self.redis.get_encoder().encode(token)
            return bool(super().acquire(sleep, blocking, blocking_timeout, raw))
        with redis_errors():
            handle = self._new_handle(sleep)
            if not handle.acquire(wait_of(blocking, blocking_timeout)):
                return False
        self._keep(handle)
        return True

    def do_acquire(self, token: Any) -> bool:
        """Acquire a free lock under the caller's token, and hold it as ours."""
        lease = int(self._lease() * 1000)
        if not self.redis.set(self.name, token, nx=True, px=lease):
            return False
        with redis_errors():
            handle = self._new_handle(self.sleep)
            if not handle.adopt(token):
                return False
        self.local.handle = handle
        return True

    def do_release(self, expected_token: Any) -> None:
        handle, self.local.handle = self._handle_for(expected_token), None
        with redis_errors():
            if handle is not None and handle.release():
                return
        raise not_owned("release")

    def do_extend(self, additional_time: float, replace_ttl: bool) -> Literal[True]:
        lease = float(additional_time)
        if not replace_ttl:
            lease += max(0, self.redis.pttl(self.name)) / 1000
        return self._extend(lease, "extend")

    def do_reacquire(self) -> Literal[True]:
        return self._extend(float(self.timeout or 0), "reacquire")

    def _extend(self, lease: float, verb: str) -> Literal[True]:
        handle = self._handle_for(self.local.token)
        with redis_errors():
            if handle is not None and handle.extend(lease):
                return True
        raise not_owned(verb)

    def _new_handle(self, sleep: float | None) -> interlock.Lock:
        return _Hold(client_for(self.redis), self._key, self._options(sleep))

    def _handle_for(self, token: Any) -> interlock.Lock | None:
        """Return the handle of this token; a token that was set by hand is adopted."""
        handle = self._known(token)
        if handle is not None:
            return handle
        with redis_errors():
            handle = self._new_handle(self.sleep)
            if not handle.adopt(token):
                return None
        self.local.handle = handle
        return handle
