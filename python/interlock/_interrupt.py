# SPDX-License-Identifier: MIT
"""Signal handlers during a call that pauses because its server is away.

A wait returns to the interpreter, which runs the handlers, and is then called again.
Another call cannot be: a second push would be another message. So the core calls back,
in the calling thread. To be called is enough, because the interpreter runs the
handlers that are due when it runs Python. An exception of theirs ends the call in C,
and is raised when that has returned.
"""

from __future__ import annotations

import signal
import threading
from types import TracebackType
from typing import Any

from ._core import ffi, lib

_raised: BaseException | None = None
_thread = 0  # to which it belongs


def _keep(
    kind: type[BaseException], error: BaseException, traceback: TracebackType
) -> None:
    global _raised, _thread
    _raised, _thread = error.with_traceback(traceback), threading.get_ident()


@ffi.def_extern(name="interlock_interrupted", error=1, onerror=_keep)  # type: ignore[untyped-decorator]
def _run_handlers(user: Any) -> int:
    signal.pthread_sigmask(signal.SIG_BLOCK, ())  # runs those that are due
    return 0


ask = lib.interlock_interrupted


def check() -> None:
    """Raise what a handler has raised during this thread's call. Blocks: no."""
    global _raised
    if _raised is not None and _thread == threading.get_ident():
        error, _raised = _raised, None
        raise error
