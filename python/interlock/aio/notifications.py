# SPDX-License-Identifier: MIT
"""News of a client, for tasks."""

from __future__ import annotations

import collections
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from .. import _ffi, errors
from ..notifications import KINDS, Notification

if TYPE_CHECKING:
    from ._driver import Gate
    from .client import Client

MOST = 1024  # as many as the core keeps


class News:
    """What a client keeps of its notifications until somebody fetches them."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._kept: collections.deque[Notification] = collections.deque(maxlen=MOST)
        self._gates: list[Gate] = []

    def add(self, kind: int, number: int, status: int) -> None:
        """One more, of the core's."""
        error = errors.from_status(status) if status else None
        handle = self._client._handles.get(number)
        self._kept.append(
            Notification(KINDS.get(kind, str(kind)), number, error, handle)
        )
        self.wake()

    def wake(self) -> None:
        """Let those who wait look again."""
        gates, self._gates = self._gates, []
        for gate in gates:
            gate.open()

    async def get(self, timeout: float | None) -> Notification | None:
        """The first, or None when there was none in time."""
        driver = self._client._driver
        driver.drain()
        while not self._kept:
            if self._client.closed:
                raise errors.ClosedError("the client is closed")
            gate = driver.gate()
            self._gates.append(gate)
            if not await gate.wait(timeout) and not self._kept:
                return None
        return self._kept.popleft()


class Notifications:
    """As :class:`interlock.Notifications`, awaited; made by ``client.notifications()``.

    ``async for`` waits for the next notification and ends when the client is closed.
    """

    def __init__(self, client: Client) -> None:
        self._news = client._news

    async def get(self, timeout: float | None = None) -> Notification | None:
        """The next notification, or None when there was none in time."""
        if timeout is not None:
            _ffi.milliseconds(timeout, "timeout")
        return await self._news.get(timeout)

    def __aiter__(self) -> AsyncIterator[Notification]:
        return self

    async def __anext__(self) -> Notification:
        try:
            notification = await self._news.get(None)
        except errors.ClosedError:
            raise StopAsyncIteration from None
        assert notification is not None
        return notification
