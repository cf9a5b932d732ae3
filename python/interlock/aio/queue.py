# SPDX-License-Identifier: MIT
"""Queues, for tasks."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Any, Callable

from .. import _ffi
from .._core import ffi, lib
from .._ffi import Name, Seconds
from .._job_base import JobBase
from .._queue_base import PLACES, Data, QueueBase, place_flags, push_options
from .._queue_wait import TIMEOUT_STATUSES, c_names
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
    ...         async with queue.job(timeout=5) as job:
    ...             return job.data
    >>> asyncio.run(main())
    b'first'

    Any number of tasks may use one object. A push takes effect even if its task
    is cancelled.
    """

    _client: Client

    # -- push

    async def push(
        self, data: Data, *, delay: Seconds = 0, once: Name | None = None
    ) -> int:
        """As in :mod:`interlock`."""
        raw = _ffi.name_bytes(data, "data")
        opts, _kept = push_options(delay, once)
        return await self._driver.number(
            lib.ilk_queue_push_start, self._live(), raw, len(raw), opts
        )

    async def push_many(
        self, messages: Iterable[Data], *, delay: Seconds = 0, once: Name | None = None
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

    # -- pop and reserve

    async def pop(self, timeout: Seconds | None = 0) -> bytes | None:
        """As in :mod:`interlock`.

        A message that arrives while its task is cancelled is pushed again, as a
        new one behind the others.
        """
        limit = _ffi.timeout_ms(timeout)
        op = await self._finish_wait(
            lib.ilk_queue_pop_start, limit, undo=self._put_back
        )
        return None if op is None else JobBase(self._client, lib.ilk_op_job(op)).data

    async def reserve(
        self, timeout: Seconds | None = 0, lease: Seconds = 30.0
    ) -> Job | None:
        """As in :mod:`interlock`.

        A message that arrives while its task is cancelled is given back at once,
        as if it had never been delivered.
        """
        span, limit = _ffi.lease_ms(lease, "lease"), _ffi.timeout_ms(timeout)
        op = await self._finish_wait(lib.ilk_queue_reserve_start, limit, span)
        if op is None:
            return None
        out = ffi.new("ilk_job **")
        _ffi.call(lib.ilk_batch_job, out, lib.ilk_op_batch(op), 0)
        return Job(self._client, ffi.gc(out[0], lib.ilk_job_free))

    @contextlib.asynccontextmanager
    async def job(
        self, timeout: Seconds | None = 0, lease: Seconds = 30.0
    ) -> AsyncIterator[Job]:
        """As in :mod:`interlock`, and as :meth:`reserve`."""
        job = await self.reserve(timeout, lease)
        if job is None:
            raise self._empty(timeout)
        async with job:
            yield job

    async def reserve_many(
        self,
        count: int,
        timeout: Seconds | None = 0,
        lease: Seconds = 30.0,
        done: Batch | None = None,
    ) -> Batch | None:
        """As in :mod:`interlock`, and as :meth:`reserve`."""
        span, limit = _ffi.lease_ms(lease, "lease"), _ffi.timeout_ms(timeout)
        before = ffi.NULL if done is None else done._handle
        reserve = lib.ilk_queue_reserve_many_start
        op = await self._finish_wait(reserve, count, limit, span, before)
        return None if op is None else Batch(self._client, op)

    def adopt(self, token: str | bytes) -> Job:
        """As in :mod:`interlock`."""
        return Job(self._client, self._adopted(token))

    def cancel(self) -> None:
        """Cancel the waits of this object, in whichever tasks they are.

        They raise interlock's CancelledError, which cancels no task. Blocks: no.
        """
        _ffi.call(lib.ilk_queue_cancel, self._live())

    # -- inspect and clear

    async def size(self) -> int:
        """As in :mod:`interlock`."""
        return await self._driver.number(lib.ilk_queue_size_start, self._live())

    async def inspect(self) -> QueueInfo:
        """As in :mod:`interlock`."""
        op = await self._driver.complete(lib.ilk_queue_inspect_start, self._live())
        return to_info(lib.ilk_op_queue_info(op))

    async def peek(
        self, where: str = "ready", start: int = 0, count: int = 10
    ) -> list[Job]:
        """As in :mod:`interlock`."""
        op = await self._driver.complete(
            lib.ilk_queue_peek_start, self._live(), place_flags((where,)), start, count
        )
        return list(Batch(self._client, op))

    async def purge(self, *where: str) -> int:
        """As in :mod:`interlock`."""
        total = place_flags(where or tuple(PLACES))
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

    async def _finish_wait(
        self, function: Callable[..., int], *args: Any, undo: Undo | None = None
    ) -> Any:
        """Return the operation that has got a message; None when there is none."""
        op, status, failure = await self._driver.finish(
            function, self._live(), *args, undo=undo
        )
        if status in TIMEOUT_STATUSES:
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
