# SPDX-License-Identifier: MIT
"""News of a client: an iterator over one pollable descriptor."""

from __future__ import annotations

import contextlib
import dataclasses
import select
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from . import _ffi, errors
from ._core import ffi, lib

if TYPE_CHECKING:
    from ._lease_base import LeaseBase
    from .client import Client

KINDS = {
    lib.ILK_NOTIFICATION_LOCK_LOST: "lock_lost",
    lib.ILK_NOTIFICATION_SEMAPHORE_LOST: "semaphore_lost",
    lib.ILK_NOTIFICATION_LEADERSHIP_LOST: "leadership_lost",
    lib.ILK_NOTIFICATION_LEADERSHIP_WON: "leadership_won",
}

# The descriptor is closed with the client, and closing wakes no poller.
SLICE = 0.25


@dataclasses.dataclass(frozen=True)
class Notification:
    """One piece of news: a hint; ``lock.remaining()`` is the truth."""

    kind: str  #: lock_lost, semaphore_lost, leadership_lost, leadership_won
    id: int  #: of the handle, see ``lock.id``
    error: errors.Error | None  #: why; None for what was won
    lock: LeaseBase | None  #: the handle itself, if it is still in use


class Notifications:
    """What ``client.notifications()`` returns.

    Iterating waits for the next notification and ends when the client is closed.
    ``fileno()`` is for select, poll and ``loop.add_reader``: wait for it to
    become readable, never read it, then call ``get(0)`` until it answers None.

    >>> client.notifications().get(timeout=0) is None
    True
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self.fileno()

    def fileno(self) -> int:
        """The descriptor that is readable while there is a notification to fetch."""
        out = ffi.new("int *")
        _ffi.call(lib.ilk_client_notification_fd, self._client._live(), out)
        return int(out[0])

    def get(self, timeout: float | None = None) -> Notification | None:
        """The next notification, or None when there was none in time.

        Raises: ClosedError. Blocks: at most ``timeout`` seconds, None for
        ever. Thread: any thread.
        """
        if timeout is not None:
            _ffi.milliseconds(timeout, "timeout")
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            notification = self._fetch()
            left = SLICE if end is None else min(SLICE, end - time.monotonic())
            if notification is not None or left <= 0:
                return notification
            # Where it is closed meanwhile, the next fetch tells.
            with contextlib.suppress(OSError, ValueError):
                select.select([self.fileno()], [], [], left)

    def __iter__(self) -> Iterator[Notification]:
        return self

    def __next__(self) -> Notification:
        try:
            notification = self.get()
        except errors.ClosedError:
            raise StopIteration from None
        assert notification is not None
        return notification

    def _fetch(self) -> Notification | None:
        raw = ffi.new("ilk_notification *")
        raw.size = ffi.sizeof(raw[0])
        err = _ffi.new_error()
        status = lib.ilk_client_next_notification(self._client._live(), raw, err)
        if status == lib.ILK_EAGAIN:
            return None
        _ffi.check(status, err)
        return Notification(
            kind=KINDS.get(raw.kind, str(raw.kind)),
            id=raw.id,
            error=errors.from_status(raw.status) if raw.status else None,
            lock=self._client._handles.get(raw.id),
        )
