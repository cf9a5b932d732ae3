# SPDX-License-Identifier: MIT
"""The lock: one owner at a time, under a lease, with a fence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from . import _ffi
from ._core import ffi, lib
from ._ffi import Name
from ._lease_base import LeaseFunctions, Options
from ._transferable_lease import TransferableLease

if TYPE_CHECKING:
    from .client import Client


class Lock(TransferableLease):
    """A lock that one owner at a time holds; made by ``client.lock()``.

    The owner is this object: it may move between threads, and its token may
    be handed to another process with :meth:`detach` and :meth:`adopt`.

    >>> with client.lock("orders", ttl=10) as lock:
    ...     lock.held, lock.fence > 0
    (True, True)
    >>> lock.held
    False
    """

    _type = "ilk_lock"
    _functions = LeaseFunctions(
        acquire=lib.ilk_lock_acquire,
        cancel=lib.ilk_lock_cancel,
        release=lib.ilk_lock_release,
        extend=lib.ilk_lock_extend,
        check=lib.ilk_lock_check,
        held=lib.ilk_lock_held,
        remaining_ms=lib.ilk_lock_remaining_ms,
        fence=lib.ilk_lock_fence,
        token=lib.ilk_lock_token,
        id=lib.ilk_lock_id,
        free=lib.ilk_lock_free,
    )
    _acquire_ttl = lib.ilk_lock_acquire_ttl
    _detach = lib.ilk_lock_detach
    _adopt = lib.ilk_lock_adopt
    _release_unconfirmed = lib.ilk_lock_release_unconfirmed

    def __init__(
        self,
        client: Client,
        name: Name,
        options: Options,
        open_handle: Callable[..., int] = lib.ilk_lock_open,
        *,
        shared: bool = False,
    ) -> None:
        super().__init__(client, name, options, open_handle, shared=shared)

    def locked(self) -> bool:
        """Ask the server whether anyone holds it, this handle or another owner.

        For a handle of either kind, a writer counts and readers count.

        >>> with client.lock("door"):
        ...     client.lock("door").locked()
        True
        >>> client.lock("door").locked()
        False

        Raises: WrongTypeError, ConnectionError. Blocks: one round trip.
        Thread: any thread.
        """
        return self.client.inspect(self.name).state != "free"


def break_arguments(name: Name, token: str | bytes | None) -> tuple[Any, ...]:
    """The arguments of a break after the client. Thread: any thread."""
    raw = _ffi.name_bytes(name)
    mark = None if token is None else _ffi.name_bytes(token, "token")
    length = 0 if mark is None else len(mark)
    return raw, len(raw), ffi.NULL if mark is None else mark, length


def break_it(
    function: Callable[..., int],
    client: Client,
    name: Name,
    token: str | bytes | None,
) -> bool:
    """See :meth:`Client.break_lock` and :meth:`Client.break_election`."""
    err = _ffi.new_error()
    status = function(client._live(), *break_arguments(name, token), err)
    if status == lib.ILK_ENOTOWNER:
        return False
    _ffi.check(status, err)
    return True
