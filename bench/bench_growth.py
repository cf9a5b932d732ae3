# SPDX-License-Identifier: MIT
"""The cost of an operation while the server has ever more to remember.

Nothing here fails on a figure: there is no goal but that nothing grows.
"""

from __future__ import annotations

import growth
from harness import Report, build_c, hiredis_flags, interlock_flags, run_parts

PARTS = {
    "names": growth.Names,
    "waiters": growth.Waiters,
    "messages": growth.Messages,
}


def main(words: list[str]) -> Report | None:
    build_c("growth", interlock_flags())
    build_c("limit", hiredis_flags())
    return run_parts("growth", __doc__, PARTS, words)
