# SPDX-License-Identifier: MIT
"""The notifications of a client, for tasks."""

from __future__ import annotations

import collections
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from .. import _ffi, errors
from .._ffi import Seconds
from .._process_bound import ProcessBound
from ..notifications import STOPPED, Notification, to_notification

if TYPE_CHECKING:
    from ._driver import LoopEvent
    from .client import Client

MAX_UNFETCHED = 1024  # the limit of the core's queue of notifications


class NotificationBuffer:
    """The notifications of a client that no task has fetched yet."""

    def __init__(self, client: Client) -> None:
        self._client = client
        # Converted when fetched, so that none keeps the object of a handle alive.
        self._unfetched: collections.deque[tuple[int, int, int, int]] = (
            collections.deque(maxlen=MAX_UNFETCHED)
        )
        self._events: list[LoopEvent] = []

    def add(self, kind: int, number: int, status: int, cause: int) -> None:
        """Append a notification of the core."""
        self._unfetched.append((kind, number, status, cause))
        self.wake()

    def wake(self) -> None:
        """Wake the waiting tasks, which check the notifications again."""
        events, self._events = self._events, []
        for event in events:
            event.set()

    async def get(self, timeout: float | None) -> Notification | None:
        """Return the first notification, or None when there was none in time."""
        driver = self._client._driver
        end = None if timeout is None else time.monotonic() + timeout
        driver.drain()
        while not self._unfetched:
            if self._client.closed:
                raise errors.ClosedError("the client is closed")
            if self._client.stopped and timeout != 0:
                raise errors.CancelledError(STOPPED)
            # Another task may have taken what this one was woken for.
            left = None if end is None else max(0, end - time.monotonic())
            event = driver.event()
            self._events.append(event)
            try:
                came = await event.wait(left)
            finally:
                if event in self._events:  # nobody has woken it
                    self._events.remove(event)
            if not came and not self._unfetched:
                return None
        return to_notification(self._client, *self._unfetched.popleft())


class Notifications(ProcessBound):
    """As :class:`interlock.Notifications`, awaited; made by ``client.notifications()``.

    ``async for`` waits for the next notification and ends when the client is closed
    or stopped.
    """

    def __init__(self, client: Client) -> None:
        self._buffer = client._buffer

    async def get(self, timeout: Seconds | None = None) -> Notification | None:
        """Return the next notification, or None when there was none in time."""
        if timeout is not None:
            _ffi.milliseconds(timeout, "timeout")
            timeout = _ffi.as_float(timeout)
        return await self._buffer.get(timeout)

    def __aiter__(self) -> AsyncIterator[Notification]:
        return self

    async def __anext__(self) -> Notification:
        try:
            notification = await self._buffer.get(None)
        except (errors.ClosedError, errors.CancelledError):
            raise StopAsyncIteration from None
        assert notification is not None
        return notification
