# SPDX-License-Identifier: MIT
"""Many operations on one connection: tasks in Python, one thread in C.

Nothing here fails on a figure: the report says which goals are met.
"""

from __future__ import annotations

import async_memory
import async_started
import async_tasks
from harness import Report, build_c, hiredis_flags, interlock_flags, run_parts

PARTS = {
    "tasks": async_tasks,
    "started": async_started,
    "memory": async_memory,
}


def main(words: list[str]) -> Report | None:
    build_c("started", interlock_flags())
    build_c("limit", hiredis_flags())
    return run_parts("async", __doc__, PARTS, words, quick=("tasks",))
