# SPDX-License-Identifier: MIT
"""A crowd that wants one thing: several processes, started at one moment."""

from __future__ import annotations

import json
import statistics
import subprocess
import time

from harness import Report, Server, median, pinned

PROCESSES = 4
THREADS = 25
WAITERS = PROCESSES * THREADS
START_UP = 1.5  # until all are connected and stand ready

# What our clients send, from INFO commandstats.
OURS_SENT = {"evalsha": 1, "eval": 1, "subscribe": 1}


def crowd(
    server: Server,
    command: list,
    rest: list,
    seconds: float,
    cpus: set[int],
    weights: dict[str, int],
    start_up: float = START_UP,
) -> dict:
    """One round: `command NAME THREADS STARTS ENDS rest...`; the logs together.

    `weights` tells which commands of INFO commandstats the side sends, for
    what scripts call is counted there as well.
    """
    starts = time.monotonic() + start_up
    name = f"crowd-{time.monotonic_ns()}"
    words = [*command, name, THREADS, starts, starts + seconds, *rest]
    before, counters = server.calls(), server.counters()
    processes = [
        subprocess.Popen(
            [str(word) for word in words],
            stdout=subprocess.PIPE, preexec_fn=pinned(cpus),
        )
        for _ in range(PROCESSES)
    ]  # fmt: skip
    logs = []
    for process in processes:
        logs += json.loads(process.communicate(timeout=120)[0])
    after = server.calls()
    sent = sum(
        weight * (after.get(name, 0) - before.get(name, 0))
        for name, weight in weights.items()
    )
    cpu = server.counters()["cpu"] - counters["cpu"]
    found = figures(logs, int(seconds * 1e9))
    return {**found, "sent": sent, "server_us": cpu * 1e6 / found["total"]}


def figures(logs: list[list[int]], end: int) -> dict:
    """From each waiter's [asked, entered, ...]; what began before the end."""
    total = sum(len(log) // 2 for log in logs)
    entries, waits, counts = [], [], []
    for number, log in enumerate(logs):
        inside = [
            (asked, entered)
            for asked, entered in zip(log[::2], log[1::2])
            if entered <= end
        ]
        counts.append(len(inside))
        waits += [entered - asked for asked, entered in inside]
        entries += [(entered, number) for _, entered in inside]
    entries.sort()
    owners = [number for _, number in entries]
    changes = sum(a != b for a, b in zip(owners, owners[1:]))
    return {
        "total": total,
        "per_s": len(entries) / end * 1e9,
        "changes_per_s": changes / end * 1e9,
        "jain": sum(counts) ** 2 / (len(counts) * sum(c * c for c in counts)),
        "least": min(counts),
        "most": max(counts),
        "wait_median_ms": statistics.median(waits) / 1e6,
        "wait_longest_ms": max(waits) / 1e6,
    }


def commands(results: list[dict]) -> float:
    """Commands that the clients sent for one acquisition."""
    return round(statistics.median(r["sent"] / r["total"] for r in results), 2)


def show_ours(report: Report, label: str, results: list[dict]) -> None:
    ratio = statistics.median(
        r["wait_longest_ms"] / r["wait_median_ms"] for r in results
    )
    sent = commands(results)
    report.row(f"{label}: acquisitions", median(results, "per_s"), "/s")
    report.row(f"{label}: commands per acquisition", sent, "", "<= 2.05")
    report.row(f"{label}: Jain fairness", median(results, "jain"), "", ">= 0.99")
    report.row(f"{label}: median wait", median(results, "wait_median_ms"), "ms")
    report.row(f"{label}: longest / median wait", ratio, "x", "<= 3")
    report.row(f"{label}: server CPU", median(results, "server_us"), "us")


def show_peer(report: Report, label: str, results: list[dict]) -> None:
    longest = median(results, "wait_longest_ms")
    report.row(f"{label}: acquisitions", median(results, "per_s"), "/s")
    report.row(f"{label}: commands per acquisition", commands(results), "")
    report.row(f"{label}: Jain fairness", median(results, "jain"), "")
    report.row(f"{label}: longest wait", longest, "ms")
    report.row(f"{label}: server CPU", median(results, "server_us"), "us")
