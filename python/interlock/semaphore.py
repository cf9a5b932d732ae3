# SPDX-License-Identifier: MIT
"""The semaphore: a limited number of permits, each held under a lease."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _ffi
from ._core import ffi, lib
from ._ffi import Name, Seconds
from ._lease_base import LeaseFunctions, TransferableLeaseBase
from ._transferable_lease import TransferableLease

if TYPE_CHECKING:
    from ._client_base import ClientBase
    from .client import Client


class SemaphoreOptions(NamedTuple):
    """The options of a semaphore; :meth:`Client.semaphore` explains them."""

    permits: int
    ttl: Seconds
    wait: Seconds | None
    renew: bool
    fair: bool
    max_hold: Seconds | None
    reentrant: bool = False

    def to_c(self) -> Any:
        """Convert to an ilk_semaphore_opts."""
        opts = ffi.new("ilk_semaphore_opts *")
        lib.ilk_semaphore_opts_init(opts, ffi.sizeof(opts[0]))
        opts.ttl_ms = _ffi.lease_ms(self.ttl)
        opts.max_hold_ms = _ffi.lease_ms(self.max_hold, "max_hold")
        opts.permits = _ffi.count(self.permits, "permits")
        opts.flags = (0 if self.renew else lib.ILK_SEMAPHORE_NO_RENEW) | (
            0 if self.fair else lib.ILK_SEMAPHORE_BARGE
        )
        return opts


class SemaphoreBase(TransferableLeaseBase):
    """The part of a semaphore that the blocking and the asyncio package share."""

    _type = "ilk_semaphore"
    _functions = LeaseFunctions(
        acquire=lib.ilk_semaphore_acquire,
        cancel=lib.ilk_semaphore_cancel,
        release=lib.ilk_semaphore_release,
        extend=lib.ilk_semaphore_extend,
        check=lib.ilk_semaphore_check,
        held=lib.ilk_semaphore_held,
        remaining_ms=lib.ilk_semaphore_remaining_ms,
        fence=lib.ilk_semaphore_fence,
        token=lib.ilk_semaphore_token,
        id=lib.ilk_semaphore_id,
        free=lib.ilk_semaphore_free,
    )
    _detach = lib.ilk_semaphore_detach

    def __init__(
        self, client: ClientBase, name: Name, limit: int, options: SemaphoreOptions
    ) -> None:
        most = _ffi.count(limit, "limit")
        super().__init__(
            client,
            name,
            options,
            lib.ilk_semaphore_open,
            most,
            permits=options.permits,
            limit=most,
        )
        self._limit = most
        self._permits = options.permits

    @property
    def limit(self) -> int:
        """The limit that the handle was opened with."""
        return self._limit

    @property
    def permits(self) -> int:
        """How many permits this handle acquires."""
        return self._permits


class Semaphore(SemaphoreBase, TransferableLease):
    """One hold of a semaphore's permits; made by ``client.semaphore()``.

    Each process (and thread) that takes permits makes a handle of its own.

    >>> with client.semaphore("printers", 3) as permit:
    ...     permit.held, permit.limit
    (True, 3)

    Several permits are acquired together or not at all, and waiters for few
    permits do not overtake a waiter for many.

    >>> both = client.semaphore("printers", 3, permits=2)
    >>> both.acquire(timeout=0)
    True
    >>> client.semaphore("printers", 3, permits=2).acquire(timeout=0)
    False
    >>> both.release()
    True
    """

    _acquire_ttl = lib.ilk_semaphore_acquire_ttl
    _adopt = lib.ilk_semaphore_adopt
    _release_unconfirmed = lib.ilk_semaphore_release_unconfirmed

    def set_limit(self, limit: int) -> None:
        """Change the limit of the semaphore while it is in use.

        A higher limit admits waiters. A lower one takes no permit away, but
        admits nobody until enough permits have been released. Handles that were
        opened with the former limit keep working.

        >>> pool = client.semaphore("pool", 1)
        >>> pool.acquire()
        True
        >>> pool.set_limit(2)
        >>> client.semaphore("pool", 1).acquire(timeout=0)
        True
        >>> client.inspect_semaphore("pool").limit
        2

        Raises: InvalidError, AuthError, UnknownOutcomeError.
        Blocks: one round trip. Thread: one thread at a time.
        """
        most = _ffi.count(limit, "limit")
        _ffi.call(lib.ilk_semaphore_set_limit, self._live(), most)


@dataclasses.dataclass(frozen=True)
class PermitHolder:
    """One holder of permits of a semaphore."""

    label: str  #: the label of its client, host:pid by default
    token: str  #: the token of its hold
    permits: int
    fence: int
    since: float  #: seconds since 1970 by the server's clock
    ttl: float  #: seconds left of its lease


@dataclasses.dataclass(frozen=True)
class PermitWaiter:
    """One waiter for permits of a semaphore."""

    label: str  #: the label of its client, host:pid by default
    token: str  #: the token that it will hold under
    permits: int


@dataclasses.dataclass(frozen=True)
class SemaphoreInfo:
    """The state of a semaphore at one moment."""

    name: Name
    limit: int  #: the limit in force; 0 when none is on record
    used: int  #: permits that are held
    fence: int  #: the last fence of this name; 0 when none is on record
    holders: list[PermitHolder]  #: the first 100, in the order of their fences
    holding: int  #: the number of all holders
    waiters: list[PermitWaiter]  #: the first 100, in the order of the wait queue
    waiting: int  #: the number of all waiters


def inspect(client: Client, name: Name) -> SemaphoreInfo:
    """See :meth:`Client.inspect_semaphore`."""
    raw = _ffi.name_bytes(name)
    out = ffi.new("ilk_info **")
    _ffi.call(lib.ilk_semaphore_inspect, out, client._live(), raw, len(raw))
    return to_info(name, ffi.gc(out[0], lib.ilk_info_free))


def to_info(name: Name, found: Any) -> SemaphoreInfo:
    """Convert an ilk_info. Blocks: no. Thread: any thread."""
    return SemaphoreInfo(
        name=name,
        limit=lib.ilk_info_limit(found),
        used=lib.ilk_info_used(found),
        fence=lib.ilk_info_fence(found),
        holders=[_holder(found, i) for i in range(lib.ilk_info_holders_listed(found))],
        holding=lib.ilk_info_holders(found),
        waiters=[_waiter(found, i) for i in range(lib.ilk_info_listed(found))],
        waiting=lib.ilk_info_waiters(found),
    )


def _holder(found: Any, index: int) -> PermitHolder:
    return PermitHolder(
        label=_ffi.text(lib.ilk_info_holder_label(found, index)),
        token=_ffi.text(lib.ilk_info_holder_token(found, index)),
        permits=lib.ilk_info_holder_permits(found, index),
        fence=lib.ilk_info_holder_fence(found, index),
        since=lib.ilk_info_holder_since_ms(found, index) / 1000,
        ttl=lib.ilk_info_holder_ttl_ms(found, index) / 1000,
    )


def _waiter(found: Any, index: int) -> PermitWaiter:
    return PermitWaiter(
        label=_ffi.text(lib.ilk_info_waiter_label(found, index)),
        token=_ffi.text(lib.ilk_info_waiter_token(found, index)),
        permits=lib.ilk_info_waiter_permits(found, index),
    )
