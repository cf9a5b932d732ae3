# SPDX-License-Identifier: MIT
"""Queues, for tasks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Callable

from .. import _ffi
from .._core import ffi, lib
from .._ffi import Name
from .._job_base import JobBase
from .._queue_base import PLACES, Data, QueueBase, place, push_options
from .._queue_wait import NOT_IN_TIME, c_names
from ..queue import QueueInfo, to_info
from .job import Batch, Job

if TYPE_CHECKING:
    from ._driver import Driver, Started, Undo
    from .client import Client


class Queue(QueueBase):
    """As :class:`interlock.Queue`, awaited; made by ``client.queue()``.

    >>> async def main():
    ...     async with connect(url) as client:
    ...         queue = client.queue("aio-mail-example")
    ...         await queue.push(b"first")
    ...         async with await queue.reserve() as job:
    ...             return job.data
    >>> asyncio.run(main())
    b'first'

    Any number of tasks may use one object. A push is done although its task
    is cancelled.
    """

    _client: Client

    # -- putting in

    async def push(
        self, data: Data, *, delay: float = 0, once: Name | None = None
    ) -> int:
        """As in :mod:`interlock`."""
        raw = _ffi.name_bytes(data, "data")
        opts, _kept = push_options(delay, once)
        return await self._driver.number(
            lib.ilk_queue_push_start, self._live(), raw, len(raw), opts
        )

    async def push_many(
        self, messages: Iterable[Data], *, delay: float = 0, once: Name | None = None
    ) -> range:
        """As in :mod:`interlock`."""
        pointers, lengths, count, _messages = c_names(messages, "data")
        opts, _once = push_options(delay, once)
        first = await self._driver.number(
            lib.ilk_queue_push_many_start,
            self._live(),
            pointers,
            lengths,
            count,
            opts,
        )
        return range(first, first + count)

    # -- taking out

    async def pop(self, timeout: float | None = 0) -> bytes | None:
        """As in :mod:`interlock`.

        A message that comes as its task is cancelled is put back: as a new
        one, behind the others.
        """
        limit = _ffi.timeout_ms(timeout)
        op = await self._take(lib.ilk_queue_pop_start, limit, undo=self._put_back)
        return None if op is None else JobBase(self._client, lib.ilk_op_job(op)).data

    async def reserve(
        self, timeout: float | None = 0, lease: float = 30.0
    ) -> Job | None:
        """As in :mod:`interlock`.

        A message that comes as its task is cancelled goes to somebody else at
        once, as if it had never been delivered.
        """
        span, limit = _ffi.lease_ms(lease, "lease"), _ffi.timeout_ms(timeout)
        op = await self._take(lib.ilk_queue_reserve_start, limit, span)
        if op is None:
            return None
        out = ffi.new("ilk_job **")
        _ffi.call(lib.ilk_batch_job, out, lib.ilk_op_batch(op), 0)
        return Job(self._client, ffi.gc(out[0], lib.ilk_job_free))

    async def reserve_many(
        self,
        count: int,
        timeout: float | None = 0,
        lease: float = 30.0,
        done: Batch | None = None,
    ) -> Batch | None:
        """As in :mod:`interlock`, and as :meth:`reserve`."""
        span, limit = _ffi.lease_ms(lease, "lease"), _ffi.timeout_ms(timeout)
        before = ffi.NULL if done is None else done._handle
        reserve = lib.ilk_queue_reserve_many_start
        op = await self._take(reserve, count, limit, span, before)
        return None if op is None else Batch(self._client, op)

    def adopt(self, token: str | bytes) -> Job:
        """As in :mod:`interlock`."""
        return Job(self._client, self._adopted(token))

    def cancel(self) -> None:
        """End the waits of this object, in whichever tasks they are.

        They raise CancelledError, interlock's, which ends no task. Blocks: no.
        """
        _ffi.call(lib.ilk_queue_cancel, self._live())

    # -- looking, clearing up

    async def size(self) -> int:
        """As in :mod:`interlock`."""
        return await self._driver.number(lib.ilk_queue_size_start, self._live())

    async def inspect(self) -> QueueInfo:
        """As in :mod:`interlock`."""
        op = await self._driver.answer(lib.ilk_queue_inspect_start, self._live())
        return to_info(lib.ilk_op_queue_info(op))

    async def peek(
        self, where: str = "ready", start: int = 0, count: int = 10
    ) -> list[Job]:
        """As in :mod:`interlock`."""
        op = await self._driver.answer(
            lib.ilk_queue_peek_start, self._live(), place((where,)), start, count
        )
        return list(Batch(self._client, op))

    async def purge(self, *where: str) -> int:
        """As in :mod:`interlock`."""
        total = place(where or tuple(PLACES))
        return await self._driver.number(lib.ilk_queue_purge_start, self._live(), total)

    async def requeue(self, id: int | None = None, count: int | None = None) -> int:
        """As in :mod:`interlock`."""
        if count == 0:
            return 0
        return await self._driver.number(
            lib.ilk_queue_requeue_start, self._live(), id or 0, count or 0
        )

    @property
    def _driver(self) -> Driver:
        return self._client._driver

    async def _take(
        self, function: Callable[..., int], *args: Any, undo: Undo | None = None
    ) -> Any:
        """The operation that has got something; None when there is nothing."""
        op, status, failure = await self._driver.finish(
            function, self._live(), *args, undo=undo
        )
        if status in NOT_IN_TIME:
            return None
        if failure is not None:
            raise failure
        return op

    def _put_back(self, op: Any) -> Started:
        job = JobBase(self._client, lib.ilk_op_job(op))
        its = QueueBase(self._client, (job.queue,), self._options)
        return self._driver.start(
            lib.ilk_queue_push_start, its._handle, job.data, len(job.data), ffi.NULL
        )
