# SPDX-License-Identifier: MIT
"""Permits that nobody waits for: pairs of acquire and release per second."""

from __future__ import annotations

import argparse

from harness import ANY, OTHER, SAME, Report, Server, in_turns, median
from lock_peers import uncontended
from semaphore_sides import semaphore_kinds
from sides import all_started, ask_once, fresh

PERMITS = 4
THREADS = [1, 8]


def measure(server: Server, report: Report, given: argparse.Namespace) -> None:
    print("\n-- Uncontended, pairs of acquire and release")
    kinds = semaphore_kinds(server, PERMITS)
    for where, cpus, threads in (("1 thread", SAME, 1), ("8 threads", ANY, 8)):
        in_python(server, report, given, where, cpus, threads)
    with all_started(kinds, OTHER) as crews:
        uncontended(server, report, given, "semaphore", crews, THREADS)


def in_python(
    server: Server,
    report: Report,
    given: argparse.Namespace,
    where: str,
    cpus: set[int],
    threads: int,
) -> None:
    kinds = semaphore_kinds(server, PERMITS)

    def side(name: str) -> dict:
        before = server.counters()
        words = ["pairs", fresh("pairs"), threads, given.seconds]
        found = ask_once(kinds[name].command, cpus, *words)
        after = server.counters()
        trips = (after["reads"] - before["reads"]) / found["pairs"]
        return {**found, "trips": trips}

    results = in_turns(
        given.rounds,
        ours=lambda: side("Python"),
        documents=lambda: side("fair semaphore"),
    )
    report.raw[f"semaphore, {where}"] = results
    ours, theirs = (median(found, "per_s") for found in results.values())
    report.row(f"{where}: ours", ours, "/s")
    report.row(f"{where}: fair semaphore on redis-py", theirs, "/s")
    report.row("    ours / fair semaphore", ours / theirs, "x")
    for label, found in results.items():
        trips = round(median(found, "trips"), 2)
        report.row(f"{where}, {label}: round trips per pair", trips, "")
