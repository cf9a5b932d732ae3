# SPDX-License-Identifier: MIT
"""Clients of another store's server that lies: the process lives, small and in time.

    stores.py [--store etcd|mysql|zookeeper] [--lies 200] [--seed 9]

Each round is a process (tests/shared/store_calls.py) with a server of its own, which is
honest at first and then spoils what it sends, or tells one lie over and over. A store
is a row of STORES: what makes its servers, and what makes their lies.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "shared"))

import etcd_lies
import lying_mysql
import store_calls
import zookeeper_lies

WAIT_S = 0.5
LATE_S = 1.0  # how much longer than its limit a call may take, and a close
RSS_MB = 48.0
CALLS = 30  # of a round
FAULTS_MOST = 50  # of a round count: one lie may be told with each reply
VERBS = ("acquire", "try", "extend", "release", "inspect", "campaign", "resign")
VERBS += ("get", "set", "wait")

# Each makes a server for a random generator.
STORES: dict[str, Sequence[Callable[[random.Random], lying_mysql.Server]]] = {
    "mysql": [lying_mysql.Spoils, *map(lying_mysql.without_chance, lying_mysql.LIES)],
    "zookeeper": zookeeper_lies.SERVERS,
    "etcd": etcd_lies.SERVERS,
}


def patience() -> float:
    return float(os.environ.get("ILK_TEST_PATIENCE", "1"))


class Run:
    def __init__(self, store: str, lies: int, seed: int):
        self.store, self.lies = store, lies
        self.rng = random.Random(seed)
        self.faults, self.rounds, self.most_mb = 0, 0, 0.0
        self.results: Counter[str] = Counter()
        self.violations: list[str] = []

    def run(self) -> bool:
        """Whether no rule was broken. Half of the rounds spoil, the rest lie."""
        kinds = STORES[self.store]
        lies: list[Callable[[random.Random], lying_mysql.Server]] = []
        while self.faults < self.lies and not self.violations:
            lies = lies or self.rng.sample(list(kinds[1:]), len(kinds) - 1)
            self.round(kinds[0] if self.rounds % 2 == 0 else lies.pop())
        return not self.violations

    def round(self, make: Callable[[random.Random], lying_mysql.Server]) -> None:
        names = [self.rng.choice(VERBS) for _ in range(CALLS)]
        with make(random.Random(self.rng.random())) as server:
            report = store_calls.run(
                server.url(), names, WAIT_S, 4 * CALLS * LATE_S * patience()
            )
        self.rounds += 1
        self.faults += min(max(1, server.faults), FAULTS_MOST)
        self.most_mb = max(self.most_mb, report.rss_mb)
        for one in report.calls[:-1]:
            self.results[one.result.split(":")[0].split("(")[0][:30]] += 1
        kind = type(server).__name__
        if report.status != 0:
            self.violations.append(f"{kind}: status {report.status}: {report.stderr}")
        for one in report.late(LATE_S * patience()):
            self.violations.append(f"{kind}: too late: {one}")
        if report.rss_mb > RSS_MB:
            self.violations.append(f"{kind}: {report.rss_mb} MB")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    seed = os.environ.get("ILK_TEST_SEED") or random.SystemRandom().randrange(10**6)
    parser.add_argument("--store", choices=sorted(STORES), default="mysql")
    parser.add_argument("--lies", type=int, default=200)
    parser.add_argument("--seed", type=int, default=int(seed))
    args = parser.parse_args(argv)
    print(f"lying: seed {args.seed}, {args.lies} faults of {args.store}", flush=True)
    began = time.monotonic()
    run = Run(args.store, args.lies, args.seed)
    is_good = run.run()
    for one in run.violations:
        print(f"VIOLATION: {one}")
    calls = ", ".join(f"{what} {n}" for what, n in run.results.most_common(12))
    print(f"lying: calls: {calls}")
    print(
        f"lying: {'passed' if is_good else 'FAILED'}, {args.store}, seed {args.seed},"
        f" {run.faults} faults in {run.rounds} processes, at most {run.most_mb:.0f} MB,"
        f" {time.monotonic() - began:.0f} s"
    )
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
