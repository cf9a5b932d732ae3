# SPDX-License-Identifier: MIT
"""Between the core's operations and an event loop: asyncio's, or trio's.

Starting returns at once; the client's descriptor becomes readable when
something has happened, :meth:`Driver.drain` fetches what has ended and wakes
its task. There are no threads and no callbacks from C. What was started in
one turn of the loop is sent together, at its end or when it has become much.

A task that is cancelled ends its operation first and waits for the verdict,
which is immediate for what waits in the queue, and at most one answer away for
what was just asked. So nothing is left behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Coroutine, Sequence
from types import TracebackType
from typing import Any, Callable, Protocol

from .. import _ffi, errors
from .._core import ffi, lib
from .._ffi import OK

DONE: int = lib.ILK_NOTIFICATION_DONE

# Gives back what came as the task was cancelled, or starts to; told the
# operation.
Undo = Callable[[Any], "Started | None"]

# What a task runs.
Function = Callable[[], Coroutine[Any, Any, None]]


class Body(Protocol):
    """The body of an ``async with``, which a loss may cancel."""

    def cancel(self) -> None:
        """End it."""

    async def leave(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        """True when the exception is that of ``cancel()``, which ends here."""


class Gate(Protocol):
    """Something that one task waits for and the loop opens."""

    def open(self) -> None:
        """Let everybody through from now on."""

    async def wait(self, timeout: float | None) -> bool:
        """False when it did not open in time."""


class Started:
    """One operation under way, who waits for it, and what it works on."""

    __slots__ = ("args", "op", "status", "waiter")

    def __init__(self, op: Any, args: tuple[Any, ...]) -> None:
        self.op = op
        self.args = args  # a handle that is freed would end it
        self.status: int | None = None
        self.waiter: Any = None  # the loop's own

    def free(self) -> None:
        """End the operation if it is under way."""
        if self.op is not None:
            lib.ilk_op_free(self.op)
            self.op = None

    def __del__(self) -> None:
        self.free()


class Driver:
    """What both loops share; one for each client."""

    cancelled: type[BaseException]  # what a task gets that is cancelled

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self._pending: dict[int, Started] = {}
        self._notification = ffi.new("ilk_notification *")
        self._notification.size = ffi.sizeof(self._notification[0])
        self._out = ffi.new("ilk_op **")  # for one call, as is the next
        self._err = _ffi.new_error()
        self._unsent = 0  # started since the last turn
        self.on_news: Callable[[int, int, int], None] = lambda *_: None
        out = ffi.new("int *")
        _ffi.call(lib.ilk_client_notification_fd, handle, out)
        self._fd = int(out[0])

    # ---- what each loop has its own way of ----------------------------------

    def is_current(self) -> bool:
        """Whether this is the loop that runs."""
        raise NotImplementedError

    def soon(self) -> None:
        """Drain once when the tasks that are ready have run."""
        raise NotImplementedError

    def sleep(self, started: Started) -> Awaitable[None]:
        """Until it has ended, or the task is cancelled."""
        raise NotImplementedError

    def wake(self, started: Started) -> None:
        """It has ended: its task goes on."""
        raise NotImplementedError

    def body(self) -> Body:
        """The current task is in the body of an ``async with``."""
        raise NotImplementedError

    def gate(self) -> Gate:
        """Something to wait for."""
        raise NotImplementedError

    async def together(self, functions: Sequence[Function]) -> None:
        """Run them side by side, each to its end; who is cancelled ends all."""
        raise NotImplementedError

    def close(self) -> None:
        """Watch the descriptor no more."""
        raise NotImplementedError

    # ---- operations ---------------------------------------------------------

    def start(self, function: Callable[..., int], *args: Any) -> Started:
        """Start an operation; what fails at once is raised."""
        if not self.is_current():
            raise errors.InvalidError("the client belongs to another event loop")
        status = function(self._out, *args, self._err)
        if status != OK:
            raise _ffi.failure(status, self._err)
        op = self._out[0]
        started = Started(op, args)
        self._pending[lib.ilk_op_id(op)] = started
        self._unsent += 1
        if self._unsent == 2:  # one alone is sent already
            self.soon()
        return started

    async def wait(self, started: Started, undo: Undo | None = None) -> None:
        """Until it has ended; ``undo`` gives back what came too late."""
        try:
            if started.status is None:
                await self.sleep(started)
        except BaseException as error:
            try:
                if isinstance(error, self.cancelled):
                    await self._end(started)
                    if started.status == OK and undo is not None:
                        await self._give_back(undo, started.op)
            finally:
                self._drop(started)
            raise

    def _drop(self, started: Started) -> None:
        """Nobody waits for it any more."""
        if started.status is None:  # the loop is gone: nobody will hear
            self._pending.pop(lib.ilk_op_id(started.op), None)
        started.free()

    async def _end(self, started: Started) -> None:
        """Its task is cancelled: end it, and hear how it ended."""
        if started.status is None:
            lib.ilk_op_cancel(started.op, ffi.NULL)
            self.drain()
        while started.status is None:
            with contextlib.suppress(self.cancelled):
                await self.sleep(started)

    async def _give_back(self, undo: Undo, op: Any) -> None:
        """To its end: this may be the loop's last turn."""
        with contextlib.suppress(errors.Error):
            back = undo(op)
            if back is not None:
                await self.settle(back)

    def outcome(self, started: Started) -> tuple[int, errors.Error | None]:
        """The status that it ended with, and what that stands for."""
        status = started.status
        assert status is not None
        if status == OK:
            return OK, None
        err = _ffi.new_error()
        lib.ilk_op_status(started.op, err)
        return status, _ffi.failure(status, err)

    async def settle(self, started: Started) -> None:
        """Run to its end what was started before; its failure is raised."""
        await self.wait(started)
        _, failure = self.outcome(started)
        if failure is not None:
            started.free()  # its traceback keeps all that is here
            raise failure

    async def status(
        self, function: Callable[..., int], *args: Any, undo: Undo | None = None
    ) -> tuple[int, errors.Error | None]:
        """Run an operation that answers a status, and what it stands for."""
        started = self.start(function, *args)
        await self.wait(started, undo)
        return self.outcome(started)

    async def call(self, function: Callable[..., int], *args: Any) -> None:
        """Run an operation; its failure is raised."""
        await self.settle(self.start(function, *args))

    async def number(self, function: Callable[..., int], *args: Any) -> int:
        """Run an operation that answers a number."""
        started = self.start(function, *args)
        await self.settle(started)
        return int(lib.ilk_op_number(started.op))

    async def finish(
        self, function: Callable[..., int], *args: Any, undo: Undo | None = None
    ) -> tuple[Any, int, errors.Error | None]:
        """Run an operation that answers an object.

        The operation lives as long as the first of what is returned: what a
        getter of the core takes from it is borrowed.
        """
        started = self.start(function, *args)
        await self.wait(started, undo)
        status, failure = self.outcome(started)
        op, started.op = ffi.gc(started.op, lib.ilk_op_free), None
        return op, status, failure

    async def answer(self, function: Callable[..., int], *args: Any) -> Any:
        """As finish(), but its failure is raised: the operation, to be kept."""
        op, _, failure = await self.finish(function, *args)
        if failure is not None:
            raise failure
        return op

    def drain(self) -> None:
        """Send what was started, fetch what has happened."""
        fetch = lib.ilk_client_next_notification
        notification, pending = self._notification, self._pending
        self._unsent = 0
        while fetch(self._handle, notification, ffi.NULL) == OK:
            if notification.kind != DONE:
                self.on_news(notification.kind, notification.id, notification.status)
                continue
            started = pending.pop(notification.id, None)
            if started is not None:
                started.status = notification.status
                if started.waiter is not None:
                    self.wake(started)


