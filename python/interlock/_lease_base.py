# SPDX-License-Identifier: MIT
"""The part of a handle with a lease that the blocking and the asyncio package share.

Each primitive names its C functions in a :class:`LeaseFunctions`. The calls
that wait for the server are in ``_lease.py`` and in ``aio/_lease.py``.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import warnings
from typing import TYPE_CHECKING, Any, Callable, ClassVar, NamedTuple, Protocol

from . import _ffi, _fork, errors
from ._core import ffi, lib
from ._decorator import Holds
from ._ffi import ELOST, UNSET, Name, Seconds, Unset
from ._kept_holds import Claim, KeptHold
from ._process_bound import ProcessBound

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._client_base import ClientBase

log = logging.getLogger("interlock")

# The C handles by the ids of their objects. When a cycle of objects is collected,
# Python may finalize a C handle before the object that refers to it; this reference
# keeps the handle valid until the object's own finalizer has run.
_open_handles: dict[int, Any] = {}

LAYOUTS = {"plain": lib.ILK_LAYOUT_PLAIN, "redisson": lib.ILK_LAYOUT_REDISSON}


class LeaseFunctions(NamedTuple):
    """The C functions of one primitive whose handles have a lease."""

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
    """The options with which the handle of any primitive is opened."""

    @property
    def wait(self) -> Seconds | None:
        """Seconds that ``with`` and a bare ``acquire()`` wait; None for ever."""

    @property
    def reentrant(self) -> bool:
        """Whether a handle that holds may be acquired again."""

    @property
    def renew(self) -> bool:
        """Whether the lease is renewed."""

    def to_c(self) -> Any:
        """Convert to the primitive's options in C."""


class Options(NamedTuple):
    """The options of a lock; :meth:`Client.lock` explains them."""

    ttl: Seconds
    wait: Seconds | None
    renew: bool
    fair: bool
    reentrant: bool
    max_hold: Seconds | None
    layout: str
    foreign_poll: Seconds | None

    def to_c(self) -> Any:
        """Convert to an ilk_lock_opts."""
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
    """Return the calling thread (or greenlet), and the task if there is one."""
    task = None
    for module, current in (
        ("asyncio", "current_task"),
        ("trio.lowlevel", "current_task"),
    ):
        found = sys.modules.get(module)
        if found is not None and task is None:
            with contextlib.suppress(RuntimeError):  # no event loop runs in this thread
                task = getattr(found, current)()
    return threading.get_ident(), task


