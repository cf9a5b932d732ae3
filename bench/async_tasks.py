# SPDX-License-Identifier: MIT
"""Locks taken by the tasks of one event loop in Python."""

from __future__ import annotations

import argparse
import sys

import peers
from harness import OTHER, ROOT, SAME, Report, Server, in_turns, median
from sides import Kind, all_started, fresh
from tables import MORE, Case, Measure, compare

WORKER = ROOT / "bench" / "worker_async.py"
GOALS = {1: ">= 1.5", 100: ">= 10"}
MEASURES = [
    Measure("per_s", "pairs", "/s", MORE),
    Measure("cpu_us", "client CPU", "us"),
    Measure("server_us", "server CPU", "us"),
]


def kinds(server: Server) -> dict[str, Kind]:
    found = {
        name: Kind([sys.executable, WORKER, kind, server.url])
        for name, kind in (("Python", "interlock"), ("redis.asyncio", "redis.asyncio"))
    }
    old = peers.python("async-peers", peers.ASYNC, WORKER, "aioredlock", server.url)
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
        words = ["tasks", fresh("tasks"), count, given.seconds]
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
