# SPDX-License-Identifier: MIT
"""Signals, for tasks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Callable, cast

from .. import _ffi, errors
from .._core import ffi, lib
from .._ffi import Name, Seconds
from .._handle_pool import HandlePool
from .._signal_base import ReceivedSignal, SignalBase, payload, received

if TYPE_CHECKING:
    from .client import Client


class Signal(SignalBase, HandlePool):
    """As :class:`interlock.Signal`, awaited; made by ``client.signal()``.

    Any number of tasks may wait with one object; each is a wait of its own. When a
    task is cancelled while ``notify_one()`` delivers a signal to its wait, the
    signal is passed on to the next waiter.
    """

    def __init__(
        self, client: Client, name: Name | None, pattern: Name | None = None
    ) -> None:
        super().__init__(client, name, pattern)
        self._free_handles = [self._new()]
        self._listening: Any = None  # the handle that listen() has begun to wait with
        self._busy: set[Any] = set()  # the handles that wait

    async def wait(self, timeout: Seconds | None = None) -> bytes | None:
        """As in :mod:`interlock`."""
        arrived = await self._receive(timeout)
        return None if arrived is None else arrived[2]

    async def receive(
        self, timeout: Seconds | None = None
    ) -> tuple[bytes, bytes] | None:
        """As in :mod:`interlock`."""
        arrived = await self._receive(timeout)
        return None if arrived is None else arrived[1:]

    async def listen(self) -> None:
        """As in :mod:`interlock`, but it belongs to this object, not to a task.

        Tasks that listen at the same time need an object each.
        """
        with self._waiting() as handle:
            await self.client._driver.call(lib.ilk_signal_listen_start, handle)
        self._listening = self._free_handles.pop()  # the handle used above

    async def notify_one(self, data: bytes = b"") -> int:
        """As in :mod:`interlock`. Cancelling its task does not stop it."""
        return await self._notify(lib.ilk_signal_notify_one_start, data)

    async def notify_all(self, data: bytes = b"") -> int:
        """As in :mod:`interlock`. Cancelling its task does not stop it."""
        return await self._notify(lib.ilk_signal_notify_all_start, data)

    def cancel(self) -> None:
        """Cancel the waits of all tasks: they raise CancelledError.

        That is interlock's exception, which cancels no task. Blocks: no.
        """
        self._client._live()
        self._listening = None
        for handle in list(self._busy):
            _ffi.call(lib.ilk_signal_cancel, handle)

    @property
    def client(self) -> Client:
        """The client that it was made from."""
        return cast("Client", self._client)

    async def _receive(self, timeout: Seconds | None) -> ReceivedSignal | None:
        arrived = await _wait([self], timeout, lib.ilk_signal_wait_start)
        return None if arrived is None else arrived[0]

    async def _notify(self, function: Callable[..., int], data: bytes) -> int:
        raw = payload(data)
        with self._handle() as handle:
            return await self.client._driver.number(function, handle, raw, len(raw))

    @contextlib.contextmanager
    def _waiting(self) -> Iterator[Any]:
        """Lend a handle to a wait: the one that listens, if there is one."""
        if self._listening is not None:
            self._free_handles.append(self._listening)
            self._listening = None
        with self._handle() as handle:
            self._busy.add(handle)
            try:
                yield handle
            finally:
                self._busy.discard(handle)


async def wait_any(
    signals: Iterable[Signal], timeout: Seconds | None = None
) -> tuple[Signal, bytes] | None:
    """As :func:`interlock.wait_any`. Blocks: no. Thread: the event loop's.

    >>> async def main():
    ...     async with connect(url) as client:
    ...         stop, go = client.signal("stop"), client.signal("go")
    ...         return await wait_any([stop, go], timeout=0.01)
    >>> asyncio.run(main()) is None
    True
    """
    given = list(signals)
    arrived = await _wait(given, timeout, lib.ilk_signal_wait_any_start)
    return None if arrived is None else (given[arrived[0][0]], arrived[0][2])


async def wait_all(
    signals: Iterable[Signal], timeout: Seconds | None = None
) -> dict[Signal, bytes] | None:
    """As :func:`interlock.wait_all`. Blocks: no. Thread: the event loop's."""
    given = list(signals)
    arrived = await _wait(given, timeout, lib.ilk_signal_wait_all_start)
    return None if arrived is None else {given[i]: data for i, _, data in arrived}


async def _wait(
    signals: list[Signal], timeout: Seconds | None, function: Callable[..., int]
) -> list[ReceivedSignal] | None:
    """Return the index, name and data of each signal; None after a timeout."""
    limit = _ffi.timeout_ms(timeout)
    for signal in signals:
        if not isinstance(signal, Signal):
            raise TypeError(f"not a Signal: {signal!r}")
    if not signals:
        raise errors.InvalidError(f"count must be 1 to {lib.ILK_SIGNAL_MAX}, got 0")
    with contextlib.ExitStack() as stack:
        handles = [stack.enter_context(signals[0]._waiting())]
        for signal in signals[1:]:
            handles.append(stack.enter_context(signal._handle()))
        several = (ffi.new("ilk_signal *[]", handles), len(handles))
        alone = function is lib.ilk_signal_wait_start
        try:
            op = await signals[0].client._driver.complete(
                function, *(handles if alone else several), limit
            )
        except errors.TimeoutError:
            return None
    return received(lib.ilk_op_arrival(op))
