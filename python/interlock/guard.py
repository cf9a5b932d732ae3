# SPDX-License-Identifier: MIT
"""Writes that refuse an older fence.

A lock cannot stop a process that was frozen beyond its lease from writing
late. The resource that it writes to can: it remembers the greatest fence it
has seen and refuses a smaller one. :func:`set`, :func:`get` and :func:`remove`
do that for a value in Redis; :data:`SQL` and :func:`sql_update` do it for a row
in a database; :data:`LUA` is for scripts of your own. :func:`sql_lock` is for rows that
only transactions of one database change: these need no fence, and no other lock.

A program that computes the new value from the old one has to read under the same
fence before it writes. Otherwise a late write may happen between the two, and be
accepted.

>>> set(client, "stock:42", b"18", 0)
>>> with client.lock("stock") as lock:
...     left = int(get(client, "stock:42", lock.fence).value)
...     set(client, "stock:42", str(left - 1), lock.fence)
>>> get(client, "stock:42").value
b'17'
>>> set(client, "stock:42", b"99", lock.fence - 1)
Traceback (most recent call last):
    ...
interlock.errors.StaleError: ...
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _ffi, errors
from ._core import ffi, lib
from ._ffi import Name
from ._sql_lock import sql_lock as sql_lock

if TYPE_CHECKING:
    from .client import Client

#: The statement behind :func:`sql_update`. A refused write changes no row, so
#: the cursor's ``rowcount`` is 0. Give the table a column for the fence first:
#: ``ALTER TABLE … ADD COLUMN fence BIGINT NOT NULL DEFAULT 0``. Before reading
#: what the new value depends on, put the fence into the row, in the same way.
SQL = (
    "UPDATE {table} SET {columns}, fence = {mark}"
    " WHERE {key} = {mark} AND fence <= {mark}"
)

#: Begin a script of your own with this; then ``if not fenced(KEYS[1],
#: ARGV[1]) then return 0 end`` refuses an older fence and remembers a newer
#: one. KEYS[1] is a key of yours for the fence alone; give the fence as text.
#: A script that reads for a later write begins with it, too.
LUA = """\
local function fenced(key, fence)
  local seen = tonumber(redis.call("GET", key) or "0")
  if tonumber(fence) < seen then
    return false
  end
  redis.call("SET", key, fence)
  return true
end
"""


@dataclasses.dataclass(frozen=True)
class Guarded:
    """A value and the fence on record for it."""

    value: bytes | None  #: None when there is none
    fence: int  #: the greatest that has written or read; 0 when none is on record


def _fence(fence: int) -> int:
    if isinstance(fence, bool) or not isinstance(fence, int):
        raise TypeError(f"fence must be int, got {type(fence).__name__}")
    if not 0 <= fence < 2**53:
        raise errors.InvalidError(f"fence must be from 0 to 2**53 - 1, got {fence}")
    return fence


def _key_arguments(key: Name) -> tuple[bytes, int]:
    raw = _ffi.name_bytes(key, "key")
    return raw, len(raw)


def _set_arguments(key: Name, value: str | bytes, fence: int) -> tuple[Any, ...]:
    """The arguments of ilk_guard_set() after the client."""
    raw, data = _key_arguments(key), _ffi.name_bytes(value, "value")
    return *raw, _fence(fence), data, len(data)


def _get_arguments(key: Name, fence: int | None) -> tuple[Any, ...]:
    """The arguments of ilk_guard_get() after the client."""
    return *_key_arguments(key), 0 if fence is None else _fence(fence)


def _to_guarded(found: Any) -> Guarded:
    """Convert an ilk_value."""
    length = ffi.new("size_t *")
    data = lib.ilk_value_data(found, length)
    return Guarded(
        value=None if data == ffi.NULL else bytes(ffi.buffer(data, length[0])),
        fence=lib.ilk_value_fence(found),
    )


def set(client: Client, key: Name, value: str | bytes, fence: int) -> None:
    """Write a value, unless a greater fence is on record already.

    A fence of 0 writes without a check and leaves the recorded one as it is.

    Raises: StaleError, WrongTypeError, InvalidError, UnknownOutcomeError.
    Blocks: one round trip. Thread: any thread.
    """
    _ffi.call(lib.ilk_guard_set, client._live(), *_set_arguments(key, value, fence))


def get(client: Client, key: Name, fence: int | None = None) -> Guarded:
    """Read a value; pass ``lock.fence`` when a write depends on it.

    The same step records the fence, as a write does: after it no former holder
    can change the value. None and 0 only read.

    Raises: StaleError, WrongTypeError, InvalidError, ConnectionError.
    Blocks: one round trip. Thread: any thread.
    """
    out = ffi.new("ilk_value **")
    _ffi.call(lib.ilk_guard_get, out, client._live(), *_get_arguments(key, fence))
    return _to_guarded(ffi.gc(out[0], lib.ilk_value_free))


def remove(client: Client, key: Name) -> None:
    """Remove a value and its fence, without checking a fence.

    Raises: InvalidError, ConnectionError. Blocks: one round trip.
    Thread: any thread.
    """
    _ffi.call(lib.ilk_guard_remove, client._live(), *_key_arguments(key))


def sql_update(table: str, columns: Sequence[str], key: str, mark: str = "?") -> str:
    """Make the guarded UPDATE; ``mark`` is ``%s`` for PostgreSQL and MySQL.

    The parameters of the statement are the columns' values, the fence, the key and
    the fence again. The names are inserted unescaped: never take them from users.

    >>> print(sql_update("items", ["stock"], "id"))
    UPDATE items SET stock = ?, fence = ? WHERE id = ? AND fence <= ?

    Raises: InvalidError without a column. Blocks: no. Thread: any thread.
    """
    if not columns:
        raise errors.InvalidError("columns must name at least one column")
    setters = ", ".join(f"{column} = {mark}" for column in columns)
    return SQL.format(table=table, columns=setters, key=key, mark=mark)
