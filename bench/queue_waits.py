# SPDX-License-Identifier: MIT
"""Waking a consumer that waits, and very many messages due at once."""

from __future__ import annotations

import argparse
import time

from harness import ANY, OTHER, OUT, Report, Server, in_turns, median
from sides import ask_once, started

DUE = 1_000_000
LONG_US = 5000


def measure(server: Server, report: Report, given: argparse.Namespace) -> None:
    print("\n-- Consumers that wait; messages that are due")
    wake_up(server, report, given.rounds)
    due_at_once(server, report)


def wake_up(server: Server, report: Report, rounds: int) -> None:
    command = [OUT / "queue", server.url]
    results = in_turns(rounds, ours=lambda: ask_once(command, ANY, "wake", 1, 500))[
        "ours"
    ]
    report.raw["queue, wake-up"] = results
    report.row("push to the consumer that waited, median",
               median(results, "p50_us"), "us")  # fmt: skip
    report.row("push to the consumer that waited, p99",
               median(results, "p99_us"), "us", "< 1,000")  # fmt: skip


def due_at_once(server: Server, report: Report) -> None:
    """Measure by the server's own clock how long a call takes.

    Other work of the machine may stop the server in the midst of a call: the same
    messages, pushed without a delay, show how often that happens.
    """
    results = {what: drained(server, what) for what in ("delay", "push")}
    report.raw["queue, due at once"] = results
    due, ready = results.values()
    report.row(f"{DUE:,} due at once, taken by 32", due["per_s"], "/s")
    report.row("    calls over 5 ms", due["slow"], "", "== 0")
    report.row(f"{DUE:,} ready, taken by 32", ready["per_s"], "/s")
    report.row("    calls over 5 ms", ready["slow"], "")


def drained(server: Server, what: str) -> dict:
    server.redis.flushall()
    with started([OUT / "queue", server.url], OTHER) as (side,):
        side.ask(what, 250, DUE, patience=600)
        time.sleep(0.01)
        server.redis.config_set("slowlog-log-slower-than", LONG_US)
        server.redis.slowlog_reset()
        taken = side.ask("take", 32, DUE, patience=600)
    slow = [entry["duration"] for entry in server.redis.slowlog_get(128)
            if entry["command"].startswith(b"EVAL")]  # fmt: skip
    server.redis.flushall()
    return {**taken, "slow": len(slow), "durations_us": slow}