class AsyncioBody:
    """A body in an asyncio task."""

    def __init__(self) -> None:
        self._task = asyncio.current_task()
        self._cancelled = False

    def cancel(self) -> None:
        """End it."""
        if self._task is not None and not self._cancelled:
            self._cancelled = True
            self._task.cancel()

    async def leave(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        """True when the exception is that of ``cancel()``, which ends here."""
        if not self._cancelled:
            return False
        if not isinstance(error, asyncio.CancelledError):
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0)  # it was on its way
        uncancel = getattr(self._task, "uncancel", None)  # Python 3.11
        others = uncancel() if uncancel is not None else 0
        return isinstance(error, asyncio.CancelledError) and not others


class AsyncioGate:
    """Something to wait for in asyncio."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def open(self) -> None:
        """Let everybody through from now on."""
        self._event.set()

    async def wait(self, timeout: float | None) -> bool:
        """False when it did not open in time."""
        try:
            await asyncio.wait_for(self._event.wait(), timeout)
        except asyncio.TimeoutError:
            return False
        return True


class AsyncioDriver(Driver):
    """On asyncio, or uvloop."""

    cancelled = asyncio.CancelledError

    def __init__(self, handle: Any) -> None:
        super().__init__(handle)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._fd, self.drain)

    def is_current(self) -> bool:
        """Whether this is the loop that runs."""
        return asyncio._get_running_loop() is self._loop

    def soon(self) -> None:
        """Drain once when the tasks that are ready have run."""
        self._loop.call_soon(self.drain)

    def body(self) -> Body:
        """The current task is in the body of an ``async with``."""
        return AsyncioBody()

    def gate(self) -> Gate:
        """Something to wait for."""
        return AsyncioGate()

    async def together(self, functions: Sequence[Function]) -> None:
        """Run them side by side, each to its end; who is cancelled ends all."""
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
        """Watch the descriptor no more."""
        if not self._loop.is_closed():
            self._loop.remove_reader(self._fd)

    def sleep(self, started: Started) -> asyncio.Future[None]:
        """Until it has ended, or the task is cancelled."""
        future = started.waiter = self._loop.create_future()
        return future

    def wake(self, started: Started) -> None:
        """It has ended: its task goes on."""
        if not started.waiter.done():
            started.waiter.set_result(None)


def current(handle: Any) -> Driver:
    """A driver for the loop that runs this task."""
    if "trio" in sys.modules:
        from . import _trio

        if _trio.runs():
            return _trio.TrioDriver(handle)
    try:
        return AsyncioDriver(handle)
    except RuntimeError:
        raise errors.InvalidError("no event loop runs in this thread") from None
