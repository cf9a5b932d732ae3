# SPDX-License-Identifier: MIT
"""The common part of queues and workers: names for C, and the wait for a message."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, Callable

from . import _ffi, _greenlets
from ._core import ffi, lib
from ._ffi import EINTR, OK, Name, Seconds

TIMEOUT_STATUSES = frozenset((lib.ILK_EBUSY, lib.ILK_ETIMEOUT, EINTR))


def c_names(names: Iterable[Name], what: str = "name") -> tuple[Any, Any, int, Any]:
    """Convert names for C: pointers, lengths, count, and the buffers to keep."""
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
    timeout: Seconds | None,
    leave: Callable[..., int],
    cancel: Callable[..., int],
) -> bool:
    """Wait for a message; returns False when there was none in time.

    ``leave`` gives up the place in the wait queue after a signal; ``cancel``
    ends the wait of a thread that runs on behalf of a greenlet. An exception of a
    signal handler may come after the message, which the caller then gives back.
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
    if status in TIMEOUT_STATUSES:
        return False
    raise _ffi.failure(status, err)


def give_back(job: Any) -> None:
    """Give back a job of C that no caller has received, as far as possible.

    Blocks: one round trip. Thread: one thread at a time.
    """
    lib.ilk_job_nack(job, 0, ffi.NULL)


def give_back_all(batch: Any) -> None:
    """Give back the jobs of a batch of C that no caller has received.

    The last comes first, since each becomes the next message to be delivered.

    Blocks: one round trip each. Thread: one thread at a time.
    """
    job = ffi.new("ilk_job **")
    for i in reversed(range(lib.ilk_batch_count(batch))):
        if lib.ilk_batch_job(job, batch, i, ffi.NULL) == OK:
            give_back(job[0])
            lib.ilk_job_free(job[0])
