# SPDX-License-Identifier: MIT
"""What every handle that holds a lease has in common.

A column says by a :class:`Verbs` which C functions are its own; acquiring,
releasing, ``with`` and the rest are written here once.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, ClassVar, NamedTuple, Protocol

from . import _ffi, _fork, _green, errors
from ._core import ffi, lib
from ._ffi import EINTR, ELOST, OK, UNSET, Unset

if TYPE_CHECKING:
    from typing_extensions import Self

    from .client import Client

log = logging.getLogger("interlock")

NOT_IN_TIME = (lib.ILK_EBUSY, lib.ILK_ETIMEOUT, lib.ILK_EINTR)
LAYOUTS = {"plain": lib.ILK_LAYOUT_PLAIN, "redisson": lib.ILK_LAYOUT_REDISSON}


class Verbs(NamedTuple):
    """The C functions of one column."""

    acquire: Callable[..., int]
    cancel: Callable[..., int]
    release: Callable[..., int]
    extend: Callable[..., int]
    check: Callable[..., int]
    held: Callable[..., int]
    remaining_ms: Callable[..., int]
    fence: Callable[..., int]
    token: Callable[..., Any]
    id: Callable[..., int]
    free: Callable[..., None]


class AnyOptions(Protocol):
    """What a handle of any column is opened with."""

    @property
    def wait(self) -> float | None:
        """How long ``with`` and a bare ``acquire()`` wait; None for ever."""

    @property
    def reentrant(self) -> bool:
        """Whether acquires may nest."""

    def to_c(self) -> Any:
        """The same as the column's options in C."""


class Options(NamedTuple):
    """What a handle is opened with; the meaning is in :meth:`Client.lock`."""

    ttl: float
    wait: float | None
    renew: bool
    fair: bool
    reentrant: bool
    max_hold: float | None
    layout: str
    foreign_poll: float | None

    def to_c(self) -> Any:
        """The same as an ilk_lock_opts."""
        if self.layout not in LAYOUTS:
            known = " or ".join(repr(layout) for layout in LAYOUTS)
            raise errors.InvalidError(f"layout must be {known}, got {self.layout!r}")
        opts = ffi.new("ilk_lock_opts *")
        lib.ilk_lock_opts_init(opts, ffi.sizeof(opts[0]))
        opts.ttl_ms = _ffi.lease_ms(self.ttl)
        opts.max_hold_ms = _ffi.lease_ms(self.max_hold, "max_hold")
        opts.foreign_poll_ms = _ffi.lease_ms(self.foreign_poll, "foreign_poll")
        opts.layout = LAYOUTS[self.layout]
        opts.flags = (
            (0 if self.renew else lib.ILK_LOCK_NO_RENEW)
            | (0 if self.fair else lib.ILK_LOCK_BARGE)
            | (lib.ILK_LOCK_REENTRANT if self.reentrant else 0)
        )
        return opts


def _caller() -> tuple[int, object | None]:
    """Who calls: the thread (or greenlet), and the asyncio task if there is one."""
    asyncio = sys.modules.get("asyncio")
    task = None
    if asyncio is not None:
        with contextlib.suppress(RuntimeError):  # no loop runs in this thread
            task = asyncio.current_task()
    return threading.get_ident(), task


