# SPDX-License-Identifier: MIT
"""The awaited calls of every handle with a lease: acquire, release, ``async with``."""

from __future__ import annotations

import logging
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, ClassVar, NamedTuple, cast

from .. import _decorator, _ffi, errors
from .._core import ffi, lib
from .._decorator import F
from .._ffi import ELOST, EUNSUPPORTED, OK, UNSET, Seconds, Unset
from .._lease_base import LeaseBase, TransferableLeaseBase
from ._driver import CancelScope, Started

if TYPE_CHECKING:
    from typing_extensions import Self

    from .client import Client

log = logging.getLogger("interlock")

TIMEOUT_STATUSES = (lib.ILK_EBUSY, lib.ILK_ETIMEOUT)


class StartFunctions(NamedTuple):
    """The C functions that start the operations of one primitive."""

    acquire: Callable[..., int]
    release: Callable[..., int]
    extend: Callable[..., int]
    check: Callable[..., int]


class Lease(LeaseBase):
    """A handle that is acquired, held under a lease, and released.

    The handle belongs to no task: any task that has the object may release it.
    One task at a time may use it.
    """

    _start_functions: ClassVar[StartFunctions]

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._driver = self.client._driver
        self._scopes: list[CancelScope] = []
        self._lost: errors.Error | None = None

    @property
    def client(self) -> Client:
        """The client that it was made from."""
        return cast("Client", self._client)

    async def acquire(
        self, timeout: Seconds | Unset | None = UNSET, *, blocking: bool = True
    ) -> bool:
        """As in :mod:`interlock`. A cancelled task holds nothing."""
        return await self._acquire(self._limit_ms(timeout, blocking))

    async def release(self) -> bool:
        """As in :mod:`interlock`. Cancelling its task does not stop it."""
        handle = self._live()
        if self._reentrant:
            self._refuse_other_owner(errors.NotOwnedError)
        try:
            started = self._driver.start(self._start_functions.release, handle)
        except BaseException as failure:
            if not isinstance(failure, errors.HeldError):  # in use: it still holds
                self._forget_one()
            raise
        try:
            await self._driver.wait(started)
        finally:
            self._forget_one()
        return self._raise_unless_lost(*self._driver.outcome(started))

    async def extend(self, ttl: Seconds | None = None) -> bool:
        """As in :mod:`interlock`."""
        lease = _ffi.lease_ms(ttl)
        return self._raise_unless_lost(
            *await self._driver.status(
                self._start_functions.extend, self._live(), lease
            )
        )

    async def check(self) -> None:
        """As in :mod:`interlock`."""
        await self._driver.call(self._start_functions.check, self._live())

    def __call__(self, function: F) -> F:
        """Decorate a coroutine function: each call of it holds while it runs.

        As in :mod:`interlock`; a lost hold cancels the call.
        """
        return _decorator.awaited(function, self._holds())

    async def __aenter__(self) -> Self:
        if not self._depth:
            self._lost = None
        if not await self.acquire():
            raise errors.TimeoutError(
                f"{self._noun} {self._shown} was not acquired within {self._wait} s"
            )
        scope = self._driver.cancel_scope()
        self._scopes.append(scope)
        if self._lost is not None and not self.held:  # before this task went on
            scope.cancel()
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
            lost = await self._release_at_exit() if self._depth else None
            if lost is not None:
                log.warning("not released after %s: %s", kind and kind.__name__, lost)
            raise
        lost = await self._release_at_exit() if self._depth else None
        if ours and lost is None:
            lost = self._lost
        if lost is None:
            return
        if error is None or ours:
            raise lost
        log.warning("not released after %s: %s", kind and kind.__name__, lost)

    async def _release_at_exit(self) -> errors.Error | None:
        """Release at the end of a block; returns the failure, if there is one."""
        depth = self._depth
        try:
            return None if await self.release() else self._lost_inside()
        except errors.Error as failure:
            return self._failure_at_exit(failure, depth)

    async def _acquire(self, limit: int, *more: Any) -> bool:
        handle = self._live()
        self._refuse_kept()
        if self._reentrant:
            self._claim_owner()
            if self._depth > 0 and not self.held:
                await self._check_outer()
        # Cancelling a campaign of a candidate that leads does not end its leadership.
        kept = self._depth and not self._reentrant and self.held
        try:
            started = self._driver.start(
                self._start_functions.acquire, handle, limit, *more
            )
            await self._driver.wait(started, None if kept else self._undo_acquire)
            status, failure = self._driver.outcome(started)
            if status == OK:
                self._depth = self._depth + 1 if self._reentrant else 1
                return True
        finally:
            if not self._depth:
                self._owner = None
        if status in TIMEOUT_STATUSES:
            return False
        assert failure is not None
        started.free()  # the traceback would keep the operation's memory
        raise failure

    async def _check_outer(self) -> None:
        """Refuse to nest in a hold that was lost; asks the server when in doubt."""
        try:
            await self.check()
        except errors.Error as failure:
            raise self._outer_failure(failure) from None

    def _undo_acquire(self, _: Any) -> Started:
        """Release a hold that was granted while the task was cancelled."""
        return self._driver.start(self._start_functions.release, self._handle)

    def _raise_unless_lost(self, status: int, failure: errors.Error | None) -> bool:
        if failure is not None and status != ELOST:
            raise failure
        if failure is not None:
            self._note_loss(str(failure))
        return status == OK

    def _on_lost(self, failure: errors.Error) -> None:
        """Record a loss that a notification reports, and cancel the bodies."""
        self._lost = failure
        for scope in self._scopes:
            scope.cancel()


