# SPDX-License-Identifier: MIT
"""Sentinel's pairs of acquire and release: what replicas that must have them cost.

Nothing here fails on a figure: the report says which goals are met.
"""

from __future__ import annotations

import sentinel_pairs
from harness import Report, build_c, interlock_flags, run_parts

PARTS = {"pairs": sentinel_pairs}


def main(words: list[str]) -> Report | None:
    build_c("side", interlock_flags())
    return run_parts("sentinel", __doc__, PARTS, words)
