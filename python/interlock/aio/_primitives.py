# SPDX-License-Identifier: MIT
"""The methods of a client that open the primitives other than locks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Any, Callable, cast

from .. import _ffi
from .._core import lib
from .._election_base import ElectionOptions
from .._ffi import Name, Seconds
from .._queue_base import checked_names
from ..barrier import BarrierInfo
from ..kv import KVProgress
from ..latch import LatchInfo
from ..queue import QueueOptions
from ..semaphore import SemaphoreOptions
from . import kv as _kv
from .barrier import Barrier
from .election import Election
from .event import Event
from .group import Group
from .kv import KV
from .latch import Latch
from .queue import Queue
from .register import Register
from .semaphore import Semaphore
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
        """As :meth:`interlock.Client.election`; nothing is sent."""
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
        """As :meth:`interlock.Client.semaphore`; nothing is sent."""
        options = SemaphoreOptions(permits, ttl, wait, renew, fair, max_hold)
        return Semaphore(self._client(), name, limit, options)

    def signal(
        self, name: Name | None = None, *, pattern: Name | None = None
    ) -> Signal:
        """As :meth:`interlock.Client.signal`; nothing is sent."""
        return Signal(self._client(), name, pattern)

    async def inspect_signal(self, name: Name) -> int:
        """As :meth:`interlock.Client.inspect_signal`."""
        op = await self._inspect(lib.ilk_signal_inspect_start, name)
        return int(lib.ilk_op_number(op))

    def event(self, name: Name, *, ttl: Seconds | None = None) -> Event:
        """As :meth:`interlock.Client.event`; nothing is sent."""
        return Event(self._client(), name, ttl)

    def barrier(self, name: Name, parties: int, *, keep: Seconds = 3600.0) -> Barrier:
        """As :meth:`interlock.Client.barrier`; nothing is sent."""
        return Barrier(self._client(), name, parties, keep)

    async def inspect_barrier(self, name: Name) -> BarrierInfo:
        """As :meth:`interlock.Client.inspect_barrier`."""
        op = await self._inspect(lib.ilk_barrier_inspect_start, name)
        return BarrierInfo(
            lib.ilk_op_barrier_parties(op), lib.ilk_op_barrier_waiting(op)
        )

    def latch(self, name: Name, count: int, *, keep: Seconds = 86400.0) -> Latch:
        """As :meth:`interlock.Client.latch`; nothing is sent."""
        return Latch(self._client(), name, count, keep)

    async def inspect_latch(self, name: Name) -> LatchInfo:
        """As :meth:`interlock.Client.inspect_latch`."""
        op = await self._inspect(lib.ilk_latch_inspect_start, name)
        return LatchInfo(lib.ilk_op_latch_count(op), lib.ilk_op_latch_left(op))

    def group(self, name: Name) -> Group:
        """As :meth:`interlock.Client.group`; nothing is sent."""
        return Group(self._client(), name)

    def store(self, name: Name) -> Store:
        """As :meth:`interlock.Client.store`; nothing is sent."""
        return Store(self._client(), name)

    def kv(self, name: Name) -> KV:
        """As :meth:`interlock.Client.kv`; nothing is sent."""
        return KV(self._client(), name)

    def kv_move(self, after: KVProgress | None = None) -> AsyncIterator[KVProgress]:
        """As :meth:`interlock.Client.kv_move`, for ``async for``."""
        return _kv.move(self._client(), after)

    def register(self, name: Name) -> Register:
        """As :meth:`interlock.Client.register`; nothing is sent."""
        return Register(self._client(), name)

    def queue(
        self,
        name: Name,
        *,
        order: str = "fifo",
        max_attempts: int | None = 25,
        once: Seconds = 600.0,
        renew: bool = False,
    ) -> Queue:
        """As :meth:`interlock.Client.queue`; nothing is sent."""
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
        """As :meth:`interlock.Client.queues`; nothing is sent."""
        options = QueueOptions(order, max_attempts, renew=renew)
        return Queue(self._client(), checked_names(names), options)

    async def _inspect(self, function: Callable[..., int], name: Name) -> Any:
        """Run an inspection; returns the operation, which has the result."""
        raw, client = _ffi.name_bytes(name), self._client()
        return await client._driver.complete(function, client._live(), raw, len(raw))
