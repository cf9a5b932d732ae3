# SPDX-License-Identifier: MIT
"""Locks over several servers: a quorum against redsync, and failovers.

Nothing here fails on a figure: the report says which goals are met.
"""

from __future__ import annotations

import failover
import quorum_alone
import quorum_crowd
from harness import Report, build_c, hiredis_flags, interlock_flags, run_parts

PARTS = {
    "alone": quorum_alone,
    "crowd": quorum_crowd,
    "failover": failover,
}


def main(words: list[str]) -> Report | None:
    build_c("side", interlock_flags())
    build_c("trip", hiredis_flags())
    return run_parts("topologies", __doc__, PARTS, words)
