# SPDX-License-Identifier: MIT
"""Names that are held, waiters in one line, messages in one queue: 10^2 up.

For each size what there is already is kept and more is added, by raw hiredis
where our client would have to hold what it took.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from harness import OTHER, OUT, Report, Server
from lock_sides import limit
from sides import PATIENCE, Side, fresh, started
from tables import LIMIT, MORE, Case, Measure, keep, show_series

MOST_WAITERS = 100_000
OPERATION = [
    Measure("server_us", "server CPU", "us each"),
    Measure("cpu_us", "client CPU", "us each"),
    Measure("p50_us", "p50", "us"),
    Measure("p99_us", "p99", "us"),
    Measure("per_s", "operations", "/s", MORE),
    Measure("bytes", "memory", "bytes each"),
]


def sizes(most: int) -> list[int]:
    found = [10**power for power in range(2, 7) if 10**power <= most]
    if not found:
        raise SystemExit(f"bench: --most must be at least 100, got {most}")
    return found


class Memory:
    """Bytes that each of what was added takes; scripts are there before."""

    def __init__(self, server: Server, there: int) -> None:
        self.server, self.there, self.used = server, there, server.used_memory()

    def each(self, size: int) -> float:
        used, added = self.server.used_memory(), size - self.there
        each = (used - self.used) / added
        self.there, self.used = size, used
        return each


def costs(
    server: Server, rounds: int, work: Callable[[], dict], each: float
) -> list[dict]:
    results = []
    for _ in range(rounds):
        before = server.counters()["cpu"]
        found = work()
        cpu = server.counters()["cpu"] - before
        server_us = cpu * 1e6 / found["pairs"]
        results.append({**found, "server_us": server_us, "bytes": each})
    return results


class Names:
    """So many locks are held; each time another one is taken and given back."""

    @staticmethod
    def measure(server: Server, report: Report, given: argparse.Namespace) -> None:
        server.redis.flushall()
        series, passed, held = "growth, a lock taken and given back", fresh("n"), 1
        ours = [OUT / "growth", "names", server.url]
        with started(limit(server), OTHER) as (raw,), started(ours, OTHER) as (side,):
            raw.ask("fill", "held", 0, held)
            for size in sizes(given.most):
                memory = Memory(server, held)
                raw.ask("fill", "held", held, size, patience=10 * PATIENCE)
                held, each = size, memory.each(size)
                results = costs(
                    server, given.rounds,
                    lambda: side.ask("work", passed, given.seconds), each,
                )  # fmt: skip
                keep(report, Case(series, "held", size), {"C": results}, OPERATION)
        show_series(report, series, "C")


class Waiters:
    """So many stand in one line; the lock goes round, one comes and leaves."""

    COMES = "growth, a waiter comes and leaves after 1 ms"
    TURNS = "growth, the lock goes to the next"

    @staticmethod
    def measure(server: Server, report: Report, given: argparse.Namespace) -> None:
        server.redis.flushall()
        ours = [OUT / "growth", "waiters", server.url]
        with started(limit(server), OTHER) as (raw,), started(ours, OTHER) as (side,):
            raw.ask("stand", fresh("line"), 2)
            raw.ask("leave")
            for size in sizes(min(given.most, MOST_WAITERS)):
                one_line(server, report, given, size, raw, side)
        show_series(report, Waiters.COMES, "C")
        show_series(report, Waiters.TURNS, LIMIT)


def one_line(
    server: Server,
    report: Report,
    given: argparse.Namespace,
    size: int,
    raw: Side,
    side: Side,
) -> None:
    name, memory = fresh("line"), Memory(server, 0)
    raw.ask("stand", name, size, patience=10 * PATIENCE)
    each = memory.each(size)
    came = costs(server, given.rounds,
                 lambda: side.ask("work", name, given.seconds), each)  # fmt: skip
    keep(report, Case(Waiters.COMES, "waiters", size), {"C": came}, OPERATION)
    turns = costs(server, given.rounds,
                  lambda: raw.ask("turns", given.seconds), each)  # fmt: skip
    keep(report, Case(Waiters.TURNS, "waiters", size), {LIMIT: turns}, OPERATION)
    raw.ask("leave")


class Messages:
    """So many lie in one queue; each time one goes in and one comes out."""

    @staticmethod
    def measure(server: Server, report: Report, given: argparse.Namespace) -> None:
        server.redis.flushall()
        series, there = "growth, a message in and one out", 1
        with started([OUT / "growth", "messages", server.url], OTHER) as (side,):
            side.ask("fill", there)
            for size in sizes(given.most):
                memory = Memory(server, there)
                side.ask("fill", size - there, patience=10 * PATIENCE)
                there, each = size, memory.each(size)
                results = costs(server, given.rounds,
                                lambda: side.ask("work", "-", given.seconds),
                                each)  # fmt: skip
                keep(report, Case(series, "messages", size), {"C": results}, OPERATION)
        show_series(report, series, "C")
        server.redis.flushall()
