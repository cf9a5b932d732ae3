# SPDX-License-Identifier: MIT
"""Locks taken by the tasks of one event loop in Python, and by one in C."""

from __future__ import annotations

import argparse
import sys

import peers
from harness import OTHER, OUT, ROOT, SAME, Report, Server, in_turns, median
from lock_sides import limit
from sides import Kind, all_started, fresh
from tables import LIMIT, MORE, Case, Measure, compare

WORKER = ROOT / "bench" / "worker_async.py"
DEEPEST = 256  # that the limit pipelines
GOALS = {1: ">= 1.5", 100: ">= 10"}
MEASURES = [
    Measure("per_s", "pairs", "/s", MORE),
    Measure("cpu_us", "client CPU", "us"),
    Measure("server_us", "server CPU", "us"),
]


def kinds(server: Server) -> dict[str, Kind]:
    found = {
        LIMIT: Kind(limit(server)),
        "C": Kind([OUT / "started", server.url]),
        "Python": Kind([sys.executable, WORKER, "interlock", server.url]),
        "redis.asyncio": Kind([sys.executable, WORKER, "redis.asyncio", server.url]),
    }
    old = peers.python("async-peers", WORKER, "aioredlock", server.url)
    if old:
        found["aioredlock"] = Kind(old)
    return found


def measure(server: Server, report: Report, given: argparse.Namespace) -> None:
    print("\n-- asyncio, pairs of acquire and release")
    for cpus, where in ((SAME, "one core"), (OTHER, "two cores")):
        with all_started(kinds(server), cpus) as crews:
            for count in (1, 100, 1000):
                tasks(server, report, given, crews, count, where)


def tasks(server, report, given, crews, count: int, where: str) -> None:
    def side(name: str) -> dict:
        before = server.counters()["cpu"]
        at_once = min(count, DEEPEST) if name == LIMIT else count
        words = ["pairs", fresh("tasks"), at_once, given.seconds]
        found = crews[name].sides[0].ask(*words)
        used = server.counters()["cpu"] - before
        return {**found, "server_us": used / found["pairs"] * 1e6}

    results = in_turns(
        given.rounds, **{name: (lambda name=name: side(name)) for name in crews}
    )
    compare(report, Case(f"asyncio, {where}", "tasks", count), results, MEASURES)
    ratio = median(results["Python"], "per_s") / median(
        results["redis.asyncio"], "per_s"
    )
    what = f"{count} tasks / redis.asyncio, {where}"
    report.row(what, ratio, "x", GOALS.get(count, ""))
