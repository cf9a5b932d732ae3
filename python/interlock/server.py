# SPDX-License-Identifier: MIT
"""The embedded server: its status, and how to stop it."""

from __future__ import annotations

import dataclasses

from . import _ffi
from ._core import ffi, lib
from ._ffi import Seconds


@dataclasses.dataclass(frozen=True)
class ServerInfo:
    """The status of an embedded server."""

    running: bool
    pid: int | None  #: the id of its process; None when it does not run
    dir: str  #: the path of its directory
    socket: str  #: the path of its socket
    program: str  #: the program that is or would be started


def status(url: str | None = None) -> ServerInfo:
    """Return the status of the server of ``embedded://`` or ``embedded:///dir``.

    Raises: InvalidError. Blocks: no. Thread: any thread.
    """
    raw = ffi.new("ilk_server_info *")
    raw.size = ffi.sizeof(raw[0])
    _ffi.call(lib.ilk_server_status, _ffi.c_string(url, "url"), raw)
    return ServerInfo(
        running=bool(raw.running),
        pid=raw.pid or None,
        dir=_ffi.text(raw.dir),
        socket=_ffi.text(raw.socket),
        program=_ffi.text(raw.program),
    )


def stop(url: str | None = None, timeout: Seconds = 5.0) -> None:
    """Save and stop the embedded server; does nothing when none runs.

    Raises: TimeoutError, InvalidError. Blocks: at most ``timeout`` seconds.
    Thread: any thread.
    """
    limit = _ffi.milliseconds(timeout, "timeout")
    _ffi.call(lib.ilk_server_stop, _ffi.c_string(url, "url"), limit)