class TransferableLease(TransferableLeaseBase, Lease):
    """A handle of one name that can be detached and adopted: lock, semaphore."""

    _adopt: ClassVar[Callable[..., int]]

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._unconfirmed: Started | None = None

    async def acquire(
        self,
        timeout: Seconds | Unset | None = UNSET,
        *,
        blocking: bool = True,
        ttl: Seconds | None = None,
    ) -> bool:
        """As in :mod:`interlock`. A cancelled task holds nothing."""
        limit = self._limit_ms(timeout, blocking)
        lease = _ffi.lease_ms(ttl)
        if self._unconfirmed is not None:
            await self._confirm()
        return await self._acquire(limit, lease)

    async def release(self, *, confirm: bool = True) -> bool:
        """As in :mod:`interlock`. Cancelling its task does not stop it."""
        if self._unconfirmed is not None:
            await self._confirm()
        if confirm:
            return await super().release()
        handle = self._live()
        if self._reentrant:
            self._refuse_other_owner(errors.NotOwnedError)
        started = self._driver.start(self._start_functions.release, handle)
        self._forget_one()
        self._unconfirmed = started
        return True

    async def _confirm(self) -> None:
        """Wait for the reply to a release with ``confirm=False``."""
        started, self._unconfirmed = self._unconfirmed, None
        if started is not None:
            await self._driver.settle(started)

    async def adopt(self, token: str | bytes) -> bool:
        """As in :mod:`interlock`. After a cancel the token can be adopted again."""
        raw = _ffi.name_bytes(token, "token")
        await self._confirm()
        handle = self._live()
        if self._reentrant:
            self._claim_owner()
        try:
            status, failure = await self._driver.status(
                type(self)._adopt, handle, raw, len(raw), undo=self._undo_adopt
            )
            if status == OK:
                self._depth = 1
            if status in (OK, ELOST):
                self._drop_kept(raw)
            elif status == EUNSUPPORTED and self._take_back(token):
                return True
        finally:
            if not self._depth:
                self._owner = None
        return self._raise_unless_lost(status, failure)

    def _undo_adopt(self, _: Any) -> None:
        """Detach a hold that was adopted while the task was cancelled."""
        type(self)._detach(self._handle, ffi.NULL)
