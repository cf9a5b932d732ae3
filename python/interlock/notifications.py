# SPDX-License-Identifier: MIT
"""The notifications of a client: an iterator over one pollable descriptor."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import select
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from . import _core_log, _ffi, errors
from ._core import ffi, lib
from ._ffi import Seconds
from ._process_bound import ProcessBound

if TYPE_CHECKING:
    from ._client_base import ClientBase
    from ._lease_base import LeaseBase
    from .client import Client
    from .group import MemberBase

KINDS = {
    lib.ILK_NOTIFICATION_LOCK_LOST: "lock_lost",
    lib.ILK_NOTIFICATION_SEMAPHORE_LOST: "semaphore_lost",
    lib.ILK_NOTIFICATION_LEADERSHIP_LOST: "leadership_lost",
    lib.ILK_NOTIFICATION_LEADERSHIP_WON: "leadership_won",
    lib.ILK_NOTIFICATION_KEPT: "kept",
    lib.ILK_NOTIFICATION_MEMBER_LOST: "member_lost",
}

STOPPED = "the client is stopped"

# Seconds of one poll: a poller does not notice that the descriptor is closed.
SLICE = 0.25


@dataclasses.dataclass(frozen=True)
class Notification:
    """One notification: a hint, while ``lock.remaining()`` is certain."""

    #: lock_lost, semaphore_lost, leadership_lost, leadership_won, member_lost, kept
    kind: str
    id: int  #: the number of the handle: ``lock.id``, ``member.number``
    error: errors.Error | None  #: the reason; None for a leadership that was won
    #: the handle itself, while the program keeps it; a Member for member_lost
    lock: LeaseBase | MemberBase | None
    #: why a hold was lost: "broken", "expired" (not renewed in time), "unreachable"
    #: (expired during an outage), "deleted", "wiped", "ended" (as agreed), "unknown";
    #: "" for other kinds
    cause: str = ""


def cause_name(cause: int) -> str:
    """Return the name of an ilk_loss, "" for none. Blocks: no. Thread: any thread."""
    return _ffi.text(lib.ilk_loss_name(cause)) if cause else ""


def loss_error(status: int, cause: int) -> errors.Error:
    """Make the error that reports a loss. Blocks: no. Thread: any thread."""
    text = _ffi.text(lib.ilk_strerror(status))
    return errors.from_status(status, f"{text}: {cause_name(cause)}" if cause else text)


def to_notification(
    client: ClientBase, kind: int, number: int, status: int, cause: int
) -> Notification:
    """Convert the fields of an ilk_notification. Blocks: no. Thread: any thread."""
    name = KINDS.get(kind, str(kind))
    error = loss_error(status, cause) if status else None
    kept = client._kept.get(number)
    if kept is not None and name == "kept":
        error = kept.error()
    elif kept is not None and name.endswith("_lost"):
        client._kept.forget(number)
    lock = client._handles.get(number)
    return Notification(name, number, error, lock, cause_name(cause))


def _wait_readable(fd: int, seconds: float) -> None:
    # select() refuses descriptors from 1024 on; not every system has poll(), and
    # eventlet takes it away.
    if not hasattr(select, "poll"):
        select.select([fd], [], [], seconds)
        return
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    poll.poll(math.ceil(seconds * 1000))


class Notifications(ProcessBound):
    """The iterator that ``client.notifications()`` returns.

    Iterating waits for the next notification and ends when the client is closed or
    stopped. ``fileno()`` is for select, poll and ``loop.add_reader``: wait for it to
    become readable, never read it, then call ``get(0)`` until it returns None.

    >>> client.notifications().get(timeout=0) is None
    True
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self.fileno()

    def fileno(self) -> int:
        """Return the descriptor that is readable while there are notifications.

        Raises: ClosedError. Blocks: no. Thread: any thread.
        """
        out = ffi.new("int *")
        _ffi.call(lib.ilk_client_notification_fd, self._client._live(), out)
        return int(out[0])

    def get(self, timeout: Seconds | None = None) -> Notification | None:
        """Return the next notification, or None when there was none in time.

        Raises: ClosedError, CancelledError. Blocks: at most ``timeout`` seconds, None
        for ever; ended by ``client.stop()``. Thread: any thread.
        """
        if timeout is not None:
            _ffi.milliseconds(timeout, "timeout")
        end = None if timeout is None else time.monotonic() + _ffi.as_float(timeout)
        _core_log.drain()
        while True:
            notification = self._fetch()
            left = SLICE if end is None else min(SLICE, end - time.monotonic())
            if notification is not None or left <= 0:
                return notification
            if self._client.stopped:
                raise errors.CancelledError(STOPPED)
            # If the client is closed meanwhile, the next fetch raises ClosedError.
            with contextlib.suppress(OSError, ValueError):
                _wait_readable(self.fileno(), left)

    def __iter__(self) -> Iterator[Notification]:
        return self

    def __next__(self) -> Notification:
        try:
            notification = self.get()
        except (errors.ClosedError, errors.CancelledError):
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
        return to_notification(self._client, raw.kind, raw.id, raw.status, raw.cause)
