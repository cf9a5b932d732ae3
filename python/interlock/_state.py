# SPDX-License-Identifier: MIT
"""What events, latches and barriers have in common: handles for many threads.

A C handle is one waiter. The Python object keeps as many of them as calls are
under way at once, so that it may be shared between threads as those of
``threading`` are, and used by a signal handler while its thread waits.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Callable

from . import _ffi, _green
from ._core import ffi
from ._ffi import EINTR, OK, Name
from ._lease import NOT_IN_TIME

if TYPE_CHECKING:
    from .client import Client


def keep_opts(kind: str, init: Callable[..., None], keep: float) -> Any:
    """Options with how long a record is kept. Blocks: no. Thread: any thread."""
    opts = ffi.new(f"{kind}_opts *")
    init(opts, ffi.sizeof(opts[0]))
    opts.keep_ms = _ffi.lease_ms(keep, "keep")
    return opts


def two_numbers(
    function: Callable[..., int], client: Client, name: Name
) -> tuple[int, int]:
    """What an inspection tells. Blocks: one round trip. Thread: any thread."""
    raw = _ffi.name_bytes(name)
    first, second = ffi.new("int64_t *"), ffi.new("int64_t *")
    _ffi.call(function, client._live(), raw, len(raw), first, second)
    return int(first[0]), int(second[0])


class State:
    """A name, and the C handles for it that are not in use."""

    _type: str
    _free: Callable[..., None]
    _cancel: Callable[..., int]

    def __init__(
        self, client: Client, name: Name, open_handle: Callable[..., int], *more: Any
    ) -> None:
        raw = _ffi.name_bytes(name)
        self._client = client
        self._name = name
        self._open = open_handle
        self._args = (raw, len(raw), *more)
        self._idle: list[Any] = [self._new()]

    @property
    def name(self) -> Name:
        """The name, as it was given."""
        return self._name

    @property
    def client(self) -> Client:
        """The client that it was made from."""
        return self._client

    def __repr__(self) -> str:
        return f"<interlock.{type(self).__name__} {self._name!r}>"

    def _new(self) -> Any:
        out = ffi.new(f"{self._type} **")
        _ffi.call(self._open, out, self._client._live(), *self._args)
        return ffi.gc(out[0], type(self)._free)

    @contextlib.contextmanager
    def _handle(self) -> Iterator[Any]:
        """One for this call alone; after an exception it is not used again."""
        self._client._live()
        try:
            handle = self._idle.pop()
        except IndexError:
            handle = self._new()
        yield handle
        self._idle.append(handle)

    def _call(self, handle: Any, function: Callable[..., int], *args: Any) -> None:
        """A verb that does not wait. What fails leaves the handle usable."""
        err = _ffi.new_error()
        status = function(handle, *args, err)
        if status != OK:
            self._idle.append(handle)
            raise _ffi.failure(status, err)

    def _ask(self, function: Callable[..., int], *args: Any) -> int:
        """A verb that does not wait and answers a number."""
        out = ffi.new("int64_t *")
        with self._handle() as handle:
            self._call(handle, function, *args, out)
        return int(out[0])

    def _wait(
        self,
        handle: Any,
        function: Callable[..., int],
        timeout: float | None,
        before: tuple[Any, ...] = (),
        after: tuple[Any, ...] = (),
    ) -> int:
        """Wait in C; the status is ILK_OK or says that time ran out."""
        limit = _ffi.timeout_ms(timeout)
        cancel = type(self)._cancel

        def wait(handle: Any, left: int, *more: Any) -> int:
            return function(handle, *before, left, *more)

        def abandon() -> None:
            cancel(handle, ffi.NULL)

        in_thread = None
        if limit != 0 and ("gevent" in sys.modules or "eventlet" in sys.modules):
            in_thread = _green.runner(abandon)
        err = _ffi.new_error()
        try:
            status = _ffi.call_blocking(wait, handle, limit, after, err, in_thread)
            if status == EINTR:
                abandon()
        except BaseException:
            abandon()
            raise
        if status != OK and status not in NOT_IN_TIME:
            self._idle.append(handle)
            raise _ffi.failure(status, err)
        return status
