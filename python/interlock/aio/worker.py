# SPDX-License-Identifier: MIT
"""The worker, for tasks."""

from __future__ import annotations

import functools
import inspect
import random
import signal
import time
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Callable

from .. import _ffi, errors
from .._ffi import Name, Seconds
from .._outage import Outage
from .._process_bound import ProcessBound
from .._stop_signals import stopping
from ..queue import QueueOptions
from ..worker import Callback, callback_of, checked_callbacks, log, refuse_ended
from .job import Job
from .queue import Queue

if TYPE_CHECKING:
    from ._driver import LoopEvent
    from .client import Client

Settlement = Callable[[], Awaitable[bool]]

RETRY_SECONDS = 0.1  # seconds until a result that got no reply is sent again

# Failures after which sending again may succeed.
RETRIED_ERRORS = (
    errors.ConnectionError,
    errors.ServerError,
    errors.TimeoutError,
    errors.UnknownOutcomeError,
)


class Worker(ProcessBound):
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
    are no threads. A callback that is no coroutine function blocks the event loop,
    so it should be short.
    """

    def __init__(
        self,
        client: Client,
        queues: Name | Sequence[Name],
        callbacks: Mapping[str, Callback],
        *,
        order: str = "fifo",
        concurrency: int = 1,
        lease: Seconds = 30.0,
        max_attempts: int | None = 25,
        backoff: Seconds = 1.0,
        backoff_max: Seconds = 600.0,
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
        self._callbacks = checked_callbacks(callbacks)
        self._lease, self._max_attempts = lease, max_attempts
        self._backoff = _ffi.as_float(backoff)
        self._backoff_max = _ffi.as_float(backoff_max)
        self._stopped = False
        self._ended_by: str | None = None  # the exception that has ended run()
        self._stop_event: LoopEvent = client._driver.event()
        self._lost = 0
        #: Messages done, failed (to be delivered again) and buried so far.
        self.done: int = 0
        self.failed: int = 0
        self.buried: int = 0

    @property
    def lost(self) -> int:
        """How many messages had lost their lease when their result was sent."""
        return self._lost

    def stop(self) -> None:
        """End the loop: running callbacks complete, no other message is taken.

        :meth:`run` then returns. Blocks: no. Thread: the event loop's;
        ``loop.add_signal_handler()`` may call it for a signal.
        """
        self._stopped = True
        self._stop_event.set()
        self._queue.cancel()

    async def run(
        self,
        until_empty: bool = False,
        *,
        stop_on: Iterable[int] = (signal.SIGTERM,),
    ) -> int:
        """As in :mod:`interlock`.

        When its task is cancelled the callbacks are cancelled, and their messages
        are delivered again, as those that failed.
        """
        refuse_ended(self._ended_by)
        try:
            return await self._run(until_empty, stop_on)
        except BaseException as error:
            self._ended_by = type(error).__name__
            raise

    async def _run(self, until_empty: bool, stop_on: Iterable[int]) -> int:
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

        driver = self._client._driver
        with stopping(stop_on, lambda: driver.call_soon(self.stop)):
            await driver.gather([work] * self._concurrency)
        if failures:
            raise failures[0]
        return self.done - before

    async def _loop(self, until_empty: bool) -> None:
        outage = Outage()
        while not (self._stopped or self._client.stopped):
            began = time.monotonic()
            try:
                job = await self._queue.reserve(0 if until_empty else None, self._lease)
            except errors.CancelledError:
                if self._stopped or self._client.stopped:
                    return
                raise
            except errors.ConnectionError:
                pause = outage.next_pause(began)
                if pause is None:
                    raise
                await self._stop_event.wait(pause)
                continue
            outage.end()
            if job is not None:
                await self._work(job)
            elif until_empty:
                return

    async def _work(self, job: Job) -> None:
        try:
            callback, args = callback_of(self._callbacks, job.data)
        except ValueError as error:
            self.buried += 1
            log.error("message %d of %s is buried: %s", job.id, job.queue, error)
            await self._settle(job, functools.partial(job.bury, str(error)))
            return
        except LookupError as error:
            self.failed += 1
            log.error("message %d of %s is given back: %s", job.id, job.queue, error)
            await self._settle(job, self._failed(job, str(error)))
            return
        try:
            result = callback(*args)
            if inspect.isawaitable(result):
                await result
        except Exception as error:
            self.failed += 1
            log.exception("message %d of %s failed", job.id, job.queue)
            await self._settle(
                job, self._failed(job, f"{type(error).__name__}: {error}")
            )
        except BaseException:
            await self._settle(job, self._failed(job, "the worker was cancelled"))
            raise
        else:
            self.done += 1
            await self._settle(job, job.ack)

    def _failed(self, job: Job, why: str) -> Settlement:
        """Choose a retry after a pause or, after the last attempt, the burial."""
        most = self._max_attempts
        if most is not None and job.attempts >= most:
            return functools.partial(job.bury, why.encode("utf-8", "replace"))
        return functools.partial(job.nack, self._pause(job.attempts))

    def _pause(self, attempts: int) -> float:
        """Return the pause in seconds: doubled each time, minus random jitter."""
        doubled = self._backoff * 2.0 ** min(attempts - 1, 64)
        pause = min(doubled, self._backoff_max)
        return pause - random.uniform(0, pause / 2)

    async def _settle(self, job: Job, settle: Settlement) -> None:
        """Send a result, again and again until a reply comes or the lease ends."""
        while True:
            try:
                if not await settle():
                    self._lost += 1
                return
            except RETRIED_ERRORS as error:
                if self._stopped or not job.remaining():
                    log.warning(
                        "message %d of %s is delivered again: %s",
                        job.id,
                        job.queue,
                        error,
                    )
                    return
            await self._stop_event.wait(RETRY_SECONDS)
