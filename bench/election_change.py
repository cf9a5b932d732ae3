# SPDX-License-Identifier: MIT
"""How soon the next candidate leads: the leader resigned, the leader killed."""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import time

import peers
from harness import Report, Server, in_turns, worker
from tables import Case, Measure, compare

TTL = 2
SETTLE = 2.5 * TTL / 3  # until a leader has renewed, and the others wait

# The key whose expiry is the lease's end.
KEYS = {
    "interlock": "ilk:election:{%s}",
    "redis-py": "%s",
    "tooz": "_tooz_leader_of_%s_lock",
}


AFTER = Measure("after_ms", "next one leads", "ms after")


def label(kind: str) -> str:
    return {"interlock": "Python", "redis-py": "redis-py lock"}.get(kind, kind)


def election_kinds() -> list[str]:
    return ["interlock", "redis-py", *(["tooz"] if peers.tooz() else [])]


def measure(server: Server, report: Report, given: argparse.Namespace) -> None:
    print("\n-- From one leader to the next, one candidate waiting")
    kinds = election_kinds()
    resigned = in_turns(
        given.rounds, **{k: lambda k=k: one_change(server, k, False) for k in kinds}
    )
    killed = in_turns(
        given.rounds, **{k: lambda k=k: one_change(server, k, True) for k in kinds}
    )
    show(report, "resigned", "its resignation", resigned, "< 50")
    show(report, "killed", "its lease", killed, "<= 100")


def show(
    report: Report, what: str, since: str, found: dict[str, list[float]], goal: str
) -> None:
    case = Case(f"election, leader {what}: since {since}", "candidate", 1)
    results = {
        label(kind): [{"after_ms": after} for after in own]
        for kind, own in found.items()
    }
    compare(report, case, results, [AFTER])
    ours = found["interlock"]
    report.row(f"ours, {what}: next one leads, median", statistics.median(ours),
               "ms", goal)  # fmt: skip
    report.row(f"ours, {what}: the same, worst", max(ours), "ms",
               goal if what == "killed" else "")  # fmt: skip


def one_change(server: Server, kind: str, kill: bool) -> float:
    """Milliseconds from the resignation, or from the end of the lease."""
    name = f"change-{time.monotonic_ns()}"
    first = start(server, kind, name)
    elected = float(first.stdout.readline())
    second = start(server, kind, name)
    time.sleep(SETTLE)
    if kill:
        first.kill()
        first.wait()
        left = server.redis.pttl(KEYS[kind] % name)
        began = time.monotonic() + left / 1000
        if left <= 0 or elected > began:
            raise SystemExit(f"bench: {kind} had no lease to run out")
    else:
        first.stdin.write("\n")
        first.stdin.flush()
        began = float(json.loads(first.stdout.readline()))
        first.wait()
    led = float(second.stdout.readline())
    second.communicate("\n", timeout=30)
    return (led - began) * 1000


def start(server: Server, kind: str, name: str) -> subprocess.Popen:
    """A process with one candidate; the second is started behind the first."""
    process = subprocess.Popen(
        [str(w) for w in worker("lead", kind, server.url, name, TTL)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "standing\n"
    return process
