# SPDX-License-Identifier: MIT
"""The driver between the core's operations and an event loop.

The part that differs between the loops is in ``_asyncio_driver.py`` and in
``_trio_driver.py``.

Starting an operation returns at once. The client's descriptor becomes readable
when an operation has ended; :meth:`Driver.drain` then fetches the notification
and wakes the operation's task. No wait takes a thread, and C makes no callbacks.
Operations that are started in one turn of the loop are sent together, at the
end of the turn or when enough bytes have gathered.

A task that is cancelled cancels its operation and waits for the result.
The result is immediate for an operation in a wait queue, and at most one reply
away for a request that has just been sent. So the task leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Awaitable, Coroutine, Sequence
from types import TracebackType
from typing import Any, Callable, Protocol

from .. import _ffi, errors
from .._core import ffi, lib
from .._ffi import OK

DONE: int = lib.ILK_NOTIFICATION_DONE

# Gives back the result of an operation whose task was cancelled, at once or by
# the operation that it starts and returns. Its argument is the core's operation.
Undo = Callable[[Any], "Started | None"]

# The function that a task runs.
Function = Callable[[], Coroutine[Any, Any, None]]


class CancelScope(Protocol):
    """The body of an ``async with``, which a lost hold may cancel."""

    def cancel(self) -> None:
        """Cancel the body."""

    async def leave(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        """Leave the body; True when the exception came from ``cancel()``."""


class LoopEvent(Protocol):
    """An event that one task waits for and the loop sets."""

    def set(self) -> None:
        """Let all tasks continue, those that wait and those that come later."""

    async def wait(self, timeout: float | None) -> bool:
        """Wait; returns False when the time ran out. ``timeout`` is in seconds."""


class Started:
    """One operation under way, the task that waits for it, and its arguments."""

    __slots__ = ("args", "op", "status", "waiter")

    def __init__(self, op: Any, args: tuple[Any, ...]) -> None:
        self.op = op
        self.args = args  # freeing a handle among them would end the operation
        self.status: int | None = None
        self.waiter: Any = None  # what the loop needs to wake the task

    def free(self) -> None:
        """Free the operation, which cancels it while it is under way."""
        if self.op is not None:
            lib.ilk_op_free(self.op)
            self.op = None

    def __del__(self) -> None:
        self.free()


class Driver:
    """The part of a driver that all loops share; each client has one driver."""

    cancelled: type[BaseException]  # the exception in a cancelled task

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self._pending: dict[int, Started] = {}
        self._notification = ffi.new("ilk_notification *")
        self._notification.size = ffi.sizeof(self._notification[0])
        self._out = ffi.new("ilk_op **")  # reused by every call, as is _err
        self._err = _ffi.new_error()
        self._unsent = 0  # started since the last turn
        self.on_notification: Callable[[int, int, int, int], None] = lambda *_: None
        out = ffi.new("int *")
        _ffi.call(lib.ilk_client_notification_fd, handle, out)
        self._fd = int(out[0])

    # ---- what differs between the loops --------------------------------------

    def is_current(self) -> bool:
        """Whether this driver's loop is the one that runs."""
        raise NotImplementedError

    def drain_soon(self) -> None:
        """Call drain() once, when the tasks that are ready have run."""
        raise NotImplementedError

    def call_soon(self, function: Callable[[], None]) -> None:
        """Have the loop call a function; a signal handler may call this."""
        raise NotImplementedError

    def sleep(self, started: Started) -> Awaitable[None]:
        """Wait until the operation has ended, or the task is cancelled."""
        raise NotImplementedError

    def wake(self, started: Started) -> None:
        """Wake the task of an operation that has ended."""
        raise NotImplementedError

    def cancel_scope(self) -> CancelScope:
        """Enter the body of an ``async with`` in the current task."""
        raise NotImplementedError

    def event(self) -> LoopEvent:
        """Make an event that tasks can wait for."""
        raise NotImplementedError

    async def gather(self, functions: Sequence[Function]) -> None:
        """Run functions side by side to their ends; a cancel ends all of them."""
        raise NotImplementedError

    def close(self) -> None:
        """Stop watching the descriptor."""
        raise NotImplementedError

    # ---- operations ---------------------------------------------------------

    def start(self, function: Callable[..., int], *args: Any) -> Started:
        """Start an operation; raises when it fails at once."""
        if not self.is_current():
            raise errors.InvalidError("the client belongs to another event loop")
        status = function(self._out, *args, self._err)
        if status != OK:
            raise _ffi.failure(status, self._err)
        op = self._out[0]
        started = Started(op, args)
        self._pending[lib.ilk_op_id(op)] = started
        self._unsent += 1
        if self._unsent == 2:  # a single one has been sent already
            self.drain_soon()
        return started

    async def wait(self, started: Started, undo: Undo | None = None) -> None:
        """Wait until it has ended; ``undo`` gives back a result that came too late."""
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
        """Free an operation that no task waits for any more."""
        if started.status is None:  # the loop has ended: no notification will come
            self._pending.pop(lib.ilk_op_id(started.op), None)
        started.free()

    async def _end(self, started: Started) -> None:
        """Cancel the operation of a cancelled task, and wait for its result."""
        if started.status is None:
            lib.ilk_op_cancel(started.op, ffi.NULL)
            self.drain()
        while started.status is None:
            with contextlib.suppress(self.cancelled):
                await self.sleep(started)

    async def _give_back(self, undo: Undo, op: Any) -> None:
        """Undo, and wait for the end, because the loop may stop after this."""
        with contextlib.suppress(errors.Error):
            back = undo(op)
            if back is not None:
                await self.settle(back)

    def outcome(self, started: Started) -> tuple[int, errors.Error | None]:
        """Return the status of an ended operation, and the exception for it."""
        status = started.status
        assert status is not None
        if status == OK:
            return OK, None
        err = _ffi.new_error()
        lib.ilk_op_status(started.op, err)
        return status, _ffi.failure(status, err)

    async def settle(self, started: Started) -> None:
        """Wait for an operation that was started before; raises its failure."""
        await self.wait(started)
        _, failure = self.outcome(started)
        if failure is not None:
            started.free()  # the traceback would keep the operation's memory
            raise failure

    async def status(
        self, function: Callable[..., int], *args: Any, undo: Undo | None = None
    ) -> tuple[int, errors.Error | None]:
        """Run an operation; returns its status, and the exception for it."""
        started = self.start(function, *args)
        await self.wait(started, undo)
        return self.outcome(started)

    async def call(self, function: Callable[..., int], *args: Any) -> None:
        """Run an operation; raises its failure."""
        await self.settle(self.start(function, *args))

    async def number(self, function: Callable[..., int], *args: Any) -> int:
        """Run an operation that returns a number."""
        started = self.start(function, *args)
        await self.settle(started)
        return int(lib.ilk_op_number(started.op))

    async def finish(
        self, function: Callable[..., int], *args: Any, undo: Undo | None = None
    ) -> tuple[Any, int, errors.Error | None]:
        """Run an operation whose result is an object of the core.

        Returns the core's operation, its status, and the exception for it. The
        object belongs to the operation, so the caller keeps the operation.
        """
        started = self.start(function, *args)
        await self.wait(started, undo)
        status, failure = self.outcome(started)
        op, started.op = ffi.gc(started.op, lib.ilk_op_free), None
        return op, status, failure

    async def complete(self, function: Callable[..., int], *args: Any) -> Any:
        """As finish(), but raises a failure; returns the operation, to be kept."""
        op, _, failure = await self.finish(function, *args)
        if failure is not None:
            raise failure
        return op

    def drain(self) -> None:
        """Send the started operations, and fetch all notifications."""
        fetch = lib.ilk_client_next_notification
        notification, pending = self._notification, self._pending
        self._unsent = 0
        while fetch(self._handle, notification, ffi.NULL) == OK:
            if notification.kind != DONE:
                self.on_notification(
                    notification.kind,
                    notification.id,
                    notification.status,
                    notification.cause,
                )
                continue
            started = pending.pop(notification.id, None)
            if started is not None:
                started.status = notification.status
                if started.waiter is not None:
                    self.wake(started)


def current(handle: Any) -> Driver:
    """Return a driver for the loop that runs the current task."""
    if "trio" in sys.modules:
        from . import _trio_driver

        if _trio_driver.runs():
            return _trio_driver.TrioDriver(handle)
    from . import _asyncio_driver

    try:
        return _asyncio_driver.AsyncioDriver(handle)
    except RuntimeError:
        raise errors.InvalidError("no event loop runs in this thread") from None
