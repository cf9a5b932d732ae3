# SPDX-License-Identifier: MIT
"""The ring: do its keys lie where uhashring and tooz put them, and how soon?"""

from __future__ import annotations

import argparse
import functools
from collections import Counter

import peers
from harness import (
    OTHER,
    OUT,
    Report,
    Server,
    build_c,
    in_turns,
    interlock_flags,
    median,
    run,
    worker,
)
from tables import Case, Measure, compare

NODES = (3, 10, 100)
LAYOUTS = {"uhashring": "ketama", "tooz": "tooz"}
LOOKUP = Measure("us", "a lookup", "us")


def measure(_: Server, report: Report, given: argparse.Namespace) -> None:
    print("\n-- Keys on a ring")
    there = {"uhashring": peers.uhashring, "tooz": peers.tooz}
    found = [name for name, is_there in there.items() if is_there()]
    for peer in found:
        agree(report, peer)
    spread(report)
    build_c("ring", interlock_flags())
    for nodes in (10, 100):
        speed(report, given, nodes, found)
    speed(report, given, 1000, [])  # of uhashring's one takes minutes to make


def agree(report: Report, peer: str) -> None:
    """How many keys have the same node, on rings of several sizes."""
    same = total = 0
    for nodes in NODES:
        ours = run(worker("owners", "interlock", LAYOUTS[peer], nodes), OTHER)
        theirs = run(worker("owners", peer, LAYOUTS[peer], nodes), OTHER)
        left_out = set()
        if peer == "uhashring":
            left_out = set(run(worker("on_points", peer, nodes), OTHER))
        pairs = [pair for i, pair in enumerate(zip(ours, theirs)) if i not in left_out]
        same += sum(a == b for a, b in pairs)
        total += len(pairs)
    report.row(f"keys of {total:,} with the node of {peer}", same, "", f"== {total}")


def spread(report: Report) -> None:
    """How even it is, and what moves when a node comes."""
    for layout in LAYOUTS.values():
        before = run(worker("owners", "interlock", layout, 10), OTHER)
        after = run(worker("owners", "interlock", layout, 11), OTHER)
        most = Counter(before).most_common(1)[0][1] / len(before) * 10
        report.row(f"{layout}, 10 nodes: most keys / mean", most, "x")
        new = set(after) - set(before)
        strangers = sum(a != b and b not in new for a, b in zip(before, after))
        report.row(f"{layout}, an 11th node: keys moved to others", strangers, "",
                   "== 0")  # fmt: skip


def speed(
    report: Report, given: argparse.Namespace, nodes: int, found: list[str]
) -> None:
    def python(kind: str, layout: str) -> dict:
        return run(worker("lookups", kind, layout, nodes, given.seconds), OTHER)

    sides = {
        "C": lambda: run([OUT / "ring", nodes, given.seconds], OTHER),
        "Python": functools.partial(python, "interlock", "ketama"),
    }
    sides |= {kind: functools.partial(python, kind, LAYOUTS[kind]) for kind in found}
    results = in_turns(given.rounds, **sides)
    compare(report, Case("a lookup on a ring", "nodes", nodes), results, [LOOKUP])
    goals = nodes == 10
    ours = median(results["Python"], "us")
    report.row(f"{nodes} nodes: a lookup, C", median(results["C"], "us"), "us",
               "<= 0.3" if goals else "")  # fmt: skip
    report.row(f"{nodes} nodes: a lookup, Python", ours, "us")
    for kind in found:
        ratio = median(results[kind], "us") / ours
        report.row(f"{nodes} nodes: lookups, Python / {kind}", ratio, "x",
                   ">= 5" if goals else "")  # fmt: skip
