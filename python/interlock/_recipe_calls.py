# SPDX-License-Identifier: MIT
"""Calls of the core's recipe functions: raw lists, sorted sets and channels.

Values are converted as in redis-py: str and numbers become the bytes that
redis-py would send, and a redis.Redis that decodes responses gets them decoded.
"""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Union

from . import _ffi, _greenlets, errors
from ._client_lookup import client_for, encoding_of
from ._core import ffi, lib
from .client import Client

Value = Union[bytes, bytearray, memoryview, str, int, float]
Decode = Callable[[bytes], Any]


def undecoded(raw: bytes) -> bytes:
    """Return the bytes unchanged, as redis-py does by default."""
    return raw


def decoder(conn: Any) -> Decode:
    """Return the function that decodes values as this connection of redis-py."""
    pool = getattr(conn, "connection_pool", None)
    known = getattr(pool, "connection_kwargs", {})
    if not known.get("decode_responses"):
        return undecoded
    encoding, handling = encoding_of(conn)
    return lambda raw: raw.decode(encoding, handling)


def encoded(conn: Any, value: Value) -> bytes:
    """Encode a value as redis-py would for this connection."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise TypeError(
            "a value must be bytes, str, int or float, got " + type(value).__name__
        )
    if isinstance(value, str):
        return value.encode(*encoding_of(conn))
    return repr(value).encode()


def contents(items: Any) -> list[bytes]:
    """Copy the values of an ilk_items, and free it."""
    owned = ffi.gc(items, lib.ilk_items_free)
    length = ffi.new("size_t *")
    found = []
    for index in range(lib.ilk_items_count(owned)):
        data = lib.ilk_items_data(owned, index, length)
        found.append(bytes(ffi.buffer(data, length[0])))
    return found


def handle_of(conn: Any) -> Any:
    return client_for(conn)._live()


def push(conn: Any, key: Value, end: int, value: Value) -> int:
    raw, data = encoded(conn, key), encoded(conn, value)
    length = ffi.new("int64_t *")
    handle = handle_of(conn)
    _ffi.call(lib.ilk_recipes_push, length, handle, raw, len(raw), end, data, len(data))
    return int(length[0])


def pop(conn: Any, key: Value, end: int) -> bytes | None:
    raw = encoded(conn, key)
    out = ffi.new("ilk_items **")
    _ffi.call(lib.ilk_recipes_pop, out, handle_of(conn), raw, len(raw), end)
    found = contents(out[0])
    return found[0] if found else None


def park(conn: Any, key: Value, cache: Value) -> tuple[bytes, bytes] | None:
    """Move a value into the cache; returns the value and its token, or None."""
    raw, other = encoded(conn, key), encoded(conn, cache)
    out = ffi.new("ilk_items **")
    handle = handle_of(conn)
    _ffi.call(lib.ilk_recipes_park, out, handle, raw, len(raw), other, len(other))
    found = contents(out[0])
    return (found[0], found[1]) if found else None


def _unless_lost(function: Callable[..., int], *args: Any) -> bool:
    err = _ffi.new_error()
    status = function(*args, err)
    if status == _ffi.ELOST:
        return False
    _ffi.check(status, err)
    return True


def unpark(conn: Any, cache: Value, token: bytes) -> bool:
    """Remove a value from the cache; False when it was put back meanwhile."""
    other = encoded(conn, cache)
    return _unless_lost(
        lib.ilk_recipes_unpark, handle_of(conn), other, len(other), token, len(token)
    )


def restore(conn: Any, key: Value, cache: Value) -> int:
    raw, other = encoded(conn, key), encoded(conn, cache)
    moved = ffi.new("int64_t *")
    handle = handle_of(conn)
    _ffi.call(lib.ilk_recipes_restore, moved, handle, raw, len(raw), other, len(other))
    return int(moved[0])


def delay(conn: Any, key: Value, seconds: float, task: Value) -> None:
    raw, data = encoded(conn, key), encoded(conn, task)
    ms = round(float(seconds) * 1000)
    handle = handle_of(conn)
    _ffi.call(lib.ilk_recipes_delay, handle, raw, len(raw), ms, data, len(data))


def due(conn: Any, key: Value) -> tuple[list[bytes], bool]:
    """Return tasks that are due, and whether there may be more."""
    raw = encoded(conn, key)
    out, more = ffi.new("ilk_items **"), ffi.new("int *")
    _ffi.call(lib.ilk_recipes_due, out, more, handle_of(conn), raw, len(raw))
    return contents(out[0]), bool(more[0])


def permit(conn: Any, key: Value, limit: int, timeout: float) -> bytes | None:
    raw = encoded(conn, key)
    out = ffi.new("ilk_items **")
    err = _ffi.new_error()
    status = lib.ilk_recipes_permit(
        out,
        handle_of(conn),
        raw,
        len(raw),
        limit,
        _ffi.milliseconds(timeout, "timeout"),
        err,
    )
    if status == lib.ILK_EBUSY:
        return None
    _ffi.check(status, err)
    return contents(out[0])[0]


def permit_release(conn: Any, key: Value, token: Value) -> bool:
    raw, mark = encoded(conn, key), encoded(None, token)  # a token of the core's
    return _unless_lost(
        lib.ilk_recipes_permit_release,
        handle_of(conn),
        raw,
        len(raw),
        mark,
        len(mark),
    )


def permit_refresh(conn: Any, key: Value, token: Value) -> bool:
    raw, mark = encoded(conn, key), encoded(None, token)  # a token of the core's
    return _unless_lost(
        lib.ilk_recipes_permit_refresh,
        handle_of(conn),
        raw,
        len(raw),
        mark,
        len(mark),
    )


def master(
    conn: Any, key: Value, candidate: bytes, selector: int, tenure: float
) -> int:
    raw = encoded(conn, key)
    out = ffi.new("int64_t *")
    ms = _ffi.milliseconds(tenure, "tenure")
    handle = handle_of(conn)
    _ffi.call(
        lib.ilk_recipes_master,
        out,
        handle,
        raw,
        len(raw),
        candidate,
        len(candidate),
        selector,
        ms,
    )
    return int(out[0])


def signal(conn: Any, channel: Value, single: bool, data: bytes) -> int:
    raw = encoded(conn, channel)
    received = ffi.new("int64_t *")
    handle = handle_of(conn)
    _ffi.call(
        lib.ilk_recipes_signal, received, handle, raw, len(raw), single, data, len(data)
    )
    return int(received[0])


def blocking(
    client: Client,
    function: Callable[..., int],
    handle: Any,
    timeout: float | None,
) -> list[bytes] | None:
    """Wait for items; returns None when none came in time."""
    out = ffi.new("ilk_items **")
    err = _ffi.new_error()
    core = client._live()

    def turn(subject: Any, left: int, error: Any) -> int:
        status: int = function(out, subject, left, error)
        return status

    status = _ffi.call_blocking(
        turn,
        handle,
        _ffi.timeout_ms(timeout),
        (),
        err,
        _greenlets.runner(lambda: lib.ilk_client_interrupt(core)),
    )
    if status in (lib.ILK_EBUSY, lib.ILK_ETIMEOUT, _ffi.EINTR):
        return None
    _ffi.check(status, err)
    return contents(out[0])


def listen(
    conn: Any, channel: Value, identity: Value | None, timeout: float | None
) -> tuple[list[bytes] | None, int]:
    """Return the next message, and how many later ones reached no waiter."""
    client = client_for(conn)
    raw = encoded(conn, channel)
    mark = None if identity is None else encoded(conn, identity)
    out = ffi.new("ilk_listener **")
    _ffi.call(
        lib.ilk_listener_open,
        out,
        client._live(),
        raw,
        len(raw),
        ffi.NULL if mark is None else mark,
        0 if mark is None else len(mark),
    )
    listener = ffi.gc(out[0], lib.ilk_listener_free)
    found: list[bytes] | None = None
    lost = ffi.new("int64_t *")
    last = ffi.new("ilk_items **")
    err = _ffi.new_error()
    try:
        found = blocking(client, lib.ilk_listener_wait, listener, timeout)
    except BaseException:
        lib.ilk_listener_leave(ffi.NULL, lost, listener, 0, err)
        raise
    # After a timeout the listener returns a message that has arrived since.
    timed_out = found is None
    status = lib.ilk_listener_leave(last, lost, listener, timed_out, err)
    found = found or contents(last[0]) or None
    if status not in (_ffi.OK, lib.ILK_ECLOSED) and found is None:
        raise _ffi.failure(status, err)
    return found, int(lost[0])


class ConsumerHandle:
    """The C handle of a Consumer, and its calls."""

    def __init__(self, conn: Any, queues: list[Value]) -> None:
        self.client = client_for(conn)
        names = [encoded(conn, queue) for queue in queues]
        buffers = [ffi.from_buffer(name) for name in names]
        out = ffi.new("ilk_consumer **")
        _ffi.call(
            lib.ilk_consumer_open,
            out,
            self.client._live(),
            ffi.new("void *[]", buffers),
            ffi.new("size_t[]", [len(name) for name in names]),
            len(names),
        )
        self.handle = ffi.gc(out[0], lib.ilk_consumer_free)

    def pop(self, timeout: float | None) -> list[bytes] | None:
        return blocking(self.client, lib.ilk_consumer_pop, self.handle, timeout)

    def settle(self, how: int) -> bool:
        return _unless_lost(lib.ilk_consumer_settle, self.handle, how)

    def leave(self) -> None:
        # After close() the client's inbox is gone, so others put its messages back.
        with contextlib.suppress(errors.ClosedError):
            _ffi.call(lib.ilk_consumer_leave, self.handle)
