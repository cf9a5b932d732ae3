# SPDX-License-Identifier: MIT
"""A hundred who want one lock, in several processes."""

from __future__ import annotations

import argparse
import json
import subprocess
import time

import interlock
from crowd import OURS_SENT, PROCESSES, WAITERS, crowd, show_ours, show_peer
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

PYTHON = ["interlock", "python-redis-lock", "redis-py"]

# What a client sends, from INFO commandstats, which counts what scripts call
# as well: the script that releases python-redis-lock calls GET once.
SENT = {
    "interlock": OURS_SENT,
    "redis-py": {"evalsha": 1, "set": 1},
    "python-redis-lock": {"evalsha": 0, "set": 1, "blpop": 1, "get": 1},
}


def measure(server: Server, report: Report, given: argparse.Namespace) -> None:
    print(f"\n-- {WAITERS} waiters in {PROCESSES} processes, no time inside")
    seconds = max(0.5, 1.5 * given.seconds)
    for where, cpus in (("all cores", ANY), ("one core", SAME)):
        compare(server, report, given.rounds, seconds, where, cpus)
    arrival(server, report, given.rounds)
    handover(server, report, given.rounds)


def compare(
    server: Server,
    report: Report,
    rounds: int,
    seconds: float,
    where: str,
    cpus: set[int],
) -> None:
    sides = {
        kind: lambda kind=kind: one_round(server, kind, seconds, cpus)
        for kind in ("C", *PYTHON)
    }
    results = in_turns(rounds, **sides)
    report.raw[f"crowd, {where}"] = results
    show_ours(report, f"C, {where}", results["C"])
    show_ours(report, f"Python, {where}", results["interlock"])
    show_others(report, where, results)


def one_round(server: Server, kind: str, seconds: float, cpus: set[int]) -> dict:
    if kind == "C":
        command, weights = [OUT / "crowd", server.url], OURS_SENT
    else:
        command, weights = worker("crowd", kind, server.url), SENT[kind]
    return crowd(server, command, [], seconds, cpus, weights)


def show_others(report: Report, where: str, results: dict[str, list]) -> None:
    for kind in ("python-redis-lock", "redis-py"):
        show_peer(report, f"{kind}, {where}", results[kind])
    changes = {k: median(v, "changes_per_s") for k, v in results.items()}
    for kind, value in changes.items():
        label = "Python" if kind == "interlock" else kind
        report.row(f"{label}, {where}: owner changes", value, "/s")
    for kind, least in (("redis-py", 20), ("python-redis-lock", 3)):
        ratio = changes["interlock"] / changes[kind]
        what = f"    owner changes, Python ours / {kind}"
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
