# SPDX-License-Identifier: MIT
"""The blocking calls of every handle with a lease: acquire, release, ``with``."""

from __future__ import annotations

import logging
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, cast

from . import _decorator, _ffi, _greenlets, errors
from ._core import ffi, lib
from ._decorator import F
from ._ffi import EHELD, EINTR, OK, UNSET, Seconds, Unset
from ._lease_base import LeaseBase

if TYPE_CHECKING:
    from typing_extensions import Self

    from .client import Client

log = logging.getLogger("interlock")

TIMEOUT_STATUSES = (lib.ILK_EBUSY, lib.ILK_ETIMEOUT, lib.ILK_EINTR)


class Lease(LeaseBase):
    """A handle that is acquired, held under a lease, and released.

    Thread: one thread at a time; the handle may move between threads, except
    with ``reentrant=True``. ``cancel()`` may be called from any thread.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._err = _ffi.new_error()  # reused by acquire and release for speed

    def acquire(
        self, timeout: Seconds | Unset | None = UNSET, *, blocking: bool = True
    ) -> bool:
        """Acquire, waiting behind all earlier waiters.

        ``timeout`` is in seconds; None waits for ever, 0 and ``blocking=False`` try
        once, and the default is the handle's ``wait``. Returns False when the time
        ran out.

        Raises: HeldError, LostError, CancelledError, ClosedError, ForkedError,
        ConnectionError and the server's errors.
        Blocks: yes; ended by a signal handler that raises, ``cancel()``,
        ``client.stop()`` and ``client.close()``. Thread: one thread at a time.
        """
        limit = self._limit_ms(timeout, blocking)
        return self._acquire_with(limit, self._functions.acquire)

    def release(self) -> bool:
        """Release; the first waiter in the wait queue holds next.

        Returns False when the hold had been lost; the hold of another owner is
        never touched.

        Raises: NotOwnedError when the handle holds nothing, UnknownOutcomeError
        when no reply came. Blocks: one round trip.
        Thread: one thread at a time.
        """
        handle = self._live()
        if self._reentrant:
            self._refuse_other_owner(errors.NotOwnedError)
        err = self._err
        status = OK
        try:
            status = self._functions.release(handle, err)
        finally:
            if status != EHELD:  # another thread uses the handle, which still holds
                self._forget_one()
        return status == OK or self._unless_lost(status, err)

    def extend(self, ttl: Seconds | None = None) -> bool:
        """Set the remaining lease to ``ttl`` seconds; None means the handle's ``ttl``.

        Returns False when the hold has been lost.

        Raises: NotOwnedError, InvalidError, UnknownOutcomeError.
        Blocks: one round trip. Thread: one thread at a time.
        """
        lease = _ffi.lease_ms(ttl)
        handle = self._live()
        err = _ffi.new_error()
        return self._unless_lost(self._functions.extend(handle, lease, err), err)

    def check(self) -> None:
        """Verify that this handle still holds; asks the server only when in doubt.

        Raises: LostError, NotOwnedError, UnknownOutcomeError.
        Blocks: at most one round trip. Thread: one thread at a time.
        """
        _ffi.call(self._functions.check, self._live())

    @property
    def client(self) -> Client:
        """The client that it was made from."""
        return cast("Client", self._client)

    def __call__(self, function: F) -> F:
        """Decorate a function: each call of it holds while it runs.

        Each call has a handle of its own, with the options of this one, so that
        several threads may call the function.

        >>> @client.lock("report")
        ... def report():
        ...     return client.lock("report").locked()
        >>> report()
        True

        Raises: TypeError for generators and async functions, and from a call that
        returns one of their results, which would run too late; a call raises what
        ``with`` raises. Blocks: no. Thread: any thread.
        """
        return _decorator.blocking(function, self._holds())

    def __enter__(self) -> Self:
        depth = self._depth
        try:
            if self.acquire():
                return self
        except BaseException:
            if self._depth > depth:  # a signal handler raised after the grant
                self._drop(self._handle)
            raise
        raise errors.TimeoutError(
            f"{self._noun} {self._shown} was not acquired within {self._wait} s"
        )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._depth:  # released or detached inside the block
            return
        lost: errors.Error
        depth = self._depth
        try:
            if self.release():
                return
            lost = self._lost_inside()
        except errors.Error as failure:
            lost = self._failure_at_exit(failure, depth)
        if error is None:
            raise lost
        log.warning("not released after %s: %s", kind and kind.__name__, lost)

    def _acquire_with(
        self,
        limit: int,
        acquire: Callable[..., int],
        *more: Any,
    ) -> bool:
        """Acquire with one of the C functions; ``more`` follows its timeout in ms."""
        handle = self._live()
        self._refuse_kept()
        if self._reentrant:
            self._claim_owner()
            if self._depth > 0 and not self._functions.held(handle):
                self._check_outer()
        held = self._depth > 0 and bool(self._functions.held(handle))
        in_thread = None
        if limit != 0 and ("gevent" in sys.modules or "eventlet" in sys.modules):
            in_thread = _greenlets.runner(lambda: self._abandon(handle, held))
        err = self._err
        try:
            status = _ffi.call_blocking(acquire, handle, limit, more, err, in_thread)
            if status == OK:
                self._depth = self._depth + 1 if self._reentrant else 1
                return True
            if status == EINTR:
                self._abandon(handle, held)
        except BaseException:
            self._abandon(handle, held)
            raise
        finally:
            if not self._depth:
                self._owner = None
        if status in TIMEOUT_STATUSES:
            return False
        raise _ffi.failure(status, err)

    def _check_outer(self) -> None:
        """Refuse to nest in a hold that was lost; asks the server when in doubt."""
        try:
            self.check()
        except errors.Error as failure:
            raise self._outer_failure(failure) from None

    def _abandon(self, handle: Any, held: bool) -> None:
        """Cancel a wait, and release what was granted meanwhile."""
        self._functions.cancel(handle, ffi.NULL)
        if not held and self._functions.held(handle):
            self._functions.release(handle, ffi.NULL)

    def _drop(self, handle: Any) -> None:
        """Release, and ignore a failure."""
        self._forget_one()
        self._functions.release(handle, ffi.NULL)
