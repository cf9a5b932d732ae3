# SPDX-License-Identifier: MIT
"""The sides of semaphores: ours and the peers that can be had."""

from __future__ import annotations

import sys

import lock_sides
import peers
from harness import OUT, Server
from lock_sides import OURS_SENT, REDISSON_SENT, SCRIPTS, WORKER
from sides import Kind
from tables import LIMIT

# The fair semaphore of the documents has no scripts; the script of
# redis-semaphore that gives a permit out calls no ZREM.
DOCUMENTS_SENT = dict.fromkeys(
    ("multi", "exec", "zremrangebyscore", "zinterstore", "incrby", "zadd", "zrank",
     "zrem"), 1,
)  # fmt: skip
NODE_SENT = {**SCRIPTS, "zrem": 1}


def semaphore_kinds(server: Server, limit: int) -> dict[str, Kind]:
    def python(kind: str) -> list:
        return [sys.executable, WORKER, kind, server.url, limit]

    raw = lock_sides.limit(server, "semaphore", limit)
    kinds = {
        LIMIT: Kind(raw, OURS_SENT, alone=True),
        "C": Kind([OUT / "side", "semaphore", server.url, limit], OURS_SENT),
        "Python": Kind(python("interlock"), OURS_SENT),
        "fair semaphore": Kind(python("documents"), DOCUMENTS_SENT),
    }
    node = peers.node("side.js", "redis-semaphore", "ioredis")
    if node:
        words = ["redis-semaphore", server.url, limit]
        kinds["redis-semaphore"] = Kind([*node, *words], NODE_SENT)
    for name, kind in (
        ("Redisson semaphore", "semaphore"),
        ("Redisson permits", "permits"),
    ):
        java = peers.java(kind)
        if java:
            kinds[name] = Kind([*java, server.url, limit], REDISSON_SENT)
    return kinds
