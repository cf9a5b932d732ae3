# SPDX-License-Identifier: MIT
"""Long waits: a thousand idle waiters, and a holder that is killed."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import threading
import time

import interlock
from harness import ANY, OTHER, OUT, Report, Server, pinned
from lock_sides import python
from sides import started

WAITERS = 1000
IDLE_SECONDS = 5.0
KILL_TTL = 1.0


def measure(server: Server, report: Report, given: argparse.Namespace) -> None:
    print(f"\n-- {WAITERS} waiters in one process; a killed holder")
    idle(server, report)
    killed(server, report, given.rounds)


def idle(server: Server, report: Report) -> None:
    with interlock.connect(server.url) as client, client.lock("idle"):
        before = {c["id"] for c in server.redis.client_list()}
        process = subprocess.Popen(
            [OUT / "idle", server.url, "idle", str(WAITERS)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
            preexec_fn=pinned(OTHER),
        )  # fmt: skip
        assert process.stdout.readline() == "ready\n"
        connections = len({c["id"] for c in server.redis.client_list()} - before)
        time.sleep(1)
        used = [cpu_of(process)]
        time.sleep(IDLE_SECONDS)
        used.append(cpu_of(process))
        process.stdin.close()
        process.wait()
    share = (used[1] - used[0]) / IDLE_SECONDS * 100
    report.raw["idle"] = {"connections": connections, "cpu_seconds": used}
    report.row(f"{WAITERS} waiters: connections", connections, "", "<= 3")
    # A tick of what the machine itself measures CPU by, in the whole time.
    report.row(f"{WAITERS} idle waiters: CPU of one core", share, "%", "<= 0.5")


def cpu_of(process: subprocess.Popen) -> float:
    process.stdin.write("?\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def killed(server: Server, report: Report, rounds: int) -> None:
    """How long after its lease had ended the next one came in."""
    late = []
    with interlock.connect(server.url) as client:
        for number in range(rounds):
            late.append(one_kill(server, client, f"killed-{number}"))
    report.raw["killed"] = late
    report.row("holder killed: next one after its lease, median",
               statistics.median(late), "ms", "<= 50")  # fmt: skip
    report.row("holder killed: the same, worst", max(late), "ms", "<= 50")


def one_kill(server: Server, client: interlock.Client, name: str) -> float:
    entered = []

    def wait() -> None:
        with client.lock(name):
            entered.append(time.monotonic())

    with started(python("interlock", server), ANY) as (holder,):
        holder.ask("hold", name, int(KILL_TTL * 1000))
        thread = threading.Thread(target=wait)
        thread.start()
        while not client.inspect(name).waiting:
            time.sleep(0.001)
        time.sleep(KILL_TTL * 1.3)  # so that it has been renewed
        holder.kill()
        ends = time.monotonic() + server.redis.pttl(name) / 1000
        thread.join()
    return (entered[0] - ends) * 1000
