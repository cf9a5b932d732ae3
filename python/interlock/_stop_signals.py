# SPDX-License-Identifier: MIT
"""Signals that end a worker's loop instead of the process."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Callable


@contextlib.contextmanager
def stopping(signals: Iterable[int], stop: Callable[[], None]) -> Iterator[None]:
    """Call ``stop`` for these signals during a block.

    A signal for which the program has a handler of its own, or which it ignores, is
    left to that. Only the main thread can set handlers; in another one this is a
    block and nothing more.
    """
    numbers = list(signals)

    def handler(number: int, frame: FrameType | None) -> None:
        stop()

    changed = []
    if threading.current_thread() is threading.main_thread():
        changed = [one for one in numbers if signal.getsignal(one) is signal.SIG_DFL]
    for number in changed:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number in changed:
            if signal.getsignal(number) is handler:
                signal.signal(number, signal.SIG_DFL)
