# SPDX-License-Identifier: MIT
"""A store: a commit of three keys, against WATCH, MULTI and EXEC."""

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


def measure(server: Server, report: Report, given: argparse.Namespace) -> None:
    print("\n-- A store, one caller")
    build_c("transaction", [*interlock_flags(), *hiredis_flags()])
    command = [OUT / "transaction", server.url, server.port, given.seconds]
    found = in_turns(given.rounds, store=functools.partial(run, command, OTHER))
    report.raw["store"] = found
    us = {name: median(found["store"], name) for name in found["store"][0]}
    report.row("store: a commit of three keys, C", us["commit"], "us")
    report.row("store: WATCH, MULTI, three SETs and EXEC by hiredis", us["watch"], "us")
    report.row("store: a commit / WATCH, MULTI and EXEC", us["commit"] / us["watch"],
               "x", "<= 1.5")  # fmt: skip
    report.row("store: a reading, C", us["read"], "us")
    report.row("store: a PING by hiredis", us["ping"], "us")
