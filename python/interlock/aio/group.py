# SPDX-License-Identifier: MIT
"""The group, for tasks."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from .. import _ffi, errors
from .._core import lib
from .._election_base import value_bytes
from .._ffi import ELOST, OK, Name, Seconds
from .._process_bound import ProcessBound
from ..group import (
    GroupBase,
    GroupChange,
    GroupRingBase,
    MemberBase,
    Members,
    to_members,
)
from ._driver import CancelScope, Started
from ._lease import TIMEOUT_STATUSES

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._driver import Driver
    from .client import Client

_log = logging.getLogger("interlock")


class Member(MemberBase):
    """As :class:`interlock.Member`, awaited; from ``await group.join()``.

    ``async with`` leaves at the end of the block. A lost membership cancels the
    block, which then raises LostError.
    """

    def __init__(self, group: Group, id: Name, ttl: Seconds) -> None:
        super().__init__(group, id, ttl)
        self._driver = group._driver
        self._scopes: list[CancelScope] = []
        self._lost: errors.Error | None = None

    async def update(self, data: bytes) -> None:
        """As in :mod:`interlock`. Cancelling its task does not stop it."""
        raw = value_bytes(data, "data")
        await self._driver.call(
            lib.ilk_member_update_start, self._live(), raw, len(raw)
        )

    async def leave(self) -> bool:
        """As in :mod:`interlock`. Cancelling its task does not stop it."""
        started = self._driver.start(lib.ilk_member_leave_start, self._live())
        self._client._joined.discard(self)
        await self._driver.wait(started)
        status, failure = self._driver.outcome(started)
        if failure is not None and status != ELOST:
            raise failure
        if failure is not None:
            self._cause = _ffi.cause_of_loss(str(failure))
        return status == OK

    async def __aenter__(self) -> Self:
        self.check()
        self._lost = None
        self._scopes.append(self._driver.cancel_scope())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            ours = await self._scopes.pop().leave(kind, error, trace)
        except BaseException:  # trio: what is left of a group of exceptions
            failure = await self._leave_at_exit()
            if failure is not None:
                _log.warning("not left after %s: %s", kind and kind.__name__, failure)
            raise
        failure = await self._leave_at_exit()
        if ours and failure is None:
            failure = self._lost
        if failure is None:
            return
        if error is None or ours:
            raise failure
        _log.warning("not left after %s: %s", kind and kind.__name__, failure)

    async def _leave_at_exit(self) -> errors.Error | None:
        """Leave at the end of a block; returns the failure, if there is one."""
        try:
            return None if await self.leave() else self._was_lost()
        except errors.NotOwnedError:  # it has left inside the block
            return None
        except errors.Error as failure:
            return failure

    def _undo_join(self, _: Any) -> Started:
        """Leave again, because the task was cancelled while it joined."""
        return self._driver.start(lib.ilk_member_leave_start, self._handle)

    def _on_lost(self, failure: errors.Error) -> None:
        """Record a loss that a notification reports, and cancel the bodies."""
        self._lost = failure
        self._client._joined.discard(self)
        for scope in self._scopes:
            scope.cancel()


class Group(GroupBase):
    """As :class:`interlock.Group`, awaited; made by ``client.group()``."""

    @property
    def client(self) -> Client:
        """The client that it was made from."""
        return cast("Client", self._client)

    @property
    def _driver(self) -> Driver:
        return self.client._driver

    async def join(self, id: Name, data: bytes = b"", ttl: Seconds = 10.0) -> Member:
        """As in :mod:`interlock`. A cancelled task has not joined."""
        raw = value_bytes(data, "data")
        member = Member(self, id, ttl)
        started = self._driver.start(
            lib.ilk_member_join_start, member._live(), raw, len(raw)
        )
        await self._driver.wait(started, member._undo_join)
        _, failure = self._driver.outcome(started)
        if failure is not None:
            started.free()  # the traceback would keep the operation's memory
            raise failure
        member._joined()
        return member

    async def members(self) -> dict[str, bytes]:
        """As in :mod:`interlock`."""
        with self._handle() as handle:
            op = await self._driver.complete(lib.ilk_group_members_start, handle)
        return to_members(lib.ilk_op_members(op))

    def watch(self, timeout: Seconds | None = None) -> GroupWatch:
        """Iterate over the changes: first all members as joined, then each change.

        As in :mod:`interlock`.

        >>> async def crew():
        ...     async with connect(url) as client:
        ...         crew = client.group("crew")
        ...         async with await crew.join("bob"):
        ...             return [change.joined async for change in crew.watch(timeout=0)]
        >>> asyncio.run(crew())
        [frozenset({'bob'})]
        """
        return GroupWatch(self, timeout)

    async def ring(self, layout: str = "ketama") -> GroupRing:
        """As in :mod:`interlock`."""
        ring = GroupRing(self, layout)
        await ring.refresh()
        return ring


class GroupWatch(ProcessBound):
    """The iterator that :meth:`Group.watch` returns, for ``async for``.

    One task at a time may wait. A change that came while its task was cancelled
    is returned to the next call.
    """

    def __init__(self, group: Group, timeout: Seconds | None) -> None:
        self._limit = _ffi.timeout_ms(timeout)
        self._group = group
        self._members = Members()
        self._handle = group._new()
        self._undelivered: GroupChange | None = None

    async def get(self, timeout: Seconds | None = None) -> GroupChange | None:
        """Return the next change, or None when there was none in time."""
        return await self._next(_ffi.timeout_ms(timeout))

    def cancel(self) -> None:
        """Cancel a wait: a task inside raises CancelledError. Thread: any thread."""
        _ffi.call(lib.ilk_group_cancel, self._handle)

    def __aiter__(self) -> AsyncIterator[GroupChange]:
        return self

    async def __anext__(self) -> GroupChange:
        try:
            found = await self._next(self._limit)
        except errors.ClosedError:
            raise StopAsyncIteration from None
        if found is None:
            raise StopAsyncIteration
        return found

    async def _next(self, limit: int) -> GroupChange | None:
        self._group._client._live()
        found, self._undelivered = self._undelivered, None
        if found is not None:
            return found
        op, status, failure = await self._group._driver.finish(
            lib.ilk_group_watch_start, self._handle, limit, undo=self._keep_undelivered
        )
        if status in TIMEOUT_STATUSES:
            return None
        if failure is not None:
            raise failure
        return self._members.change(lib.ilk_op_members(op))

    def _keep_undelivered(self, op: Any) -> None:
        """Keep a change that arrived while the task was cancelled."""
        self._undelivered = self._members.change(lib.ilk_op_members(op))


class GroupRing(GroupRingBase):
    """As :class:`interlock.GroupRing`; lookups are not awaited, ``refresh()`` is."""

    def __init__(self, group: Group, layout: str) -> None:
        super().__init__(group, layout)
        self._watch = group.watch()

    async def refresh(self, timeout: Seconds | None = 0) -> GroupChange | None:
        """As in :mod:`interlock`. A change of a cancelled task is in the next call."""
        change = await self._watch.get(timeout)
        self._follow(self._watch._members)
        return change

    def cancel(self) -> None:
        """Cancel a ``refresh()``: a task inside raises CancelledError.

        Thread: any thread.
        """
        self._watch.cancel()
