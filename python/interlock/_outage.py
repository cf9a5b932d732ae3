# SPDX-License-Identifier: MIT
"""The time for which a worker goes on while its server cannot be reached.

A wait in C goes on for a minute by itself, unless the client's ``outage_timeout`` ends
it sooner. A worker has no use for such an end at its next message, so it repeats the
request until its own minute is over.
"""

from __future__ import annotations

import time

_LIMIT = 60.0  # seconds
_FIRST_PAUSE = 0.1  # seconds
_LONGEST_PAUSE = 1.0  # seconds


class Outage:
    """Since when requests fail, and how long to pause before the next one."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._pause = _FIRST_PAUSE

    def end(self) -> None:
        """Note that the server has replied. Blocks: no."""
        self._since, self._pause = None, _FIRST_PAUSE

    def next_pause(self, began: float) -> float | None:
        """Seconds before another request; None when there should be none.

        ``began`` is when the one that has failed began, by ``time.monotonic()``.

        Blocks: no.
        """
        if self._since is None:
            self._since = began
        if time.monotonic() - self._since >= _LIMIT:
            return None
        pause = self._pause
        self._pause = min(2 * pause, _LONGEST_PAUSE)
        return pause
