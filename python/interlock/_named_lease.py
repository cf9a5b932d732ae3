# SPDX-License-Identifier: MIT
"""What the handles of one name have beside what every lease has.

A lease for one acquire only, and a hold that moves to another handle.
"""

from __future__ import annotations

from typing import Callable, ClassVar

from . import _ffi, errors
from ._core import lib
from ._ffi import UNSET, Unset
from ._lease import Lease
from ._lease_base import NamedLeaseBase


class NamedLease(NamedLeaseBase, Lease):
    """A handle of one name; its primitives are the lock and the semaphore."""

    _acquire_ttl: ClassVar[Callable[..., int]]
    _adopt: ClassVar[Callable[..., int]]
    _release_unconfirmed: ClassVar[Callable[..., int]]

    def acquire(
        self,
        timeout: float | Unset | None = UNSET,
        *,
        ttl: float | None = None,
    ) -> bool:
        """Take it, waiting for those who asked before.

        ``timeout`` is in seconds; None waits for ever, 0 tries once, and the
        default is the handle's ``wait``. ``ttl`` is a lease for this acquire
        only. Answers False when the time ran out.

        >>> lock = client.lock("report")
        >>> lock.acquire(timeout=0)
        True
        >>> client.lock("report").acquire(timeout=0)
        False
        >>> lock.release()
        True

        Raises: HeldError, CancelledError, ClosedError, ForkedError,
        ConnectionError and the server's conditions; of a semaphore, too,
        DiffersError. Blocks: yes; ended by a signal handler that raises,
        ``cancel()`` and ``client.close()``. Thread: one thread at a time.
        """
        if ttl is None:
            return self._take(timeout, self._functions.acquire)
        lease = _ffi.lease_ms(ttl)
        return self._take(timeout, type(self)._acquire_ttl, lease)

    def release(self, *, confirm: bool = True) -> bool:
        """Give it up; the first who waits holds it next.

        Answers False when it was no longer ours; nobody else's is touched.
        ``confirm=False`` does not wait for that answer: it saves a round
        trip, and a loss is then raised by the next ``acquire()``, which
        takes nothing.

        >>> lock = client.lock("brisk")
        >>> for _ in range(3):
        ...     assert lock.acquire() and lock.release(confirm=False)

        Raises: NotOwnedError when the handle holds nothing, UnknownOutcomeError
        when there was no answer; without waiting LostError when that is known.
        Blocks: one round trip, or not at all. Thread: one thread at a time.
        """
        if confirm:
            return super().release()
        handle = self._live()
        if self._reentrant:
            self._refuse_stranger(errors.NotOwnedError)
        _ffi.call(type(self)._release_unconfirmed, handle)
        self._forget_one()
        return True

    def adopt(self, token: str | bytes) -> bool:
        """Take over a hold by its token; its fence stays.

        Answers False when it is no longer held under this token.

        Raises: HeldError, InvalidError, UnknownOutcomeError.
        Blocks: one round trip. Thread: one thread at a time.
        """
        raw = _ffi.name_bytes(token, "token")
        handle = self._live()
        if self._reentrant:
            self._claim()
        err = _ffi.new_error()
        try:
            status = type(self)._adopt(handle, raw, len(raw), err)
            if status == lib.ILK_OK:
                self._depth = 1
        finally:
            if not self._depth:
                self._owner = None
        return self._unless_lost(status, err)
