# SPDX-License-Identifier: MIT
"""Which arena a plan is for."""

from __future__ import annotations

from arena import Arena
from cluster_arena import ClusterArena
from faults import SHARDED, SHARDED_IN_ORDER, WATCHED, Plan
from quorum_arena import QuorumArena
from sentinel_arena import SentinelArena


def arena_of(plan: Plan) -> type[Arena]:
    if plan.name == WATCHED.name:
        return SentinelArena
    if plan in (SHARDED, SHARDED_IN_ORDER):
        return ClusterArena
    return QuorumArena if plan.nodes > 1 else Arena
