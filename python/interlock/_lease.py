# SPDX-License-Identifier: MIT
"""The calls of every handle that holds a lease: acquire, release, ``with``."""

from __future__ import annotations

import logging
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, cast

from . import _ffi, _greenlets, errors
from ._core import ffi, lib
from ._ffi import EINTR, OK, UNSET, Unset
from ._lease_base import LeaseBase

if TYPE_CHECKING:
    from typing_extensions import Self

    from .client import Client

log = logging.getLogger("interlock")

NOT_IN_TIME = (lib.ILK_EBUSY, lib.ILK_ETIMEOUT, lib.ILK_EINTR)


class Lease(LeaseBase):
    """A handle that is acquired, held under a lease, and released.

    Thread: one thread at a time; the handle may move between threads, except
    with ``reentrant=True``. ``cancel()`` may be called from any thread.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._err = _ffi.new_error()  # for the two verbs that must be quick

    def acquire(self, timeout: float | Unset | None = UNSET) -> bool:
        """Take it, waiting for those who asked before.

        ``timeout`` is in seconds; None waits for ever, 0 tries once, and the
        default is the handle's ``wait``. Answers False when the time ran out.

        Raises: HeldError, CancelledError, ClosedError, ForkedError,
        ConnectionError and the server's conditions.
        Blocks: yes; ended by a signal handler that raises, ``cancel()`` and
        ``client.close()``. Thread: one thread at a time.
        """
        return self._take(timeout, self._functions.acquire)

    def release(self) -> bool:
        """Give it up; the first who waits holds it next.

        Answers False when it was no longer ours; nobody else's is touched.

        Raises: NotOwnedError when the handle holds nothing, UnknownOutcomeError
        when there was no answer. Blocks: one round trip.
        Thread: one thread at a time.
        """
        handle = self._live()
        if self._reentrant:
            self._refuse_stranger(errors.NotOwnedError)
        err = self._err
        try:
            status = self._functions.release(handle, err)
        finally:
            self._forget_one()
        return status == OK or self._unless_lost(status, err)

    def extend(self, ttl: float | None = None) -> bool:
        """Set the lease left to ``ttl`` seconds, or to the handle's.

        Answers False when it is no longer ours.

        Raises: NotOwnedError, InvalidError, UnknownOutcomeError.
        Blocks: one round trip. Thread: one thread at a time.
        """
        lease = _ffi.lease_ms(ttl)
        handle = self._live()
        err = _ffi.new_error()
        return self._unless_lost(self._functions.extend(handle, lease, err), err)

    def check(self) -> None:
        """Make sure that it is still ours; the server is asked only in doubt.

        Raises: LostError, NotOwnedError, UnknownOutcomeError.
        Blocks: at most one round trip. Thread: one thread at a time.
        """
        _ffi.call(self._functions.check, self._live())

    @property
    def client(self) -> Client:
        """The client that it was made from."""
        return cast("Client", self._client)

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
        if not self._depth:  # released or handed over inside
            return
        lost: errors.Error
        try:
            if self.release():
                return
            lost = errors.LostError(f"{self._noun} {self._shown} was lost inside")
        except errors.Error as failure:
            lost = failure
        if error is None:
            raise lost
        log.warning("while %s left its block: %s", kind and kind.__name__, lost)

    def _take(
        self,
        timeout: float | Unset | None,
        acquire: Callable[..., int],
        *more: Any,
    ) -> bool:
        """Acquire by one of the C functions; ``more`` stands behind its timeout."""
        limit = _ffi.timeout_ms(self._wait if timeout is UNSET else timeout)
        handle = self._live()
        if self._reentrant:
            self._claim()
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
        if status in NOT_IN_TIME:
            return False
        raise _ffi.failure(status, err)

    def _abandon(self, handle: Any, held: bool) -> None:
        """End a wait, and give back what was granted since."""
        self._functions.cancel(handle, ffi.NULL)
        if not held and self._functions.held(handle):
            self._functions.release(handle, ffi.NULL)

    def _drop(self, handle: Any) -> None:
        """Release without a word."""
        self._forget_one()
        self._functions.release(handle, ffi.NULL)
