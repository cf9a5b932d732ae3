# SPDX-License-Identifier: MIT
"""Clients at work through a proxy that lies, and the checks: see README.md.

python tests/lying/run.py [--lies 2000] [--seed N] [--expect TEXT]
"""

from __future__ import annotations

import argparse
import asyncio
import faulthandler
import os
import pathlib
import random
import shutil
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
for folder in (
    HERE,
    os.path.join(ROOT, "tests", "shared"),
    os.path.join(ROOT, "tests", "python"),
    os.path.join(ROOT, "tools"),
):
    if folder not in sys.path:
        sys.path.insert(0, folder)

import expand_scripts  # noqa: E402
import interlock  # noqa: E402
import interlock.aio  # noqa: E402
import worker as work  # noqa: E402
from both_faces import run_now  # noqa: E402
from check import Calls, Ledger, Truth, Violations, overlaps  # noqa: E402
from relay import RelayProcess  # noqa: E402
from support import Memory, Server, patience  # noqa: E402

PASSWORD = "sesame"
DB = 1
LABELS = ["threads-2", "threads-3", "asyncio-2", "asyncio-3"]
IN_ROUND = 250  # faults
ALL_HIT = 2000  # a run of so many hits every verb
BOUND = 30.0  # seconds for any one call
REPLY_TIMEOUT = 0.4


def bound():
    return max(BOUND, patience(BOUND / 3))


def script_names():
    """SHA1 of each script, as the library sends it, to its name."""
    folder = pathlib.Path(ROOT, "libcore", "scripts")
    scripts, _ = expand_scripts.load(folder, [folder / "include"])
    return {script.sha1: script.name for script in scripts}


class Proxy(RelayProcess):
    """The process of liar.py."""

    def __init__(self, server_path, seed):
        self.directory = tempfile.mkdtemp(prefix="ilk-")
        setting = {"directory": self.directory, "labels": LABELS, "seed": seed}
        setting.update(server_path=server_path, scripts=script_names())
        super().__init__(os.path.join(HERE, "liar.py"), setting)

    def url(self, label):
        path = os.path.join(self.directory, label)
        return f"unix://:{PASSWORD}@{path}?db={DB}&protocol={label[-1]}"

    def close(self):
        super().close()
        shutil.rmtree(self.directory, ignore_errors=True)


class MemoryLiar:
    """The faults of the store in memory (tests/gateway), by the proxy's requests."""

    def __init__(self, store):
        self.store, self.was = store, None

    def url(self, label):
        return f"memory://{self.store.socket}?protocol={label[-1]}"

    def ask(self, do, most=0):
        if do == "lie":
            # The first client that is opened begins to serve the socket.
            with interlock.connect(self.url(LABELS[0]), lazy=True):
                self.store.call("MEMORY", "LIE", most)
        elif do == "quiet":
            self.store.call("MEMORY", "LIE", 0)
        said = self.store.call("MEMORY", "LIES")
        left, requests, *counts = map(int, said.split())
        kinds = dict(zip(("slow", "late", "lost"), counts))
        return {
            "lying": left > 0,
            "faults": sum(counts),
            "late": 0,
            "frames": requests,
            "kinds": kinds,
            "hits": [],
            "executed": [],
        }

    def close(self):
        pass


async def at_work(w, scenarios):
    while not w.world.stop.is_set():
        try:
            await w.rng.choice(scenarios)(w)
        except work.Refused:
            pass
        except Exception:
            w.wrong(traceback.format_exc())
            return


async def works_again(w, scenarios, until):
    """Each scenario to its end, without an error, when the proxy is honest."""
    w.alone = True
    for scenario in scenarios:
        while True:
            try:
                await scenario(w)
                break
            except work.Refused as refused:
                if time.monotonic() > until:
                    w.wrong(f"{scenario.__name__} still fails: {refused}")
                    break
            except Exception:
                w.wrong(f"{scenario.__name__}: {traceback.format_exc()}")
                break


def scenarios_of(label, over_memory=False):
    if over_memory:  # offers no recipes: they use commands that block
        return work.SCENARIOS
    more = work.RECIPES_SCENARIOS if label.startswith("threads") else []
    return work.SCENARIOS + more


