# SPDX-License-Identifier: MIT
"""Locks that nobody else wants: pairs of acquire and release per second."""

from __future__ import annotations

import argparse
from typing import Callable

from harness import (
    ANY,
    OTHER,
    OUT,
    SAME,
    Report,
    Server,
    in_turns,
    median,
    run,
)
from lock_sides import python, sha1s
from sides import ask_once


def measure(server: Server, report: Report, given: argparse.Namespace) -> None:
    print("\n-- Uncontended, pairs of acquire and release")
    sides = Sides(server, given.seconds)
    commands_of_a_pair(report, sides)
    for cpus, where, least in ((SAME, "one core", 2.0), (OTHER, "two cores", 1.3)):
        one_thread(report, sides, given.rounds, cpus, where, least)
    eight_threads(report, sides, given.rounds)
    few_threads(report, sides, given.rounds)
    sixty_four_threads(report, sides, given.rounds)


class Sides:
    """The measured sides, each with the server's work meanwhile."""

    def __init__(self, server: Server, seconds: float) -> None:
        self.server = server
        self.seconds = seconds
        self.sha1s = sha1s(server, "lock_acquire", "lock_release")

    def _with_server(self, measured: Callable[[], dict]) -> dict:
        before = self.server.counters()
        result = measured()
        after = self.server.counters()
        for key in before:
            result[f"server_{key}"] = (after[key] - before[key]) / result["pairs"]
        return result

    def raw(self, cpus: set[int]) -> dict:
        port = self.server.port
        command = [OUT / "raw", "127.0.0.1", port, self.seconds, *self.sha1s]
        return self._with_server(lambda: run(command, cpus))

    def c(self, cpus: set[int], threads: int = 1, clients: str = "one") -> dict:
        command = [OUT / "side", "lock", self.server.url]
        words = ["pairs", "pairs", threads, self.seconds, clients]
        return self._with_server(lambda: ask_once(command, cpus, *words))

    def io_thread(self, cpus: set[int], threads: int) -> dict:
        command = [OUT / "iothread", "127.0.0.1", self.server.port, self.seconds]
        command += [threads, *self.sha1s]
        return self._with_server(lambda: run(command, cpus))

    def python(self, kind: str, cpus: set[int], threads: int = 1) -> dict:
        command = python(kind, self.server)
        words = ["pairs", "pairs", threads, self.seconds]
        return self._with_server(lambda: ask_once(command, cpus, *words))


def commands_of_a_pair(report: Report, sides: Sides) -> None:
    """Count the EVALSHAs that the client sends, and the reads of the server."""
    before = sides.server.calls()
    result = sides.c(OTHER)
    after = sides.server.calls()
    sent = sum(
        after.get(name, 0) - before.get(name, 0) for name in ("evalsha", "eval", "set")
    )
    # SET is called once inside the acquiring script, not sent.
    sent -= result["pairs"]
    report.row("commands per pair", round(sent / result["pairs"], 2), "", "== 2")
    reads = round(result["server_reads"], 2)
    report.row("round trips per pair (reads by the server)", reads, "", "== 2")


def one_thread(
    report: Report,
    sides: Sides,
    rounds: int,
    cpus: set[int],
    where: str,
    least: float,
) -> None:
    results = in_turns(
        rounds,
        raw=lambda: sides.raw(cpus),
        c=lambda: sides.c(cpus),
        python=lambda: sides.python("interlock", cpus),
        unconfirmed=lambda: sides.python("interlock-unconfirmed", cpus),
        redis_py=lambda: sides.python("redis-py", cpus),
    )
    report.raw[f"one thread, {where}"] = results
    speeds = [median(r, "per_s") for r in results.values()]
    raw, c, python, unconfirmed, redis_py = speeds
    report.row(f"1 thread, {where}: raw hiredis, same two scripts", raw, "/s")
    report.row(f"1 thread, {where}: C", c, "/s")
    report.row(f"1 thread, {where}: Python", python, "/s")
    report.row(f"1 thread, {where}: redis-py Lock", redis_py, "/s")
    report.row("    C / raw hiredis", c / raw, "x", ">= 0.90")
    report.row("    Python / C", python / c, "x", ">= 0.95")
    report.row("    Python / redis-py", python / redis_py, "x", f">= {least}")
    gain = unconfirmed / python
    report.row("    Python, release(confirm=False) / release()", gain, "x", ">= 1.3")


def eight_threads(report: Report, sides: Sides, rounds: int) -> None:
    results = in_turns(
        rounds,
        ours=lambda: sides.python("interlock", ANY, 8),
        redis_py=lambda: sides.python("redis-py", ANY, 8),
    )
    report.raw["8 Python threads"] = results
    ours, redis_py = (median(r, "per_s") for r in results.values())
    report.row("8 threads, one Python process: ours", ours, "/s")
    report.row("8 threads, one Python process: redis-py Lock", redis_py, "/s")
    report.row("    ours / redis-py", ours / redis_py, "x", ">= 6")


def few_threads(report: Report, sides: Sides, rounds: int) -> None:
    """Threads on one client against threads with a client each."""
    for threads in (2, 4, 8, 16):
        results = in_turns(
            rounds,
            c=lambda n=threads: sides.c(ANY, n),
            c_each=lambda n=threads: sides.c(ANY, n, "each"),
            python=lambda n=threads: sides.python("interlock", ANY, n),
            python_each=lambda n=threads: sides.python("interlock-each", ANY, n),
        )
        report.raw[f"{threads} threads"] = results
        c, c_each, python, each = (median(r, "per_s") for r in results.values())
        what = f"{threads} threads, one client / a client each"
        report.row(f"{what}: C", c / c_each, "x", ">= 1.0")
        report.row(f"{what}: Python", python / each, "x", ">= 1.0")


def sixty_four_threads(report: Report, sides: Sides, rounds: int) -> None:
    results = in_turns(
        rounds,
        one=lambda: sides.c(OTHER, 64, "one"),
        each=lambda: sides.c(OTHER, 64, "each"),
        io=lambda: sides.io_thread(OTHER, 64),
    )
    report.raw["64 C threads"] = results
    one, each, io = results.values()
    for label, side in (
        ("one client", one), ("64 clients", each), ("a thread for all I/O", io)
    ):  # fmt: skip
        report.row(f"64 C threads, {label}", median(side, "per_s"), "/s")
        server = median(side, "server_cpu") * 1e6
        report.row(f"64 C threads, {label}: server CPU per pair", server, "us")
        report.row(f"64 C threads, {label}: p99", median(side, "p99_us"), "us")

    def parts(other: list[dict], key: str) -> float:
        return median(one, key) / median(other, key)

    speed, cpu, tail = (parts(each, key) for key in ("per_s", "server_cpu", "p99_us"))
    report.row("    one client / 64 clients: pairs", speed, "x", ">= 1.25")
    report.row("    one client / 64 clients: server CPU", cpu, "x", "<= 0.45")
    report.row("    one client / 64 clients: p99", tail, "x", "< 1")
    speed, tail = parts(io, "per_s"), parts(io, "p99_us")
    report.row("    one client / a thread for all I/O: pairs", speed, "x", ">= 0.9")
    report.row("    one client / a thread for all I/O: p99", tail, "x", "<= 1.11")
