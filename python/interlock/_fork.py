# SPDX-License-Identifier: MIT
"""After fork(): a number that tells the child's clients that they are copies."""

from __future__ import annotations

import os
import threading

#: Grows by one in every forked child.
generation = 0

#: For the few statements that two threads must not run at once.
guard = threading.Lock()


def _in_child() -> None:
    global generation, guard
    generation += 1
    guard = threading.Lock()  # a thread that is gone may have held the old one


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
