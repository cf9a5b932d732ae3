# SPDX-License-Identifier: MIT
"""The event that stays set, for tasks."""

from __future__ import annotations

from .. import _ffi
from .._core import lib
from ..event import AnyEvent, EventState
from ._state import State


class Event(AnyEvent, State):
    """As :class:`interlock.Event`, awaited; made by ``client.event()``.

    ``generation`` and ``data`` are what this object has last seen, whichever
    task it was that looked.
    """

    async def set(self, data: str | bytes = b"") -> int:
        """As in :mod:`interlock`."""
        raw = _ffi.name_bytes(data, "data")
        with self._handle() as handle:
            await self._driver.call(lib.ilk_event_set_start, handle, raw, len(raw))
            return self._see(handle).generation

    async def clear(self) -> int:
        """As in :mod:`interlock`."""
        with self._handle() as handle:
            await self._driver.call(lib.ilk_event_clear_start, handle)
            return self._see(handle).generation

    async def read(self) -> EventState:
        """As in :mod:`interlock`."""
        with self._handle() as handle:
            await self._driver.call(lib.ilk_event_read_start, handle)
            return self._see(handle)

    async def is_set(self) -> bool:
        """As in :mod:`interlock`."""
        return (await self.read()).is_set

    async def wait(self, timeout: float | None = None) -> bool:
        """As in :mod:`interlock`."""
        limit = _ffi.timeout_ms(timeout)
        with self._handle() as handle:
            came = await self._wait(lib.ilk_event_wait_start, handle, limit)
            self._see(handle)
            return came

    async def wait_change(
        self, generation: int, timeout: float | None = None
    ) -> EventState | None:
        """As in :mod:`interlock`."""
        known, limit = self._known(generation), _ffi.timeout_ms(timeout)
        change = lib.ilk_event_wait_change_start
        with self._handle() as handle:
            came = await self._wait(change, handle, known, limit)
            seen = self._see(handle)
            return seen if came else None
