# SPDX-License-Identifier: MIT
"""Inspection of locks: who holds, who waits, and which names there are."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from . import _ffi, errors
from ._core import ffi, lib
from ._ffi import Name

if TYPE_CHECKING:
    from .client import Client

STATES = {
    lib.ILK_INFO_FREE: "free",
    lib.ILK_INFO_HELD: "held",
    lib.ILK_INFO_FOREIGN: "foreign",
    lib.ILK_INFO_READERS: "readers",
    lib.ILK_INFO_REDISSON: "redisson",
}

# The primitives whose names can be listed, by the client's method for each.
KINDS = {
    "lock": lib.ILK_KIND_LOCK,
    "semaphore": lib.ILK_KIND_SEMAPHORE,
    "election": lib.ILK_KIND_ELECTION,
    "signal": lib.ILK_KIND_SIGNAL,
    "event": lib.ILK_KIND_EVENT,
    "barrier": lib.ILK_KIND_BARRIER,
    "latch": lib.ILK_KIND_LATCH,
    "queue": lib.ILK_KIND_QUEUE,
    "group": lib.ILK_KIND_GROUP,
    "register": lib.ILK_KIND_REGISTER,
    "store": lib.ILK_KIND_STORE,
    "kv": lib.ILK_KIND_KV,
}


@dataclasses.dataclass(frozen=True)
class Waiter:
    """One waiter in the wait queue of a lock."""

    label: str  #: the label of its client, host:pid by default
    token: str  #: the token that it will hold under


@dataclasses.dataclass(frozen=True)
class Info:
    """The state of one lock at one moment."""

    name: Name
    state: str  #: free, held, foreign, readers or redisson
    holder: str | None  #: the holder's token; None when free
    label: str  #: the label of the holder's client; "" for another library
    since: float | None  #: begin of the hold, seconds since 1970, server's clock
    ttl: float | None  #: seconds left of the lease; None for a lock without expiry
    fence: int  #: the last fence of this name; 0 when none is on record
    readers: int  #: how many readers hold it together
    waiters: list[Waiter]  #: the first 100, in the order of the wait queue
    waiting: int  #: the number of all waiters


def _string(pointer: Any, length: Any) -> bytes:
    return bytes(ffi.buffer(pointer, length[0]))


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def inspect(client: Client, name: Name) -> Info:
    """See :meth:`Client.inspect`."""
    raw = _ffi.name_bytes(name)
    out = ffi.new("ilk_info **")
    _ffi.call(lib.ilk_inspect, out, client._live(), raw, len(raw))
    return to_info(name, ffi.gc(out[0], lib.ilk_info_free))


def to_info(name: Name, found: Any) -> Info:
    """Convert an ilk_info. Blocks: no. Thread: any thread."""
    length = ffi.new("size_t *")
    state = STATES[lib.ilk_info_get_state(found)]
    holder = _decode(_string(lib.ilk_info_holder(found, length), length))
    since, ttl = lib.ilk_info_since_ms(found), lib.ilk_info_ttl_ms(found)
    return Info(
        name=name,
        state=state,
        holder=None if state == "free" else holder,
        label=_ffi.text(lib.ilk_info_label(found)),
        since=since / 1000 if since else None,
        ttl=None if ttl < 0 else ttl / 1000,
        fence=lib.ilk_info_fence(found),
        readers=lib.ilk_info_readers(found),
        waiters=[
            Waiter(
                label=_ffi.text(lib.ilk_info_waiter_label(found, i)),
                token=_ffi.text(lib.ilk_info_waiter_token(found, i)),
            )
            for i in range(lib.ilk_info_listed(found))
        ],
        waiting=lib.ilk_info_waiters(found),
    )


def list_arguments(pattern: str | bytes | None, kind: str) -> tuple[Any, ...]:
    """The arguments of ilk_list_open_kinds() after the client. Thread: any thread."""
    if kind not in KINDS:
        known = ", ".join(KINDS)
        raise errors.InvalidError(f"kind must be one of {known}, got {kind!r}")
    raw = None if pattern is None else _ffi.name_bytes(pattern, "pattern")
    if raw is None:
        return KINDS[kind], ffi.NULL, 0
    return KINDS[kind], raw, len(raw)


def to_names(found: Any, pattern: str | bytes | None) -> list[Any]:
    """Convert an ilk_list to names of the pattern's type. Thread: any thread."""
    length = ffi.new("size_t *")
    names = [
        _string(lib.ilk_list_name(found, i, length), length)
        for i in range(lib.ilk_list_count(found))
    ]
    return names if isinstance(pattern, bytes) else [_decode(name) for name in names]


def ls(client: Client, pattern: str | bytes | None, kind: str) -> list[Any]:
    """See :meth:`Client.ls`."""
    out = ffi.new("ilk_list **")
    arguments = list_arguments(pattern, kind)
    _ffi.call(lib.ilk_list_open_kinds, out, client._live(), *arguments)
    return to_names(ffi.gc(out[0], lib.ilk_list_free), pattern)
