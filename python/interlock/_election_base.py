# SPDX-License-Identifier: MIT
"""The part of a candidate that the blocking and the asyncio package share."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _ffi, errors
from ._core import ffi, lib
from ._ffi import Name, Seconds
from ._kept_holds import Claim
from ._lease_base import LeaseBase, LeaseFunctions

if TYPE_CHECKING:
    from ._client_base import ClientBase


class ElectionOptions(NamedTuple):
    """The options of a candidate; :meth:`Client.election` explains them."""

    ttl: Seconds
    value: bytes
    identity: Name | None
    renew: bool
    max_hold: Seconds | None
    wait: Seconds | None = None
    reentrant: bool = False

    def to_c(self) -> Any:
        """Convert to an ilk_election_opts; what it points to lives as long."""
        opts = ffi.new("ilk_election_opts *")
        lib.ilk_election_opts_init(opts, ffi.sizeof(opts[0]))
        opts.ttl_ms = _ffi.lease_ms(self.ttl)
        opts.max_hold_ms = _ffi.lease_ms(self.max_hold, "max_hold")
        opts.flags = 0 if self.renew else lib.ILK_ELECTION_NO_RENEW
        value = ffi.from_buffer(value_bytes(self.value))
        opts.value, opts.value_len = value, len(value)
        identity = None
        if self.identity is not None:
            identity = ffi.from_buffer(_ffi.name_bytes(self.identity, "identity"))
            if not len(identity):
                raise errors.InvalidError("identity is empty")
            opts.identity, opts.identity_len = identity, len(identity)
        _kept[opts] = value, identity
        return opts


# A struct of cffi does not keep alive what its fields point to.
_kept: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def value_bytes(value: bytes, what: str = "value") -> bytes:
    """Check the value that a leader or a member publishes."""
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError(f"{what} must be bytes, got {type(value).__name__}")
    return bytes(value)


class ElectionBase(LeaseBase):
    """A candidate: a handle that holds while it leads."""

    _type = "ilk_election"
    _functions = LeaseFunctions(
        acquire=lib.ilk_election_campaign,
        cancel=lib.ilk_election_cancel,
        release=lib.ilk_election_resign,
        extend=lib.ilk_election_renew,
        check=lib.ilk_election_check,
        held=lib.ilk_election_is_leader,
        remaining_ms=lib.ilk_election_remaining_ms,
        fence=lib.ilk_election_term,
        token=lib.ilk_election_token,
        id=lib.ilk_election_id,
        free=lib.ilk_election_free,
    )

    def __init__(
        self, client: ClientBase, name: Name, options: ElectionOptions
    ) -> None:
        raw = _ffi.name_bytes(name)
        opener = lib.ilk_election_open
        claim = Claim(self._type, frozenset((raw,)))
        super().__init__(client, repr(name), claim, options, opener, raw, len(raw))
        self._name = name
        self._identity = options.identity

    @property
    def name(self) -> Name:
        """The name, as it was given."""
        return self._name

    @property
    def identity(self) -> Name | None:
        """The identity, as it was given."""
        return self._identity

    @property
    def is_leader(self) -> bool:
        """Whether this candidate leads for sure, by the local clock.

        It becomes False before another candidate can be elected.
        """
        return self.held

    @property
    def term(self) -> int:
        """The term of this leadership or of the last one; 0 before the first."""
        return self.fence

    def _observe(self, vacant: bool) -> Any:
        """Open an ilk_observer."""
        out = ffi.new("ilk_observer **")
        flags = lib.ILK_OBSERVE_VACANT if vacant else 0
        _ffi.call(lib.ilk_election_observe, out, self._live(), flags)
        return ffi.gc(out[0], lib.ilk_observer_free)

    @property
    def _noun(self) -> str:
        return "the leadership of"
