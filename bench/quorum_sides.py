# SPDX-License-Identifier: MIT
"""Three independent servers, and the sides that have a lock over all of them."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator

import interlock
import peers
from harness import ANY, OUT, ROOT, Server, pinned
from lock_sides import OURS_SENT, SET_AND_SCRIPT, WORKER
from sides import Kind

NODES = 3
LEASE_MS = 3000  # the longest, too: a first start takes as long
PATIENCE = 60.0


class Nodes:
    """Servers that know nothing of each other; their counters are added up."""

    def __init__(self) -> None:
        self.servers = [Server() for _ in range(NODES)]
        self.ports = [server.port for server in self.servers]

    def calls(self) -> dict[str, int]:
        added: dict[str, int] = {}
        for server in self.servers:
            for name, calls in server.calls().items():
                added[name] = added.get(name, 0) + calls
        return added

    def counters(self) -> dict[str, float]:
        each = [server.counters() for server in self.servers]
        return {key: sum(one[key] for one in each) for key in each[0]}

    def settle(self) -> None:
        """Wait until all have run for the longest lease, and vote."""
        ends = time.monotonic() + PATIENCE
        with interlock.connect(url(self.ports)) as client:
            client.lock("first", ttl=LEASE_MS / 1000).acquire(PATIENCE)
            while not all(is_member(server) for server in self.servers):
                if time.monotonic() > ends:
                    sys.exit(f"bench: a node does not vote after {PATIENCE:g} s")
                time.sleep(0.05)

    def close(self) -> None:
        for server in self.servers:
            server.close()


def is_member(server: Server) -> bool:
    return server.redis.hget("ilk:quorum:node", "member") == b"1"


@contextlib.contextmanager
def nodes() -> Iterator[Nodes]:
    running = Nodes()
    try:
        running.settle()
        yield running
    finally:
        running.close()


@contextlib.contextmanager
def far(ports: list[int], away_ms: list[int]) -> Iterator[list[int]]:
    """Ports at which the same servers are so many milliseconds away."""
    words = [f"{port}:{ms}" for port, ms in zip(ports, away_ms)]
    process = subprocess.Popen(
        [sys.executable, ROOT / "bench" / "far.py", *words],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=pinned(ANY),
    )  # fmt: skip
    try:
        yield json.loads(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


def url(ports: list[int]) -> str:
    hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
    return f"redis://{hosts}?quorum&longest_lease_ms={LEASE_MS}"


def kinds(ports: list[int]) -> dict[str, Kind]:
    """Ours, and redsync where it can be had; all with the same lease."""
    env = ["env", f"BENCH_LEASE_MS={LEASE_MS}"]
    python = [sys.executable, WORKER, "interlock", url(ports)]
    found = {
        "C": Kind([*env, OUT / "side", "lock", url(ports)], OURS_SENT),
        "Python": Kind([*env, *python], OURS_SENT),
    }
    redsync = peers.go()
    if redsync:
        urls = [f"redis://127.0.0.1:{port}/0" for port in ports]
        found["redsync"] = Kind([*env, *redsync, *urls], SET_AND_SCRIPT)
    return found
