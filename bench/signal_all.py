# SPDX-License-Identifier: MIT
"""One signal for all of a thousand who wait in one process."""

from __future__ import annotations

import argparse
import json
import subprocess
import time

from harness import ANY, OUT, Report, Server, median, pinned, worker

WAITERS = 1000


def measure(server: Server, report: Report, given: argparse.Namespace) -> None:
    print(f"\n-- {WAITERS} waiters in one process, one signal for all")
    commands = {
        "C": [OUT / "signal", server.url, "all"],
        "Python": worker("broadcast", "interlock", server.url),
        "redis-py": worker("broadcast", "redis-py", server.url),
    }
    sides = {kind: Side(server, kind, words) for kind, words in commands.items()}
    results: dict[str, list] = {kind: [] for kind in sides}
    for _ in range(given.rounds):
        for kind, side in sides.items():
            results[kind].append(side.one_round())
    for side in sides.values():
        side.close()
    report.raw["signal, all"] = results
    for kind, found in results.items():
        show(report, kind, found, sides[kind].connections)
    ratio = median(results["redis-py"], "all_us") / median(results["Python"], "all_us")
    report.row("    until all run, redis-py / Python ours", ratio, "x")
    ratio = median(results["redis-py"], "cpu_us") / median(results["Python"], "cpu_us")
    report.row("    server CPU of it, redis-py / Python ours", ratio, "x")


def show(report: Report, kind: str, found: list[dict], connections: int) -> None:
    peer = kind == "redis-py"
    published = median(found, "published")
    report.row(f"{kind}: until half of them ran", median(found, "half_us"), "us")
    report.row(f"{kind}: until all of them ran", median(found, "all_us"), "us")
    # One for the process, and one for those who listen to a pattern.
    report.row(f"{kind}: messages published", published, "", "" if peer else "<= 2")
    # Ours wait again within that time, one by one.
    report.row(f"{kind}: server CPU", median(found, "cpu_us"), "us")
    # One for commands and one for news; the giver's own one.
    report.row(f"{kind}: connections", connections, "", "" if peer else "<= 3")


class Side:
    """A process whose threads all wait; they are sent off by a line."""

    def __init__(self, server: Server, kind: str, words: list) -> None:
        self.server = server
        self.name = f"all-{kind}"
        self.ours = kind != "redis-py"
        before = {c["id"] for c in server.redis.client_list()}
        self.process = subprocess.Popen(
            [str(word) for word in [*words, self.name, WAITERS]],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
            preexec_fn=pinned(ANY),
        )  # fmt: skip
        assert self.process.stdout.readline() == "ready\n"
        self.until_waiting()
        after = {c["id"] for c in server.redis.client_list()}
        self.connections = len(after - before)

    def until_waiting(self) -> None:
        ends = time.monotonic() + 60
        while self.waiting() < WAITERS:
            if time.monotonic() > ends:
                raise SystemExit(f"bench: {self.name}: not all of them wait")
            time.sleep(0.01)
        time.sleep(0.2)

    def waiting(self) -> int:
        if self.ours:
            key = f"ilk:signal:wait:{{{self.name}}}"
            return int(self.server.redis.zcard(key))
        return int(self.server.redis.pubsub_numsub(self.name)[0][1])

    def one_round(self) -> dict:
        self.until_waiting()
        before, cpu = self.server.calls(), self.server.counters()["cpu"]
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        found = json.loads(self.process.stdout.readline())
        after, spent = self.server.calls(), self.server.counters()["cpu"] - cpu
        sent = after.get("publish", 0) - before.get("publish", 0)
        return {**found, "published": sent, "cpu_us": spent * 1e6}

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