class LeaseBase(ProcessBound):
    """A handle that is acquired, held under a lease, and released."""

    _functions: ClassVar[LeaseFunctions]
    _type: ClassVar[str]
    _instead = (
        "give its name to the other process, and make a handle there from a client;"
        " detach() and adopt() hand a hold over"
    )

    #: The arguments of the constructor, for another handle of the same kind.
    _made_with: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *args: Any, **more: Any) -> Self:
        self = super().__new__(cls)
        self._made_with = args, more
        return self

    def __init__(
        self,
        client: ClientBase,
        shown: str,
        claim: Claim,
        options: AnyOptions,
        open_handle: Callable[..., int],
        *names: Any,
    ) -> None:
        self._wait_ms = _ffi.timeout_ms(options.wait, "wait")
        self._client = client
        self._shown = shown
        self._wait = None if options.wait is None else _ffi.as_float(options.wait)
        self._claim = claim
        self._reentrant = options.reentrant
        self._renew = options.renew
        self._owner: tuple[int, object | None] | None = None
        self._depth = 0  # acquires that have not been released yet
        self._cause = ""  # of the last loss
        out = ffi.new(f"{self._type} **")
        _ffi.call(open_handle, out, client._live(), *names, options.to_c())
        self._handle = ffi.gc(out[0], self._functions.free)
        _open_handles[id(self)] = self._handle
        client._handles[self.id] = self

    def __del__(self) -> None:
        """Leave a hold that is renewed to the client, with a warning."""
        handle = _open_handles.pop(id(self), None)  # None when opening it failed
        if handle is None or not self._renew or sys.is_finalizing():
            return
        client = self._client
        if client._closed or client._generation != _fork.generation:
            return
        if self._functions.held(handle):
            self._keep(client, handle)

    def _keep(self, client: ClientBase, handle: Any) -> None:
        number, what = self.id, f"{self._noun} {self._shown}"
        hold = KeptHold(handle, self._claim, what, self.token, self._functions.held)
        client._kept.add(number, hold)
        lib.ilk_client_notify_kept(client._handle, number, ffi.NULL)
        text = f"{what} was collected while it was held: its client goes on holding it"
        log.warning("%s", text)
        warnings.warn(text, ResourceWarning, stacklevel=2, source=self)

    def cancel(self) -> None:
        """Cancel a wait: a thread inside ``acquire()`` raises CancelledError.

        Blocks: no. Thread: any thread.
        """
        _ffi.call(self._functions.cancel, self._live())

    @property
    def held(self) -> bool:
        """Whether this handle holds for sure, by the local clock."""
        return bool(self._functions.held(self._handle))

    def remaining(self) -> float:
        """Seconds for which the handle holds for sure; 0.0 if not held or in doubt.

        Blocks: no. Thread: any thread.
        """
        return float(self._functions.remaining_ms(self._handle)) / 1000

    @property
    def fence(self) -> int:
        """The fence of this hold, greater than all before; 0 before the first."""
        return int(self._functions.fence(self._handle))

    @property
    def token(self) -> str:
        """The token of this hold; "" before the first."""
        return _ffi.text(self._functions.token(self._handle))

    @property
    def id(self) -> int:
        """The handle's number within its client; notifications carry it."""
        return int(self._functions.id(self._handle))

    def __repr__(self) -> str:
        state = "not held by this handle"
        if self.held:
            state = f"token={self.token[:8]} remaining={self.remaining():.3f}"
        return f"<interlock.{type(self).__name__} {self._shown} {state}>"

    @property
    def _noun(self) -> str:
        return self._type[len("ilk_") :].replace("_", " ")

    def _live(self) -> Any:
        """The C handle, after the client has handled a fork."""
        client = self._client
        if client._generation != _fork.generation:
            client._live()
        return self._handle

    def _refuse_kept(self) -> None:
        """Raise HeldError where an object of this client was collected and holds."""
        if self._client._kept:
            self._client._kept.refuse(self._claim)

    def _take_back(self, token: str | bytes) -> bool:
        """Take back the hold of a collected object of this client, with its handle."""
        if self.held:
            raise errors.HeldError(f"{self._noun} {self._shown} is held already")
        raw = _ffi.name_bytes(token, "token").decode("utf-8", "surrogateescape")
        kept = self._client._kept.take(raw, self._claim)
        if kept is None or not kept.held(kept.handle):
            return False
        if self._reentrant:
            self._claim_owner()
        self._handle = _open_handles[id(self)] = kept.handle
        self._client._handles[self.id] = self
        self._depth = 1
        return True

    def _another(self) -> Self:
        """Make another handle of the same name and options."""
        args, more = self._made_with
        return type(self)(*args, **more)

    def _holds(self) -> Holds:
        return Holds(self._another, self._reentrant, _caller)

    def _limit_ms(self, timeout: Seconds | Unset | None, blocking: bool = True) -> int:
        """The timeout of an acquire for C; ``blocking=False`` is a timeout of 0."""
        if blocking:
            return self._wait_ms if timeout is UNSET else _ffi.timeout_ms(timeout)
        if timeout is not UNSET and timeout != 0:
            raise errors.InvalidError("blocking=False allows no timeout")
        return 0

    def _unless_lost(self, status: int, err: Any) -> bool:
        if status == ELOST:
            self._note_loss(ffi.string(err.msg).decode("utf-8", "replace"))
            return False
        _ffi.check(status, err)
        return True

    def _note_loss(self, text: str) -> None:
        self._cause = _ffi.cause_of_loss(text)

    def _forget_one(self) -> None:
        self._depth = max(0, self._depth - 1)
        if not self._depth:
            self._owner = None

    def _lost_inside(self) -> errors.LostError:
        why = f": {self._cause}" if self._cause else ""
        return errors.LostError(
            f"{self._noun} {self._shown} was lost inside its block{why}"
        )

    def _failure_at_exit(self, failure: errors.Error, depth: int) -> errors.Error:
        """Return what a block raises whose release failed; it began with ``depth``.

        A block that counted as holding and holds nothing has lost it: a nested one
        has reported the loss already, or was refused because of it.
        """
        if isinstance(failure, errors.NotOwnedError) and self._depth < depth:
            return self._lost_inside()
        return failure

    def _outer_failure(self, failure: errors.Error) -> errors.Error:
        """Return why an acquire cannot nest in a hold whose check has failed.

        Another hold with another fence would continue the block of the lost one.
        """
        if isinstance(failure, (errors.LostError, errors.NotOwnedError)):
            return errors.LostError(
                f"{self._noun} {self._shown} was lost: release it before the next"
                " acquire"
            )
        if isinstance(failure, errors.ForkedError):  # the count is the parent's
            self._depth, self._owner = 0, None
        return failure

    def _claim_owner(self) -> None:
        """With reentrant=True only one thread and task at a time may nest acquires."""
        me = _caller()
        with _fork.guard:
            if self._owner is None:
                self._owner = me
        self._refuse_other_owner(errors.HeldError)

    def _refuse_other_owner(self, kind: type[errors.Error]) -> None:
        if self._owner not in (None, _caller()):
            raise kind(
                f"{self._noun} {self._shown} is reentrant and in use by another"
                " thread or task, which needs a handle of its own"
            )


class TransferableLeaseBase(LeaseBase):
    """A handle of one name that can be detached and adopted: lock, semaphore."""

    _detach: ClassVar[Callable[..., int]]

    def __init__(
        self,
        client: ClientBase,
        name: Name,
        options: AnyOptions,
        open_handle: Callable[..., int],
        *more: Any,
        shared: bool = False,
        permits: int = 0,
        limit: int = 0,
    ) -> None:
        raw = _ffi.name_bytes(name)
        claim = Claim(self._type, frozenset((raw,)), shared, permits, limit)
        super().__init__(
            client, repr(name), claim, options, open_handle, raw, len(raw), *more
        )
        self._name = name

    @property
    def name(self) -> Name:
        """The name, as it was given."""
        return self._name

    def detach(self) -> str:
        """Stop renewing and give the hold away; returns its token.

        The hold stays on the server until its lease ends; another handle, also
        in another process, takes it over with ``adopt()``.

        >>> donor, heir = client.lock("tape"), client.lock("tape")
        >>> donor.acquire()
        True
        >>> heir.adopt(donor.detach())
        True
        >>> donor.held, heir.held, heir.release()
        (False, True, True)

        Raises: NotOwnedError, LostError, UnsupportedError where holds end with their
        client. Blocks: while a renewal or an earlier extend without a reply is open.
        Thread: one thread at a time.
        """
        handle = self._live()
        _ffi.call(type(self)._detach, handle)
        self._depth, self._owner = 0, None
        return self.token

    def _drop_kept(self, token: bytes) -> None:
        """Free the handle of a collected object, which was adopted here or is lost."""
        if self._client._kept:
            kept = self._client._kept.take(token.decode("utf-8", "surrogateescape"))
            if kept is not None:  # waits until no renewal of it is in flight
                type(self)._detach(kept.handle, ffi.NULL)
