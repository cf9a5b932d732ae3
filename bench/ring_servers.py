# SPDX-License-Identifier: MIT
"""Replicated values and transactions over three servers, by one caller: how many round
trips a put, a get and a commit take.

The servers are some milliseconds away, as for a lock of a quorum. A value waits for two of
the three, a commit for all: its round trip is a PING to all three until the last reply.
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
from quorum_sides import NODES, Nodes, far

MAJORITY = NODES // 2 + 1

# Of each measurement its words, the replies after which a round trip is over, the goal.
ROWS = {
    "put": ("a put", MAJORITY, "<= 2.4"),
    "fast": ("a put with fast=True", MAJORITY, "<= 1.3"),
    "get": ("a get", MAJORITY, ""),
    "commit": ("a commit on all three", NODES, "<= 3"),
}


def measure(_: Server, report: Report, given: argparse.Namespace) -> None:
    away = ", ".join(map(str, AWAY_MS))
    print("\n-- A ring of three, one caller;")
    print(f"   far: servers that are {away} ms away")
    build_c("shared", [*interlock_flags(), *hiredis_flags()])
    build_c("trip", hiredis_flags())
    servers = Nodes()
    try:
        one_distance(report, given, servers.ports, "near", is_goal=False)
        with far(servers.ports, AWAY_MS) as ports:
            one_distance(report, given, ports, "far", is_goal=True)
    finally:
        servers.close()


def one_distance(
    report: Report,
    given: argparse.Namespace,
    ports: list[int],
    where: str,
    is_goal: bool,
) -> None:
    hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
    command = [OUT / "shared", f"redis://{hosts}?ring", given.seconds]
    turns = {
        replies: functools.partial(round_trip, ports, given.seconds, replies)
        for replies in (MAJORITY, NODES)
    }
    found = in_turns(
        given.rounds,
        ring=functools.partial(run, command, OTHER),
        **{f"trip {replies}": trip for replies, trip in turns.items()},
    )
    report.raw[f"ring, {where}"] = found
    for name, (what, replies, goal) in ROWS.items():
        us = median(found["ring"], name)
        trip_us = median(found[f"trip {replies}"], "p50_us")
        report.row(f"ring, {where}: {what}, C", us, "us")
        report.row(
            f"ring, {where}: {what} / round trip to {replies} of {NODES}",
            us / trip_us, "x", goal if is_goal else "",
        )  # fmt: skip
