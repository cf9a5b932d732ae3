# SPDX-License-Identifier: MIT
"""What a client is on either face: a C client, opened and looked at."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from . import _ffi, _fork, errors
from ._core import ffi, lib
from .stats import Stats

if TYPE_CHECKING:
    from ._lease_base import LeaseBase


class ClientBase:
    """The parts of a client that need no server."""

    def __init__(
        self,
        url: str | None,
        *,
        label: str | None,
        listen: str | None,
        connect_timeout: float | None,
        reply_timeout: float | None,
        protocol: int | None,
        embedded: bool,
        lazy: bool,
    ) -> None:
        shown = _ffi.c_string(label, "label")
        replicas = _ffi.c_string(listen, "listen")
        opts = ffi.new("ilk_client_opts *")
        lib.ilk_client_opts_init(opts, ffi.sizeof(opts[0]))
        opts.connect_timeout_ms = _ffi.lease_ms(connect_timeout, "connect_timeout")
        opts.reply_timeout_ms = _ffi.lease_ms(reply_timeout, "reply_timeout")
        opts.label = shown
        opts.listen = replicas
        if protocol not in (None, 2, 3):
            raise errors.InvalidError(f"protocol must be 2 or 3, got {protocol!r}")
        opts.protocol = protocol or 0
        opts.flags = (
            lib.ILK_CLIENT_TICK  # a signal may have come to another thread
            | (lib.ILK_CLIENT_LAZY if lazy else 0)
            | (0 if embedded else lib.ILK_CLIENT_NO_EMBEDDED)
        )
        if url == "":  # an unset variable, not a wish for a private server
            raise errors.InvalidError("url is empty")
        out = ffi.new("ilk_client **")
        _ffi.call(lib.ilk_client_open, out, _ffi.c_string(url, "url"), opts)
        self._handle = ffi.gc(out[0], lib.ilk_client_free)
        self._generation = _fork.generation
        self._closed = False
        self._handles: weakref.WeakValueDictionary[int, LeaseBase] = (
            weakref.WeakValueDictionary()
        )

    @property
    def closed(self) -> bool:
        """Whether ``close()`` was called."""
        return self._closed

    def stats(self) -> Stats:
        """The client's counters. Blocks: no. Thread: any thread."""
        raw = ffi.new("ilk_client_stats *")
        raw.size = ffi.sizeof(raw[0])
        _ffi.call(lib.ilk_client_get_stats, self._live(), raw)
        return Stats.from_c(raw)

    @property
    def id(self) -> str:
        """The client's identity, 16 hexadecimal digits."""
        return _ffi.text(lib.ilk_client_id(self._live()))

    @property
    def url(self) -> str:
        """The URL in use, without the password."""
        return _ffi.text(lib.ilk_client_url(self._handle))

    def __repr__(self) -> str:
        state = " closed" if self._closed else ""
        return f"<interlock.Client {self.url}{state}>"

    def _live(self) -> Any:
        """The C handle, after a fork was noticed."""
        raise NotImplementedError
