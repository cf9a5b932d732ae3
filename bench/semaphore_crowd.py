# SPDX-License-Identifier: MIT
"""A hundred who want a few permits, in several processes."""

from __future__ import annotations

import argparse
import functools

import peers
from crowd import (
    OURS_SENT,
    PROCESSES,
    START_UP,
    WAITERS,
    crowd,
    show_ours,
    show_peer,
)
from harness import ANY, OUT, SAME, Report, Server, in_turns, median, worker

LIMIT = 4
NODE_START_UP = 4.0

# What the peers send. The permits' script of redis-semaphore is called by
# EVALSHA and calls no ZREM; the fair semaphore has no scripts.
NODE_SENT = {"evalsha": 1, "eval": 1, "zrem": 1}
DOCUMENTS_SENT = dict.fromkeys(
    ("multi", "exec", "zremrangebyscore", "zinterstore", "incr", "zadd", "zrank",
     "zrem"), 1,
)  # fmt: skip


def measure(server: Server, report: Report, given: argparse.Namespace) -> None:
    print(f"\n-- {WAITERS} waiters in {PROCESSES} processes, {LIMIT} permits")
    seconds = max(0.5, 1.5 * given.seconds)
    sides = {
        "C": ([OUT / "crowd", server.url], OURS_SENT),
        "Python": (worker("crowd", "interlock", server.url), OURS_SENT),
        "fair semaphore": (worker("crowd", "documents", server.url), DOCUMENTS_SENT),
    }
    node = peers.node("semaphore.js", "redis-semaphore")
    if node:
        sides["redis-semaphore"] = ([*node, server.url], NODE_SENT)

    def one_round(command: list, weights: dict[str, int], cpus: set[int]) -> dict:
        start_up = NODE_START_UP if weights is NODE_SENT else START_UP
        return crowd(server, command, [LIMIT], seconds, cpus, weights, start_up)

    for where, cpus in (("all cores", ANY), ("one core", SAME)):
        rounds = {
            name: functools.partial(one_round, *side, cpus)
            for name, side in sides.items()
        }
        results = in_turns(given.rounds, **rounds)
        report.raw[f"semaphore, crowd, {where}"] = results
        show(report, where, results)


def show(report: Report, where: str, results: dict[str, list]) -> None:
    for name, found in results.items():
        ours = name in ("C", "Python")
        (show_ours if ours else show_peer)(report, f"{name}, {where}", found)
    changes = {k: median(v, "changes_per_s") for k, v in results.items()}
    for name, value in changes.items():
        report.row(f"{name}, {where}: owner changes", value, "/s")
    for name in list(changes)[2:]:
        ratio = changes["Python"] / changes[name]
        report.row(f"    owner changes, Python ours / {name}", ratio, "x")
