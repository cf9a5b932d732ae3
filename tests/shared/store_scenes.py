# SPDX-License-Identifier: MIT
"""Stores under load, wherever they are kept: histories that are checked, and a bank."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import interlock
from serializability import Transaction, check

# ---- histories -------------------------------------------------------------------

KEYS = [f"k{number}" for number in range(5)]


def parse(value: bytes | None) -> list[str]:
    return value.decode().split() if value else []


class Worker:
    """Runs transactions that read some keys and append to some, and notes them."""

    def __init__(self, url: str, name: str, seed: int):
        self.random = random.Random(seed)
        self.client = interlock.connect(url)
        self.store = self.client.store(name)
        self.history: list[Transaction] = []

    def work(self, count: int) -> None:
        with self.client:
            while len(self.history) < count:
                self.attempt()

    def attempt(self) -> None:
        id_ = uuid.uuid4().hex[:12]
        reads = {}
        read = self.random.sample(KEYS, self.random.randint(0, 3))
        writes = self.random.sample(read, min(len(read), self.random.randint(0, 2)))
        try:
            with self.store.transaction() as t:
                for key in read:
                    reads[key] = parse(t.get(key))
                for key in writes:
                    t[key] = " ".join([*reads[key], id_])
        except interlock.ConflictError:
            return
        if writes:
            self.history.append(Transaction(id_, reads, frozenset(writes)))

    def look(self) -> Transaction:
        """A snapshot, whose reads must fit as well."""
        reads = {}
        with self.store.snapshot() as v:
            for key in KEYS:
                reads[key] = parse(v.get(key))
        return Transaction(f"snapshot {uuid.uuid4().hex[:8]}", reads, frozenset())


def check_history(url: str, name: str, count: int = 60) -> None:
    """Four workers and one that takes snapshots, each with a client of its own."""
    workers = [Worker(url, name, seed) for seed in range(4)]
    snapshots: list[Transaction] = []
    ended = threading.Event()

    def watch() -> None:
        watcher = Worker(url, name, 9)
        with watcher.client:
            while not ended.is_set():
                with contextlib.suppress(interlock.StaleError):  # over 64 versions
                    snapshots.append(watcher.look())

    watching = threading.Thread(target=watch)
    watching.start()
    with ThreadPoolExecutor(len(workers)) as pool:
        list(pool.map(lambda worker: worker.work(count), workers))
    ended.set()
    watching.join()
    with interlock.connect(url) as client, client.store(name).snapshot() as v:
        last = {key: parse(v.get(key)) for key in KEYS}

    assert sum(map(len, last.values())) >= 4 * count
    check([*(t for worker in workers for t in worker.history), *snapshots], last)


# ---- a bank whose payers are killed ----------------------------------------------

PAYER = """
import interlock, os, random, sys
with interlock.connect(os.environ["TEST_URL"]) as client:
    store = client.store(sys.argv[1])
    def pay(t):
        a, b = random.sample(range(6), 2)
        t[f"{a}"] = b"%d" % (int(t[f"{a}"]) - 1)
        t[f"{b}"] = b"%d" % (int(t[f"{b}"]) + 1)
        t[f"paid {os.getpid()}"] = b"%d" % (int(t.get(f"paid {os.getpid()}", b"0")) + 1)
    while True:
        try:
            store.run(pay)
        except (interlock.ConnectionError, interlock.NoQuorumError,
                interlock.UnknownOutcomeError, interlock.TimeoutError):
            pass  # a server is away
"""


class Bank:
    """Six accounts with 60 altogether, and three processes that pay."""

    def __init__(self, url: str, name: str):
        self.url, self.name = url, name
        self.client = interlock.connect(url)
        self.store = self.client.store(name)
        with self.store.transaction() as t:
            for account in range(6):
                t[f"{account}"] = b"10"
        self.payers = [self.begin() for _ in range(3)]

    def begin(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-c", PAYER, self.name],
            env={**os.environ, "TEST_URL": self.url},
        )

    def total(self) -> int:
        while True:
            try:
                with self.store.snapshot() as v:
                    return sum(int(v[f"{account}"]) for account in range(6))
            except interlock.StaleError:
                pass  # over 64 versions while it read

    def paid(self, pid: int) -> int:
        with self.store.snapshot() as v:
            return int(v.get(f"paid {pid}") or 0)

    def kill_payers(self, wait_until: Callable[..., object], turns: int = 6) -> None:
        """One after another, each somewhere in a transaction; another takes its place."""
        for turn in range(turns):
            victim = self.payers[turn % 3]
            wait_until(lambda pid=victim.pid: self.paid(pid) >= 3, 60)
            time.sleep(0.002 * turn)
            victim.send_signal(signal.SIGKILL)
            victim.wait()
            self.payers[turn % 3] = self.begin()
            assert self.total() == 60

    def __enter__(self) -> Bank:
        return self

    def __exit__(self, *_: object) -> None:
        for payer in self.payers:
            payer.kill()
            payer.wait()
        self.client.close()
