# SPDX-License-Identifier: MIT
"""The part of the drop-ins that the blocking and the asyncio one share."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import redis.exceptions

import interlock

from ... import _fork
from ..._client_lookup import name_for
from ..._lease_base import LeaseBase, Options

#: Bytes of a name; redis-py has no such limit.
NAME_MAX = 512

TRANSLATED: tuple[tuple[type[interlock.Error], type[Exception]], ...] = (
    (interlock.AuthError, redis.exceptions.AuthenticationError),
    (interlock.TimeoutError, redis.exceptions.TimeoutError),
    (interlock.ServerBusyError, redis.exceptions.ResponseError),
    (interlock.ServerLoadingError, redis.exceptions.BusyLoadingError),
    (interlock.ServerReadOnlyError, redis.exceptions.ReadOnlyError),
    (interlock.ServerError, redis.exceptions.ResponseError),
    (interlock.ConnectionError, redis.exceptions.ConnectionError),
    (interlock.ClosedError, redis.exceptions.ConnectionError),
    (interlock.NotOwnedError, redis.exceptions.LockNotOwnedError),
    (interlock.Error, redis.exceptions.LockError),
)


@contextlib.contextmanager
def redis_errors() -> Iterator[None]:
    """Raise redis-py's exceptions instead of interlock's."""
    try:
        yield
    except interlock.Error as error:
        kind = next(theirs for ours, theirs in TRANSLATED if isinstance(error, ours))
        raise kind(str(error)) from error


def key_of(conn: object, name: object) -> str | bytes:
    """Return the key's name, encoded as redis-py encodes arguments."""
    if isinstance(name, str):
        name = name_for(conn, name)
    if isinstance(name, (bytes, bytearray, memoryview)):
        raw = bytes(name)
    elif isinstance(name, (int, float)) and not isinstance(name, bool):
        raw = repr(name).encode()
    elif isinstance(name, str):
        raw = name.encode("utf-8", "surrogateescape")
    else:
        raise redis.exceptions.DataError(
            f"name must be str, bytes, int or float, got {type(name).__name__}"
        )
    if len(raw) > NAME_MAX:
        raise redis.exceptions.DataError(
            f"name must have {NAME_MAX} bytes at most, got {len(raw)}"
        )
    return name if isinstance(name, str) else raw


class Hold(LeaseBase):
    """One hold; as in redis-py, a forgotten hold is waited for like any other."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._made_in = _fork.generation

    def _refuse_kept(self) -> None:
        pass


Handle = TypeVar("Handle", bound=LeaseBase)


class _Shared:
    """The hold that all threads share, for ``thread_local=False``."""

    token: bytes | None = None
    handle: Any = None


class _Local(threading.local):
    """The hold of one thread, for ``thread_local=True``."""

    token: bytes | None = None
    handle: Any = None


class LockBase(Generic[Handle]):
    """Constructor and arguments as in redis-py, and the hold of ours."""

    redis: Any
    name: Any
    timeout: Any
    local: Any

    def __init__(
        self,
        redis: Any,
        name: str | bytes | float,
        timeout: float | None = None,
        sleep: float = 0.1,
        blocking: bool = True,
        blocking_timeout: float | None = None,
        thread_local: bool = True,
        raise_on_release_error: bool = True,
    ) -> None:
        self.redis = redis
        self.name = name
        self._key = key_of(redis, name)
        self.timeout = timeout
        self.sleep = sleep
        self.blocking = blocking
        self.blocking_timeout = blocking_timeout
        self.thread_local: bool = bool(thread_local)
        self.raise_on_release_error = raise_on_release_error
        self.local = _Local() if self.thread_local else _Shared()

    def _limits(
        self, blocking: bool | None, blocking_timeout: float | None
    ) -> tuple[bool, float | None]:
        """Return the arguments of ``acquire()``, those of the constructor for None."""
        if blocking is None:
            blocking = self.blocking
        if blocking_timeout is None:
            blocking_timeout = self.blocking_timeout
        return blocking, blocking_timeout

    def _lease(self) -> float:
        return self.timeout or 30

    def _options(self, sleep: float | None) -> Options:
        """Return the options of a handle that behaves as redis-py's lock."""
        return Options(
            ttl=self._lease(),
            wait=None,
            renew=not self.timeout,
            fair=True,
            reentrant=False,
            max_hold=None,
            layout="plain",
            foreign_poll=sleep or None,
        )

    def _keep(self, handle: Handle) -> None:
        """Remember what was acquired."""
        self.local.handle = handle
        self.local.token = handle.token.encode()

    def _known(self, token: Any) -> Handle | None:
        """Return the handle that holds under this token, if it is ours.

        A forked child has the token and, unlike redis-py's lock, a handle that is
        its parent's: it adopts the token.
        """
        handle: Any = self.local.handle
        if handle is None or handle._made_in != _fork.generation:
            return None
        known: Handle = handle
        return known if known.token.encode() == token else None


def wait_of(blocking: bool, blocking_timeout: float | None) -> float | None:
    """Return how long to wait, as interlock's locks take it."""
    if not blocking:
        return 0
    return None if blocking_timeout is None else max(0, blocking_timeout)


def not_owned(verb: str) -> redis.exceptions.LockNotOwnedError:
    """Make the exception for a hold that is another's by now."""
    return redis.exceptions.LockNotOwnedError(
        f"Cannot {verb} a lock that's no longer owned"
    )
