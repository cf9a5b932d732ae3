# SPDX-License-Identifier: MIT
"""The core's log on ``logging.getLogger("interlock")``.

The core queues its lines (``bindings/cffi/log_queue.c``), and a daemon thread of
this module, started with the first client of a process, passes them to ``logging``.
So a handler that is slow, or that uses this package, stops no thread of the core.
Where threads are monkey-patched there is no such thread, because a native thread
must not use the locks of ``logging`` there: the lines are passed on when a client is
opened or closed, and when notifications are fetched.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading

from . import _fork
from ._core import ffi, lib

LEVELS = {
    int(lib.ILK_LOG_ERROR): logging.ERROR,
    int(lib.ILK_LOG_WARN): logging.WARNING,
    int(lib.ILK_LOG_INFO): logging.INFO,
    int(lib.ILK_LOG_DEBUG): logging.DEBUG,
}
LINE_MAX = 1024  # bytes, the size of the queue's lines

log = logging.getLogger("interlock")
_guard = _fork.Guard()
_started = -1  # the fork generation in which the lines are passed on
_thread: threading.Thread | None = None


def start() -> None:
    """Pass the lines of this process on from now on."""
    global _started, _thread
    if _started == _fork.generation and _thread is not None:
        return
    with _guard:
        if _started != _fork.generation:
            _started, _thread = _fork.generation, None
            push = ffi.addressof(lib, "log_queue_push")
            lib.ilk_log_set_callback(push, ffi.NULL, lib.ILK_LOG_DEBUG, ffi.NULL)
            if not _patched():
                thread = threading.Thread(
                    target=_run, name="interlock log", daemon=True
                )
                with contextlib.suppress(RuntimeError):  # the interpreter ends
                    thread.start()
                    _thread = thread
    drain()


def drain() -> None:
    """Pass on what is queued, unless the thread does."""
    if _thread is None:
        _pass_on(wait=False)


def stop() -> None:
    """Pass on what is left, and end the thread, when the interpreter ends."""
    global _thread
    thread, _thread = _thread, None
    lib.log_queue_close()
    if thread is not None and thread is not threading.current_thread():
        thread.join(1.0)
    _pass_on(wait=False)


def _run() -> None:
    _pass_on(wait=True)


def _pass_on(*, wait: bool) -> None:
    """Log the lines that are queued, and with ``wait`` those to come."""
    text = ffi.new("char[]", LINE_MAX)
    while True:
        level = lib.log_queue_next(wait, text)
        if not level:
            return
        with contextlib.suppress(Exception):  # one of logging's handlers raised
            line = ffi.string(text).decode("utf-8", "backslashreplace")
            log.log(LEVELS.get(level, logging.INFO), "%s", line)
            dropped = lib.log_queue_dropped()
            if dropped:
                log.warning("%d lines of the log were dropped", dropped)


def _patched() -> bool:
    """Whether gevent or eventlet has replaced the threads of this process."""
    monkey = sys.modules.get("gevent.monkey")
    if monkey is not None and monkey.is_module_patched("threading"):
        return True
    patcher = sys.modules.get("eventlet.patcher")
    return patcher is not None and bool(patcher.is_monkey_patched("thread"))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lib.log_queue_reset)
