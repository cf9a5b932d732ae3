# SPDX-License-Identifier: MIT
"""A hundred who want one lock, in several processes."""

from __future__ import annotations

import argparse
import functools
import json
import subprocess
import time

import interlock
from crowd import MEASURES, PROCESSES, WAITERS, crowd, show_ours
from harness import (
    ANY,
    OTHER,
    OUT,
    SAME,
    Report,
    Server,
    in_turns,
    median,
    pinned,
    run,
    worker,
)
from lock_sides import own_kinds
from sides import all_started
from tables import Case, compare


def measure(server: Server, report: Report, given: argparse.Namespace) -> None:
    print(f"\n-- {WAITERS} waiters in {PROCESSES} processes, no time inside")
    seconds = max(0.5, 1.5 * given.seconds)
    for where, cpus in (("all cores", ANY), ("one core", SAME)):
        compared(server, report, given.rounds, seconds, where, cpus)
    arrival(server, report, given.rounds)
    handover(server, report, given.rounds)


def compared(
    server: Server,
    report: Report,
    rounds: int,
    seconds: float,
    where: str,
    cpus: set[int],
) -> None:
    names = ("C", "Python", "python-redis-lock", "redis-py")
    kinds = {name: kind for name, kind in own_kinds(server).items() if name in names}
    with all_started(kinds, cpus, PROCESSES) as crews:
        turns = {
            name: functools.partial(crowd, server, crew, seconds)
            for name, crew in crews.items()
        }
        results = in_turns(rounds, **turns)
    compare(
        report, Case(f"lock, crowd, {where}", "waiters", WAITERS), results, MEASURES
    )
    show_ours(report, f"C, {where}", results["C"])
    show_ours(report, f"Python, {where}", results["Python"])
    changes = {name: median(found, "changes_per_s") for name, found in results.items()}
    for name, least in (("redis-py", 20), ("python-redis-lock", 3)):
        ratio = changes["Python"] / changes[name]
        what = f"    owner changes, Python ours / {name}"
        report.row(what, ratio, "x", f">= {least}")


def arrival(server: Server, report: Report, rounds: int) -> None:
    """Let them arrive one by one, then see in which order they enter."""
    in_order = []
    with interlock.connect(server.url) as client:
        for number in range(rounds):
            in_order.append(one_arrival(server, client, f"arrival-{number}"))
    report.raw["entered in the order of arrival"] = in_order
    share = min(in_order) / (WAITERS - 1)
    report.row("entered in the order of arrival, worst round", share, "", "== 1")


def one_arrival(server: Server, client: interlock.Client, name: str) -> int:
    """How many entered right behind the one that had come before them."""
    lock = client.lock(name)
    lock.acquire()
    processes = [
        subprocess.Popen(
            [str(word) for word in worker("arrive", "interlock", server.url, name)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=pinned(OTHER),
        )
        for _ in range(PROCESSES)
    ]  # fmt: skip
    for number in range(WAITERS):
        pipe = processes[number % PROCESSES].stdin
        pipe.write(b"%d\n" % number)
        pipe.flush()
        while client.inspect(name).waiting <= number:
            time.sleep(0.0005)
    lock.release()
    entered = []
    for process in processes:
        entered += json.loads(process.communicate(timeout=60)[0])
    order = [number for number, _ in sorted(entered, key=lambda pair: pair[1])]
    return sum(b == a + 1 for a, b in zip(order, order[1:]))


def handover(server: Server, report: Report, rounds: int) -> None:
    """From release to the next holder, one waiter in another process."""

    def python(kind: str, count: int) -> dict:
        words = worker("handover", kind, server.url, f"handover-{kind}", count)
        return run(words, OTHER)

    results = in_turns(
        rounds,
        c=lambda: run([OUT / "handover", server.url, "handover-c", 300], OTHER),
        ours=lambda: python("interlock", 300),
        signal=lambda: python("python-redis-lock", 20),
        poller=lambda: python("redis-py", 20),
    )
    report.raw["handover"] = results
    trip = median(results["c"], "ping_us")
    report.row("round trip of a PING, idle client", trip, "us")
    bound = f"<= {trip:.0f}"
    for label, side, goal in (
        ("C", "c", bound), ("Python", "ours", bound),
        ("python-redis-lock", "signal", ""), ("redis-py", "poller", ""),
    ):  # fmt: skip
        after = median(results[side], "after_us")
        before = median(results[side], "before_us")
        report.row(f"release returns to next one runs, {label}", after, "us", goal)
        report.row(f"release called to next one runs, {label}", before, "us")
