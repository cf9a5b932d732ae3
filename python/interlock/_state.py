# SPDX-License-Identifier: MIT
"""The base of events, latches, barriers and registers: how threads wait for a change."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Callable, cast

from . import _ffi, _greenlets
from ._core import ffi
from ._ffi import EINTR, OK, Name, Seconds
from ._handle_pool import PooledHandle
from ._lease import TIMEOUT_STATUSES

if TYPE_CHECKING:
    from .client import Client


def two_numbers(
    function: Callable[..., int], client: Client, name: Name
) -> tuple[int, int]:
    """Inspect a name: two numbers. Blocks: one round trip. Thread: any thread."""
    raw = _ffi.name_bytes(name)
    first, second = ffi.new("int64_t *"), ffi.new("int64_t *")
    _ffi.call(function, client._live(), raw, len(raw), first, second)
    return int(first[0]), int(second[0])


class State(PooledHandle):
    """The small state of a name, which callers change, read and wait for.

    A signal handler may use the object while its thread waits with it.
    """

    @property
    def client(self) -> Client:
        """The client that it was made from."""
        return cast("Client", self._client)

    def _number(self, function: Callable[..., int], *args: Any) -> int:
        """Call a function that returns a number and does not wait."""
        out = ffi.new("int64_t *")
        with self._handle() as handle:
            _ffi.call(function, handle, *args, out)
        return int(out[0])

    def _wait(
        self,
        handle: Any,
        function: Callable[..., int],
        timeout: Seconds | None,
        before: tuple[Any, ...] = (),
        after: tuple[Any, ...] = (),
    ) -> int:
        """Wait in C; returns ILK_OK or the status of a timeout."""
        limit = _ffi.timeout_ms(timeout)
        cancel = type(self)._cancel

        def wait(handle: Any, left: int, *more: Any) -> int:
            return function(handle, *before, left, *more)

        def abandon() -> None:
            cancel(handle, ffi.NULL)

        in_thread = None
        if limit != 0 and ("gevent" in sys.modules or "eventlet" in sys.modules):
            in_thread = _greenlets.runner(abandon)
        err = _ffi.new_error()
        try:
            status = _ffi.call_blocking(wait, handle, limit, after, err, in_thread)
            if status == EINTR:
                abandon()
        except BaseException:
            abandon()
            raise
        if status != OK and status not in TIMEOUT_STATUSES:
            raise _ffi.failure(status, err)
        return status
