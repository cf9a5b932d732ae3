# SPDX-License-Identifier: MIT
"""Which arena a plan is for."""

from __future__ import annotations

from arena import Arena
from faults import WATCHED, Plan
from quorum_arena import QuorumArena
from sentinel_arena import SentinelArena


def arena_of(plan: Plan) -> type[Arena]:
    if plan.name == WATCHED.name:
        return SentinelArena
    return QuorumArena if plan.nodes > 1 else Arena
