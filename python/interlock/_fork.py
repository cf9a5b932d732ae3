# SPDX-License-Identifier: MIT
"""Fork detection: a number that differs in a forked child."""

from __future__ import annotations

import os
import threading

#: Incremented in every forked child.
generation = 0


class Guard:
    """A lock for a few statements that is always free in a forked child.

    A threading.Lock stays locked in the child when another thread, which the
    child does not have, held it at the fork.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        _guards.append(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *exc: object) -> None:
        self._lock.release()

    def renew(self) -> None:
        """Make it free, whichever thread held it."""
        self._lock = threading.Lock()


def _in_child() -> None:
    global generation
    generation += 1
    for one in _guards:
        one.renew()


_guards: list[Guard] = []
guard = Guard()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
