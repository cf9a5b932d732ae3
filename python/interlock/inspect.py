# SPDX-License-Identifier: MIT
"""Inspection of names: who holds, who waits, and which names there are."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from . import _ffi, errors
from ._core import ffi, lib
from ._ffi import Name

if TYPE_CHECKING:
    from .client import Client

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
    """One waiter in the wait queue of a name."""

    label: str  #: the label of its client, host:pid by default
    token: str  #: the token that it will hold under
    client: str  #: the id of its client; "" when not known
    permits: int  #: how many it waits for; 1 but for a semaphore
    waited: float | None  #: seconds so far; None when not known


@dataclasses.dataclass(frozen=True)
class Holder:
    """One holder of a name."""

    label: str  #: the label of its client, host:pid by default; of a member its id
    token: str  #: the token that it holds under
    client: str  #: the id of its client; "" when not known
    permits: int  #: permits of a semaphore, reserved messages of a queue
    fence: int  #: 0 when none is on record
    since: float | None  #: seconds since 1970 by the server's clock
    ttl: float | None  #: seconds left of its lease; None: no known end


@dataclasses.dataclass(frozen=True)
class Info:
    """The state of one name, of one kind, at one moment."""

    name: Name
    state: str  #: of a lock free, held, foreign, readers or redisson
    holder: str | None  #: the first holder's token; None when free
    label: str  #: the label of the holder's client; "" for another library
    since: float | None  #: begin of the hold, seconds since 1970, server's clock
    ttl: float | None  #: seconds left of the lease; None: no known end
    fence: int  #: the last fence of this name; 0 when none is on record
    readers: int  #: how many readers hold it together
    waiters: list[Waiter]  #: the first 100, in the order of the wait queue
    waiting: int | None  #: the number of all waiters; None when not known
    kind: str  #: lock, semaphore and so on
    client: str  #: the id of the holder's client
    holders: list[Holder]  #: the first 100
    holding: int  #: the number of all holders
    longest_wait: float | None  #: seconds; None when not known
    facts: dict[
        str, int | str | bytes
    ]  #: what only this kind has: ``limit``, ``ready``
    in_use: bool  #: the server has something on record


def _string(pointer: Any, length: Any) -> bytes:
    return bytes(ffi.buffer(pointer, length[0]))


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def kind_number(kind: str) -> int:
    """Thread: any thread."""
    if kind not in KINDS:
        known = ", ".join(KINDS)
        raise errors.InvalidError(f"kind must be one of {known}, got {kind!r}")
    return int(KINDS[kind])


def inspect(client: Client, name: Name, kind: str) -> Info:
    """See :meth:`Client.inspect`."""
    raw = _ffi.name_bytes(name)
    out = ffi.new("ilk_info **")
    _ffi.call(
        lib.ilk_inspect_kind, out, client._live(), kind_number(kind), raw, len(raw)
    )
    return to_info(name, ffi.gc(out[0], lib.ilk_info_free))


def seconds(ms: int) -> float | None:
    """Milliseconds of which a negative number is none. Thread: any thread."""
    return None if ms < 0 else ms / 1000


def _waiter(found: Any, i: int) -> Waiter:
    return Waiter(
        label=_ffi.text(lib.ilk_info_waiter_label(found, i)),
        token=_ffi.text(lib.ilk_info_waiter_token(found, i)),
        client=_ffi.text(lib.ilk_info_waiter_client(found, i)),
        permits=lib.ilk_info_waiter_permits(found, i),
        waited=seconds(lib.ilk_info_waiter_waited_ms(found, i)),
    )


def _holder(found: Any, i: int) -> Holder:
    return Holder(
        label=_ffi.text(lib.ilk_info_holder_label(found, i)),
        token=_ffi.text(lib.ilk_info_holder_token(found, i)),
        client=_ffi.text(lib.ilk_info_holder_client(found, i)),
        permits=lib.ilk_info_holder_permits(found, i),
        fence=lib.ilk_info_holder_fence(found, i),
        since=lib.ilk_info_holder_since_ms(found, i) / 1000 or None,
        ttl=seconds(lib.ilk_info_holder_ttl_ms(found, i)),
    )


def _facts(found: Any) -> dict[str, int | str | bytes]:
    """Values that programs have chosen are bytes, the order of a queue is a word."""
    length = ffi.new("size_t *")
    facts: dict[str, int | str | bytes] = {}
    for i in range(lib.ilk_info_facts(found)):
        name = _ffi.text(lib.ilk_info_fact_name(found, i))
        text = lib.ilk_info_fact_text(found, i, length)
        if text == ffi.NULL:
            facts[name] = int(lib.ilk_info_fact_number(found, i))
        else:
            raw = _string(text, length)
            facts[name] = _decode(raw) if name == "order" else raw
    return facts


def to_info(name: Name, found: Any) -> Info:
    """Convert an ilk_info. Blocks: no. Thread: any thread."""
    length = ffi.new("size_t *")
    holder = _decode(_string(lib.ilk_info_holder(found, length), length))
    since, waiting = lib.ilk_info_since_ms(found), lib.ilk_info_waiters(found)
    held = lib.ilk_info_holders(found) > 0
    return Info(
        name=name,
        state=_ffi.text(lib.ilk_info_state_name(found)),
        holder=holder if held else None,
        label=_ffi.text(lib.ilk_info_label(found)),
        since=since / 1000 if since else None,
        ttl=seconds(lib.ilk_info_ttl_ms(found)),
        fence=lib.ilk_info_fence(found),
        readers=lib.ilk_info_readers(found),
        waiters=[_waiter(found, i) for i in range(lib.ilk_info_listed(found))],
        waiting=None if waiting < 0 else waiting,
        kind=_ffi.text(lib.ilk_kind_name(lib.ilk_info_kind(found))),
        client=_ffi.text(lib.ilk_info_holder_client(found, 0)),
        holders=[_holder(found, i) for i in range(lib.ilk_info_holders_listed(found))],
        holding=lib.ilk_info_holders(found),
        longest_wait=seconds(lib.ilk_info_longest_wait_ms(found)),
        facts=_facts(found),
        in_use=bool(lib.ilk_info_in_use(found)),
    )


def list_arguments(pattern: str | bytes | None, kind: str) -> tuple[Any, ...]:
    """The arguments of ilk_list_open_kinds() after the client. Thread: any thread."""
    number = kind_number(kind)
    raw = None if pattern is None else _ffi.name_bytes(pattern, "pattern")
    if raw is None:
        return number, ffi.NULL, 0
    return number, raw, len(raw)


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
