# SPDX-License-Identifier: MIT
"""A cluster's pairs of acquire and release, against those of one server.

Nothing here fails on a figure: the report says which goals are met.
"""

from __future__ import annotations

import cluster_pairs
from harness import Report, build_c, interlock_flags, run_parts

PARTS = {"pairs": cluster_pairs}


def main(words: list[str]) -> Report | None:
    build_c("side", interlock_flags())
    return run_parts("cluster", __doc__, PARTS, words)