class Side:
    """One client with its workers: threads, or tasks of a loop in a thread."""

    def __init__(self, world, proxy, label, rng, workers):
        self.world, self.proxy, self.label = world, proxy, label
        self.rng, self.workers = rng, workers
        self.thread = threading.Thread(target=self.run, name=label, daemon=True)
        self.honest = threading.Event()
        self.options = {"reply_timeout": REPLY_TIMEOUT, "connect_timeout": 0.6}
        self.options["lazy"] = True

    def make(self, client, number):
        spread = max(2, self.workers // 4)
        rng = random.Random(f"{self.rng.random()} {number}")
        return work.Worker(self.world, client, self.label, rng, spread)

    def run(self):
        try:
            if self.label.startswith("threads"):
                self.run_threads()
            else:
                asyncio.run(self.run_tasks())
        except Exception:
            self.world.violations.add(f"{self.label}: {traceback.format_exc()}")

    def run_threads(self):
        todo = scenarios_of(self.label, isinstance(self.proxy, MemoryLiar))
        with interlock.connect(self.proxy.url(self.label), **self.options) as client:
            workers = [self.make(client, i) for i in range(self.workers)]
            threads = [
                threading.Thread(
                    target=lambda w=w: run_now(at_work(w, todo)), daemon=True
                )
                for w in workers
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.honest.wait()
            until = time.monotonic() + bound()
            run_now(works_again(workers[0], list(dict.fromkeys(todo)), until))

    async def run_tasks(self):
        todo = scenarios_of(self.label, isinstance(self.proxy, MemoryLiar))
        url = self.proxy.url(self.label)
        async with interlock.aio.connect(url, **self.options) as client:
            workers = [self.make(client, i) for i in range(self.workers)]
            await asyncio.gather(*(at_work(w, todo) for w in workers))
            await asyncio.to_thread(self.honest.wait)
            until = time.monotonic() + bound()
            await works_again(workers[0], list(dict.fromkeys(todo)), until)


class Run:
    def __init__(self, lies, seed, expect=None, over_memory=False):
        self.lies, self.seed, self.expect = lies, seed, expect
        self.over_memory = over_memory
        self.rng = random.Random(seed)
        self.violations, self.calls = Violations(), Calls()
        self.began = time.monotonic()
        self.stats = {"faults": 0, "late": 0, "frames": 0, "kinds": {}, "hits": []}
        self.holds = self.messages = 0

    def out(self, line):
        print(line, flush=True)

    def is_over(self):
        """A rule was broken; of a control, the one that must be."""
        found = self.violations.found
        return any((self.expect or "") in one for one in found)

    def run(self):
        """Whether no rule was broken."""
        self.out(f"lying: seed {self.seed}, {self.lies} faults")
        if self.over_memory:
            return self.run_over_memory()
        folder = tempfile.TemporaryDirectory(prefix="ilk-")
        with folder as directory, Server(directory) as self.server:
            path = self.server.socket
            self.server.call("CONFIG", "SET", "requirepass", PASSWORD)
            self.truth = Truth(path, PASSWORD, DB)
            self.proxy = Proxy(path, self.seed)
            try:
                self.rounds()
            finally:
                self.proxy.close()
        self.report()
        return not self.violations

    def run_over_memory(self):
        with Memory() as self.server:
            self.truth = Truth(self.server.socket, PASSWORD, DB)
            self.proxy = MemoryLiar(self.server)
            self.rounds()
        self.report()
        return not self.violations

    def rounds(self):
        number = 0
        while self.wants_more() and not self.is_over():
            number += 1
            self.round(number)
        if not self.over_memory and self.truth.call("DBSIZE", db=0):
            self.violations.add("something was written to another database")

    def wants_more(self):
        """Faults, or, up to twice as many, those for verbs that none has hit."""
        faults = self.stats["faults"]
        all_hit = self.lies < ALL_HIT or self.over_memory or not self.coverage()
        return faults < self.lies or (not all_hit and faults < 2 * self.lies)

    def round(self, number):
        ledger, history = Ledger(self.violations), []
        world = work.World(
            self.truth, self.violations, self.calls, ledger, history, f"r{number}"
        )
        most = 12 if self.lies < 200 else 50
        sides = [
            Side(world, self.proxy, label, self.rng, self.rng.randint(2, most))
            for label in LABELS
        ]
        left = self.lies - self.stats["faults"]
        self.proxy.ask(do="lie", most=min(IN_ROUND, left) if left > 0 else 50)
        for side in sides:
            side.thread.start()
        while self.proxy.ask(do="stats")["lying"] and not self.is_over():
            time.sleep(0.05)
            self.check_ages(sides)
        world.stop.set()
        self.stats = self.proxy.ask(do="quiet")
        for copy in self.stats["executed"]:
            self.violations.add(f"executed after its repetition: {copy}")
        for side in sides:
            side.honest.set()
        if self.expect:
            if self.is_over():
                self.ends_here(0)
            return
        self.join(sides)
        self.finish(world)

    def check_ages(self, sides):
        verb, age = self.calls.oldest()
        if age > bound():
            self.hangs(f"{verb} has not returned for {age:.0f} s")
        for side in sides:
            if not side.thread.is_alive() and not side.world.stop.is_set():
                self.violations.add(f"{side.label} ended early")

    def hangs(self, what):
        self.violations.add(what)
        faulthandler.dump_traceback(all_threads=True)
        self.ends_here(1)

    def ends_here(self, status):
        """A call under way would keep the process."""
        self.report()
        self.proxy.close()
        self.server.kill()
        os._exit(status)

    def join(self, sides):
        for side in sides:
            while side.thread.is_alive():
                side.thread.join(0.2)
                self.check_ages(sides)

    # ---- when the faults of a round have ended --------------------------------

    def finish(self, world):
        for one in overlaps(world.history):
            self.violations.add(one)
        self.holds += len(world.history)
        self.messages += len(world.ledger.pushed)
        work.finish_latches(world)
        work.finish_stores(world)
        left = set()
        url = f"unix://:{PASSWORD}@{self.server.socket}?db={DB}"
        if self.over_memory:
            url = self.server.unix_url
        with interlock.connect(url) as client:
            for name in sorted(world.queues):
                left |= set(self.drain(client, world, name))
        for name in sorted(world.lists):
            left |= self.drain_list(name)
        world.ledger.settle(left)

    def drain(self, client, world, name):
        """All that is in a queue, when the leases of those who left are over."""
        queue, found = client.queue(name, max_attempts=None), []
        until = time.monotonic() + bound()
        queue.requeue()
        while True:
            job = queue.reserve(timeout=0.1, lease=60)
            if job is not None:
                world.ledger.delivered(job.data, time.monotonic(), "the drain")
                found.append(job.data)
                job.ack()
                continue
            info = queue.inspect()
            if not (info.ready or info.delayed or info.taken or info.dead):
                return found
            if time.monotonic() > until:
                self.violations.add(f"{name} does not get empty: {info}")
                return found

    def drain_list(self, name):
        """Of a plain list, and of its consumers' own."""
        found = set()
        for key in self.truth.call("KEYS", f"*{name}*"):
            if self.truth.call("TYPE", key) == b"list":
                found |= set(self.truth.call("LRANGE", key, 0, -1))
        return found

    # ---- the report -------------------------------------------------------------

    def coverage(self):
        """Verbs, by face, whose replies no fault has hit."""
        hit = Counter()
        for label, name, n in self.stats["hits"]:
            hit[label.split("-")[0], name] += n
        missed = []
        for face in ("threads", "asyncio"):
            verbs = dict(work.VERBS)
            if face == "threads":
                verbs.update(work.RECIPES)
            verbs.update({name: [name] for name in work.CONNECTING})
            for verb, names in verbs.items():
                if not any(hit[face, name] for name in names):
                    missed.append(f"{face} {verb}")
        return missed

    def report(self):
        took = time.monotonic() - self.began
        results = Counter()
        for verb, counts in sorted(self.calls.results.items()):
            text = ", ".join(f"{what} {n}" for what, n in counts.most_common())
            self.out(f"  {verb}: {text}")
            results.update(counts)
        by_name = Counter()
        for _, name, n in self.stats["hits"]:
            by_name[name] += n
        self.out("faults by what they hit: " + listed(by_name))
        for one in self.violations.found[:40]:
            self.out(f"VIOLATION: {one}")
        total = sum(results.values())
        self.out(f"lying: {self.stats['faults']} faults: {listed(self.stats['kinds'])}")
        self.out(f"lying: {self.stats['late']} connections whose commands came late")
        self.out(
            f"lying: {total} calls on {len(self.calls.results)} verbs: {listed(results)}"
        )
        self.out(
            f"lying: {'FAILED' if self.violations else 'passed'}, seed {self.seed},"
            f" {self.stats['faults']} faults in {self.stats['frames']} frames,"
            f" {self.holds} holds and {self.messages} messages checked,"
            f" {len(self.violations.found)} rules broken, {took:.0f} s"
        )


def listed(counts):
    return ", ".join(f"{what} {n}" for what, n in Counter(counts).most_common())


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    lies = int(os.environ.get("ILK_TEST_LIES", "50"))
    seed = int(
        os.environ.get("ILK_TEST_SEED") or random.SystemRandom().randrange(10**6)
    )
    parser.add_argument("--lies", type=int, default=lies)
    parser.add_argument("--seed", type=int, default=seed)
    parser.add_argument("--expect", help="a control: end well once this is found")
    parser.add_argument(
        "--memory", action="store_true", help="over the store of tests/gateway"
    )
    args = parser.parse_args(argv)
    run = Run(args.lies, args.seed, args.expect, args.memory)
    good = run.run()
    missed = run.coverage() if args.lies >= ALL_HIT and not args.memory else []
    if missed:
        print(f"lying: FAILED, no fault hit {', '.join(missed)}")
    return 0 if good and not missed and not args.expect else 1


if __name__ == "__main__":
    sys.exit(main())
