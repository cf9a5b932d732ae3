# SPDX-License-Identifier: MIT
"""From a switch that Sentinel or a cluster makes to the next acquire, in Python.

The servers are those of tests/topologies. A caller tries again and again from the
moment at which the primary is killed. The switch is when the first sentinel names
another primary, or when the replica in the cluster has become one; how long that takes
is set at the servers.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import interlock
from harness import ROOT, Report, Server

# Behind our own modules, because some there have the same names.
sys.path += [str(ROOT / "tests" / "topologies"), str(ROOT / "tests" / "python")]

NAME = "failover"
LEASE = 10.0
PATIENCE = 60.0
PAUSE = 0.005  # between two tries of the caller


@dataclass
class Topology:
    url: str
    kill: Callable[[], None]
    await_switch: Callable[[], float]  # the time


@contextlib.contextmanager
def sentinel() -> Iterator[Topology]:
    import sentinel_service

    with sentinel_service.Service() as service:
        old = service.primary()
        yield Topology(service.url(), old.kill, lambda: service.await_switch(old))


@contextlib.contextmanager
def cluster() -> Iterator[Topology]:
    import cluster as servers

    with tempfile.TemporaryDirectory() as home:
        running = servers.Cluster(Path(home))
        old = running.owner(running.slot(NAME))
        next_one = running.replica_of(old)

        def await_switch() -> float:
            ends = time.monotonic() + PATIENCE
            while not next_one.is_primary() and time.monotonic() < ends:
                time.sleep(0.001)
            return time.monotonic()

        try:
            yield Topology(running.url(), old.kill, await_switch)
        finally:
            running.stop()


def measure(_: Server, report: Report, given: argparse.Namespace) -> None:
    print("\n-- A primary is killed; the next acquire after the switch")
    for name, topology in (("Sentinel", sentinel), ("cluster", cluster)):
        times = [one_failover(topology) for _ in range(given.rounds)]
        report.raw[f"{name}: next acquire, ms after the switch"] = times
        what = f"{name}: the next acquire, after the switch"
        report.row(what, statistics.median(times), "ms")
        report.row(f"{what}, worst", max(times), "ms")


def one_failover(
    topology: Callable[[], contextlib.AbstractContextManager[Topology]],
) -> float:
    acquired: list[float] = []
    with topology() as running, interlock.connect(running.url) as client:
        lock = client.lock(NAME, ttl=LEASE)
        with lock:
            pass

        def acquire() -> None:
            """A caller that tries again: until the switch there is no primary."""
            ends = time.monotonic() + PATIENCE
            while not acquired and time.monotonic() < ends:
                with contextlib.suppress(interlock.Error):
                    if lock.acquire(PATIENCE):
                        acquired.append(time.monotonic())
                time.sleep(PAUSE)

        running.kill()
        thread = threading.Thread(target=acquire)
        thread.start()
        switched = running.await_switch()
        thread.join(2 * PATIENCE)
        if not acquired:
            sys.exit("bench: no acquire after a failover")
    # The client may be quicker than this program's own look.
    return max(0.0, acquired[0] - switched) * 1000
