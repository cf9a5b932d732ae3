# SPDX-License-Identifier: MIT
"""The price of a command on its way through a client's own gateway."""

from __future__ import annotations

import argparse
import os

import peers
from harness import ANY, BUILD, OUT, Report, Server, build_c, interlock_flags, run


def measure(server: Server, report: Report, given: argparse.Namespace) -> None:
    print("\n-- The gateway: two threads of one process, and the store in memory")
    objects = BUILD / "tests"
    if not (objects / "libinterlock-memory.so").exists():
        peers.skipped("gateway", "needs the store in memory, which ./dev test builds")
        return
    os.environ["INTERLOCK_BACKENDS"] = str(objects)
    try:
        build_c("gateway", interlock_flags())
        command = [OUT / "gateway", server.url, given.seconds, given.rounds]
        found = run(command, ANY, timeout=120 + 4 * given.seconds * given.rounds)
    finally:
        del os.environ["INTERLOCK_BACKENDS"]
    report.row("gateway: hop of a command, C", found["hop"], "us", "<= 12")
    report.row("gateway: PING that it answers, C", found["ping_gateway"], "us")
    report.row("PING to a server on loopback, C", found["ping_server"], "us")
