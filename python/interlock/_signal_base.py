# SPDX-License-Identifier: MIT
"""The part of a signal that the blocking and the asyncio package share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from . import _ffi
from ._core import ffi, lib
from ._ffi import Name
from ._process_bound import ProcessBound

if TYPE_CHECKING:
    from ._client_base import ClientBase

#: The index among the signals that were waited for, the name, and the data.
ReceivedSignal = tuple[int, bytes, bytes]


class SignalBase(ProcessBound):
    """The signals of one name, or of a pattern."""

    def __init__(
        self, client: ClientBase, name: Name | None, pattern: Name | None = None
    ) -> None:
        if (name is None) == (pattern is None):
            raise TypeError("signal() takes a name or a pattern")
        self._client = client
        self._name = name
        self._pattern = pattern
        if name is not None:
            self._raw = _ffi.name_bytes(name)
        elif pattern is not None:
            self._raw = _ffi.name_bytes(pattern, "pattern")

    @property
    def name(self) -> Name | None:
        """The name, as it was given; None for a pattern."""
        return self._name

    @property
    def pattern(self) -> Name | None:
        """The pattern, as it was given; None for a name."""
        return self._pattern

    def __repr__(self) -> str:
        if self._pattern is not None:
            return f"<interlock.Signal pattern={self._pattern!r}>"
        return f"<interlock.Signal {self._name!r}>"

    def _new(self) -> Any:
        """Open a C handle, with which one caller at a time waits."""
        opts = ffi.new("ilk_signal_opts *")
        lib.ilk_signal_opts_init(opts, ffi.sizeof(opts[0]))
        if self._pattern is not None:
            opts.flags = lib.ILK_SIGNAL_PATTERN
        out = ffi.new("ilk_signal **")
        raw = self._raw
        _ffi.call(lib.ilk_signal_open, out, self._client._live(), raw, len(raw), opts)
        return ffi.gc(out[0], lib.ilk_signal_free)


def payload(data: bytes) -> bytes:
    """Check the data of a signal. Blocks: no. Thread: any thread."""
    raw = bytes(data) if isinstance(data, (bytearray, memoryview)) else data
    if not isinstance(raw, bytes):
        raise TypeError(f"data must be bytes, got {type(data).__name__}")
    return raw


def received(arrival: Any) -> list[ReceivedSignal]:
    """Convert an ilk_arrival. Blocks: no. Thread: any thread."""
    length = ffi.new("size_t *")

    def text(getter: Callable[..., Any], index: int) -> bytes:
        pointer = getter(arrival, index, length)
        return bytes(ffi.buffer(pointer, length[0]))

    return [
        (
            int(lib.ilk_arrival_which(arrival, i)),
            text(lib.ilk_arrival_name, i),
            text(lib.ilk_arrival_data, i),
        )
        for i in range(lib.ilk_arrival_count(arrival))
    ]
