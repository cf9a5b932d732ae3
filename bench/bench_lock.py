# SPDX-License-Identifier: MIT
"""The lock's speed: ratios against what it stands on and what it replaces.

Nothing here fails on a figure: the report says which goals are met.
"""

from __future__ import annotations

import lock_alone
import lock_crowd
import lock_peers
import lock_variants
import lock_waits
from harness import Report, build_c, hiredis_flags, interlock_flags, run_parts

PROGRAMS = ["side", "handover", "idle"]
PARTS = {
    "alone": lock_alone,
    "crowd": lock_crowd,
    "waits": lock_waits,
    "peers": lock_peers,
    "variants": lock_variants,
}


def main(words: list[str]) -> Report | None:
    for program in PROGRAMS:
        build_c(program, interlock_flags())
    for program in ("raw", "limit", "iothread"):
        build_c(program, hiredis_flags())
    return run_parts("lock", __doc__, PARTS, words, quick=("alone",))
