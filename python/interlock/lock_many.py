# SPDX-License-Identifier: MIT
"""One lock over many names: all of them or none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from . import _ffi
from ._core import ffi, lib
from ._ffi import Name
from ._kept_holds import Claim
from ._lease import Lease
from ._lease_base import LeaseBase, LeaseFunctions, Options

if TYPE_CHECKING:
    from ._client_base import ClientBase


class ManyLeaseBase(LeaseBase):
    """The part of a lock over many names that both packages share."""

    _type = "ilk_lock_many"
    _functions = LeaseFunctions(
        acquire=lib.ilk_lock_many_acquire,
        cancel=lib.ilk_lock_many_cancel,
        release=lib.ilk_lock_many_release,
        extend=lib.ilk_lock_many_extend,
        check=lib.ilk_lock_many_check,
        held=lib.ilk_lock_many_held,
        remaining_ms=lib.ilk_lock_many_remaining_ms,
        fence=lib.ilk_lock_many_fence,
        token=lib.ilk_lock_many_token,
        id=lib.ilk_lock_many_id,
        free=lib.ilk_lock_many_free,
    )

    def __init__(
        self, client: ClientBase, names: Iterable[Name], options: Options
    ) -> None:
        if isinstance(names, (str, bytes, bytearray, memoryview)):
            raise TypeError("names must be several names, got one")
        self._names = tuple(names)
        self._made_with = (client, self._names, options), {}
        raw = [_ffi.name_bytes(name) for name in self._names]
        kept = [ffi.from_buffer(name) for name in raw]
        super().__init__(
            client,
            repr(list(self._names)),
            Claim("ilk_lock", frozenset(raw)),
            options,
            lib.ilk_lock_many_open,
            ffi.new("void *[]", kept or [ffi.NULL]),
            ffi.new("size_t[]", [len(name) for name in raw] or [0]),
            len(raw),
        )

    @property
    def names(self) -> tuple[Name, ...]:
        """The names, as they were given."""
        return self._names


class LockMany(ManyLeaseBase, Lease):
    """Several names held together, with one fence; made by ``client.lock_many()``.

    Two callers with the same names never wait for each other in a circle, whatever
    the order of their names.

    >>> with client.lock_many(["from:1", "to:2"], ttl=10) as both:
    ...     client.lock("to:2").acquire(timeout=0)
    False
    """

    def adopt(self, token: str | bytes) -> bool:
        """Take back the hold of a collected object of this client, by its token.

        Returns False when there is none with this token and these names.

        Raises: HeldError, InvalidError. Blocks: no. Thread: one thread at a time.
        """
        return self._take_back(token)
