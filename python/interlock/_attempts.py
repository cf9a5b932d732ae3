# SPDX-License-Identifier: MIT
"""The attempts of a call that is refused when another caller was first."""

from __future__ import annotations

import random
import time

from . import _ffi
from ._ffi import Seconds

_FIRST_PAUSE = 0.001  # seconds
_LONGEST_PAUSE = 0.05  # seconds


class Attempts:
    """When they end, and how long to pause between them."""

    def __init__(self, timeout: Seconds | None) -> None:
        limit = _ffi.timeout_ms(timeout)
        self._end = None if limit < 0 else time.monotonic() + limit / 1000
        self._pause = 0.0

    def are_over(self) -> bool:
        """Whether no other one may begin. Blocks: no. Thread: any thread."""
        return self._end is not None and time.monotonic() >= self._end

    def next_pause(self) -> float:
        """Seconds before the next attempt: 0 at first, then random and growing.

        Two that refuse each other again and again would otherwise go on in step.

        Blocks: no. Thread: any thread.
        """
        pause = self._pause * random.random()
        self._pause = min(max(2 * self._pause, _FIRST_PAUSE), _LONGEST_PAUSE)
        return pause
