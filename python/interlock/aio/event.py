# SPDX-License-Identifier: MIT
"""The event that stays set, for tasks."""

from __future__ import annotations

from .. import _ffi
from .._core import lib
from .._ffi import Seconds
from ..event import EventBase, EventState
from ._state import State


class Event(EventBase, State):
    """As :class:`interlock.Event`, awaited; made by ``client.event()``.

    ``generation`` and ``data`` are those that this object has last read, in
    whichever task.
    """

    async def set(self, data: str | bytes = b"") -> int:
        """As in :mod:`interlock`."""
        raw = _ffi.name_bytes(data, "data")
        with self._handle() as handle:
            await self._driver.call(lib.ilk_event_set_start, handle, raw, len(raw))
            return self._read_state(handle).generation

    async def clear(self) -> int:
        """As in :mod:`interlock`."""
        with self._handle() as handle:
            await self._driver.call(lib.ilk_event_clear_start, handle)
            return self._read_state(handle).generation

    async def read(self) -> EventState:
        """As in :mod:`interlock`."""
        with self._handle() as handle:
            await self._driver.call(lib.ilk_event_read_start, handle)
            return self._read_state(handle)

    async def is_set(self) -> bool:
        """As in :mod:`interlock`."""
        return (await self.read()).is_set

    async def wait(self, timeout: Seconds | None = None) -> bool:
        """As in :mod:`interlock`."""
        limit = _ffi.timeout_ms(timeout)
        with self._handle() as handle:
            changed = await self._wait(lib.ilk_event_wait_start, handle, limit)
            self._read_state(handle)
            return changed

    async def wait_change(
        self, generation: int, timeout: Seconds | None = None
    ) -> EventState | None:
        """As in :mod:`interlock`."""
        known, limit = self._checked_generation(generation), _ffi.timeout_ms(timeout)
        change = lib.ilk_event_wait_change_start
        with self._handle() as handle:
            changed = await self._wait(change, handle, known, limit)
            seen = self._read_state(handle)
            return seen if changed else None
