# SPDX-License-Identifier: MIT
"""The driver on trio; imported when a program has imported trio."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any

import trio

from .. import errors
from .._core import ffi, lib
from ._driver import Body, Driver, Function, Gate, Started


def runs() -> bool:
    """Whether the caller is a task of trio's."""
    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        return False
    return True


class TrioBody:
    """A body in a trio task."""

    def __init__(self) -> None:
        self._scope = trio.CancelScope()
        self._scope.__enter__()

    def cancel(self) -> None:
        """End it."""
        self._scope.cancel()

    async def leave(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        """True when the exception is that of ``cancel()``, which ends here."""
        return bool(self._scope.__exit__(kind, error, trace))


class TrioGate:
    """Something to wait for in trio."""

    def __init__(self) -> None:
        self._event = trio.Event()

    def open(self) -> None:
        """Let everybody through from now on."""
        self._event.set()

    async def wait(self, timeout: float | None) -> bool:
        """False when it did not open in time."""
        with trio.move_on_after(float("inf") if timeout is None else timeout):
            await self._event.wait()
        return self._event.is_set()


class TrioDriver(Driver):
    """A system task watches the descriptor."""

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
        """Whether this is the loop that runs."""
        try:
            return trio.lowlevel.current_trio_token() is self._token
        except RuntimeError:
            return False

    def soon(self) -> None:
        """Drain once when the tasks that are ready have run."""
        self._token.run_sync_soon(self.drain, idempotent=True)

    def body(self) -> Body:
        """The current task is in the body of an ``async with``."""
        return TrioBody()

    def gate(self) -> Gate:
        """Something to wait for."""
        return TrioGate()

    async def together(self, functions: Sequence[Function]) -> None:
        """Run them side by side, each to its end; who is cancelled ends all."""
        async with trio.open_nursery() as nursery:
            for function in functions:
                nursery.start_soon(function)

    def close(self) -> None:
        """Watch the descriptor no more."""
        self._closed = True
        try:
            trio.lowlevel.notify_closing(self._fd)
        except RuntimeError as error:  # the loop has ended
            raise errors.ClosedError(str(error)) from None

    async def sleep(self, started: Started) -> None:
        """Until it has ended. What came although it was cancelled is kept."""
        started.waiter = trio.lowlevel.current_task()

        def abort(_: object) -> trio.lowlevel.Abort:
            lib.ilk_op_cancel(started.op, ffi.NULL)
            return trio.lowlevel.Abort.FAILED

        await trio.lowlevel.wait_task_rescheduled(abort)
        if started.status == lib.ILK_ECANCELLED:
            await trio.lowlevel.checkpoint_if_cancelled()

    def wake(self, started: Started) -> None:
        """It has ended: its task goes on."""
        trio.lowlevel.reschedule(started.waiter)
