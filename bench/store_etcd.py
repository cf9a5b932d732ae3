# SPDX-License-Identifier: MIT
"""A lock in etcd: one node that writes to its disk, against clientv3's Mutex."""

from __future__ import annotations

import argparse

import peers
from harness import Report, Server
from sides import Kind
from store_sides import handed_over, ours, ratio_rows, running, uncontended

PEER = "clientv3"


def measure(_: Server, report: Report, given: argparse.Namespace) -> None:
    print("\n-- A lock in etcd, one node")
    with running("etcd_store", "Etcd") as store:
        if store is None:
            return
        kinds = ours(store.url())
        command = peers.clientv3()
        if command:
            kinds[PEER] = Kind([*command, *store.hosts().split(",")])
        pairs = uncontended(report, given, "etcd", kinds)
        changes = handed_over(report, given, "etcd", kinds)
    for callers, goal in ((1, ">= 0.9"), (32, ">= 1.2")):
        what = f"etcd: pairs, callers {callers}"
        ratio_rows(report, what, pairs[callers], "per_s", PEER, goal)
    for waiters, results in changes.items():
        # A watch of clientv3's is served at once or at etcd's next turn, which comes
        # every 100 ms: a median shows one of the two only.
        what = f"etcd: owner changes, waiters {waiters}"
        ratio_rows(report, what, results, "changes_per_s", PEER, ">= 20")
        what = f"etcd: to the next owner, waiters {waiters}"
        ratio_rows(report, what, results, "change_ms", PEER, "")
