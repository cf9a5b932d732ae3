# SPDX-License-Identifier: MIT
"""A cluster of one to three nodes against one server, both by the same program."""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Iterator

import redis
from harness import Report, Server, in_turns, median
from sides import thread_pairs

SLOTS = 16384


class Node(Server):
    """A node of a cluster: it shares the CPU of the one server."""

    options = ("--cluster-enabled", "yes", "--cluster-require-full-coverage", "no")
    port_most = 55535  # the bus has one that is greater by 10000


@contextlib.contextmanager
def cluster(count: int) -> Iterator[list[Server]]:
    """Nodes that share all slots; redis-cli makes none of fewer than three."""
    nodes: list[Server] = [Node() for _ in range(count)]
    try:
        for number, node in enumerate(nodes):
            first, end = (SLOTS * one // count for one in (number, number + 1))
            node.redis.execute_command("CLUSTER ADDSLOTSRANGE", first, end - 1)
            node.redis.execute_command("CLUSTER MEET", "127.0.0.1", nodes[0].port)
        while not all(knows_all(node, count) for node in nodes):
            time.sleep(0.05)
        yield nodes
    finally:
        for node in nodes:
            node.close()


def knows_all(node: Server, count: int) -> bool:
    info = node.redis.execute_command("CLUSTER INFO")
    try:
        slots = node.redis.execute_command("CLUSTER SLOTS")
    except redis.ResponseError:
        return False
    return info["cluster_state"] == "ok" and len(slots) == count


def measure(server: Server, report: Report, given: argparse.Namespace) -> None:
    print("\n-- A cluster, pairs of acquire and release")
    for count in (1, 2, 3):
        with cluster(count) as nodes:
            hosts = ",".join(f"127.0.0.1:{node.port}" for node in nodes)
            for threads in (1, 8, 64):
                compare(
                    server, nodes, f"redis+cluster://{hosts}", threads, report, given
                )


def compare(server: Server, nodes: list[Server], url: str, threads: int, report: Report,
            given: argparse.Namespace) -> None:  # fmt: skip
    found = in_turns(
        given.rounds,
        one=lambda: thread_pairs([server], server.url, threads, given.seconds),
        cluster=lambda: thread_pairs(nodes, url, threads, given.seconds),
    )
    what = f"{len(nodes)} node{'s'[: len(nodes) - 1]}, {threads} threads"
    one, many = found["one"], found["cluster"]
    report.row(f"{what}: one server", median(one, "per_s"), "pairs/s")
    report.row(f"{what}: cluster", median(many, "per_s"), "pairs/s")
    report.row(f"{what}: ratio", median(many, "per_s") / median(one, "per_s"), "x")
    # The nodes of this machine share one CPU, so what they cost is compared.
    cost = median(one, "server_us") / median(many, "server_us")
    report.row(f"{what}: pairs for each second of a server's CPU", cost, "x", ">= 0.85")
