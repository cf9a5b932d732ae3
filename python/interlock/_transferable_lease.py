# SPDX-License-Identifier: MIT
"""The calls that only locks and semaphores have, beside those of every lease.

They acquire with another lease, release without waiting for the reply, and
take over a hold by its token.
"""

from __future__ import annotations

from typing import Callable, ClassVar

from . import _ffi, errors
from ._core import lib
from ._ffi import UNSET, Seconds, Unset
from ._lease import Lease
from ._lease_base import TransferableLeaseBase


class TransferableLease(TransferableLeaseBase, Lease):
    """A handle of one name that can be detached and adopted: lock, semaphore."""

    _acquire_ttl: ClassVar[Callable[..., int]]
    _adopt: ClassVar[Callable[..., int]]
    _release_unconfirmed: ClassVar[Callable[..., int]]

    def acquire(
        self,
        timeout: Seconds | Unset | None = UNSET,
        *,
        blocking: bool = True,
        ttl: Seconds | None = None,
    ) -> bool:
        """Acquire, waiting behind all earlier waiters.

        ``timeout`` is in seconds; None waits for ever, 0 and ``blocking=False`` try
        once, and the default is the handle's ``wait``. ``ttl``, in seconds, is the lease of
        this hold only. Returns False when the time ran out.

        >>> lock = client.lock("report")
        >>> lock.acquire(timeout=0)
        True
        >>> client.lock("report").acquire(timeout=0)
        False
        >>> lock.release()
        True

        Raises: HeldError, LostError, CancelledError, ClosedError, ForkedError,
        ConnectionError and the server's errors; for a semaphore also
        DiffersError. Blocks: yes; ended by a signal handler that raises,
        ``cancel()``, ``client.stop()`` and ``client.close()``. Thread: one thread at
        a time.
        """
        limit = self._limit_ms(timeout, blocking)
        if ttl is None:
            return self._acquire_with(limit, self._functions.acquire)
        lease = _ffi.lease_ms(ttl)
        return self._acquire_with(limit, type(self)._acquire_ttl, lease)

    def release(self, *, confirm: bool = True) -> bool:
        """Release; the first waiter in the wait queue holds next.

        Returns False when the hold had been lost; the hold of another owner is
        never touched. ``confirm=False`` returns without waiting for the reply,
        which saves a round trip; then the next ``acquire()`` raises a loss, and
        acquires nothing.

        >>> lock = client.lock("brisk")
        >>> for _ in range(3):
        ...     assert lock.acquire() and lock.release(confirm=False)

        Raises: NotOwnedError when the handle holds nothing, UnknownOutcomeError
        when no reply came; with ``confirm=False`` LostError when the loss is
        known already. Blocks: one round trip; with ``confirm=False`` no.
        Thread: one thread at a time.
        """
        if confirm:
            return super().release()
        handle = self._live()
        if self._reentrant:
            self._refuse_other_owner(errors.NotOwnedError)
        _ffi.call(type(self)._release_unconfirmed, handle)
        self._forget_one()
        return True

    def adopt(self, token: str | bytes) -> bool:
        """Take over the hold with this token; its fence stays the same.

        Returns False when no hold with this token exists any more. Where the store
        keeps no detached holds (``client.offers("detach")``), only the hold of a
        collected object of this client is taken.

        Raises: HeldError, InvalidError, UnsupportedError, UnknownOutcomeError.
        Blocks: one round trip. Thread: one thread at a time.
        """
        raw = _ffi.name_bytes(token, "token")
        handle = self._live()
        if self._reentrant:
            self._claim_owner()
        err = _ffi.new_error()
        try:
            status = type(self)._adopt(handle, raw, len(raw), err)
            if status == lib.ILK_OK:
                self._depth = 1
            if status in (lib.ILK_OK, lib.ILK_ELOST):
                self._drop_kept(raw)
            elif status == lib.ILK_EUNSUPPORTED and self._take_back(token):
                return True
        finally:
            if not self._depth:
                self._owner = None
        return self._unless_lost(status, err)
