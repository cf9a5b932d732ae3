# SPDX-License-Identifier: MIT
"""The semaphore's speed: uncontended, and with a crowd that wants permits.

Nothing here fails on a figure: the report says which goals are met.
"""

from __future__ import annotations

import semaphore_alone
import semaphore_crowd
from harness import Report, build_c, hiredis_flags, interlock_flags, run_parts

PARTS = {"alone": semaphore_alone, "crowd": semaphore_crowd}


def main(words: list[str]) -> Report | None:
    build_c("side", interlock_flags())
    build_c("limit", hiredis_flags())
    return run_parts("semaphore", __doc__, PARTS, words, quick=("alone",))
