# SPDX-License-Identifier: MIT
"""Signals: to a thousand who wait in one process, and to one of them.

Nothing here fails on a figure: the report says which goals are met.
"""

from __future__ import annotations

import signal_all
import signal_one
from harness import Report, build_c, interlock_flags, run_parts

PARTS = {"all": signal_all, "one": signal_one}


def main(words: list[str]) -> Report | None:
    build_c("signal", interlock_flags())
    return run_parts("signal", __doc__, PARTS, words, quick=("one",))
