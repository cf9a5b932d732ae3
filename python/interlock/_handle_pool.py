# SPDX-License-Identifier: MIT
"""Pools of C handles, for objects that several callers may use at once.

A C handle waits for one caller at a time. The Python object keeps as many of
them as there are calls under way, so that threads may share it like the objects
of ``threading``, and tasks too.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Callable, ClassVar

from . import _ffi, errors
from ._core import ffi
from ._ffi import Name, Seconds
from ._process_bound import ProcessBound

if TYPE_CHECKING:
    from ._client_base import ClientBase


def keep_opts(kind: str, init: Callable[..., None], keep: Seconds) -> Any:
    """Make options with ``keep``, in seconds. Blocks: no. Thread: any thread."""
    opts = ffi.new(f"{kind}_opts *")
    init(opts, ffi.sizeof(opts[0]))
    opts.keep_ms = _ffi.lease_ms(keep, "keep")
    return opts


class HandlePool(ProcessBound):
    """C handles for one name, with a list of those that are not in use."""

    _client: ClientBase
    _free_handles: list[Any]

    def _new(self) -> Any:
        raise NotImplementedError

    @contextlib.contextmanager
    def _handle(self) -> Iterator[Any]:
        """Lend a handle to one call.

        After an exception that is not interlock's the handle is not used again,
        because the exception may have interrupted its call at any point.
        """
        self._client._live()
        try:
            handle = self._free_handles.pop()
        except IndexError:
            handle = self._new()
        try:
            yield handle
        except errors.Error:
            self._free_handles.append(handle)
            raise
        self._free_handles.append(handle)


class PooledHandle(HandlePool):
    """A handle pool for one name: the base of event, latch, barrier and register."""

    _type: ClassVar[str]
    _free: ClassVar[Callable[..., None]]
    _cancel: ClassVar[Callable[..., int]]

    def __init__(
        self,
        client: ClientBase,
        name: Name,
        open_handle: Callable[..., int],
        *more: Any,
    ) -> None:
        raw = _ffi.name_bytes(name)
        self._client = client
        self._name = name
        self._open = open_handle
        self._args = (raw, len(raw), *more)
        self._free_handles = [self._new()]

    @property
    def name(self) -> Name:
        """The name, as it was given."""
        return self._name

    def __repr__(self) -> str:
        return f"<interlock.{type(self).__name__} {self._name!r}>"

    def _new(self) -> Any:
        out = ffi.new(f"{self._type} **")
        _ffi.call(self._open, out, self._client._live(), *self._args)
        return ffi.gc(out[0], type(self)._free)
