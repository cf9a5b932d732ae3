# SPDX-License-Identifier: MIT
"""The lock: one owner at a time, under a lease, with a fence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

from . import _ffi
from ._core import ffi, lib
from ._ffi import UNSET, Name, Unset
from ._lease import Lease, Options, Verbs

if TYPE_CHECKING:
    from .client import Client


class Lock(Lease):
    """A lock that one owner at a time holds; made by ``client.lock()``.

    The owner is this object: it may move between threads, and its token may
    be handed to another process with :meth:`detach` and :meth:`adopt`.

    >>> with client.lock("orders", ttl=10) as lock:
    ...     lock.held, lock.fence > 0
    (True, True)
    >>> lock.held
    False
    """

    _type = "ilk_lock"
    _verbs = Verbs(
        acquire=lib.ilk_lock_acquire,
        cancel=lib.ilk_lock_cancel,
        release=lib.ilk_lock_release,
        extend=lib.ilk_lock_extend,
        check=lib.ilk_lock_check,
        held=lib.ilk_lock_held,
        remaining_ms=lib.ilk_lock_remaining_ms,
        fence=lib.ilk_lock_fence,
        token=lib.ilk_lock_token,
        id=lib.ilk_lock_id,
        free=lib.ilk_lock_free,
    )

    def __init__(
        self,
        client: Client,
        name: Name,
        options: Options,
        open_handle: Callable[..., int] = lib.ilk_lock_open,
    ) -> None:
        raw = _ffi.name_bytes(name)
        super().__init__(client, repr(name), options, open_handle, raw, len(raw))
        self._name = name

    @property
    def name(self) -> Name:
        """The name, as it was given."""
        return self._name

    def acquire(
        self,
        timeout: float | Unset | None = UNSET,
        *,
        ttl: float | None = None,
    ) -> bool:
        """Take the lock, waiting for those who asked before.

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
        ConnectionError and the server's conditions.
        Blocks: yes; ended by a signal handler that raises, ``cancel()`` and
        ``client.close()``. Thread: one thread at a time.
        """
        if ttl is None:
            return self._take(timeout, lib.ilk_lock_acquire)
        return self._take(timeout, lib.ilk_lock_acquire_ttl, _ffi.lease_ms(ttl))

    def detach(self) -> str:
        """Stop renewing and give the hold away; the answer is its token.

        The lock stays taken until its lease ends; another handle, also in
        another process, takes it over with :meth:`adopt`.

        >>> donor, heir = client.lock("tape"), client.lock("tape")
        >>> donor.acquire()
        True
        >>> heir.adopt(donor.detach())
        True
        >>> donor.held, heir.held, heir.release()
        (False, True, True)

        Raises: NotOwnedError, LostError. Blocks: no.
        Thread: one thread at a time.
        """
        handle = self._live()
        _ffi.call(lib.ilk_lock_detach, handle)
        self._depth, self._owner = 0, None
        return self.token

    def adopt(self, token: str | bytes) -> bool:
        """Take over a hold by its token; its fence stays.

        Answers False when the lock is no longer held under this token.

        Raises: HeldError, InvalidError, UnknownOutcomeError.
        Blocks: one round trip. Thread: one thread at a time.
        """
        raw = _ffi.name_bytes(token, "token")
        handle = self._live()
        if self._reentrant:
            self._claim()
        err = _ffi.new_error()
        try:
            status = lib.ilk_lock_adopt(handle, raw, len(raw), err)
            if status == lib.ILK_OK:
                self._depth = 1
        finally:
            if not self._depth:
                self._owner = None
        return self._unless_lost(status, err)


def break_lock(client: Client, name: Name, token: str | bytes | None) -> bool:
    """See :meth:`Client.break_lock`."""
    raw = _ffi.name_bytes(name)
    mark = None if token is None else _ffi.name_bytes(token, "token")
    err = _ffi.new_error()
    status: int = lib.ilk_lock_break(
        client._live(),
        raw,
        len(raw),
        ffi.NULL if mark is None else mark,
        0 if mark is None else len(mark),
        err,
    )
    if status == lib.ILK_ENOTOWNER:
        return False
    _ffi.check(status, err)
    return True
