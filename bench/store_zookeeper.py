# SPDX-License-Identifier: MIT
"""A lock in ZooKeeper: one server, against kazoo's and Curator's."""

from __future__ import annotations

import argparse
import sys

import peers
from harness import Report, Server
from sides import Kind
from store_sides import WORKER, handed_over, ours, ratio_rows, running, uncontended


def measure(_: Server, report: Report, given: argparse.Namespace) -> None:
    print("\n-- A lock in ZooKeeper, one server")
    with running("zookeeper_store", "ZooKeeper") as store:
        if store is None:
            return
        kinds = ours(store.url())
        kinds["kazoo"] = Kind([sys.executable, WORKER, "kazoo", store.url()])
        command = peers.curator()
        if command:
            kinds["Curator"] = Kind([*command, store.url().partition("://")[2]])
        pairs = uncontended(report, given, "ZooKeeper", kinds)
        changes = handed_over(report, given, "ZooKeeper", kinds)
    for callers, results in pairs.items():
        what = f"ZooKeeper: pairs, callers {callers}"
        ratio_rows(report, what, results, "per_s", "kazoo", ">= 2")
        ratio_rows(report, what, results, "per_s", "Curator", ">= 1")
    for waiters, results in changes.items():
        what = f"ZooKeeper: to the next owner, waiters {waiters}"
        ratio_rows(report, what, results, "change_ms", "kazoo", "<= 0.33")
        ratio_rows(report, what, results, "change_ms", "Curator", "")
