# SPDX-License-Identifier: MIT
"""Waking a consumer that waits, and very many messages due at once."""

from __future__ import annotations

import argparse
import time

from harness import ANY, OTHER, OUT, Report, Server, in_turns, median, run

DUE = 1_000_000
LONG_US = 5000


def measure(server: Server, report: Report, given: argparse.Namespace) -> None:
    print("\n-- Consumers that wait; messages that are due")
    wake_up(server, report, given.rounds)
    due_at_once(server, report)


def wake_up(server: Server, report: Report, rounds: int) -> None:
    command = [OUT / "queue", server.url, "wake", 1, 500]
    results = in_turns(rounds, ours=lambda: run(command, ANY))["ours"]
    report.raw["queue, wake-up"] = results
    report.row("push to the consumer that waited, median",
               median(results, "p50_us"), "us")  # fmt: skip
    report.row("push to the consumer that waited, p99",
               median(results, "p99_us"), "us", "< 1,000")  # fmt: skip


def due_at_once(server: Server, report: Report) -> None:
    """The server's own clock tells how long a call has taken."""
    server.redis.flushall()
    run([OUT / "queue", server.url, "delay", 250, DUE], OTHER, timeout=600)
    time.sleep(0.01)
    server.redis.config_set("slowlog-log-slower-than", LONG_US)
    server.redis.slowlog_reset()
    taken = run([OUT / "queue", server.url, "take", 32, DUE], OTHER, timeout=600)
    slow = [entry for entry in server.redis.slowlog_get(128)
            if entry["command"].startswith(b"EVAL")]  # fmt: skip
    longest = max((entry["duration"] for entry in slow), default=0)
    report.raw["queue, due at once"] = {**taken, "slow": len(slow), "us": longest}
    report.row(f"{DUE:,} due at once, taken by 32", taken["per_s"], "/s")
    report.row("    calls over 5 ms", len(slow), "", "== 0")
    server.redis.flushall()
