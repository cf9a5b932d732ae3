# SPDX-License-Identifier: MIT
"""The barrier: a point that all parties must reach before any of them continues."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from . import _ffi, errors
from ._core import ffi, lib
from ._ffi import OK, Name, Seconds
from ._handle_pool import PooledHandle, keep_opts
from ._state import State, two_numbers
from .latch import whole_number

if TYPE_CHECKING:
    from ._client_base import ClientBase
    from .client import Client


@dataclasses.dataclass(frozen=True)
class BarrierInfo:
    """The state of a barrier at one moment."""

    parties: int  #: the number of its parties; 0 when none is on record
    waiting: int  #: how many have arrived at the open round


class BarrierBase(PooledHandle):
    """The part of a barrier that the blocking and the asyncio package share."""

    _type = "ilk_barrier"
    _free = lib.ilk_barrier_free
    _cancel = lib.ilk_barrier_cancel

    def __init__(
        self, client: ClientBase, name: Name, parties: int, keep: Seconds
    ) -> None:
        opts = keep_opts(self._type, lib.ilk_barrier_opts_init, keep)
        self._parties = whole_number(parties, "parties", lib.ILK_BARRIER_PARTIES_MAX)
        super().__init__(client, name, lib.ilk_barrier_open, parties, opts)

    @property
    def parties(self) -> int:
        """The number of parties that makes a round full."""
        return self._parties

    def _not_full(self, timeout: Seconds | None) -> errors.TimeoutError:
        timeout = None if timeout is None else _ffi.as_float(timeout)
        if timeout == 0:
            return errors.BusyError(f"barrier {self._name!r} is not full yet")
        return errors.TimeoutError(
            f"barrier {self._name!r} was not full within {timeout} s"
        )


class Barrier(BarrierBase, State):
    """A barrier for all processes; made by ``client.barrier()``.

    As ``threading.Barrier``, but only the round breaks, not the barrier: the next
    ``wait()`` opens a new round. A round breaks at ``reset()``, and when a party
    that had arrived times out, raises or dies. The other parties notice a death
    within 6 s.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> start = client.barrier("start", 3)
    >>> with ThreadPoolExecutor(3) as pool:
    ...     sorted(pool.map(lambda _: start.wait(timeout=5), range(3)))
    [0, 1, 2]
    >>> start.wait(timeout=0.01)
    Traceback (most recent call last):
        ...
    interlock.errors.TimeoutError: ...

    Thread: any thread; each wait is one party.
    """

    def wait(self, timeout: Seconds | None = None) -> int:
        """Arrive, and wait until the round is full.

        Returns the index of this arrival, 0 to ``parties`` - 1. ``timeout`` is
        in seconds; None waits for ever; 0 arrives only as the last party, and
        breaks nothing. When the time runs out the round breaks for all parties.

        Raises: BrokenError, TimeoutError, DiffersError, CancelledError,
        ClosedError, ForkedError, ConnectionError and the server's errors.
        Blocks: yes; ended by a signal handler that raises, by
        ``client.stop()`` and by ``client.close()``. Thread: any thread.
        """
        index = ffi.new("int64_t *")
        with self._handle() as handle:
            wait = lib.ilk_barrier_wait
            status = self._wait(handle, wait, timeout, after=(index,))
        if status == OK:
            return int(index[0])
        raise self._not_full(timeout)

    def waiting(self) -> int:
        """Return how many parties have arrived at the open round.

        Raises: DiffersError, ConnectionError and the server's errors.
        Blocks: one round trip. Thread: any thread.
        """
        return self._number(lib.ilk_barrier_waiting)

    def reset(self) -> None:
        """Break the open round; start again with this object's number of parties.

        Raises: AuthError (done, but this user may not PUBLISH to the waiters),
        UnknownOutcomeError. Blocks: one round trip. Thread: any thread.
        """
        with self._handle() as handle:
            _ffi.call(lib.ilk_barrier_reset, handle)


def inspect(client: Client, name: Name) -> BarrierInfo:
    """See :meth:`Client.inspect_barrier`."""
    return BarrierInfo(*two_numbers(lib.ilk_barrier_inspect, client, name))
