# SPDX-License-Identifier: MIT
"""A number that is counted down, once, and those who wait for its end."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from . import _ffi, errors
from ._core import lib
from ._ffi import OK, Name
from ._handle_pool import PooledHandle, keep_opts
from ._state import State, two_numbers

if TYPE_CHECKING:
    from ._client_base import ClientBase
    from .client import Client


def whole(value: int, what: str, most: int) -> int:
    """A number from 1 to ``most``. Blocks: no. Thread: any thread."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{what} must be int, got {type(value).__name__}")
    if not 1 <= value <= most:
        raise errors.InvalidError(f"{what} must be from 1 to {most}, got {value}")
    return value


@dataclasses.dataclass(frozen=True)
class LatchInfo:
    """What was known of a latch at one moment."""

    count: int  #: where it began; 0 when there is none
    left: int  #: what is left to count


class LatchBase(PooledHandle):
    """What a latch is on either face."""

    _type = "ilk_latch"
    _free = lib.ilk_latch_free
    _cancel = lib.ilk_latch_cancel

    def __init__(self, client: ClientBase, name: Name, count: int, keep: float) -> None:
        opts = keep_opts(self._type, lib.ilk_latch_opts_init, keep)
        begin = whole(count, "count", lib.ILK_LATCH_COUNT_MAX)
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
        """Count down by ``n``, to 0 at the least; answers what is left.

        Raises: DiffersError when its count is another, InvalidError, AuthError
        (counted, but this user may not wake those who wait),
        UnknownOutcomeError. Blocks: one round trip. Thread: any thread.
        """
        by = whole(n, "n", lib.ILK_LATCH_COUNT_MAX)
        return self._ask(lib.ilk_latch_count_down, by)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is left; True at once when that is so.

        ``timeout`` is in seconds; None waits for ever, 0 looks once. Answers
        False when the time ran out.

        Raises: DiffersError, CancelledError, ClosedError, ForkedError,
        ConnectionError and the server's conditions. Blocks: yes; ended by a
        signal handler that raises, and by ``client.close()``.
        Thread: any thread.
        """
        with self._handle() as handle:
            return self._wait(handle, lib.ilk_latch_wait, timeout) == OK

    def count(self) -> int:
        """Ask what is left.

        Raises: DiffersError, ConnectionError and the server's conditions.
        Blocks: one round trip. Thread: any thread.
        """
        return self._ask(lib.ilk_latch_count)

    def reset(self) -> None:
        """Begin anew with this object's count, whatever is on record.

        Raises: AuthError as ``count_down()``, UnknownOutcomeError.
        Blocks: one round trip. Thread: any thread.
        """
        with self._handle() as handle:
            _ffi.call(lib.ilk_latch_reset, handle)


def inspect(client: Client, name: Name) -> LatchInfo:
    """See :meth:`Client.inspect_latch`."""
    return LatchInfo(*two_numbers(lib.ilk_latch_inspect, client, name))
