# SPDX-License-Identifier: MIT
"""Replicated values: keys with one value each, of which the newest wins."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _ffi
from ._core import ffi, lib
from ._ffi import Name
from ._process_bound import ProcessBound

if TYPE_CHECKING:
    from ._client_base import ClientBase


class KVEntry(NamedTuple):
    """The value of a key, and its version."""

    value: bytes
    version: int  #: microseconds since 1970; rises with each change of the key


@dataclasses.dataclass(frozen=True)
class KVProgress:
    """How far ``client.kv_move()`` has come; it can be pickled."""

    server: int  #: the server that is looked through, from 0
    servers: int  #: how many there are
    looked: int  #: records that were found
    copied: int  #: copies that were written
    removed: int  #: copies that were removed from a wrong server
    done: bool  #: whether all servers were looked through
    #: The place in this server, and what names this pass.
    cursor: bytes = dataclasses.field(repr=False)
    pass_id: bytes = dataclasses.field(repr=False)


def to_entry(found: Any) -> KVEntry | None:
    """Convert an ilk_kv_entry; NULL becomes None. Blocks: no. Thread: any thread."""
    if found == ffi.NULL:
        return None
    length = ffi.new("size_t *")
    value = lib.ilk_kv_entry_value(found, length)
    return KVEntry(
        value=bytes(ffi.buffer(value, length[0])),
        version=int(lib.ilk_kv_entry_version(found)),
    )


def new_progress(after: KVProgress | None) -> Any:
    """Make an ilk_kv_progress. Blocks: no. Thread: any thread."""
    at = ffi.new("ilk_kv_progress *")
    at.size = ffi.sizeof(at[0])
    if after is not None:
        if not isinstance(after, KVProgress):
            raise TypeError(f"after must be KVProgress, got {type(after).__name__}")
        at.server, at.servers = after.server, after.servers
        at.looked, at.copied, at.removed = after.looked, after.copied, after.removed
        at.cursor, at.pass_id = after.cursor, after.pass_id
        at.is_done = after.done
    return at


def to_progress(at: Any) -> KVProgress:
    """Convert an ilk_kv_progress. Blocks: no. Thread: any thread."""
    return KVProgress(
        server=at.server,
        servers=at.servers,
        looked=at.looked,
        copied=at.copied,
        removed=at.removed,
        done=bool(at.is_done),
        cursor=ffi.string(at.cursor),
        pass_id=ffi.string(at.pass_id),
    )


def move(client: ClientBase, after: KVProgress | None) -> Iterator[KVProgress]:
    """``client.kv_move()``. Thread: any thread."""
    at = new_progress(after)
    while not at.is_done:
        _ffi.call(lib.ilk_kv_move, client._live(), at)
        yield to_progress(at)


class KVBase(ProcessBound):
    """The part of replicated values that both packages share."""

    def __init__(self, client: ClientBase, name: Name) -> None:
        raw = _ffi.name_bytes(name)
        out = ffi.new("ilk_kv **")
        _ffi.call(lib.ilk_kv_open, out, client._live(), raw, len(raw))
        self._client = client
        self._name = name
        self._handle = ffi.gc(out[0], lib.ilk_kv_free)

    @property
    def name(self) -> Name:
        """The name, as it was given."""
        return self._name

    def __repr__(self) -> str:
        return f"<interlock.{type(self).__name__} {self._name!r}>"

    def _live(self) -> Any:
        self._client._live()
        return self._handle

    def _get_arguments(self, key: Name) -> tuple[Any, ...]:
        """The arguments of ilk_kv_get()."""
        raw = _ffi.name_bytes(key, "key")
        return self._live(), raw, len(raw)

    def _put_arguments(
        self, key: Name, value: str | bytes, fast: bool
    ) -> tuple[Any, ...]:
        """The arguments of ilk_kv_put()."""
        data = _ffi.name_bytes(value, "value")
        flags = lib.ILK_KV_FAST if fast else 0
        return *self._get_arguments(key), data, len(data), flags

    def _delete_arguments(self, key: Name, fast: bool) -> tuple[Any, ...]:
        """The arguments of ilk_kv_delete()."""
        return *self._get_arguments(key), lib.ILK_KV_FAST if fast else 0


class KV(KVBase):
    """Keys with one value each, of which the newest wins; by ``client.kv()``.

    A key has up to 512 bytes and a value up to 64 KiB. Each change has a version,
    which is greater than that of the value before. With several servers each value
    is on some of them, so that it outlives the failure of others.

    >>> settings = client.kv("settings")
    >>> settings.get("color") is None
    True
    >>> red = settings.put("color", b"red")
    >>> blue = settings.put("color", b"blue")
    >>> settings.get("color") == (b"blue", blue) and blue > red
    True
    >>> settings.delete("color") > blue
    True

    Thread: any thread.
    """

    def get(self, key: Name) -> KVEntry | None:
        """Read the newest value of a key, and its version; None without a value.

        Raises: InvalidError, NoQuorumError (too few servers have replied),
        ConnectionError and the server's errors. Blocks: one round trip; with several
        servers two when copies differ. Thread: any thread.
        """
        out = ffi.new("ilk_kv_entry **")
        _ffi.call(lib.ilk_kv_get, out, *self._get_arguments(key))
        return to_entry(ffi.gc(out[0], lib.ilk_kv_entry_free))

    def put(self, key: Name, value: str | bytes, *, fast: bool = False) -> int:
        """Write a value, whatever is there; returns its version.

        With several servers ``fast=True`` does not read the versions that they have
        first: one round trip instead of two. Then a change is lost at once, without
        an error, when this machine's clock is behind that of another writer.

        Raises: InvalidError, NoQuorumError (too few servers have it; a get may find
        it or not), UnknownOutcomeError, ConnectionError and the server's errors.
        Blocks: one round trip; with several servers two without ``fast``.
        Thread: any thread.
        """
        out = ffi.new("int64_t *")
        _ffi.call(lib.ilk_kv_put, *self._put_arguments(key, value, fast), out)
        return int(out[0])

    def delete(self, key: Name, *, fast: bool = False) -> int:
        """Delete a key, whether it has a value or not; returns the change's version.

        Raises: as ``put()``; works on a server that is out of memory.
        Blocks: as ``put()``. Thread: any thread.
        """
        out = ffi.new("int64_t *")
        _ffi.call(lib.ilk_kv_delete, *self._delete_arguments(key, fast), out)
        return int(out[0])
