# SPDX-License-Identifier: MIT
"""The calls of every handle that holds a lease: acquire, release, ``async with``."""

from __future__ import annotations

import logging
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, ClassVar, NamedTuple, cast

from .. import _ffi, errors
from .._core import ffi, lib
from .._ffi import ELOST, OK, UNSET, Unset
from .._lease_base import LeaseBase, NamedLeaseBase
from ._driver import Body, Started

if TYPE_CHECKING:
    from typing_extensions import Self

    from .client import Client

log = logging.getLogger("interlock")

NOT_IN_TIME = (lib.ILK_EBUSY, lib.ILK_ETIMEOUT)


class StartFunctions(NamedTuple):
    """The C functions that start what the calls of a primitive wait for."""

    acquire: Callable[..., int]
    release: Callable[..., int]
    extend: Callable[..., int]
    check: Callable[..., int]


class Lease(LeaseBase):
    """A handle that is acquired, held under a lease, and released.

    It belongs to no task: whoever has the object may release it. One task at
    a time may use it.
    """

    _start_functions: ClassVar[StartFunctions]

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._driver = self.client._driver
        self._bodies: list[Body] = []
        self._lost: errors.Error | None = None

    @property
    def client(self) -> Client:
        """The client that it was made from."""
        return cast("Client", self._client)

    async def acquire(self, timeout: float | Unset | None = UNSET) -> bool:
        """As in :mod:`interlock`. A task that is cancelled holds nothing."""
        return await self._take(timeout)

    async def release(self) -> bool:
        """As in :mod:`interlock`. It goes on when its task is cancelled."""
        handle = self._live()
        if self._reentrant:
            self._refuse_stranger(errors.NotOwnedError)
        try:
            started = self._driver.start(self._start_functions.release, handle)
            await self._driver.wait(started)
        finally:
            self._forget_one()
        return self._kept(*self._driver.outcome(started))

    async def extend(self, ttl: float | None = None) -> bool:
        """As in :mod:`interlock`."""
        lease = _ffi.lease_ms(ttl)
        return self._kept(
            *await self._driver.status(
                self._start_functions.extend, self._live(), lease
            )
        )

    async def check(self) -> None:
        """As in :mod:`interlock`."""
        await self._driver.call(self._start_functions.check, self._live())

    async def __aenter__(self) -> Self:
        if not await self.acquire():
            raise errors.TimeoutError(
                f"{self._noun} {self._shown} was not acquired within {self._wait} s"
            )
        self._lost = None
        self._bodies.append(self._driver.body())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        ours = await self._bodies.pop().leave(kind, error, trace)
        lost = await self._give_up() if self._depth else None
        if ours and lost is None:
            lost = self._lost
        if lost is None:
            return
        if error is None or ours:
            raise lost
        log.warning("while %s left its block: %s", kind and kind.__name__, lost)

    async def _give_up(self) -> errors.Error | None:
        """Release at the end of a block, or why it could not be."""
        try:
            if await self.release():
                return None
            return errors.LostError(f"{self._noun} {self._shown} was lost inside")
        except errors.Error as failure:
            return failure

    async def _take(self, timeout: float | Unset | None, *more: Any) -> bool:
        limit = _ffi.timeout_ms(self._wait if timeout is UNSET else timeout)
        handle = self._live()
        if self._reentrant:
            self._claim()
        # A candidate that leads may campaign: that it led on is not undone.
        kept = self._depth and not self._reentrant and self.held
        try:
            started = self._driver.start(
                self._start_functions.acquire, handle, limit, *more
            )
            await self._driver.wait(started, None if kept else self._undo)
            status, failure = self._driver.outcome(started)
            if status == OK:
                self._depth = self._depth + 1 if self._reentrant else 1
                return True
        finally:
            if not self._depth:
                self._owner = None
        if status in NOT_IN_TIME:
            return False
        assert failure is not None
        started.free()  # its traceback keeps all that is here
        raise failure

    def _undo(self, _: Any) -> Started:
        """The task was cancelled as it was granted: nobody holds it."""
        return self._driver.start(self._start_functions.release, self._handle)

    def _kept(self, status: int, failure: errors.Error | None) -> bool:
        if failure is not None and status != ELOST:
            raise failure
        return status == OK

    def _told(self, failure: errors.Error) -> None:
        """A notification says that it was lost: what is done under it ends."""
        self._lost = failure
        for body in self._bodies:
            body.cancel()


class NamedLease(NamedLeaseBase, Lease):
    """A handle of one name; its primitives are the lock and the semaphore."""

    _adopt: ClassVar[Callable[..., int]]

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._unconfirmed: Started | None = None

    async def acquire(
        self,
        timeout: float | Unset | None = UNSET,
        *,
        ttl: float | None = None,
    ) -> bool:
        """As in :mod:`interlock`. A task that is cancelled holds nothing."""
        lease = _ffi.lease_ms(ttl)
        if self._unconfirmed is not None:
            await self._confirm()
        return await self._take(timeout, lease)

    async def release(self, *, confirm: bool = True) -> bool:
        """As in :mod:`interlock`. It goes on when its task is cancelled."""
        if self._unconfirmed is not None:
            await self._confirm()
        if confirm:
            return await super().release()
        handle = self._live()
        if self._reentrant:
            self._refuse_stranger(errors.NotOwnedError)
        started = self._driver.start(self._start_functions.release, handle)
        self._forget_one()
        self._unconfirmed = started
        return True

    async def _confirm(self) -> None:
        """Hear of the release that was not waited for."""
        started, self._unconfirmed = self._unconfirmed, None
        if started is not None:
            await self._driver.settle(started)

    async def adopt(self, token: str | bytes) -> bool:
        """As in :mod:`interlock`. The token of a cancelled task is free again."""
        raw = _ffi.name_bytes(token, "token")
        await self._confirm()
        handle = self._live()
        if self._reentrant:
            self._claim()
        try:
            status, failure = await self._driver.status(
                type(self)._adopt, handle, raw, len(raw), undo=self._let_go
            )
            if status == OK:
                self._depth = 1
        finally:
            if not self._depth:
                self._owner = None
        return self._kept(status, failure)

    def _let_go(self, _: Any) -> None:
        """The task was cancelled as it took over: as if it had not."""
        type(self)._detach(self._handle, ffi.NULL)
