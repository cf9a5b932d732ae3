# SPDX-License-Identifier: MIT
"""A primary with two replicas: pairs with and without `min_replicas`."""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import redis
from harness import SERVER_CPU, Report, Server, in_turns, median, pinned
from sides import thread_pairs

NUMBERS = (0, 1, 2)


class Replica(Server):
    """It shares the CPU of its primary."""

    def __init__(self, primary: Server) -> None:
        self.options = ("--replicaof", "127.0.0.1", str(primary.port),
                        "--repl-diskless-sync-delay", "0")  # fmt: skip
        super().__init__()


@contextlib.contextmanager
def sentinel(primary: Server) -> Iterator[str]:
    """The URL of a service that one sentinel watches."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "sentinel.conf"
        port = primary.port ^ 1
        config.write_text(
            f"bind 127.0.0.1\nport {port}\n"
            f"sentinel monitor bench 127.0.0.1 {primary.port} 1\n"
        )
        process = subprocess.Popen(
            [str(primary.binary), str(config), "--sentinel"],
            cwd=folder, stdout=subprocess.DEVNULL, preexec_fn=pinned({SERVER_CPU}),
        )  # fmt: skip
        try:
            known = redis.Redis(port=port)
            while not answers(known):
                assert process.poll() is None, "the sentinel did not start"
                time.sleep(0.05)
            known.close()
            yield f"redis+sentinel://127.0.0.1:{port}/bench"
        finally:
            process.terminate()
            process.wait()


def answers(known: redis.Redis) -> bool:
    try:
        return bool(known.ping())
    except redis.ConnectionError:
        return False


def measure(server: Server, report: Report, given: argparse.Namespace) -> None:
    print("\n-- A primary and two replicas, pairs of acquire and release")
    servers = [server, Replica(server), Replica(server)]
    try:
        while server.redis.info("replication")["connected_slaves"] < 2:
            time.sleep(0.05)
        with sentinel(server) as url:
            for threads in (1, 8, 64):
                compare(servers, url, threads, report, given)
    finally:
        for replica in servers[1:]:
            replica.close()


def compare(servers: list[Server], url: str, threads: int, report: Report,
            given: argparse.Namespace) -> None:  # fmt: skip
    def side(number: int) -> dict:
        query = f"?min_replicas={number}" if number else ""
        return thread_pairs(servers, url + query, threads, given.seconds)

    found = in_turns(
        given.rounds,
        **{str(number): lambda number=number: side(number) for number in NUMBERS},
    )
    plain = found["0"]
    for number in NUMBERS:
        what = f"{threads} threads, min_replicas {number or 'not set'}"
        sided = found[str(number)]
        report.row(f"{what}: pairs", median(sided, "per_s"), "pairs/s")
        report.row(f"{what}: a pair", threads / median(sided, "per_s") * 1e6, "us")
        report.row(f"{what}: servers' CPU", median(sided, "server_us"), "us")
        if number:
            ratio = median(sided, "per_s") / median(plain, "per_s")
            report.row(f"{what}: ratio", ratio, "x")
