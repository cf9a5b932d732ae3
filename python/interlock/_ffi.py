# SPDX-License-Identifier: MIT
"""Between Python and the C core: names, times, statuses, and waits.

Outside, times are float seconds and names are str or bytes; below, they are
int64 milliseconds and a pointer with a length. This module is where the one
becomes the other.
"""

from __future__ import annotations

import enum
import math
import numbers
import time
from typing import Any, Callable, Union

from . import errors
from ._core import ffi, lib

Name = Union[str, bytes, bytearray, memoryview]

# A wait longer than this is a mistake; None is the way to say "for ever".
MAX_SECONDS = 1e10

OK: int = lib.ILK_OK
EINTR: int = lib.ILK_EINTR
ELOST: int = lib.ILK_ELOST

_ERROR = ffi.typeof("ilk_error *")


class Unset(enum.Enum):
    """The default of an argument for which None means something else."""

    UNSET = "unset"

    def __repr__(self) -> str:
        return "<unset>"


UNSET = Unset.UNSET


def new_error() -> Any:
    """Room for the code and the text of one failing call."""
    return ffi.new(_ERROR)


def text(pointer: Any) -> str:
    """A C string of ours."""
    return str(ffi.string(pointer).decode("utf-8", "surrogateescape"))


def failure(status: int, err: Any) -> errors.Error:
    """The exception for a failing call."""
    return errors.from_status(status, ffi.string(err.msg).decode("utf-8", "replace"))


def check(status: int, err: Any) -> None:
    """Raise what the status stands for, unless it is ILK_OK."""
    if status != OK:
        raise failure(status, err)


def call(function: Callable[..., int], *args: Any) -> None:
    """Call a C function whose last parameter is the error, and check it."""
    err = new_error()
    status = function(*args, err)
    if status != OK:
        raise failure(status, err)


def name_bytes(name: Name, what: str = "name") -> bytes:
    """The bytes of a name; a str is UTF-8, and undecodable bytes survive."""
    if isinstance(name, bytes):
        return name
    if isinstance(name, str):
        try:
            return name.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as error:
            raise errors.InvalidError(f"{what} is no text: {error.reason}") from None
    if isinstance(name, (bytearray, memoryview)):
        return bytes(name)
    raise TypeError(f"{what} must be str or bytes, got {type(name).__name__}")


def c_string(value: str | None, what: str) -> Any:
    """A NUL-terminated copy for the length of a call; NULL for None."""
    if value is None:
        return ffi.NULL
    if not isinstance(value, str):
        raise TypeError(f"{what} must be str, got {type(value).__name__}")
    encoded = name_bytes(value, what)
    if b"\0" in encoded:
        raise errors.InvalidError(f"{what} contains a NUL byte")
    return ffi.new("char[]", encoded)


def milliseconds(seconds: float, what: str) -> int:
    """Seconds as whole milliseconds, rounded up: 0 comes from 0 alone."""
    kind = type(seconds)
    if kind is bool or (kind is not float and not isinstance(seconds, numbers.Real)):
        raise TypeError(
            f"{what} must be a number of seconds, got {type(seconds).__name__}"
        )
    if not 0 <= seconds <= MAX_SECONDS:
        raise errors.InvalidError(
            f"{what} must be from 0 to {MAX_SECONDS:.0f} seconds, got {seconds!r}"
        )
    # The inner rounding keeps 16.1 s, which is 16100.000000000002, at 16100.
    whole = math.ceil(round(float(seconds) * 1000, 6))
    return whole or int(seconds > 0)


def timeout_ms(seconds: float | None, what: str = "timeout") -> int:
    """A timeout for C: None is -1, for ever; 0 tries once."""
    return -1 if seconds is None else milliseconds(seconds, what)


def lease_ms(seconds: float | None, what: str = "ttl") -> int:
    """A lease for C: None is 0, the default; a lease of 0 s is refused."""
    if seconds is None:
        return 0
    lease = milliseconds(seconds, what)
    if lease == 0:
        raise errors.InvalidError(f"{what} must be positive, got {seconds!r}")
    return lease


def count(value: int, what: str) -> int:
    """A whole number from 1 on; C knows how far."""
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
    """Wait in C until it is settled; Python's signal handlers run meanwhile.

    C returns ILK_EINTR when a signal arrives and keeps the place in the wait queue.
    The interpreter runs the handlers between two turns of this loop, so
    Ctrl-C takes effect there. The answer is ILK_EINTR when signals came until
    the time was up. The caller ends the wait then, and when a handler raises.
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
        if timeout > 0:
            left = math.ceil((end - time.monotonic()) * 1000)
            if left <= 0:
                return status
