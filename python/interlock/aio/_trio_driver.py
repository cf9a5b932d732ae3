# SPDX-License-Identifier: MIT
"""The driver for trio; imported only by programs that have imported trio."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Callable

import trio

from .. import errors
from .._core import ffi, lib
from ._driver import CancelScope, Driver, Function, LoopEvent, Started


def runs() -> bool:
    """Whether the caller is a task of trio."""
    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        return False
    return True


class TrioCancelScope:
    """The body of an ``async with`` in a trio task."""

    def __init__(self) -> None:
        self._scope = trio.CancelScope()
        self._scope.__enter__()

    def cancel(self) -> None:
        """Cancel the body."""
        self._scope.cancel()

    async def leave(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        """Leave the body; True when the exception came from ``cancel()``."""
        return bool(self._scope.__exit__(kind, error, trace))


class TrioEvent:
    """An event that trio's tasks wait for."""

    def __init__(self) -> None:
        self._event = trio.Event()

    def set(self) -> None:
        """Let all tasks continue, those that wait and those that come later."""
        self._event.set()

    async def wait(self, timeout: float | None) -> bool:
        """Wait; returns False when the time ran out. ``timeout`` is in seconds."""
        with trio.move_on_after(float("inf") if timeout is None else timeout):
            await self._event.wait()
        return self._event.is_set()


class TrioDriver(Driver):
    """The driver for trio: a system task watches the descriptor."""

    cancelled = trio.Cancelled

    def __init__(self, handle: Any) -> None:
        super().__init__(handle)
        self._token = trio.lowlevel.current_trio_token()
        self._closed = False
        trio.lowlevel.spawn_system_task(self._watch)

    async def _watch(self) -> None:
        while not self._closed:
            try:
                await trio.lowlevel.wait_readable(self._fd)
            except (trio.ClosedResourceError, OSError, ValueError):
                return
            if not self._closed:
                self.drain()

    def is_current(self) -> bool:
        """Whether this driver's loop is the one that runs."""
        try:
            return trio.lowlevel.current_trio_token() is self._token
        except RuntimeError:
            return False

    def drain_soon(self) -> None:
        """Call drain() once, when the tasks that are ready have run."""
        self._token.run_sync_soon(self.drain, idempotent=True)

    def call_soon(self, function: Callable[[], None]) -> None:
        """Have the loop call a function; a signal handler may call this."""
        self._token.run_sync_soon(function)

    def cancel_scope(self) -> CancelScope:
        """Enter the body of an ``async with`` in the current task."""
        return TrioCancelScope()

    def event(self) -> LoopEvent:
        """Make an event that tasks can wait for."""
        return TrioEvent()

    async def gather(self, functions: Sequence[Function]) -> None:
        """Run functions side by side to their ends; a cancel ends all of them."""
        async with trio.open_nursery() as nursery:
            for function in functions:
                nursery.start_soon(function)

    def close(self) -> None:
        """Stop watching the descriptor."""
        self._closed = True
        try:
            trio.lowlevel.notify_closing(self._fd)
        except RuntimeError as error:  # the loop has ended
            raise errors.ClosedError(str(error)) from None

    async def sleep(self, started: Started) -> None:
        """Wait until it has ended. A result that came despite a cancel is kept."""
        started.waiter = trio.lowlevel.current_task()

        def abort(_: object) -> trio.lowlevel.Abort:
            lib.ilk_op_cancel(started.op, ffi.NULL)
            return trio.lowlevel.Abort.FAILED

        await trio.lowlevel.wait_task_rescheduled(abort)
        if started.status == lib.ILK_ECANCELLED:
            await trio.lowlevel.checkpoint_if_cancelled()

    def wake(self, started: Started) -> None:
        """Wake the task of an operation that has ended."""
        trio.lowlevel.reschedule(started.waiter)
