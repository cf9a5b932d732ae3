# SPDX-License-Identifier: MIT
"""A hundred who want a few permits, in several processes."""

from __future__ import annotations

import argparse
import functools

from crowd import MEASURES, PROCESSES, WAITERS, crowd, show_ours
from harness import ANY, SAME, Report, Server, in_turns, median
from lock_peers import warm_up
from semaphore_sides import semaphore_kinds
from sides import all_started
from tables import LIMIT, OURS, Case, compare

PERMITS = 4


def measure(server: Server, report: Report, given: argparse.Namespace) -> None:
    print(f"\n-- {WAITERS} waiters in {PROCESSES} processes, {PERMITS} permits")
    seconds = max(0.5, 1.5 * given.seconds)
    kinds = semaphore_kinds(server, PERMITS)
    for where, cpus in (("all cores", ANY), ("one core", SAME)):
        with all_started(kinds, cpus, PROCESSES) as crews:
            warm_up(crews, given.seconds)
            rounds = {
                name: functools.partial(crowd, server, crew, seconds)
                for name, crew in crews.items()
            }
            results = in_turns(given.rounds, **rounds)
        case = Case(f"semaphore, crowd, {where}", "waiters", WAITERS)
        compare(report, case, results, MEASURES)
        goals(report, where, results)


def goals(report: Report, where: str, results: dict[str, list]) -> None:
    for name in OURS:
        show_ours(report, f"{name}, {where}", results[name])
    changes = {k: median(v, "changes_per_s") for k, v in results.items()}
    for name in (name for name in changes if name not in (LIMIT, *OURS)):
        ratio = changes["Python"] / changes[name]
        report.row(f"    owner changes, Python ours / {name}", ratio, "x")
