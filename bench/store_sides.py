# SPDX-License-Identifier: MIT
"""The stores of the tests, and a lock there: pairs, and who gets it next.

Servers and clients share all CPUs, since a store has threads of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import sys
from collections.abc import Iterator

import peers
from crowd import go, stand
from harness import ANY, OUT, ROOT, Report, in_turns, median
from sides import Crew, Kind, all_started, fresh
from tables import MORE, OURS, Case, Measure, compare

WORKER = ROOT / "bench" / "worker_side.py"
CALLERS = [1, 32]
PROCESSES = 2
WAITERS = [2, 16]

PAIRS = [
    Measure("per_s", "pairs", "/s", MORE),
    Measure("p50_us", "p50", "us"),
    Measure("p99_us", "p99", "us"),
    Measure("cpu_us", "client CPU", "us each"),
]
CHANGES = [
    Measure("change_ms", "to the next owner", "ms"),
    Measure("changes_per_s", "owner changes", "/s", MORE),
    Measure("per_s", "acquisitions", "/s", MORE),
    Measure("wait_longest_ms", "wait longest", "ms"),
    Measure("jain", "Jain fairness", "", MORE),
]


@contextlib.contextmanager
def running(module: str, name: str) -> Iterator[object | None]:
    """A store as tests/stores starts it; None: this machine does not have it."""
    for folder in ("stores", "topologies", "shared"):
        place = str(ROOT / "tests" / folder)
        if place not in sys.path:
            sys.path.append(place)
    kind = getattr(importlib.import_module(module), name)
    missing = kind.missing()
    if missing:
        peers.skipped(name, f"needs {missing}, of {kind.packages}")
        yield None
        return
    with kind() as store:
        yield store


def ours(url: str) -> dict[str, Kind]:
    return {
        "C": Kind([OUT / "side", "lock", url]),
        "Python": Kind([sys.executable, WORKER, "interlock", url]),
    }


def uncontended(
    report: Report, given: argparse.Namespace, what: str, kinds: dict[str, Kind]
) -> dict[int, dict[str, list]]:
    """Pairs by one caller and by several, each on a name of its own."""
    found = {}
    with all_started(kinds, ANY) as crews:
        for crew in crews.values():
            crew.sides[0].ask("pairs", fresh("warm-up"), 8, given.seconds)
        for callers in CALLERS:
            turns = {
                name: functools.partial(
                    crew.sides[0].ask, "pairs", fresh("pairs"), callers, given.seconds
                )
                for name, crew in crews.items()
            }
            found[callers] = in_turns(given.rounds, **turns)
            case = Case(f"{what}, uncontended", "callers", callers)
            compare(report, case, found[callers], PAIRS)
    return found


def handed_over(
    report: Report, given: argparse.Namespace, what: str, kinds: dict[str, Kind]
) -> dict[int, dict[str, list]]:
    """Waiters in two processes that leave at once, so the lock goes to and fro."""
    found = {}
    with all_started(kinds, ANY, PROCESSES) as crews:
        for waiters in WAITERS:
            turns = {
                name: functools.partial(one_crowd, crew, given.seconds * 2, waiters)
                for name, crew in crews.items()
            }
            found[waiters] = in_turns(given.rounds, **turns)
            case = Case(f"{what}, hand-over", "waiters", waiters)
            compare(report, case, found[waiters], CHANGES)
    return found


def one_crowd(crew: Crew, seconds: float, waiters: int) -> dict:
    return go(stand(crew, waiters, 0), seconds, waiters)


def ratio_rows(
    report: Report,
    what: str,
    results: dict[str, list],
    key: str,
    peer: str,
    goal: str,
) -> None:
    """Ours in parts of a peer's, if that could be had."""
    theirs = results.get(peer)
    if not theirs or any(one.get(key) is None for one in theirs):
        return
    for name in OURS:
        if all(one.get(key) is not None for one in results[name]):
            ratio = median(results[name], key) / median(theirs, key)
            report.row(f"{what}, {name} / {peer}", ratio, "x", goal)
