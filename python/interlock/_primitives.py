# SPDX-License-Identifier: MIT
"""What a client makes beside locks: a method for each primitive."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from . import barrier as _barrier
from . import latch as _latch
from . import signal as _signal
from ._candidate import ElectionOptions
from ._ffi import Name
from ._queue_base import several
from .barrier import Barrier
from .election import Election
from .event import Event
from .latch import Latch
from .queue import Queue, QueueOptions
from .semaphore import Semaphore, SemaphoreOptions
from .signal import Signal

if TYPE_CHECKING:
    from .client import Client


class Primitives:
    """A part of :class:`Client`."""

    def _client(self) -> Client:
        return cast("Client", self)

    def election(
        self,
        name: Name,
        *,
        ttl: float = 20.0,
        value: bytes = b"",
        identity: Name | None = None,
        renew: bool = True,
        max_hold: float | None = None,
    ) -> Election:
        """Make a candidate in the election of this name; nothing is sent.

        - ``ttl``: the lease of a leader, in seconds, renewed while this
          process lives unless ``renew=False``, and no longer than ``max_hold``
          in all.
        - ``value``: what it publishes while it leads, up to 64 KiB.
        - ``identity``: a process that comes back under the identity of the
          leader within its lease leads on, in the same term. It belongs to
          one process at a time.

        Raises: InvalidError, ClosedError. Blocks: no. Thread: any thread.
        """
        options = ElectionOptions(ttl, value, identity, renew, max_hold)
        return Election(self._client(), name, options)

    def semaphore(
        self,
        name: Name,
        limit: int,
        *,
        permits: int = 1,
        ttl: float = 30.0,
        wait: float | None = None,
        renew: bool = True,
        fair: bool = True,
        max_hold: float | None = None,
    ) -> Semaphore:
        """Make a handle for some permits of a semaphore; nothing is sent.

        ``limit`` permits, 1 to 1024, are held at a time by all handles of the
        name together, ``permits`` of them by this handle. While the semaphore
        is in use everybody must name the same limit; ``set_limit()`` changes
        it. The other options are those of :meth:`lock`; ``fair=False`` takes
        free permits past those who wait.

        Raises: InvalidError, ClosedError. Blocks: no. Thread: any thread.
        """
        options = SemaphoreOptions(permits, ttl, wait, renew, fair, max_hold)
        return Semaphore(self._client(), name, limit, options)

    def signal(
        self, name: Name | None = None, *, pattern: Name | None = None
    ) -> Signal:
        """Make a handle for the signals of this name; nothing is sent.

        ``pattern="jobs.*"``, a glob as Redis' PSUBSCRIBE takes it, listens to
        what is given to all who wait for a name that matches.

        Raises: InvalidError, ClosedError. Blocks: no. Thread: any thread.
        """
        return Signal(self._client(), name, pattern)

    def inspect_signal(self, name: Name) -> int:
        """How many waits a signal of this name would reach; no patterns.

        >>> client.inspect_signal("nobody-waits")
        0

        Raises: WrongTypeError, InvalidError, ConnectionError.
        Blocks: one round trip. Thread: any thread.
        """
        return _signal.inspect(self._client(), name)

    def event(self, name: Name, *, ttl: float | None = None) -> Event:
        """Make an event that stays set until it is cleared; nothing is sent.

        ``ttl``: a set lasts so many seconds; None, until it is cleared.

        Raises: InvalidError, ClosedError. Blocks: no. Thread: any thread.
        """
        return Event(self._client(), name, ttl)

    def barrier(self, name: Name, parties: int, *, keep: float = 3600.0) -> Barrier:
        """Make a barrier for so many parties, at most 1024; nothing is sent.

        The server forgets it after ``keep`` seconds in which nobody arrived or
        waited; until then another number of parties is refused.

        Raises: InvalidError, ClosedError. Blocks: no. Thread: any thread.
        """
        return Barrier(self._client(), name, parties, keep)

    def inspect_barrier(self, name: Name) -> _barrier.BarrierInfo:
        """Look at one barrier, whatever its parties, without touching it.

        >>> client.inspect_barrier("nobody's")
        BarrierInfo(parties=0, waiting=0)

        Raises: WrongTypeError, InvalidError, ConnectionError.
        Blocks: one round trip. Thread: any thread.
        """
        return _barrier.inspect(self._client(), name)

    def latch(self, name: Name, count: int, *, keep: float = 86400.0) -> Latch:
        """Make a latch that is counted down from ``count``; nothing is sent.

        The server forgets it after ``keep`` seconds in which nobody counted
        down and nobody waited; until then another count is refused.

        Raises: InvalidError, ClosedError. Blocks: no. Thread: any thread.
        """
        return Latch(self._client(), name, count, keep)

    def inspect_latch(self, name: Name) -> _latch.LatchInfo:
        """Look at one latch, whatever its count, without touching it.

        >>> client.latch("deliveries", 3).count_down()
        2
        >>> client.inspect_latch("deliveries")
        LatchInfo(count=3, left=2)

        Raises: WrongTypeError, InvalidError, ConnectionError.
        Blocks: one round trip. Thread: any thread.
        """
        return _latch.inspect(self._client(), name)

    def queue(
        self,
        name: Name,
        *,
        order: str = "fifo",
        max_attempts: int | None = 25,
        once: float = 600.0,
        renew: bool = False,
    ) -> Queue:
        """Make a handle for the queue of this name; nothing is sent.

        - ``order``: ``"fifo"`` gives the oldest message first, ``"filo"`` the
          newest; all who use a queue say the same.
        - ``max_attempts``: so often a message is delivered before it lies
          among the dead; None for no end.
        - ``once``: how many seconds the request id of a push is remembered.
        - ``renew=True``: the lease of what is reserved is renewed until it is
          finished or its handle is gone.

        Raises: InvalidError, ClosedError. Blocks: no. Thread: any thread.
        """
        return Queue(
            self._client(), (name,), QueueOptions(order, max_attempts, once, renew)
        )

    def queues(
        self,
        names: Iterable[Name],
        *,
        order: str = "fifo",
        max_attempts: int | None = 25,
        renew: bool = False,
    ) -> Queue:
        """Make a handle that takes from up to 64 queues in order of priority.

        The first that has a message is served; pushing and looking is done to
        a queue of its own. The options are those of :meth:`queue`.

        >>> both = client.queues(["high-example", "low-example"])
        >>> client.queue("low-example").push(b"less urgent")
        1
        >>> both.pop()
        b'less urgent'

        Raises: InvalidError, ClosedError. Blocks: no. Thread: any thread.
        """
        options = QueueOptions(order, max_attempts, renew=renew)
        return Queue(self._client(), several(names), options)
