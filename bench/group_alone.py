# SPDX-License-Identifier: MIT
"""A group of 10,000 members: a join beside a PING, and a list of all."""

from __future__ import annotations

import argparse

from harness import (
    OTHER,
    OUT,
    Report,
    Server,
    build_c,
    hiredis_flags,
    interlock_flags,
    run,
)

MEMBERS = 10_000


def measure(server: Server, report: Report, given: argparse.Namespace) -> None:
    print(f"\n-- A group of {MEMBERS:,} members of one client")
    build_c("group", [*interlock_flags(), *hiredis_flags()])
    before = server.counters()
    found = run([OUT / "group", server.url, server.port, MEMBERS], OTHER)
    reads = server.counters()["reads"] - before["reads"]
    report.raw["group"] = {**found, "reads": reads}
    # A PING and a join each, and a list now and then.
    report.row("group: what the server reads for a join", round(reads / MEMBERS - 1, 2),
               "", "<= 1.05")  # fmt: skip
    report.row("group: a join, C", found["join"], "us")
    report.row("group: a PING by hiredis", found["ping"], "us")
    report.row(f"group: {MEMBERS:,} members listed, C", found["list"] / 1000, "ms",
               "<= 20")  # fmt: skip
