# SPDX-License-Identifier: MIT
"""What queues and workers share: several names for C, and the wait for one."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, Callable

from . import _ffi, _greenlets
from ._core import ffi, lib
from ._ffi import EINTR, OK, Name

NOT_IN_TIME = frozenset((lib.ILK_EBUSY, lib.ILK_ETIMEOUT, EINTR))


def c_names(names: Iterable[Name], what: str = "name") -> tuple[Any, Any, int, Any]:
    """Names as C takes them: pointers, lengths, count; and what to keep."""
    raw = [_ffi.name_bytes(name, what) for name in names]
    kept = [ffi.from_buffer(name) for name in raw]
    return (
        ffi.new("void *[]", kept or [ffi.NULL]),
        ffi.new("size_t[]", [len(name) for name in raw] or [0]),
        len(raw),
        kept,
    )


def wait_in_c(
    function: Callable[..., int],
    handle: Any,
    timeout: float | None,
    leave: Callable[..., int],
    cancel: Callable[..., int],
) -> bool:
    """Wait for a message; False when there was none in time.

    ``leave`` gives up the place that a signal left; ``cancel`` ends the waits
    of a thread that stands in for a greenlet.
    """
    limit = _ffi.timeout_ms(timeout)
    in_thread = None
    if limit != 0 and ("gevent" in sys.modules or "eventlet" in sys.modules):

        def abandon() -> None:
            cancel(handle, ffi.NULL)

        in_thread = _greenlets.runner(abandon)
    err = _ffi.new_error()
    try:
        status = _ffi.call_blocking(function, handle, limit, (), err, in_thread)
    except BaseException:
        leave(handle, ffi.NULL)
        raise
    if status == EINTR:
        leave(handle, ffi.NULL)
    if status == OK:
        return True
    if status in NOT_IN_TIME:
        return False
    raise _ffi.failure(status, err)
