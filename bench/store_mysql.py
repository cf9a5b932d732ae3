# SPDX-License-Identifier: MIT
"""A lock in MariaDB, against its two statements alone, sent by the same library."""

from __future__ import annotations

import argparse
import functools
import shlex
import subprocess

import interlock
import peers
from harness import ANY, OUT, Report, Server, build_c, in_turns, median
from sides import Kind, fresh, started
from store_sides import handed_over, ours, ratio_rows, running, uncontended
from tables import OURS

LIMIT = "raw libmariadb"
USER, PASSWORD = "ilk", "secret"


def measure(_: Server, report: Report, given: argparse.Namespace) -> None:
    print("\n-- A lock in MariaDB, which writes to its disk once a second")
    with running("mysql_store", "MySql") as store:
        if store is None:
            return
        with interlock.connect(store.url()) as client, client.lock("first"):
            pass  # the table is there
        kinds = ours(store.url())
        raw = raw_kind(store)
        if raw:
            alone(report, given, {**kinds, LIMIT: raw})
        uncontended(report, given, "MariaDB", kinds)
        changes = handed_over(report, given, "MariaDB", kinds)
    for waiters, results in changes.items():
        for name in OURS:
            what = f"MariaDB: to the next owner, waiters {waiters}, {name}"
            report.row(what, median(results[name], "change_ms"), "ms", "<= 1.5")


def raw_kind(store: object) -> Kind | None:
    found = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "libmariadb"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if found.returncode:
        peers.skipped(LIMIT, "needs libmariadb-dev")
        return None
    build_c("sql", shlex.split(found.stdout))
    host, _, port = store.hosts().partition(":")
    return Kind([OUT / "sql", host, port, USER, PASSWORD, "interlock"])


def alone(report: Report, given: argparse.Namespace, kinds: dict[str, Kind]) -> None:
    """One caller, because the limit has one connection."""

    def one_round(kind: Kind) -> dict:
        with started(kind.command, ANY) as (side,):
            side.ask("pairs", fresh("warm-up"), 1, given.seconds / 4)
            return side.ask("pairs", fresh("pairs"), 1, given.seconds)

    turns = {name: functools.partial(one_round, kind) for name, kind in kinds.items()}
    results = in_turns(given.rounds, **turns)
    what = "MariaDB: pairs, callers 1"
    ratio_rows(report, what, results, "per_s", LIMIT, ">= 0.9")
