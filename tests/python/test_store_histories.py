# SPDX-License-Identifier: MIT
"""Stores under load: what was read and written is serializable, and sums hold."""

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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import interlock
import pytest
from support import wait_until

sys.path.append(str(Path(__file__).resolve().parents[1] / "shared"))

from serializability import NotSerializableError, Transaction, check

# -- the checker


def one(id_, writes="", **reads):
    return Transaction(id_, reads, frozenset(writes))


def test_a_serial_history_passes():
    check(
        [one("1", "x", x=[]), one("2", "xy", x=["1"]), one("3", y=["2"], x=["1", "2"])],
        {"x": ["1", "2"], "y": ["2"]},
    )


@pytest.mark.parametrize(
    ("history", "last"),
    [
        pytest.param(
            [one("1", "x", x=[]), one("2", "x", x=[])],
            {"x": ["2"]},
            id="lost update",
        ),
        pytest.param(
            [one("1", "x", x=[]), one("2", "x", x=[])],
            {"x": ["1", "2"]},
            id="update of an old value",
        ),
        pytest.param(
            [one("1", "x", x=[], y=[]), one("2", "y", x=[], y=[])],
            {"x": ["1"], "y": ["2"]},
            id="write skew",
        ),
        pytest.param(
            [one("1", "xy"), one("2", x=["1"], y=[])],
            {"x": ["1"], "y": ["1"]},
            id="half of a transaction read",
        ),
        pytest.param(
            [
                one("1", "x"),
                one("2", "y"),
                one("3", x=["1"], y=[]),
                one("4", x=[], y=["2"]),
            ],
            {"x": ["1"], "y": ["2"]},
            id="two orders seen",
        ),
        pytest.param(
            [one("1", "x"), one("2", "x"), one("3", x=["1"]), one("4", x=["2"])],
            {"x": ["1", "2"]},
            id="two orders of a key",
        ),
        pytest.param([one("1", "x")], {"x": ["1", "1"]}, id="written twice"),
        pytest.param(
            [one("1", "x"), one("2", x=["1", "3"])], {"x": ["1"]}, id="aborted"
        ),
        pytest.param([], {"x": ["1"]}, id="invented"),
    ],
)
def test_a_history_without_a_serial_order_is_found(history, last):
    with pytest.raises(NotSerializableError):
        check(history, last)


# -- histories of the library

KEYS = [f"k{number}" for number in range(5)]


def parse(value):
    return value.decode().split() if value else []


class Worker:
    """Runs transactions that read some keys and append to some, and notes them."""

    def __init__(self, url, name, seed):
        self.random = random.Random(seed)
        self.client = interlock.connect(url)
        self.store = self.client.store(name)
        self.history = []

    def work(self, count):
        with self.client:
            while len(self.history) < count:
                self.attempt()

    def attempt(self):
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

    def look(self):
        """A snapshot, whose reads must fit as well."""
        reads = {}
        with self.store.snapshot() as v:
            for key in KEYS:
                reads[key] = parse(v.get(key))
        return Transaction(f"snapshot {uuid.uuid4().hex[:8]}", reads, frozenset())


def test_concurrent_transactions_are_serializable(server, name):
    workers = [Worker(server.unix_url, name, seed) for seed in range(4)]
    snapshots = []
    ended = threading.Event()

    def watch():
        watcher = Worker(server.unix_url, name, 9)
        with watcher.client:
            while not ended.is_set():
                with contextlib.suppress(interlock.StaleError):  # over 64 versions
                    snapshots.append(watcher.look())

    watching = threading.Thread(target=watch)
    watching.start()
    with ThreadPoolExecutor(len(workers)) as pool:
        list(pool.map(lambda worker: worker.work(60), workers))
    ended.set()
    watching.join()
    with (
        interlock.connect(server.unix_url) as client,
        client.store(name).snapshot() as v,
    ):
        last = {key: parse(v.get(key)) for key in KEYS}

    assert sum(map(len, last.values())) >= 240
    check([*(t for worker in workers for t in worker.history), *snapshots], last)


# -- a bank whose payers are killed

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
        store.run(pay)
"""


def test_the_sum_of_a_bank_holds_when_payers_are_killed(server, name):
    def begin():
        return subprocess.Popen(
            [sys.executable, "-c", PAYER, name],
            env={**os.environ, "TEST_URL": server.unix_url},
        )

    def total():
        while True:
            try:
                with store.snapshot() as v:
                    return sum(int(v[f"{account}"]) for account in range(6))
            except interlock.StaleError:
                pass  # over 64 versions while it read

    def has_paid(pid):
        with store.snapshot() as v:
            return int(v.get(f"paid {pid}", b"0")) >= 3

    with interlock.connect(server.unix_url) as client:
        store = client.store(name)
        with store.transaction() as t:
            for account in range(6):
                t[f"{account}"] = b"10"
        payers = [begin() for _ in range(3)]
        for turn in range(6):
            victim = payers[turn % 3]
            wait_until(lambda pid=victim.pid: has_paid(pid), 60)
            time.sleep(0.002 * turn)  # somewhere in a transaction
            victim.send_signal(signal.SIGKILL)
            victim.wait()
            payers[turn % 3] = begin()
            assert total() == 60
        for payer in payers:
            payer.kill()
            payer.wait()
        assert total() == 60
