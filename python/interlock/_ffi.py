# SPDX-License-Identifier: MIT
"""Conversions between Python and the C core: names, times, statuses, waits.

Callers pass times as seconds, or as a timedelta, and names as str or bytes. C functions take
int64 milliseconds, and a pointer with a length.
"""

from __future__ import annotations

import datetime
import enum
import math
import numbers
import threading
import time
from typing import Any, Callable, Union

from . import _interrupt, errors
from ._core import ffi, lib

#: A span of time: a number of seconds, or a timedelta.
Seconds = Union[float, datetime.timedelta]
Name = Union[str, bytes, bytearray, memoryview]

# A longer timeout is certainly a mistake; None means "for ever".
MAX_SECONDS = 1e10

OK: int = lib.ILK_OK
EHELD: int = lib.ILK_EHELD
EINTR: int = lib.ILK_EINTR
ELOST: int = lib.ILK_ELOST
EUNSUPPORTED: int = lib.ILK_EUNSUPPORTED

_ERROR = ffi.typeof("ilk_error *")

# How a call ends whose client is closed meanwhile.
_CLOSING = (lib.ILK_ECLOSED, lib.ILK_EUNKNOWN, lib.ILK_ECONN)

# Seconds beyond its time for which a wait that is interrupted tries to end.
_INTERRUPTED_FOR = 1.0

#: True from the moment in which the interpreter's end closes all clients.
exiting = False


class Unset(enum.Enum):
    """The default of an argument for which None means something else."""

    UNSET = "unset"

    def __repr__(self) -> str:
        return "<unset>"


UNSET = Unset.UNSET


def new_error() -> Any:
    """Make the struct that receives the code and the text of a failing call."""
    return ffi.new(_ERROR)


def text(pointer: Any) -> str:
    """Decode a C string of the core; undecodable bytes survive."""
    return str(ffi.string(pointer).decode("utf-8", "surrogateescape"))


def cause_of_loss(text: str) -> str:
    """Return the cause with which a text of the core about a loss ends, or ""."""
    return text.partition(" was lost")[2].partition(": ")[2]


def failure(status: int, err: Any) -> errors.Error:
    """Make the exception for a failing call.

    A daemon thread whose client the interpreter's end has closed gets SystemExit
    instead, which ends it in silence, as it would end inside ``threading.Lock``. If
    a signal handler has ended the call, its exception is raised.
    """
    _interrupt.check()
    if exiting and status in _CLOSING and threading.current_thread().daemon:
        raise SystemExit
    return errors.from_status(status, ffi.string(err.msg).decode("utf-8", "replace"))


def check(status: int, err: Any) -> None:
    """Raise the exception of the status, unless it is ILK_OK."""
    if status != OK:
        raise failure(status, err)


def call(function: Callable[..., int], *args: Any) -> None:
    """Call a C function whose last parameter is the error, and check it."""
    err = new_error()
    status = function(*args, err)
    if status != OK:
        raise failure(status, err)


def name_bytes(name: Name, what: str = "name") -> bytes:
    """Return the bytes of a name: a str as UTF-8, undecodable bytes survive."""
    if isinstance(name, bytes):
        return name
    if isinstance(name, str):
        try:
            return name.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as error:
            raise errors.InvalidError(
                f"{what} is not valid text: {error.reason}"
            ) from None
    if isinstance(name, (bytearray, memoryview)):
        return bytes(name)
    raise TypeError(f"{what} must be str or bytes, got {type(name).__name__}")


def c_string(value: str | None, what: str) -> Any:
    """Copy a str to a NUL-terminated buffer for one call; NULL for None."""
    if value is None:
        return ffi.NULL
    if not isinstance(value, str):
        raise TypeError(f"{what} must be str, got {type(value).__name__}")
    encoded = name_bytes(value, what)
    if b"\0" in encoded:
        raise errors.InvalidError(f"{what} contains a NUL byte")
    return ffi.new("char[]", encoded)


def as_float(seconds: Seconds) -> float:
    """Return the seconds of a timedelta, or the number itself."""
    if isinstance(seconds, datetime.timedelta):
        return seconds.total_seconds()
    return seconds


def milliseconds(seconds: Seconds, what: str) -> int:
    """Convert seconds to whole milliseconds, rounded up: only 0 becomes 0."""
    if isinstance(seconds, datetime.timedelta):
        seconds = seconds.total_seconds()
    kind = type(seconds)
    if kind is bool or (kind is not float and not isinstance(seconds, numbers.Real)):
        raise TypeError(
            f"{what} must be a number of seconds or a timedelta, got {type(seconds).__name__}"
        )
    if not 0 <= seconds <= MAX_SECONDS:
        raise errors.InvalidError(
            f"{what} must be from 0 to {MAX_SECONDS:.0f} seconds, got {seconds!r}"
        )
    # The inner rounding keeps 16.1 s, which is 16100.000000000002, at 16100; two digits
    # are exact in the longest time, too.
    whole = math.ceil(round(float(seconds) * 1000, 2))
    return whole or int(seconds > 0)


def timeout_ms(seconds: Seconds | None, what: str = "timeout") -> int:
    """Convert a timeout to milliseconds; None, for ever, becomes -1."""
    return -1 if seconds is None else milliseconds(seconds, what)


def lease_ms(seconds: Seconds | None, what: str = "ttl") -> int:
    """Convert a lease to milliseconds; None becomes 0, the default of the core."""
    if seconds is None:
        return 0
    lease = milliseconds(seconds, what)
    if lease == 0:
        raise errors.InvalidError(f"{what} must be positive, got {seconds!r}")
    return lease


def count(value: int, what: str) -> int:
    """Check for a whole number of 1 or more; C checks the upper limit."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{what} must be a whole number, got {type(value).__name__}")
    if not 1 <= value < 1 << 31:
        raise errors.InvalidError(f"{what} must be 1 or more, got {value}")
    return int(value)


def call_blocking(
    function: Callable[..., int],
    handle: Any,
    timeout: int,
    more: tuple[Any, ...],
    err: Any,
    in_thread: Callable[..., int] | None = None,
) -> int:
    """Wait in C until the call ends; Python's signal handlers run meanwhile.

    C returns ILK_EINTR when a signal arrives and keeps the place in the wait
    queue. The interpreter runs the handlers between two calls of this loop, so
    Ctrl-C takes effect there. When the time is up after a signal, one more call of
    a millisecond ends the wait: only C knows whether the server is in reach, and it
    has left the wait queue when that returns. The result is ILK_EINTR when signals
    interrupt that for a second: then, and when a handler raises, the caller cancels
    the wait.
    """
    end = time.monotonic() + timeout / 1000 if timeout > 0 else 0.0
    left = timeout
    while True:
        if in_thread is None:
            status = function(handle, left, *more, err)
        else:
            status = in_thread(function, handle, left, *more, err)
        if status != EINTR:
            return status
        _interrupt.check()
        if timeout > 0:
            left = max(math.ceil((end - time.monotonic()) * 1000), 1)
            if time.monotonic() > end + _INTERRUPTED_FOR:
                return status
