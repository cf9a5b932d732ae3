# SPDX-License-Identifier: MIT
"""The queue against its peers, message by message and in batches."""

from __future__ import annotations

import argparse
import functools

from harness import ANY, OTHER, SAME, Report, Server, in_turns, median, run, worker
from queue_sides import QueueKind, queue_kinds
from sides import started
from tables import MORE, Case, Measure, compare

MESSAGES = {1: 4000, 10: 20000, 32: 32000, 100: 50000}
GOALS = {1: ">= 1.8", 10: "", 32: ">= 7", 100: ""}
MEASURES = [
    Measure("push_per_s", "pushed", "/s", MORE),
    Measure("take_per_s", "taken, done", "/s", MORE),
    Measure("push_us", "push: server CPU", "us each"),
    Measure("take_us", "take: server CPU", "us each"),
    Measure("cpu_us", "client CPU", "us each"),
    Measure("bytes", "pending", "bytes each"),
]


def measure(server: Server, report: Report, given: argparse.Namespace) -> None:
    print("\n-- Messages of 200 bytes: pushed, reserved, acknowledged")
    kinds = queue_kinds(server)
    batches(server, report, given, kinds, 1, "one core", SAME)
    for batch in MESSAGES:
        batches(server, report, given, kinds, batch, "two cores", OTHER)
    eight_threads(server, report, given)


def batches(
    server: Server,
    report: Report,
    given: argparse.Namespace,
    kinds: dict[str, QueueKind],
    batch: int,
    where: str,
    cpus: set[int],
) -> None:
    wanted = max(batch, int(MESSAGES[batch] * min(1.0, given.seconds)))
    rounds = {
        name: functools.partial(both_ways, server, kind, batch, wanted, cpus)
        for name, kind in kinds.items()
        if batch == 1 or kind.batches
    }
    results = in_turns(given.rounds, **rounds)
    compare(report, Case(f"queue, {where}", "messages in a call", batch), results,
            MEASURES)  # fmt: skip
    if "BullMQ" in results:
        ratio = median(results["BullMQ"], "cpu") / median(results["C"], "cpu")
        goal = GOALS[batch]
        report.row(f"batch {batch}, {where}: server CPU, BullMQ / C", ratio, "x", goal)


def both_ways(
    server: Server, kind: QueueKind, batch: int, wanted: int, cpus: set[int]
) -> dict[str, float]:
    """Messages in, then out: rates, CPU of both ends, what waits in memory."""
    server.redis.flushall()
    count = max(1, int(wanted * kind.share) // batch) * batch
    found = {"cpu": 0.0, "cpu_us": 0.0}
    for verb in ("push", "take"):
        empty = server.used_memory()
        with started(kind.command, cpus) as (side,):
            before = server.counters()["cpu"]
            answer = side.ask(verb, batch, count)
            spent = (server.counters()["cpu"] - before) * 1e6 / count
        if verb == "push":
            found["bytes"] = (server.used_memory() - empty) / count
        found[f"{verb}_us"] = spent
        found[f"{verb}_per_s"] = answer["per_s"]
        found["cpu"] += spent
        found["cpu_us"] += answer["cpu_us"]
    return found


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
