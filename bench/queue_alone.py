# SPDX-License-Identifier: MIT
"""The queue against BullMQ in server CPU, and against plain lists in Python."""

from __future__ import annotations

import argparse

import peers
from harness import ANY, OTHER, OUT, SAME, Report, Server, in_turns, median, run, worker

MESSAGES = {1: 4000, 10: 20000, 32: 32000, 100: 50000}
GOALS = {1: ">= 1.8", 10: "", 32: ">= 7", 100: ""}


def measure(server: Server, report: Report, given: argparse.Namespace) -> None:
    print("\n-- Messages of 200 bytes: pushed, reserved, acknowledged")
    peer = peers.node("bullmq.js", "BullMQ")
    one_batch(server, report, given.rounds, 1, peer, SAME)
    for batch in MESSAGES:
        one_batch(server, report, given.rounds, batch, peer, OTHER)
    eight_threads(server, report, given)


def both_ways(
    server: Server, command: list, batch: int, cpus: set[int]
) -> dict[str, float]:
    """Server CPU per message, in microseconds, and messages per second."""
    server.redis.flushall()
    count = MESSAGES[batch]
    total = {"cpu": 0.0, "seconds": 0.0}
    for what in ("push", "take"):
        before = server.counters()["cpu"]
        result = run([*command, what, batch, count], cpus)
        total["cpu"] += (server.counters()["cpu"] - before) * 1e6 / count
        total[what] = result["per_s"]
        total["seconds"] += count / result["per_s"]
    return {**total, "per_s": count / total["seconds"]}


def one_batch(
    server: Server,
    report: Report,
    rounds: int,
    batch: int,
    peer: list | None,
    cpus: set[int],
) -> None:
    def side(command: list) -> dict[str, float]:
        return both_ways(server, command, batch, cpus)

    sides = {"ours": lambda: side([OUT / "queue", server.url])}
    if peer:
        sides["bullmq"] = lambda: side([*peer, server.port])
    results = in_turns(rounds, **sides)
    where = "one core" if cpus == SAME else "two cores"
    report.raw[f"queue, batch {batch}, {where}"] = results
    for name, found in results.items():
        report.row(
            f"batch {batch}, {where}, {name}: server CPU", median(found, "cpu"), "us"
        )
        report.row(
            f"batch {batch}, {where}, {name}: messages", median(found, "per_s"), "/s"
        )
    if peer:
        ratio = median(results["bullmq"], "cpu") / median(results["ours"], "cpu")
        report.row("    server CPU, BullMQ / ours", ratio, "x", GOALS[batch])


def eight_threads(server: Server, report: Report, given: argparse.Namespace) -> None:
    def side(kind: str) -> dict:
        server.redis.flushall()
        return run(worker("messages", kind, server.url, 8, given.seconds), ANY)

    results = in_turns(
        given.rounds,
        ours=lambda: side("interlock"),
        redis_py=lambda: side("redis-py"),
    )
    report.raw["queue, 8 Python threads"] = results
    ours, theirs = (median(found, "per_s") for found in results.values())
    report.row("8 Python threads, push and pop: ours", ours, "/s")
    report.row("8 Python threads: redis-py, LPUSH and RPOP", theirs, "/s")
    report.row("    ours / redis-py", ours / theirs, "x", ">= 2")
