# SPDX-License-Identifier: MIT
"""A message that was taken from a queue, for tasks."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable

from .. import _ffi, errors
from .._core import ffi, lib
from .._ffi import ELOST, OK, Seconds
from .._job_base import BatchBase, JobBase

if TYPE_CHECKING:
    from typing_extensions import Self

    from .client import Client


async def _unless_lost(
    client: Client, function: Callable[..., int], handle: Any, *args: Any
) -> bool:
    status, failure = await client._driver.status(function, handle, *args)
    if failure is not None and status != ELOST:
        raise failure
    return status == OK


class Job(JobBase):
    """As :class:`interlock.Job`, awaited; made by ``queue.reserve()``.

    ``async with`` acknowledges it at the end of the block, and gives it back when
    the block raises or its task is cancelled, unless the block has finished it. A request that was started
    is sent even if the task is cancelled meanwhile.
    """

    __slots__ = ()
    _client: Client

    async def ack(self) -> bool:
        """As in :mod:`interlock`."""
        return await self._end(lib.ilk_job_ack_start)

    async def nack(self, delay: Seconds = 0) -> bool:
        """As in :mod:`interlock`."""
        return await self._end(
            lib.ilk_job_nack_start, _ffi.milliseconds(delay, "delay")
        )

    async def bury(self, reason: str | bytes = "") -> bool:
        """As in :mod:`interlock`."""
        why = _ffi.name_bytes(reason, "reason")
        return await self._end(lib.ilk_job_bury_start, why, len(why))

    async def extend(self, lease: Seconds | None = None) -> bool:
        """As in :mod:`interlock`."""
        return await self._end(lib.ilk_job_extend_start, _ffi.lease_ms(lease, "lease"))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                await self._client._driver.call(lib.ilk_job_ack_start, self._live())
            else:
                await self.nack()
        except errors.Error as failure:
            if self._raises_at_exit(kind, failure):
                raise

    async def _end(self, function: Callable[..., int], *args: Any) -> bool:
        return await _unless_lost(self._client, function, self._live(), *args)


class Batch(BatchBase[Job]):
    """As :class:`interlock.Batch`; its methods are awaited."""

    _client: Client

    def __init__(self, client: Client, op: Any) -> None:
        # The messages belong to the operation, which has to live as long as the batch.
        handle = ffi.gc(lib.ilk_op_batch(op), lambda _: op)
        super().__init__(client, handle, Job)

    async def ack(self) -> bool:
        """As in :mod:`interlock`."""
        return await _unless_lost(self._client, lib.ilk_batch_ack_start, self._live())
