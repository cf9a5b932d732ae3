# SPDX-License-Identifier: MIT
"""The election, for tasks: one of many candidates leads, for a term."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Callable, TypeVar

from .. import _ffi, errors
from .._core import lib
from .._election_base import ElectionBase, value_bytes
from .._ffi import OK, Seconds
from .._process_bound import ProcessBound
from ..election import Leader, Leadership, published, to_leader, to_leadership
from ._lease import TIMEOUT_STATUSES, Lease, StartFunctions

T = TypeVar("T")


class Election(ElectionBase, Lease):
    """As :class:`interlock.Election`, awaited; made by ``client.election()``.

    ``async with`` campaigns without a time limit and resigns at the end of the
    block. A lost leadership cancels the block, which then raises LostError.
    """

    _start_functions = StartFunctions(
        acquire=lib.ilk_election_campaign_start,
        release=lib.ilk_election_resign_start,
        extend=lib.ilk_election_renew_start,
        check=lib.ilk_election_check_start,
    )

    async def campaign(self, timeout: Seconds | None = None) -> bool:
        """As in :mod:`interlock`.

        A cancelled task leaves the wait queue and does not lead, unless this
        candidate led before.
        """
        return await self._acquire(self._limit_ms(timeout))

    async def adopt(self, token: str | bytes) -> bool:
        """As in :mod:`interlock`."""
        return self._take_back(token)

    async def resign(self) -> bool:
        """As in :mod:`interlock`. Cancelling its task does not stop it."""
        return await self.release()

    async def renew(self, ttl: Seconds | None = None) -> bool:
        """As in :mod:`interlock`."""
        return await self.extend(ttl)

    async def proclaim(self, value: bytes) -> bool:
        """As in :mod:`interlock`. Cancelling its task does not stop it."""
        raw = value_bytes(value)
        return self._raise_unless_lost(
            *await self.client._driver.status(
                lib.ilk_election_proclaim_start, self._live(), raw, len(raw)
            )
        )

    async def leader(self) -> bytes | None:
        """As in :mod:`interlock`."""
        return await self._read_leader(published)

    async def inspect(self) -> Leader:
        """As in :mod:`interlock`."""
        return await self._read_leader(to_leader)

    def observe(
        self, timeout: Seconds | None = None, *, vacant: bool = False
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

    async def _read_leader(self, read: Callable[[Any], T]) -> T:
        op = await self.client._driver.complete(
            lib.ilk_election_leader_start, self._live()
        )
        return read(lib.ilk_op_leader(op))


class Observer(ProcessBound):
    """The iterator that :meth:`Election.observe` returns, for ``async for``.

    One task at a time may wait. A change that came while its task was cancelled
    is returned to the next call.
    """

    def __init__(
        self, election: Election, timeout: Seconds | None, vacant: bool
    ) -> None:
        self._limit = _ffi.timeout_ms(timeout)
        self._election = election
        self._handle = election._observe(vacant)
        self._undelivered: Leadership | None = None

    async def get(self, timeout: Seconds | None = None) -> Leadership | None:
        """Return the next new leadership, or None when there was none in time."""
        return await self._next(_ffi.timeout_ms(timeout))

    def cancel(self) -> None:
        """Cancel a wait: a task inside raises CancelledError. Thread: any thread."""
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
        found, self._undelivered = self._undelivered, None
        if found is not None:
            return found
        op, status, failure = await self._election.client._driver.finish(
            lib.ilk_observer_next_start,
            self._handle,
            limit,
            undo=self._keep_undelivered,
        )
        if status in TIMEOUT_STATUSES:
            return None
        if failure is not None:
            raise failure
        assert status == OK
        return to_leadership(lib.ilk_op_leader(op))

    def _keep_undelivered(self, op: Any) -> None:
        """Keep a change that arrived while the task was cancelled."""
        self._undelivered = to_leadership(lib.ilk_op_leader(op))
