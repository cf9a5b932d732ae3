# SPDX-License-Identifier: MIT
"""Operations that one C thread starts, against the same commands pipelined."""

from __future__ import annotations

import argparse

from harness import OTHER, OUT, Report, Server, in_turns, median
from lock_sides import limit
from sides import ask_once, fresh

IN_FLIGHT = 1000
BY_HAND = 256


def measure(server: Server, report: Report, given: argparse.Namespace) -> None:
    print(f"\n-- C, {IN_FLIGHT} operations in flight, one thread")
    ours = [OUT / "started", server.url]
    by_hand = limit(server)

    def pairs(command: list, depth: int) -> dict:
        words = ["pairs", fresh("started"), depth, given.seconds]
        return ask_once(command, OTHER, *words)

    results = in_turns(
        given.rounds,
        started=lambda: pairs(ours, IN_FLIGHT),
        one=lambda: pairs(ours, 1),
        by_hand=lambda: pairs(by_hand, BY_HAND),
    )
    report.raw["started"] = results
    for name, what in (
        ("started", f"{IN_FLIGHT} in flight"),
        ("one", "one in flight"),
        ("by_hand", f"pipelined by hand, {BY_HAND} deep"),
    ):
        report.row(f"{what}: pairs", median(results[name], "per_s"), "/s")
    ratio = median(results["started"], "per_s") / median(results["by_hand"], "per_s")
    report.row(f"{IN_FLIGHT} in flight / pipelined by hand", ratio, "x", ">= 0.8")
