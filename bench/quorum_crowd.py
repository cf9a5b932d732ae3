# SPDX-License-Identifier: MIT
"""A lock over three servers that 16 waiters in several processes hand over."""

from __future__ import annotations

import argparse
import functools

from crowd import PROCESSES
from harness import OTHER, Report, Server, in_turns, median
from lock_peers import unless_silent
from quorum_sides import NODES, Nodes, kinds, nodes
from sides import Crew, all_started, fresh
from tables import MORE, OURS, Case, Measure, compare

WAITERS = 16
LONG_ENOUGH = 3  # rounds of redsync, which hands over a few times in a second

MEASURES = [
    Measure("changes_per_s", "owner changes", "/s", MORE),
    Measure("per_s", "acquisitions", "/s", MORE),
    Measure("commands", "commands", "each, node"),
    Measure("server_us", "server CPU", "us each"),
    Measure("wait_median_ms", "wait p50", "ms"),
    Measure("wait_longest_ms", "wait longest", "ms"),
    Measure("jain", "Jain fairness", "", MORE),
]


def measure(_: Server, report: Report, given: argparse.Namespace) -> None:
    print(f"\n-- A quorum of three, {WAITERS} waiters in {PROCESSES} processes")
    with nodes() as servers:
        results = handed_over(servers, given)
    compare(report, Case("quorum, hand-over", "waiters", WAITERS), results, MEASURES)
    rows(report, results)


def handed_over(servers: Nodes, given: argparse.Namespace) -> dict[str, list]:
    with all_started(kinds(servers.ports), OTHER, PROCESSES) as crews:
        warm_up(crews, given.seconds)
        seconds = given.seconds * LONG_ENOUGH
        turns = {
            name: functools.partial(one_round, name, servers, crew, seconds)
            for name, crew in crews.items()
        }
        return in_turns(given.rounds, **turns)


def warm_up(crews: dict[str, Crew], seconds: float) -> None:
    """Connect, and load scripts."""
    for crew in crews.values():
        for side in crew.sides:
            side.ask("pairs", fresh("warm-up"), 4, min(seconds, 0.2))


def one_round(name: str, servers: Nodes, crew: Crew, seconds: float) -> dict | None:
    found = unless_silent(name, servers, crew, seconds, WAITERS, 0)
    if found:
        found["commands"] /= NODES
    return found


def rows(report: Report, results: dict[str, list]) -> None:
    for ours in OURS:
        what = f"quorum, {ours}"
        found = results[ours]
        theirs = results.get("redsync")
        changes = median(found, "changes_per_s")
        if theirs and all(theirs) and median(theirs, "changes_per_s"):
            ratio = changes / median(theirs, "changes_per_s")
            report.row(f"{what}: hand-overs / redsync", ratio, "x", ">= 50")
        commands = median(found, "commands")
        report.row(f"{what}: commands per acquisition and node", commands, "", "<= 4")
        report.row(f"{what}: Jain fairness", median(found, "jain"), "", ">= 0.99")
