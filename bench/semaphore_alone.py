# SPDX-License-Identifier: MIT
"""Permits that nobody waits for: pairs of acquire and release per second."""

from __future__ import annotations

import argparse

from harness import ANY, SAME, Report, Server, in_turns, median, run, worker

LIMIT = 4


def measure(server: Server, report: Report, given: argparse.Namespace) -> None:
    print("\n-- Uncontended, pairs of acquire and release, in Python")
    for where, cpus, threads in (("1 thread", SAME, 1), ("8 threads", ANY, 8)):
        compare(server, report, given, where, cpus, threads)


def compare(
    server: Server,
    report: Report,
    given: argparse.Namespace,
    where: str,
    cpus: set[int],
    threads: int,
) -> None:
    def side(kind: str) -> dict:
        before = server.counters()
        words = worker("pairs", kind, server.url, threads, given.seconds, LIMIT)
        found = run(words, cpus)
        after = server.counters()
        trips = (after["reads"] - before["reads"]) / found["pairs"]
        return {**found, "trips": trips}

    results = in_turns(
        given.rounds,
        ours=lambda: side("interlock"),
        documents=lambda: side("documents"),
    )
    report.raw[f"semaphore, {where}"] = results
    ours, theirs = (median(found, "per_s") for found in results.values())
    report.row(f"{where}: ours", ours, "/s")
    report.row(f"{where}: fair semaphore on redis-py", theirs, "/s")
    report.row("    ours / fair semaphore", ours / theirs, "x")
    for label, found in results.items():
        trips = round(median(found, "trips"), 2)
        report.row(f"{where}, {label}: round trips per pair", trips, "")
