# SPDX-License-Identifier: MIT
"""The methods of a client that open the primitives other than locks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, cast

from . import barrier as _barrier
from . import kv as _kv
from . import latch as _latch
from . import signal as _signal
from ._election_base import ElectionOptions
from ._ffi import Name, Seconds
from ._queue_base import checked_names
from .barrier import Barrier
from .election import Election
from .event import Event
from .group import Group
from .kv import KV, KVProgress
from .latch import Latch
from .queue import Queue, QueueOptions
from .register import Register
from .semaphore import Semaphore, SemaphoreOptions
from .signal import Signal
from .store import Store

if TYPE_CHECKING:
    from .client import Client


class Primitives:
    """The part of :class:`Client` that opens the primitives other than locks."""

    def _client(self) -> Client:
        return cast("Client", self)

    def election(
        self,
        name: Name,
        *,
        ttl: Seconds = 20.0,
        value: bytes = b"",
        identity: Name | None = None,
        renew: bool = True,
        max_hold: Seconds | None = None,
    ) -> Election:
        """Make a candidate in the election of this name; nothing is sent.

        - ``ttl``: the lease of a leader, in seconds, renewed while this
          process lives unless ``renew=False``, and no longer than ``max_hold``
          in all.
        - ``value``: what it publishes while it leads, up to 64 KiB.
        - ``identity``: when the leader's process restarts within its lease and
          uses the same identity, it leads on in the same term. One process at a
          time may use an identity.

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
        ttl: Seconds = 30.0,
        wait: Seconds | None = None,
        renew: bool = True,
        fair: bool = True,
        max_hold: Seconds | None = None,
    ) -> Semaphore:
        """Make a handle for some permits of a semaphore; nothing is sent.

        All handles of the name together hold at most ``limit`` permits, 1 to
        1024; this handle holds ``permits`` of them. While the semaphore is in
        use all handles must give the same limit; ``set_limit()`` changes it. The
        other options are those of :meth:`lock`; with ``fair=False`` the handle
        takes free permits ahead of the wait queue.

        Raises: InvalidError, ClosedError. Blocks: no. Thread: any thread.
        """
        options = SemaphoreOptions(permits, ttl, wait, renew, fair, max_hold)
        return Semaphore(self._client(), name, limit, options)

    def signal(
        self, name: Name | None = None, *, pattern: Name | None = None
    ) -> Signal:
        """Make a handle for the signals of this name; nothing is sent.

        ``pattern="jobs.*"``, a glob as in Redis' PSUBSCRIBE, receives the signals
        that ``notify_all()`` sends to a name that matches.

        Raises: InvalidError, ClosedError. Blocks: no. Thread: any thread.
        """
        return Signal(self._client(), name, pattern)

    def inspect_signal(self, name: Name) -> int:
        """Return how many waits a signal of this name would reach, without patterns.

        >>> client.inspect_signal("nobody-waits")
        0

        Raises: WrongTypeError, InvalidError, ConnectionError.
        Blocks: one round trip. Thread: any thread.
        """
        return _signal.inspect(self._client(), name)

    def event(self, name: Name, *, ttl: Seconds | None = None) -> Event:
        """Make an event that stays set until it is cleared; nothing is sent.

        ``ttl``: seconds until a set event clears itself; None for never.

        Raises: InvalidError, ClosedError. Blocks: no. Thread: any thread.
        """
        return Event(self._client(), name, ttl)

    def barrier(self, name: Name, parties: int, *, keep: Seconds = 3600.0) -> Barrier:
        """Make a barrier for ``parties``, at most 1024; nothing is sent.

        The server deletes it after ``keep`` seconds in which nobody arrived or
        waited; until then it refuses another number of parties.

        Raises: InvalidError, ClosedError. Blocks: no. Thread: any thread.
        """
        return Barrier(self._client(), name, parties, keep)

    def inspect_barrier(self, name: Name) -> _barrier.BarrierInfo:
        """Inspect one barrier, whatever its number of parties, without changing it.

        >>> client.inspect_barrier("nobody's")
        BarrierInfo(parties=0, waiting=0)

        Raises: WrongTypeError, InvalidError, ConnectionError.
        Blocks: one round trip. Thread: any thread.
        """
        return _barrier.inspect(self._client(), name)

    def latch(self, name: Name, count: int, *, keep: Seconds = 86400.0) -> Latch:
        """Make a latch that is counted down from ``count``; nothing is sent.

        The server deletes it after ``keep`` seconds in which nobody counted down
        or waited; until then it refuses another count.

        Raises: InvalidError, ClosedError. Blocks: no. Thread: any thread.
        """
        return Latch(self._client(), name, count, keep)

    def inspect_latch(self, name: Name) -> _latch.LatchInfo:
        """Inspect one latch, whatever its count, without changing it.

        >>> client.latch("deliveries", 3).count_down()
        2
        >>> client.inspect_latch("deliveries")
        LatchInfo(count=3, left=2)

        Raises: WrongTypeError, InvalidError, ConnectionError.
        Blocks: one round trip. Thread: any thread.
        """
        return _latch.inspect(self._client(), name)

    def group(self, name: Name) -> Group:
        """Make a handle for the group of this name; nothing is sent.

        >>> client.group("nobody's").members()
        {}

        Raises: InvalidError, ClosedError, UnsupportedError. Blocks: no.
        Thread: any thread.
        """
        return Group(self._client(), name)

    def register(self, name: Name) -> Register:
        """Make a register: one value with a version; nothing is sent.

        Raises: InvalidError, ClosedError, UnsupportedError. Blocks: no.
        Thread: any thread.
        """
        return Register(self._client(), name)

    def store(self, name: Name) -> Store:
        """Make a store: many keys, changed by transactions; nothing is sent.

        Raises: InvalidError, ClosedError, UnsupportedError. Blocks: no.
        Thread: any thread.
        """
        return Store(self._client(), name)

    def kv(self, name: Name) -> KV:
        """Make a handle for values of which the newest wins; nothing is sent.

        Raises: InvalidError, ClosedError, UnsupportedError. Blocks: no.
        Thread: any thread.
        """
        return KV(self._client(), name)

    def kv_move(self, after: KVProgress | None = None) -> Iterator[KVProgress]:
        """Put the values of all names where they belong, after a change of servers.

        Each step looks at about 100 records of one server, and yields how far the
        pass has come. Gets and puts go on meanwhile; a program that pauses between
        two steps leaves the servers more room for them. ``after`` is the last
        progress of another pass, in this process or another, and this pass goes on
        from there. With one server there is nothing to do.

        >>> for progress in client.kv_move():
        ...     print(progress)
        KVProgress(server=1, servers=1, looked=0, copied=0, removed=0, done=True)

        Raises: NoQuorumError (a server cannot be reached: go on after the last
        progress), InvalidError, UnsupportedError, ConnectionError and the servers'
        errors. Blocks: each step for some round trips. Thread: any thread.
        """
        return _kv.move(self._client(), after)

    def queue(
        self,
        name: Name,
        *,
        order: str = "fifo",
        max_attempts: int | None = 25,
        once: Seconds = 600.0,
        renew: bool = False,
    ) -> Queue:
        """Make a handle for the queue of this name; nothing is sent.

        - ``order``: ``"fifo"`` delivers the oldest message first, ``"filo"`` the
          newest; all users of a queue must give the same order.
        - ``max_attempts``: after so many deliveries a message becomes dead; None
          for no limit.
        - ``once``: seconds for which the request id of a push is remembered.
        - ``renew=True``: the lease of a reserved message is renewed until the job
          is finished or its object is collected.

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

        The first queue that has a message is served. Pushing and inspecting need
        the handle of a single queue. The options are those of :meth:`queue`.

        >>> both = client.queues(["high-example", "low-example"])
        >>> client.queue("low-example").push(b"less urgent")
        1
        >>> both.pop()
        b'less urgent'

        Raises: InvalidError, ClosedError. Blocks: no. Thread: any thread.
        """
        options = QueueOptions(order, max_attempts, renew=renew)
        return Queue(self._client(), checked_names(names), options)
