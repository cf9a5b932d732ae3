# SPDX-License-Identifier: MIT
"""The queue's speed: against BullMQ, plain lists, and its own promises.

Nothing here fails on a figure: the report says which goals are met.
"""

from __future__ import annotations

import queue_alone
import queue_waits
from harness import Report, build_c, hiredis_flags, interlock_flags, run_parts

PARTS = {"alone": queue_alone, "waits": queue_waits}


def main(words: list[str]) -> Report | None:
    build_c("queue", interlock_flags())
    build_c("limit_queue", hiredis_flags())
    return run_parts("queue", __doc__, PARTS, words, quick=("alone",))