class Lease:
    """A handle that is acquired, held under a lease, and released.

    Thread: one thread at a time; the handle may move between threads, except
    with ``reentrant=True``. ``cancel()`` may be called from any thread.
    """

    _verbs: ClassVar[Verbs]
    _type: ClassVar[str]

    def __init__(
        self,
        client: Client,
        shown: str,
        options: AnyOptions,
        open_handle: Callable[..., int],
        *names: Any,
    ) -> None:
        if options.wait is not None:
            _ffi.timeout_ms(options.wait, "wait")
        self._client = client
        self._shown = shown
        self._wait = options.wait
        self._reentrant = options.reentrant
        self._owner: tuple[int, object | None] | None = None
        self._depth = 0  # acquires that were not yet released
        out = ffi.new(f"{self._type} **")
        _ffi.call(open_handle, out, client._live(), *names, options.to_c())
        self._handle = ffi.gc(out[0], self._verbs.free)
        self._err = _ffi.new_error()  # for the two verbs that must be quick
        client._handles[self.id] = self

    def acquire(self, timeout: float | Unset | None = UNSET) -> bool:
        """Take it, waiting for those who asked before.

        ``timeout`` is in seconds; None waits for ever, 0 tries once, and the
        default is the handle's ``wait``. Answers False when the time ran out.

        Raises: HeldError, CancelledError, ClosedError, ForkedError,
        ConnectionError and the server's conditions.
        Blocks: yes; ended by a signal handler that raises, ``cancel()`` and
        ``client.close()``. Thread: one thread at a time.
        """
        return self._take(timeout, self._verbs.acquire)

    def release(self) -> bool:
        """Give it up; the first who waits holds it next.

        Answers False when it was no longer ours; nobody else's is touched.

        Raises: NotOwnedError when the handle holds nothing, UnknownOutcomeError
        when there was no answer. Blocks: one round trip.
        Thread: one thread at a time.
        """
        handle = self._live()
        if self._reentrant:
            self._refuse_stranger(errors.NotOwnedError)
        err = self._err
        try:
            status = self._verbs.release(handle, err)
        finally:
            self._forget_one()
        return status == OK or self._unless_lost(status, err)

    def extend(self, ttl: float | None = None) -> bool:
        """Set the lease left to ``ttl`` seconds, or to the handle's.

        Answers False when it is no longer ours.

        Raises: NotOwnedError, InvalidError, UnknownOutcomeError.
        Blocks: one round trip. Thread: one thread at a time.
        """
        lease = _ffi.lease_ms(ttl)
        handle = self._live()
        err = _ffi.new_error()
        return self._unless_lost(self._verbs.extend(handle, lease, err), err)

    def check(self) -> None:
        """Make sure that it is still ours; the server is asked only in doubt.

        Raises: LostError, NotOwnedError, UnknownOutcomeError.
        Blocks: at most one round trip. Thread: one thread at a time.
        """
        _ffi.call(self._verbs.check, self._live())

    def cancel(self) -> None:
        """End a wait: a thread inside ``acquire()`` gets CancelledError.

        Blocks: no. Thread: any thread.
        """
        _ffi.call(self._verbs.cancel, self._live())

    @property
    def held(self) -> bool:
        """Whether it is ours for sure, by the local clock."""
        return bool(self._verbs.held(self._handle))

    def remaining(self) -> float:
        """Seconds that it is ours for sure; 0.0 when not held or in doubt."""
        return float(self._verbs.remaining_ms(self._handle)) / 1000

    @property
    def fence(self) -> int:
        """The number of this hold, greater than any before it; 0 before the first."""
        return int(self._verbs.fence(self._handle))

    @property
    def token(self) -> str:
        """The token of this hold; "" before the first."""
        return _ffi.text(self._verbs.token(self._handle))

    @property
    def id(self) -> int:
        """The handle's number in its client; events carry it."""
        return int(self._verbs.id(self._handle))

    @property
    def client(self) -> Client:
        """The client that it was made from."""
        return self._client

    def __enter__(self) -> Self:
        depth = self._depth
        try:
            if self.acquire():
                return self
        except BaseException:
            if self._depth > depth:  # a signal handler raised after the grant
                self._drop(self._handle)
            raise
        raise errors.TimeoutError(
            f"{self._noun} {self._shown} was not acquired within {self._wait} s"
        )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._depth:  # released or handed over inside
            return
        lost: errors.Error
        try:
            if self.release():
                return
            lost = errors.LostError(f"{self._noun} {self._shown} was lost inside")
        except errors.Error as failure:
            lost = failure
        if error is None:
            raise lost
        log.warning("while %s left its block: %s", kind and kind.__name__, lost)

    def __repr__(self) -> str:
        state = "free"
        if self.held:
            state = f"token={self.token[:8]} remaining={self.remaining():.3f}"
        return f"<interlock.{type(self).__name__} {self._shown} {state}>"

    @property
    def _noun(self) -> str:
        return self._type[len("ilk_") :].replace("_", " ")

    def _live(self) -> Any:
        """The C handle, after its client has noticed a fork."""
        client = self._client
        if client._generation != _fork.generation:
            client._live()
        return self._handle

    def _take(
        self,
        timeout: float | Unset | None,
        acquire: Callable[..., int],
        *more: Any,
    ) -> bool:
        """Acquire by one of the C functions; ``more`` stands behind its timeout."""
        limit = _ffi.timeout_ms(self._wait if timeout is UNSET else timeout)
        handle = self._live()
        if self._reentrant:
            self._claim()
        held = self._depth > 0 and bool(self._verbs.held(handle))
        in_thread = None
        if limit != 0 and ("gevent" in sys.modules or "eventlet" in sys.modules):
            in_thread = _green.runner(lambda: self._abandon(handle, held))
        err = self._err
        try:
            status = _ffi.call_blocking(acquire, handle, limit, more, err, in_thread)
            if status == OK:
                self._depth = self._depth + 1 if self._reentrant else 1
                return True
            if status == EINTR:
                self._abandon(handle, held)
        except BaseException:
            self._abandon(handle, held)
            raise
        finally:
            if not self._depth:
                self._owner = None
        if status in NOT_IN_TIME:
            return False
        raise _ffi.failure(status, err)

    def _abandon(self, handle: Any, held: bool) -> None:
        """End a wait, and give back what was granted since."""
        self._verbs.cancel(handle, ffi.NULL)
        if not held and self._verbs.held(handle):
            self._verbs.release(handle, ffi.NULL)

    def _unless_lost(self, status: int, err: Any) -> bool:
        if status == ELOST:
            return False
        _ffi.check(status, err)
        return True

    def _drop(self, handle: Any) -> None:
        """Release without a word."""
        self._forget_one()
        self._verbs.release(handle, ffi.NULL)

    def _forget_one(self) -> None:
        self._depth = max(0, self._depth - 1)
        if not self._depth:
            self._owner = None

    def _claim(self) -> None:
        """With reentrant=True, one thread and task at a time may count."""
        me = _caller()
        with _fork.guard:
            if self._owner is None:
                self._owner = me
        self._refuse_stranger(errors.HeldError)

    def _refuse_stranger(self, kind: type[errors.Error]) -> None:
        if self._owner not in (None, _caller()):
            raise kind(
                f"{self._noun} {self._shown} is reentrant and in use by another"
                " thread or task"
            )
