# SPDX-License-Identifier: MIT
"""The election, for tasks: one of many candidates leads, for a term."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Callable, TypeVar

from .. import _ffi, errors
from .._candidate import Candidate, value_bytes
from .._core import lib
from .._ffi import OK
from ..election import Leader, Leadership, published, to_leader, to_leadership
from ._lease import NOT_IN_TIME, Lease, StartFunctions

T = TypeVar("T")


class Election(Candidate, Lease):
    """As :class:`interlock.Election`, awaited; made by ``client.election()``.

    ``async with`` campaigns without end and resigns when it leaves the block.
    Losing the leadership cancels the block, which then raises LostError.
    """

    _start_functions = StartFunctions(
        acquire=lib.ilk_election_campaign_start,
        release=lib.ilk_election_resign_start,
        extend=lib.ilk_election_renew_start,
        check=lib.ilk_election_check_start,
    )

    async def campaign(self, timeout: float | None = None) -> bool:
        """As in :mod:`interlock`.

        A task that is cancelled stands in no wait queue and leads nothing, unless
        this candidate led before.
        """
        return await self._take(timeout)

    async def resign(self) -> bool:
        """As in :mod:`interlock`. It goes on when its task is cancelled."""
        return await self.release()

    async def renew(self, ttl: float | None = None) -> bool:
        """As in :mod:`interlock`."""
        return await self.extend(ttl)

    async def proclaim(self, value: bytes) -> bool:
        """As in :mod:`interlock`. It goes on when its task is cancelled."""
        raw = value_bytes(value)
        return self._kept(
            *await self.client._driver.status(
                lib.ilk_election_proclaim_start, self._live(), raw, len(raw)
            )
        )

    async def leader(self) -> bytes | None:
        """As in :mod:`interlock`."""
        return await self._look(published)

    async def inspect(self) -> Leader:
        """As in :mod:`interlock`."""
        return await self._look(to_leader)

    def observe(
        self, timeout: float | None = None, *, vacant: bool = False
    ) -> Observer:
        """Iterate over the leaderships: the present one, then each change.

        As in :mod:`interlock`.

        >>> async def bosses():
        ...     async with connect(url) as client:
        ...         async with client.election("chief", value=b"me") as one:
        ...             return [who async for who, _ in one.observe(timeout=0)]
        >>> asyncio.run(bosses())
        [b'me']
        """
        return Observer(self, timeout, vacant)

    async def _look(self, read: Callable[[Any], T]) -> T:
        op = await self.client._driver.answer(
            lib.ilk_election_leader_start, self._live()
        )
        return read(lib.ilk_op_leader(op))


class Observer:
    """What :meth:`Election.observe` returns, for ``async for``.

    One task at a time may wait. A change that came as its task was cancelled
    is told to the next one that asks.
    """

    def __init__(self, election: Election, timeout: float | None, vacant: bool) -> None:
        self._limit = _ffi.timeout_ms(timeout)
        self._election = election
        self._handle = election._observe(vacant)
        self._untold: Leadership | None = None

    async def get(self, timeout: float | None = None) -> Leadership | None:
        """The next leadership that is new, or None when there was none in time."""
        return await self._next(_ffi.timeout_ms(timeout))

    def cancel(self) -> None:
        """End a wait: a task inside gets CancelledError. Thread: any thread."""
        _ffi.call(lib.ilk_observer_cancel, self._handle)

    def __aiter__(self) -> AsyncIterator[Leadership]:
        return self

    async def __anext__(self) -> Leadership:
        try:
            found = await self._next(self._limit)
        except errors.ClosedError:
            raise StopAsyncIteration from None
        if found is None:
            raise StopAsyncIteration
        return found

    async def _next(self, limit: int) -> Leadership | None:
        self._election._live()
        found, self._untold = self._untold, None
        if found is not None:
            return found
        op, status, failure = await self._election.client._driver.finish(
            lib.ilk_observer_next_start, self._handle, limit, undo=self._keep
        )
        if status in NOT_IN_TIME:
            return None
        if failure is not None:
            raise failure
        assert status == OK
        return to_leadership(lib.ilk_op_leader(op))

    def _keep(self, op: Any) -> None:
        """The task was cancelled as it was told."""
        self._untold = to_leadership(lib.ilk_op_leader(op))
