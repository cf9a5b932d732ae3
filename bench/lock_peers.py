# SPDX-License-Identifier: MIT
"""The lock against all its peers: alone, handed over, and its holder killed.

The server is on the first CPU, all clients are on the last one.
"""

from __future__ import annotations

import argparse
import functools
import time

from crowd import MEASURES, PROCESSES, crowd
from harness import OTHER, Report, Server, in_turns
from lock_sides import lock_kinds
from sides import Crew, Kind, SilentError, all_started, fresh, started
from tables import LIMIT, MORE, OURS, Case, Measure, compare

THREADS = [1, 8, 64]
WAITERS = [2, 16, 100, 1000]
HOLDS_US = [0, 1000]
TURNS, TURN_US = 5, 600  # that each waiter has in a round; without the hold
TTL_MS = 1000
gave_up: set[tuple[str, int, int]] = set()  # a case is tried once

PAIRS = [
    Measure("per_s", "pairs", "/s", MORE),
    Measure("p50_us", "p50", "us"),
    Measure("p99_us", "p99", "us"),
    Measure("server_us", "server CPU", "us each"),
    Measure("cpu_us", "client CPU", "us each"),
]
KILLED = [Measure("after_ms", "next one enters", "ms after")]


def measure(server: Server, report: Report, given: argparse.Namespace) -> None:
    print("\n-- The lock and its peers; clients share the last CPU")
    kinds = lock_kinds(server)
    with all_started(kinds, OTHER) as crews:
        uncontended(server, report, given, "lock", crews, THREADS)
    with all_started(kinds, OTHER, PROCESSES) as crews:
        warm_up(crews, given.seconds)
        for hold_us in HOLDS_US:
            handed_over(server, report, given, crews, hold_us)
    killed(server, report, given, kinds)


def warm_up(crews: dict[str, Crew], seconds: float) -> None:
    """Run each side until JIT compilers have compiled and scripts are loaded."""
    for crew in crews.values():
        for side in crew.sides:
            side.tell("pairs", fresh("warm-up"), 8, seconds)
        for side in crew.sides:
            side.hear()


def uncontended(
    server: Server,
    report: Report,
    given: argparse.Namespace,
    what: str,
    crews: dict[str, Crew],
    counts: list[int],
) -> None:
    """Pairs of acquire and release, each thread on a name of its own."""
    warm_up(crews, given.seconds)

    def one_round(crew: Crew, threads: int) -> dict:
        before = server.counters()["cpu"]
        found = crew.sides[0].ask("pairs", fresh("pairs"), threads, given.seconds)
        cpu = server.counters()["cpu"] - before
        return {**found, "server_us": cpu * 1e6 / found["pairs"]}

    for threads in counts:
        rounds = {
            name: functools.partial(one_round, crew, threads)
            for name, crew in crews.items()
        }
        results = in_turns(given.rounds, **rounds)
        case = Case(f"{what}, uncontended", "threads", threads)
        compare(report, case, results, PAIRS)


def handed_over(
    server: Server,
    report: Report,
    given: argparse.Namespace,
    crews: dict[str, Crew],
    hold_us: int,
) -> None:
    for waiters in WAITERS:
        seconds = given.seconds * max(1.5, TURNS * waiters * (hold_us + TURN_US) / 1e6)
        rounds = {
            name: functools.partial(
                unless_silent, name, server, crew, seconds, waiters, hold_us
            )
            for name, crew in crews.items()
        }
        results = in_turns(given.rounds, **rounds)
        series = f"lock, hand-over, held for {hold_us / 1000:g} ms"
        compare(report, Case(series, "waiters", waiters), results, MEASURES)


def unless_silent(
    name: str, server: Server, crew: Crew, seconds: float, waiters: int, hold_us: int
) -> dict | None:
    """A peer that cannot cope with so many is left out there, ours is not."""
    if (name, waiters, hold_us) in gave_up:
        return None
    try:
        return crowd(server, crew, seconds, waiters, hold_us)
    except SilentError as error:
        if name in (LIMIT, *OURS):
            raise
        gave_up.add((name, waiters, hold_us))
        case = f"{waiters} waiters, held for {hold_us / 1000:g} ms"
        print(f"SKIPPED: {name}, {case}: {error}", flush=True)
        crew.start_anew()
        return None


def killed(
    server: Server,
    report: Report,
    given: argparse.Namespace,
    kinds: dict[str, Kind],
) -> None:
    rounds = {
        name: functools.partial(one_kill, server, kind)
        for name, kind in kinds.items()
        if name != LIMIT  # nobody waits there
    }
    results = in_turns(given.rounds, **rounds)
    case = Case("lock, holder killed: from the lease's end", "waiter", 1)
    compare(report, case, results, KILLED)


def one_kill(server: Server, kind: Kind) -> dict:
    """How long after the lease's end the waiter in another process entered."""
    name = fresh("killed")
    with started(kind.command, OTHER, 2) as (holder, waiter):
        holder.ask("hold", name, TTL_MS)
        waiter.ask("next", name, TTL_MS)
        time.sleep(TTL_MS / 4000)  # it waits by now, and the lease still runs
        holder.kill()
        left = server.redis.pttl(kind.key % name)
        ends = time.monotonic_ns() + left * 1_000_000
        if left <= 0:
            raise SystemExit(f"bench: the lease of {kind.command} had ended")
        return {"after_ms": (waiter.hear() - ends) / 1e6}
