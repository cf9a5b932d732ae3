# SPDX-License-Identifier: MIT
"""A lock over three servers by one caller: pairs, and what an acquire waits for.

An acquire of a free lock takes one round trip, which is over when two of the three
nodes have answered, so it is measured against a PING to all three until the second
reply. Where all run on one CPU the scripts count for more than the way, so the goal
is about nodes that are some milliseconds away.
"""

from __future__ import annotations

import argparse
import functools

from harness import OTHER, OUT, Report, Server, in_turns, median, run
from quorum_sides import NODES, far, kinds, nodes
from sides import all_started, fresh
from tables import MORE, OURS, Case, Measure, compare

AWAY_MS = [2, 4, 20]
MAJORITY = NODES // 2 + 1

PAIRS = [
    Measure("per_s", "pairs", "/s", MORE),
    Measure("p50_us", "p50", "us"),
    Measure("p99_us", "p99", "us"),
    Measure("cpu_us", "client CPU", "us each"),
    Measure("acquire_us", "acquire p50", "us"),
]


def measure(_: Server, report: Report, given: argparse.Namespace) -> None:
    away = ", ".join(map(str, AWAY_MS))
    print("\n-- A quorum of three and one caller, on the last CPU;")
    print(f"   far: nodes that are {away} ms away")
    with nodes() as servers:
        compared(report, given, servers.ports, "quorum, near", "")
        with far(servers.ports, AWAY_MS) as ports:
            compared(report, given, ports, "quorum, far", "<= 1.3")


def compared(
    report: Report, given: argparse.Namespace, ports: list[int], where: str, goal: str
) -> None:
    """`goal` is that of our acquire, in round trips."""
    with all_started(kinds(ports), OTHER) as crews:
        turns = {
            name: functools.partial(one_round, crew.sides[0], given.seconds)
            for name, crew in crews.items()
        }
        trip = functools.partial(round_trip, ports, given.seconds)
        results = in_turns(given.rounds, trip=trip, **turns)
    trips = results.pop("trip")
    report.raw[f"{where}: round trips"] = trips
    compare(report, Case(where, "callers", 1), results, PAIRS)
    rows(report, where, results, median(trips, "p50_us"), goal)


def rows(
    report: Report, where: str, results: dict[str, list], trip_us: float, goal: str
) -> None:
    theirs = results.get("redsync")
    for ours in OURS:
        if theirs:
            ratio = median(results[ours], "per_s") / median(theirs, "per_s")
            report.row(f"{where}: pairs, {ours} / redsync", ratio, "x", ">= 2")
    report.row(f"{where}: round trip to two of three", trip_us, "us")
    for ours in OURS:
        ratio = median(results[ours], "acquire_us") / trip_us
        report.row(f"{where}: acquire / round trip, {ours}", ratio, "x", goal)
    if theirs:
        ratio = median(theirs, "acquire_us") / trip_us
        report.row(f"{where}: acquire / round trip, redsync", ratio, "x")


def one_round(side: object, seconds: float) -> dict:
    found = side.ask("pairs", fresh("pairs"), 1, seconds)
    acquires = side.ask("acquires", fresh("acquires"), seconds)
    return {**found, "acquire_us": acquires["p50_us"]}


def round_trip(ports: list[int], seconds: float, replies: int = MAJORITY) -> dict:
    return run([OUT / "trip", seconds, replies, *ports], OTHER)
