# SPDX-License-Identifier: MIT
"""The latch, for tasks."""

from __future__ import annotations

from .. import _ffi
from .._core import lib
from .._ffi import Seconds
from ..latch import LatchBase, whole_number
from ._state import State


class Latch(LatchBase, State):
    """As :class:`interlock.Latch`, awaited; made by ``client.latch()``."""

    async def count_down(self, n: int = 1) -> int:
        """As in :mod:`interlock`. Cancelling its task does not stop it."""
        by = whole_number(n, "n", lib.ILK_LATCH_COUNT_MAX)
        with self._handle() as handle:
            return await self._driver.number(lib.ilk_latch_count_down_start, handle, by)

    async def wait(self, timeout: Seconds | None = None) -> bool:
        """As in :mod:`interlock`."""
        limit = _ffi.timeout_ms(timeout)
        with self._handle() as handle:
            return await self._wait(lib.ilk_latch_wait_start, handle, limit)

    async def count(self) -> int:
        """As in :mod:`interlock`."""
        with self._handle() as handle:
            return await self._driver.number(lib.ilk_latch_count_start, handle)

    async def reset(self) -> None:
        """As in :mod:`interlock`."""
        with self._handle() as handle:
            await self._driver.call(lib.ilk_latch_reset_start, handle)
