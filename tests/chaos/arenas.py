# SPDX-License-Identifier: MIT
"""Which arena a plan is for."""

from __future__ import annotations

from arena import Arena
from cluster_arena import ClusterArena, has_endpoint_types
from faults import SHARDED, SHARDED_IN_ORDER, WATCHED, Plan
from quorum_arena import QuorumArena
from sentinel_arena import SentinelArena


def can_run(plan: Plan, program: str) -> bool:
    """Whether this server has what the plan needs."""
    return arena_of(plan) is not ClusterArena or has_endpoint_types(program)


def arena_of(plan: Plan) -> type[Arena]:
    if plan.name == WATCHED.name:
        return SentinelArena
    if plan in (SHARDED, SHARDED_IN_ORDER):
        return ClusterArena
    return QuorumArena if plan.nodes > 1 else Arena
