# SPDX-License-Identifier: MIT
"""What every handle that holds a lease tells and keeps, on either face.

A primitive says by a :class:`LeaseFunctions` which C functions are its own. The calls
that wait for the server are in ``_lease.py``, and in ``aio/_lease.py``.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import TYPE_CHECKING, Any, Callable, ClassVar, NamedTuple, Protocol

from . import _ffi, _fork, errors
from ._core import ffi, lib
from ._ffi import ELOST, Name

if TYPE_CHECKING:
    from ._client_base import ClientBase

LAYOUTS = {"plain": lib.ILK_LAYOUT_PLAIN, "redisson": lib.ILK_LAYOUT_REDISSON}


class LeaseFunctions(NamedTuple):
    """The C functions of one primitive."""

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
    """What a handle of any primitive is opened with."""

    @property
    def wait(self) -> float | None:
        """How long ``with`` and a bare ``acquire()`` wait; None for ever."""

    @property
    def reentrant(self) -> bool:
        """Whether acquires may nest."""

    def to_c(self) -> Any:
        """The same as the primitive's options in C."""


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
    """Who calls: the thread (or greenlet), and the task if there is one."""
    task = None
    for module, current in (
        ("asyncio", "current_task"),
        ("trio.lowlevel", "current_task"),
    ):
        found = sys.modules.get(module)
        if found is not None and task is None:
            with contextlib.suppress(RuntimeError):  # none runs in this thread
                task = getattr(found, current)()
    return threading.get_ident(), task


class LeaseBase:
    """A handle that is acquired, held under a lease, and released."""

    _functions: ClassVar[LeaseFunctions]
    _type: ClassVar[str]

    def __init__(
        self,
        client: ClientBase,
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
        self._handle = ffi.gc(out[0], self._functions.free)
        client._handles[self.id] = self

    def cancel(self) -> None:
        """End a wait: a thread inside ``acquire()`` gets CancelledError.

        Blocks: no. Thread: any thread.
        """
        _ffi.call(self._functions.cancel, self._live())

    @property
    def held(self) -> bool:
        """Whether it is ours for sure, by the local clock."""
        return bool(self._functions.held(self._handle))

    def remaining(self) -> float:
        """Seconds that it is ours for sure; 0.0 when not held or in doubt."""
        return float(self._functions.remaining_ms(self._handle)) / 1000

    @property
    def fence(self) -> int:
        """The number of this hold, greater than any before it; 0 before the first."""
        return int(self._functions.fence(self._handle))

    @property
    def token(self) -> str:
        """The token of this hold; "" before the first."""
        return _ffi.text(self._functions.token(self._handle))

    @property
    def id(self) -> int:
        """The handle's number in its client; notifications carry it."""
        return int(self._functions.id(self._handle))

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

    def _unless_lost(self, status: int, err: Any) -> bool:
        if status == ELOST:
            return False
        _ffi.check(status, err)
        return True

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


class NamedLeaseBase(LeaseBase):
    """A handle of one name; its primitives are the lock and the semaphore."""

    _detach: ClassVar[Callable[..., int]]

    def __init__(
        self,
        client: ClientBase,
        name: Name,
        options: AnyOptions,
        open_handle: Callable[..., int],
        *more: Any,
    ) -> None:
        raw = _ffi.name_bytes(name)
        super().__init__(client, repr(name), options, open_handle, raw, len(raw), *more)
        self._name = name

    @property
    def name(self) -> Name:
        """The name, as it was given."""
        return self._name

    def detach(self) -> str:
        """Stop renewing and give the hold away; the answer is its token.

        It stays taken until its lease ends; another handle, also in another
        process, takes it over with ``adopt()``.

        >>> donor, heir = client.lock("tape"), client.lock("tape")
        >>> donor.acquire()
        True
        >>> heir.adopt(donor.detach())
        True
        >>> donor.held, heir.held, heir.release()
        (False, True, True)

        Raises: NotOwnedError, LostError. Blocks: no.
        Thread: one thread at a time.
        """
        handle = self._live()
        _ffi.call(type(self)._detach, handle)
        self._depth, self._owner = 0, None
        return self.token
