# SPDX-License-Identifier: MIT
"""The cost of candidates that stand by."""

from __future__ import annotations

import argparse
import subprocess
import time

from election_change import election_kinds, label
from harness import Report, Server, in_turns, median, worker
from tables import Case, Measure, compare

PROCESSES = 4
EACH = 25
LONG = 600  # a lease that nobody renews meanwhile
SETTLE = 3.0
SECONDS = 6.0

# One refresh of each process every two seconds, and nothing else.
ALLOWED = PROCESSES / 2
MEASURES = [
    Measure("per_s", "requests", "/s"),
    Measure("cpu", "server CPU", "% of a core"),
    Measure("connections", "connections"),
]


def measure(server: Server, report: Report, given: argparse.Namespace) -> None:
    count = PROCESSES * EACH
    print(f"\n-- {count} candidates in {PROCESSES} processes stand by")
    results = in_turns(
        min(given.rounds, 3),
        **{kind: lambda kind=kind: standing(server, kind) for kind in election_kinds()},
    )
    case = Case("election, idle", "candidates", count)
    compare(report, case, {label(k): v for k, v in results.items()}, MEASURES)
    sent = median(results["interlock"], "per_s")
    report.row("ours: requests", sent, "/s", f"<= {ALLOWED * 1.1:.1f}")


def standing(server: Server, kind: str) -> dict[str, float]:
    """All stand by behind one that leads and has a long lease."""
    name = f"idle-{time.monotonic_ns()}"
    before = {c["id"] for c in server.redis.client_list()}
    leader = start(server, "lead", kind, name, LONG)
    leader.stdout.readline()
    others = [
        start(server, "candidates", kind, name, EACH, LONG) for _ in range(PROCESSES)
    ]
    time.sleep(SETTLE)
    connections = len({c["id"] for c in server.redis.client_list()} - before)
    began, at = server.counters(), time.monotonic()
    time.sleep(SECONDS)
    ended, spent = server.counters(), time.monotonic() - at
    for process in (leader, *others):
        process.kill()
        process.communicate()
    reads = ended["reads"] - began["reads"] - 1  # that of INFO
    return {
        "per_s": reads / spent,
        "cpu": (ended["cpu"] - began["cpu"]) / spent * 100,
        "connections": connections,
    }


def start(server: Server, *words: object) -> subprocess.Popen:
    task, kind, *rest = words
    process = subprocess.Popen(
        [str(w) for w in worker(task, kind, server.url, *rest)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "standing\n"
    return process
