# SPDX-License-Identifier: MIT
"""The driver for asyncio and uvloop."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Callable

from ._driver import CancelScope, Driver, Function, LoopEvent, Started


class AsyncioCancelScope:
    """The body of an ``async with`` in an asyncio task."""

    def __init__(self) -> None:
        self._task = asyncio.current_task()
        self._cancelled = False

    def cancel(self) -> None:
        """Cancel the body."""
        if self._task is not None and not self._cancelled:
            self._cancelled = True
            self._task.cancel()

    async def leave(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        """Leave the body; True when the exception came from ``cancel()``."""
        if not self._cancelled:
            return False
        if not isinstance(error, asyncio.CancelledError):
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0)  # the cancellation arrives here
        uncancel = getattr(self._task, "uncancel", None)  # Python 3.11
        others = uncancel() if uncancel is not None else 0
        return isinstance(error, asyncio.CancelledError) and not others


class AsyncioEvent:
    """An event that asyncio's tasks wait for."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def set(self) -> None:
        """Let all tasks continue, those that wait and those that come later."""
        self._event.set()

    async def wait(self, timeout: float | None) -> bool:
        """Wait; returns False when the time ran out. ``timeout`` is in seconds."""
        try:
            await asyncio.wait_for(self._event.wait(), timeout)
        except asyncio.TimeoutError:
            return False
        return True


class AsyncioDriver(Driver):
    """The driver for asyncio and uvloop."""

    cancelled = asyncio.CancelledError

    def __init__(self, handle: Any) -> None:
        super().__init__(handle)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._fd, self.drain)

    def is_current(self) -> bool:
        """Whether this driver's loop is the one that runs."""
        return asyncio._get_running_loop() is self._loop

    def drain_soon(self) -> None:
        """Call drain() once, when the tasks that are ready have run."""
        self._loop.call_soon(self.drain)

    def call_soon(self, function: Callable[[], None]) -> None:
        """Have the loop call a function; a signal handler may call this."""
        self._loop.call_soon_threadsafe(function)

    def cancel_scope(self) -> CancelScope:
        """Enter the body of an ``async with`` in the current task."""
        return AsyncioCancelScope()

    def event(self) -> LoopEvent:
        """Make an event that tasks can wait for."""
        return AsyncioEvent()

    async def gather(self, functions: Sequence[Function]) -> None:
        """Run functions side by side to their ends; a cancel ends all of them."""
        tasks = [self._loop.create_task(function()) for function in functions]
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError:
            for task in tasks:
                task.cancel()
            while not all(task.done() for task in tasks):
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait(tasks)
            raise
        for task in tasks:
            task.result()

    def close(self) -> None:
        """Stop watching the descriptor."""
        if not self._loop.is_closed():
            self._loop.remove_reader(self._fd)

    def sleep(self, started: Started) -> asyncio.Future[None]:
        """Wait until the operation has ended, or the task is cancelled."""
        future = started.waiter = self._loop.create_future()
        return future

    def wake(self, started: Started) -> None:
        """Wake the task of an operation that has ended."""
        if not started.waiter.done():
            started.waiter.set_result(None)
