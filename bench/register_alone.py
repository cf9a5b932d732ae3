# SPDX-License-Identifier: MIT
"""A register of one server, against a bare compare-and-set in a script of six lines."""

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
    print("\n-- A register of one server, one caller")
    build_c("register", [*interlock_flags(), *hiredis_flags()])
    command = [OUT / "register", server.url, server.port, given.seconds]
    found = in_turns(given.rounds, register=functools.partial(run, command, OTHER))
    report.raw["register"] = found
    us = {name: median(found["register"], name) for name in found["register"][0]}
    report.row("register: a change, C", us["change"], "us")
    report.row("register: a bare compare-and-set by EVALSHA, C", us["bare"], "us")
    report.row("register: a change / a bare one", us["change"] / us["bare"], "x",
               "<= 1.3")  # fmt: skip
    report.row("register: a reading, C", us["read"], "us")
    report.row("register: a reading / a GET by hiredis", us["read"] / us["get"], "x")
    report.row("register: a PING by hiredis", us["ping"], "us")
