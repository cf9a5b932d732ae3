# SPDX-License-Identifier: MIT
"""A register over three servers, which write no file, by one caller: how many round
trips a change and a reading take.

As for a lock, the nodes are some milliseconds away, and a round trip is a PING to all
three until the second reply.
"""

from __future__ import annotations

import argparse
import functools

from harness import (
    OTHER,
    OUT,
    Report,
    Server,
    build_c,
    hiredis_flags,
    in_turns,
    interlock_flags,
    median,
    run,
)
from quorum_alone import AWAY_MS, round_trip
from quorum_sides import far, nodes, url


def measure(_: Server, report: Report, given: argparse.Namespace) -> None:
    away = ", ".join(map(str, AWAY_MS))
    print("\n-- A register of a quorum of three, one caller;")
    print(f"   far: nodes that are {away} ms away")
    build_c("register", [*interlock_flags(), *hiredis_flags()])
    build_c("trip", hiredis_flags())
    with nodes() as servers:
        one_distance(report, given, servers.ports, servers.ports, "near", ["", ""])
        with far(servers.ports, AWAY_MS) as ports:
            goals = ["<= 2.2", "<= 1.3"]
            one_distance(report, given, ports, servers.ports, "far", goals)


def one_distance(
    report: Report,
    given: argparse.Namespace,
    ports: list[int],
    direct: list[int],
    where: str,
    goals: list[str],
) -> None:
    """`goals` of a change and of a reading, in round trips."""
    command = [OUT / "register", f"{url(ports)}&fsync=trust", direct[0], given.seconds]
    trip = functools.partial(round_trip, ports, given.seconds)
    found = in_turns(
        given.rounds, register=functools.partial(run, command, OTHER), trip=trip
    )
    report.raw[f"register, quorum, {where}"] = found
    trip_us = median(found["trip"], "p50_us")
    report.row(f"register, quorum, {where}: round trip to two of three", trip_us, "us")
    for name, what, goal in zip(("change", "read"), ("a change", "a reading"), goals):
        us = median(found["register"], name)
        report.row(f"register, quorum, {where}: {what}, C", us, "us")
        report.row(
            f"register, quorum, {where}: {what} / round trip", us / trip_us, "x", goal
        )
