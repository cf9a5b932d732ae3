# SPDX-License-Identifier: MIT
"""The barrier, for tasks."""

from __future__ import annotations

from .. import _ffi
from .._core import lib
from .._ffi import Seconds
from ..barrier import BarrierBase
from ._lease import TIMEOUT_STATUSES
from ._state import State


class Barrier(BarrierBase, State):
    """As :class:`interlock.Barrier`, awaited; made by ``client.barrier()``.

    Each wait is one party, in whichever task it is.
    """

    async def wait(self, timeout: Seconds | None = None) -> int:
        """As in :mod:`interlock`.

        A task that is cancelled while others wait breaks the round for them; if
        the round becomes full at that moment, the task has arrived.
        """
        limit = _ffi.timeout_ms(timeout)
        with self._handle() as handle:
            op, status, failure = await self._driver.finish(
                lib.ilk_barrier_wait_start, handle, limit
            )
        if failure is None:
            return int(lib.ilk_op_number(op))
        if status in TIMEOUT_STATUSES:
            raise self._not_full(timeout)
        raise failure

    async def waiting(self) -> int:
        """As in :mod:`interlock`."""
        with self._handle() as handle:
            return await self._driver.number(lib.ilk_barrier_waiting_start, handle)

    async def reset(self) -> None:
        """As in :mod:`interlock`."""
        with self._handle() as handle:
            await self._driver.call(lib.ilk_barrier_reset_start, handle)
