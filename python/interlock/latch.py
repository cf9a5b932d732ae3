# SPDX-License-Identifier: MIT
"""The latch: a number that is counted down once, and waits until it is 0."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from . import _ffi, errors
from ._core import lib
from ._ffi import OK, Name, Seconds
from ._handle_pool import PooledHandle, keep_opts
from ._state import State, two_numbers

if TYPE_CHECKING:
    from ._client_base import ClientBase
    from .client import Client


def whole_number(value: int, what: str, most: int) -> int:
    """Check for a number from 1 to ``most``. Blocks: no. Thread: any thread."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{what} must be int, got {type(value).__name__}")
    if not 1 <= value <= most:
        raise errors.InvalidError(f"{what} must be from 1 to {most}, got {value}")
    return value


@dataclasses.dataclass(frozen=True)
class LatchInfo:
    """The state of a latch at one moment."""

    count: int  #: the count that it began with; 0 when none is on record
    left: int  #: the count that is left


class LatchBase(PooledHandle):
    """The part of a latch that the blocking and the asyncio package share."""

    _type = "ilk_latch"
    _free = lib.ilk_latch_free
    _cancel = lib.ilk_latch_cancel

    def __init__(
        self, client: ClientBase, name: Name, count: int, keep: Seconds
    ) -> None:
        opts = keep_opts(self._type, lib.ilk_latch_opts_init, keep)
        begin = whole_number(count, "count", lib.ILK_LATCH_COUNT_MAX)
        super().__init__(client, name, lib.ilk_latch_open, begin, opts)


class Latch(LatchBase, State):
    """A countdown for all processes; made by ``client.latch()``.

    >>> parts = client.latch("parts", 2)
    >>> parts.count_down(), parts.wait(timeout=0)
    (1, False)
    >>> parts.count_down(), parts.wait()
    (0, True)

    Thread: any thread.
    """

    def count_down(self, n: int = 1) -> int:
        """Count down by ``n``, but not below 0; returns the count that is left.

        Raises: DiffersError when another count is on record, InvalidError,
        AuthError (counted, but this user may not PUBLISH to the waiters),
        UnknownOutcomeError. Blocks: one round trip. Thread: any thread.
        """
        by = whole_number(n, "n", lib.ILK_LATCH_COUNT_MAX)
        return self._number(lib.ilk_latch_count_down, by)

    def wait(self, timeout: Seconds | None = None) -> bool:
        """Wait until the count is 0; returns True at once when it is.

        ``timeout`` is in seconds; None waits for ever, 0 checks once. Returns
        False when the time ran out.

        Raises: DiffersError, CancelledError, ClosedError, ForkedError,
        ConnectionError and the server's errors. Blocks: yes; ended by a
        signal handler that raises, by ``client.stop()`` and ``client.close()``.
        Thread: any thread.
        """
        with self._handle() as handle:
            return self._wait(handle, lib.ilk_latch_wait, timeout) == OK

    def count(self) -> int:
        """Return the count that is left.

        Raises: DiffersError, ConnectionError and the server's errors.
        Blocks: one round trip. Thread: any thread.
        """
        return self._number(lib.ilk_latch_count)

    def reset(self) -> None:
        """Start again with this object's count, whatever is on record.

        Raises: AuthError as ``count_down()``, UnknownOutcomeError.
        Blocks: one round trip. Thread: any thread.
        """
        with self._handle() as handle:
            _ffi.call(lib.ilk_latch_reset, handle)


def inspect(client: Client, name: Name) -> LatchInfo:
    """See :meth:`Client.inspect_latch`."""
    return LatchInfo(*two_numbers(lib.ilk_latch_inspect, client, name))
