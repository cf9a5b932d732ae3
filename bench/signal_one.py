# SPDX-License-Identifier: MIT
"""Signals to one who waits: how soon it runs, how many in a second."""

from __future__ import annotations

import argparse
import json
import subprocess

from harness import ANY, OTHER, OUT, Report, Server, in_turns, median, pinned, worker

SIGNALS = 300
WAITERS = 100


def measure(server: Server, report: Report, given: argparse.Namespace) -> None:
    print("\n-- Signals to one of those who wait")
    program = [OUT / "signal", server.url]
    results = in_turns(
        given.rounds,
        C=lambda: ask([*program, "one", "one-c", SIGNALS], OTHER),
        Python=lambda: ask(
            worker("latency", "interlock", server.url, "one-py", SIGNALS), OTHER
        ),
        redis_py=lambda: ask(
            worker("latency", "redis-py", server.url, "one-peer", SIGNALS), OTHER
        ),
    )
    report.raw["signal, one"] = results
    for kind, found in results.items():
        for share in ("p50", "p99"):
            label = f"{kind}: from the call to the one who waited, {share}"
            report.row(label, median(found, f"{share}_us"), "us")
    rates = in_turns(
        given.rounds,
        C=lambda: ask([*program, "rate", "rate-c", WAITERS], ANY, given.seconds),
    )["C"]
    report.raw["signal, rate"] = rates
    report.row(f"C, {WAITERS} waiters: signals that reached one",
               median(rates, "per_s"), "/s")  # fmt: skip
    report.row("    of those given", median(rates, "reached"), "x")


def ask(command: list, cpus: set[int], line: object = "go") -> dict:
    """Start it, let it wait, send one line, read the answer."""
    process = subprocess.Popen(
        [str(word) for word in command],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        preexec_fn=pinned(cpus),
    )  # fmt: skip
    assert process.stdout.readline() == "ready\n"
    try:
        process.wait(0.3)
        raise SystemExit(f"bench: exit status {process.returncode} of {command}")
    except subprocess.TimeoutExpired:
        pass
    process.stdin.write(f"{line}\n")
    process.stdin.flush()
    found = json.loads(process.stdout.readline())
    process.kill()
    process.communicate()
    return found
