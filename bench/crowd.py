# SPDX-License-Identifier: MIT
"""A crowd that wants one thing: several processes, started at one moment."""

from __future__ import annotations

import statistics
import time

from harness import Report, Server, median
from sides import Crew, Side, fresh
from tables import MORE, Measure

PROCESSES = 4
WAITERS = 100
START_UP = 0.3  # until all have read when it starts, and for each waiter
START_UP_EACH = 0.0005

MEASURES = [
    Measure("per_s", "acquisitions", "/s", MORE),
    Measure("changes_per_s", "owner changes", "/s", MORE),
    Measure("commands", "commands", "each"),
    Measure("server_us", "server CPU", "us each"),
    Measure("wait_median_ms", "wait p50", "ms"),
    Measure("wait_p99_ms", "wait p99", "ms"),
    Measure("wait_longest_ms", "wait longest", "ms"),
    Measure("jain", "Jain fairness", "", MORE),
]


def stand(crew: Crew, waiters: int, hold_us: int) -> list[Side]:
    """All waiters, spread over the sides, are connected, and wait for go()."""
    name = fresh("crowd")
    taking_part = crew.sides[:waiters]
    for number, side in enumerate(taking_part):
        share = len(range(number, waiters, len(taking_part)))
        side.tell("crowd", name, share, hold_us)
    for side in taking_part:
        side.hear()
    return taking_part


def go(taking_part: list[Side], seconds: float, waiters: int) -> dict:
    """They begin at one moment; the logs together."""
    starts = time.monotonic() + START_UP + START_UP_EACH * waiters
    for side in taking_part:
        side.tell("go", starts, starts + seconds)
    logs = [log for side in taking_part for log in side.hear()]
    return figures(logs, int(seconds * 1e9))


def crowd(
    server: Server,
    crew: Crew,
    seconds: float,
    waiters: int = WAITERS,
    hold_us: int = 0,
) -> dict:
    """One round, and what it cost the server."""
    taking_part = stand(crew, waiters, hold_us)
    before, counters = server.calls(), server.counters()
    found = go(taking_part, seconds, waiters)
    after = server.calls()
    sent = sum(
        weight * (after.get(name, 0) - before.get(name, 0))
        for name, weight in crew.kind.sent.items()
    )
    cpu = server.counters()["cpu"] - counters["cpu"]
    found["server_us"] = cpu * 1e6 / found["total"]
    found["commands"] = sent / found["total"]
    return found


def figures(logs: list[list[int]], end: int) -> dict:
    """From each waiter's [called, entered, ...]; rates of those before the end.

    Waits are of all, because a starved waiter enters only when the others have gone.
    """
    entries, waits, counts = [], [], []
    for number, log in enumerate(logs):
        waits += [entered - asked for asked, entered in zip(log[::2], log[1::2])]
        inside = [entered for entered in log[1::2] if entered <= end]
        counts.append(len(inside))
        entries += [(entered, number) for entered in inside]
    entries.sort()
    between = [
        later - earlier
        for (earlier, a), (later, b) in zip(entries, entries[1:])
        if a != b
    ]
    waits.sort()
    squares = len(counts) * sum(c * c for c in counts)
    return {
        "total": len(waits),
        "per_s": len(entries) / end * 1e9,
        "changes_per_s": len(between) / end * 1e9,
        "change_ms": statistics.median(between) / 1e6 if between else None,
        "jain": sum(counts) ** 2 / squares if squares else 0.0,
        "least": min(counts),
        "most": max(counts),
        "wait_median_ms": statistics.median(waits) / 1e6,
        "wait_p99_ms": waits[(len(waits) - 1) * 99 // 100] / 1e6,
        "wait_longest_ms": waits[-1] / 1e6,
    }


def show_ours(report: Report, label: str, results: list[dict]) -> None:
    """The figures with goals; the rest is in the table."""
    ratio = statistics.median(
        r["wait_longest_ms"] / r["wait_median_ms"] for r in results
    )
    sent = round(median(results, "commands"), 2)
    report.row(f"{label}: commands per acquisition", sent, "", "<= 2.05")
    report.row(f"{label}: Jain fairness", median(results, "jain"), "", ">= 0.99")
    report.row(f"{label}: longest / median wait", ratio, "x", "<= 3")
