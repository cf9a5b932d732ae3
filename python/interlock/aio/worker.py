# SPDX-License-Identifier: MIT
"""The consumer's loop, for tasks."""

from __future__ import annotations

import functools
import inspect
import random
from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Callable

from .. import _ffi, errors
from .._ffi import Name
from ..queue import QueueOptions
from ..worker import Callback, calling, log
from .job import Job
from .queue import Queue

if TYPE_CHECKING:
    from ._driver import Gate
    from .client import Client

Answer = Callable[[], Awaitable[bool]]

AGAIN = 0.1  # seconds until an answer that was not heard is said again

# Where saying it again may help.
NOT_HEARD = (
    errors.ConnectionError,
    errors.ServerError,
    errors.TimeoutError,
    errors.UnknownOutcomeError,
)


class Worker:
    """As :class:`interlock.Worker`; its callbacks may be coroutine functions.

    >>> async def greet(who):
    ...     print("hello", who)
    >>> async def main():
    ...     async with connect(url) as client:
    ...         await client.queue("aio-tasks-example").push(aio.task("greet", "you"))
    ...         return await Worker(client, "aio-tasks-example", {"greet": greet}).run(
    ...             until_empty=True
    ...         )
    >>> asyncio.run(main())
    hello you
    1

    ``concurrency`` messages are worked on side by side, each in a task; there
    are no threads. A callback that is no coroutine function holds up the event
    loop, and so it should be short.
    """

    def __init__(
        self,
        client: Client,
        queues: Name | Sequence[Name],
        callbacks: Mapping[str, Callback],
        *,
        order: str = "fifo",
        concurrency: int = 1,
        lease: float = 30.0,
        max_attempts: int | None = 25,
        backoff: float = 1.0,
        backoff_max: float = 600.0,
    ) -> None:
        _ffi.lease_ms(lease, "lease")
        _ffi.lease_ms(backoff, "backoff")
        _ffi.lease_ms(backoff_max, "backoff_max")
        self._concurrency = _ffi.count(concurrency, "concurrency")
        if isinstance(queues, (str, bytes, bytearray, memoryview)):
            queues = (queues,)
        options = QueueOptions(order, max_attempts, renew=True)
        self._client = client
        self._queue = Queue(client, tuple(queues), options)
        self._callbacks = callbacks
        self._lease, self._max_attempts = lease, max_attempts
        self._backoff, self._backoff_max = backoff, backoff_max
        self._stopped = False
        self._over: Gate = client._driver.gate()
        self._lost = 0
        #: Messages done, failed (to come again) and buried so far.
        self.done, self.failed, self.buried = 0, 0, 0

    @property
    def lost(self) -> int:
        """Answers that were refused: the message had gone to somebody else."""
        return self._lost

    def stop(self) -> None:
        """End the loop: messages in work are finished, no others are taken.

        :meth:`run` returns after that. Blocks: no. Thread: that of the event
        loop, which calls it for a signal by ``loop.add_signal_handler()``.
        """
        self._stopped = True
        self._over.open()
        self._queue.cancel()

    async def run(self, until_empty: bool = False) -> int:
        """As in :mod:`interlock`.

        When its task is cancelled the callbacks are cancelled, and their
        messages come again as those that failed.
        """
        before = self.done
        failures: list[BaseException] = []
        cancelled = self._client._driver.cancelled

        async def work() -> None:
            try:
                await self._loop(until_empty)
            except cancelled:
                self.stop()
                raise
            except BaseException as error:
                failures.append(error)
                self.stop()

        await self._client._driver.together([work] * self._concurrency)
        if failures:
            raise failures[0]
        return self.done - before

    async def _loop(self, until_empty: bool) -> None:
        while not self._stopped:
            try:
                job = await self._queue.reserve(0 if until_empty else None, self._lease)
            except errors.CancelledError:
                if self._stopped:
                    return
                raise
            if job is not None:
                await self._work(job)
            elif until_empty:
                return

    async def _work(self, job: Job) -> None:
        try:
            callback, args = calling(self._callbacks, job.data)
        except ValueError as error:
            self.buried += 1
            log.error("message %d of %s is buried: %s", job.id, job.queue, error)
            await self._say(job, functools.partial(job.bury, str(error)))
            return
        try:
            result = callback(*args)
            if inspect.isawaitable(result):
                await result
        except Exception as error:
            self.failed += 1
            log.exception("message %d of %s failed", job.id, job.queue)
            await self._say(job, self._failed(job, f"{type(error).__name__}: {error}"))
        except BaseException:
            await self._say(job, self._failed(job, "no answer from the worker"))
            raise
        else:
            self.done += 1
            await self._say(job, job.ack)

    def _failed(self, job: Job, why: str) -> Answer:
        """Again after a pause; or dead, if that was its last attempt."""
        most = self._max_attempts
        if most is not None and job.attempts >= most:
            return functools.partial(job.bury, why.encode("utf-8", "replace"))
        return functools.partial(job.nack, self._pause(job.attempts))

    def _pause(self, attempts: int) -> float:
        """Seconds, twice as long each time, less a part of chance."""
        doubled = self._backoff * 2.0 ** min(attempts - 1, 64)
        pause = min(doubled, self._backoff_max)
        return pause - random.uniform(0, pause / 2)

    async def _say(self, job: Job, answer: Answer) -> None:
        """Tell the server, again and again while the message is ours."""
        while True:
            try:
                if not await answer():
                    self._lost += 1
                return
            except NOT_HEARD as error:
                if self._stopped or not job.remaining():
                    log.warning("not answered, comes again later: %s", error)
                    return
            await self._over.wait(AGAIN)
