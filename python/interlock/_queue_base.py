# SPDX-License-Identifier: MIT
"""The part of a queue that the blocking and the asyncio package share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Union

from . import _ffi, errors
from ._core import ffi, lib
from ._ffi import Name, Seconds
from ._process_bound import ProcessBound
from ._queue_wait import c_names

if TYPE_CHECKING:
    from ._client_base import ClientBase
    from .queue import QueueOptions

Data = Union[str, bytes, bytearray, memoryview]

PLACES = {
    "ready": lib.ILK_QUEUE_READY,
    "delayed": lib.ILK_QUEUE_DELAYED,
    "dead": lib.ILK_QUEUE_DEAD,
}


class QueueBase(ProcessBound):
    """A queue, or several queues in order of priority."""

    def __init__(
        self, client: ClientBase, names: Sequence[Name], options: QueueOptions
    ) -> None:
        self._client = client
        self._names = tuple(names)
        self._options = options
        pointers, lengths, count, _kept = c_names(self._names)
        out = ffi.new("ilk_queue **")
        _ffi.call(
            lib.ilk_queue_open_many,
            out,
            client._live(),
            pointers,
            lengths,
            count,
            options.to_c(),
        )
        self._handle = ffi.gc(out[0], lib.ilk_queue_free)

    def _live(self) -> Any:
        self._client._live()
        return self._handle

    @property
    def names(self) -> tuple[Name, ...]:
        """The names, as they were given."""
        return self._names

    def __repr__(self) -> str:
        names = ", ".join(repr(name) for name in self._names)
        return f"<interlock.Queue {names}>"

    def _empty(self, timeout: Seconds | None) -> errors.TimeoutError:
        names = ", ".join(repr(name) for name in self._names)
        limit = None if timeout is None else _ffi.as_float(timeout)
        return errors.TimeoutError(f"no message in queue {names} within {limit} s")

    def _adopted(self, token: str | bytes) -> Any:
        raw = _ffi.name_bytes(token, "token")
        out = ffi.new("ilk_job **")
        _ffi.call(lib.ilk_job_adopt, out, self._live(), raw, len(raw))
        return ffi.gc(out[0], lib.ilk_job_free)


def push_options(delay: Seconds, once: Name | None) -> tuple[Any, Any]:
    """Return the options for C, and the buffer that must live as long."""
    later = _ffi.milliseconds(delay, "delay")
    if once is None and later == 0:
        return ffi.NULL, None
    opts = ffi.new("ilk_push_opts *")
    lib.ilk_push_opts_init(opts, ffi.sizeof(opts[0]))
    opts.delay_ms = later
    if once is None:
        return opts, None
    request = _ffi.name_bytes(once, "once")
    kept = ffi.from_buffer("char[]", request)
    opts.once, opts.once_len = kept, len(request)
    return opts, kept


def place_flags(names: Iterable[str]) -> int:
    """Combine the places into flags for C."""
    total = 0
    for name in names:
        if name not in PLACES:
            raise errors.InvalidError(
                f"where must be ready, delayed or dead, got {name!r}"
            )
        total |= PLACES[name]
    return total


def checked_names(names: Iterable[Name]) -> tuple[Name, ...]:
    """Check and copy the names of a handle for several queues."""
    if isinstance(names, (str, bytes, bytearray, memoryview)):
        raise TypeError("names must be several names, got one")
    return tuple(names)
