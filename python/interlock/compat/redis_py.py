# SPDX-License-Identifier: MIT
"""A drop-in for ``redis.lock.Lock``: the same surface, another engine.

    redis.Redis().lock("orders", timeout=10, lock_class=interlock.compat.redis_py.Lock)

Constructor, methods, exceptions and the value at the key are redis-py's, so
both kinds exclude each other on one name. What differs is better: waiters are
served in their order and woken at once, and ``sleep`` matters only for a
holder that is a stock redis-py lock, which wakes nobody.

With ``timeout=None`` redis-py's lock has no expiry and survives its owner for
ever. This one has a lease of 30 s, renewed while the owner lives.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, Literal

import redis.exceptions
import redis.lock

import interlock

from .._client_lookup import client_for

_TRANSLATED: tuple[tuple[type[interlock.Error], type[Exception]], ...] = (
    (interlock.AuthError, redis.exceptions.AuthenticationError),
    (interlock.TimeoutError, redis.exceptions.TimeoutError),
    (interlock.ServerBusyError, redis.exceptions.ResponseError),
    (interlock.ServerLoadingError, redis.exceptions.BusyLoadingError),
    (interlock.ServerReadOnlyError, redis.exceptions.ReadOnlyError),
    (interlock.ServerError, redis.exceptions.ResponseError),
    (interlock.ConnectionError, redis.exceptions.ConnectionError),
    (interlock.ClosedError, redis.exceptions.ConnectionError),
    (interlock.Error, redis.exceptions.LockError),
)


@contextlib.contextmanager
def _redis_errors() -> Iterator[None]:
    """Raise redis-py's exceptions instead of ours."""
    try:
        yield
    except interlock.Error as error:
        kind = next(theirs for ours, theirs in _TRANSLATED if isinstance(error, ours))
        raise kind(str(error)) from error


class _Local(threading.local):
    """One thread's hold; with ``thread_local=False`` the threads share one."""

    token: bytes | None = None
    handle: interlock.Lock | None = None


class _Shared:
    """The same for all threads."""

    token: bytes | None = None
    handle: interlock.Lock | None = None


class Lock(redis.lock.Lock):
    """See the module. ``redis`` may be an ``interlock.Client`` or a URL as well
    for everything but ``locked()``, ``owned()`` and a token of your own.
    """

    local: Any

    def __init__(
        self,
        redis: Any,
        name: str,
        timeout: float | None = None,
        sleep: float = 0.1,
        blocking: bool = True,
        blocking_timeout: float | None = None,
        thread_local: bool = True,
        raise_on_release_error: bool = True,
    ) -> None:
        self.redis = redis
        self.name = name
        self.timeout = timeout
        self.sleep = sleep
        self.blocking = blocking
        self.blocking_timeout = blocking_timeout
        self.thread_local = bool(thread_local)
        self.raise_on_release_error = raise_on_release_error
        self.local = _Local() if self.thread_local else _Shared()

    def acquire(
        self,
        sleep: float | None = None,
        blocking: bool | None = None,
        blocking_timeout: float | None = None,
        token: str | bytes | None = None,
    ) -> bool:
        """As redis-py's; a ``token`` of your own is waited for by polling."""
        sleep = self.sleep if sleep is None else sleep
        blocking = self.blocking if blocking is None else blocking
        if blocking_timeout is None:
            blocking_timeout = self.blocking_timeout
        if token is not None:
            raw: Any = self.redis.get_encoder().encode(token)
            return bool(super().acquire(sleep, blocking, blocking_timeout, raw))
        if blocking_timeout is not None:
            blocking_timeout = max(0, blocking_timeout)
        with _redis_errors():
            handle = self._new_handle(sleep)
            if not handle.acquire(blocking_timeout if blocking else 0):
                return False
        self.local.handle = handle
        self.local.token = handle.token.encode()
        return True

    def do_acquire(self, token: Any) -> bool:
        """Take a free lock under a given token, and go on as if it were ours."""
        lease = int((self.timeout or 30) * 1000)
        if not self.redis.set(self.name, token, nx=True, px=lease):
            return False
        with _redis_errors():
            handle = self._new_handle(self.sleep)
            if not handle.adopt(token):
                return False
        self.local.handle = handle
        return True

    def do_release(self, expected_token: Any) -> None:
        handle, self.local.handle = self._handle_for(expected_token), None
        with _redis_errors():
            if handle is not None and handle.release():
                return
        raise redis.exceptions.LockNotOwnedError(
            "Cannot release a lock that's no longer owned"
        )

    def do_extend(self, additional_time: float, replace_ttl: bool) -> Literal[True]:
        lease = float(additional_time)
        if not replace_ttl:
            lease += max(0, self.redis.pttl(self.name)) / 1000
        return self._extend(lease, "extend")

    def do_reacquire(self) -> Literal[True]:
        return self._extend(float(self.timeout or 0), "reacquire")

    def _extend(self, lease: float, verb: str) -> Literal[True]:
        handle = self._handle_for(self.local.token)
        with _redis_errors():
            if handle is not None and handle.extend(lease):
                return True
        raise redis.exceptions.LockNotOwnedError(
            f"Cannot {verb} a lock that's no longer owned"
        )

    def _new_handle(self, sleep: float | None) -> interlock.Lock:
        return client_for(self.redis).lock(
            self.name,
            ttl=self.timeout or 30,
            renew=not self.timeout,
            foreign_poll=sleep or None,
        )

    def _handle_for(self, token: Any) -> interlock.Lock | None:
        """The handle of this token; a token set by hand is taken over."""
        handle: interlock.Lock | None = self.local.handle
        if handle is not None and handle.token.encode() == token:
            return handle
        with _redis_errors():
            handle = self._new_handle(self.sleep)
            if not handle.adopt(token):
                return None
        self.local.handle = handle
        return handle
