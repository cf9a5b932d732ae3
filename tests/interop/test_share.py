# SPDX-License-Identifier: MIT
"""Ours next to pollers of another make on one name: who gets how much."""

from __future__ import annotations

import threading
import time

import interlock
import pytest
import redis
from peers import NodeRedlock, RedisPy, Redsync

SECONDS = 8.0
OF_EACH = 3
ROUNDS = 3
LEAST = 0.1  # of the time, for each kind; a quarter on a quiet machine


class Shares:
    """Threads that take one name in turns until the time is over."""

    def __init__(self, hold):
        self.hold = hold
        self.ends = time.monotonic() + SECONDS
        self.inside = 0
        self.overlaps = 0
        self.turns, self.seconds, self.waits = {}, {}, {}
        self.threads = []

    def add(self, label, acquire, release):
        self.turns[label], self.seconds[label], self.waits[label] = 0, 0.0, 0.0
        thread = threading.Thread(target=self._run, args=(label, acquire, release))
        self.threads.append(thread)

    def _run(self, label, acquire, release):
        began = time.monotonic()
        while time.monotonic() < self.ends:
            if not acquire():
                continue
            entered = time.monotonic()
            self.waits[label] = max(self.waits[label], entered - began)
            self.inside += 1
            self.overlaps += self.inside != 1
            time.sleep(self.hold)
            self.inside -= 1
            self.turns[label] += 1
            began = time.monotonic()
            self.seconds[label] += began - entered
            release()

    def run(self, first):
        """All come while `first`, a peer, is inside."""
        for thread in self.threads:
            thread.start()
        time.sleep(0.2)
        first.release()
        for thread in self.threads:
            thread.join(60)
            assert not thread.is_alive()

    def of(self, label, numbers):
        return [numbers[f"{label} {number}"] for number in range(OF_EACH)]


# Only who was inside once is known to poll, so one of them begins.
@pytest.mark.parametrize(
    "kind, hold, fair",
    [
        (RedisPy, 0.05, True),
        (RedisPy, 0.002, True),
        (RedisPy, 0.002, False),
        (Redsync, 0.05, True),
        (Redsync, 0.002, True),
        (NodeRedlock, 0.05, True),
        (NodeRedlock, 0.002, True),
    ],
)
def test_each_kind_gets_its_share(kind, hold, fair, peer_of, url, name, tell):
    """Luck rules one round: a poller that finds the name free again and again
    keeps it for seconds. No kind may come off badly in each of the rounds."""
    for _ in range(ROUNDS):
        parts = play_round(kind, hold, fair, peer_of, url, name, tell)
        if hold < 0.05 or min(parts.values()) > LEAST:
            return
    raise AssertionError(f"one kind starved in {ROUNDS} rounds, at last {parts}")


def play_round(kind, hold, fair, peer_of, url, name, tell):
    """The part of the time that each kind was inside."""
    first = peer_of(kind, OF_EACH)
    assert first.acquire(name, 10)
    shares = Shares(hold)
    with interlock.connect(url) as client:
        for number in range(OF_EACH):
            peer = peer_of(kind, number)
            shares.add(
                f"theirs {number}",
                lambda p=peer: p.acquire_by_default(name, 10),
                peer.release,
            )
            lock = client.lock(name, ttl=10, fair=fair)
            shares.add(
                f"ours {number}", lambda k=lock: k.acquire(timeout=4), lock.release
            )
        shares.run(first)

    parts = {
        label: sum(shares.of(label, shares.seconds)) / SECONDS
        for label in ("ours", "theirs")
    }
    tell(
        f"one name, {OF_EACH} of ours (fair={fair}) and {OF_EACH} of {kind.__name__},"
        f" {hold * 1000:.0f} ms inside: ours {parts['ours']:.0%} of the time, turns"
        f" {shares.of('ours', shares.turns)}; theirs {parts['theirs']:.0%}"
        f" {shares.of('theirs', shares.turns)}, waits of at most"
        f" {max(shares.waits.values()):.1f} s"
    )
    assert shares.overlaps == 0
    ours = shares.of("ours", shares.turns)
    if fair:
        assert max(ours) - min(ours) <= max(3, 0.2 * max(ours))
    assert sum(shares.of("theirs", shares.turns)) > OF_EACH  # luck says which of them
    return parts


def test_ours_keep_their_order_behind_a_foreign_holder(url, name):
    plain = redis.Redis.from_url(url)
    foreign = plain.lock(name, timeout=30)
    assert foreign.acquire()
    entered, threads = [], []
    client = interlock.connect(url)

    def wait(number):
        with client.lock(name, ttl=10, wait=20):
            entered.append(number)

    for number in range(8):
        threads.append(threading.Thread(target=wait, args=(number,)))
        threads[-1].start()
        deadline = time.monotonic() + 5
        while len(client.inspect(name).waiters) <= number:
            assert time.monotonic() < deadline
            time.sleep(0.002)
    foreign.release()
    for thread in threads:
        thread.join(30)

    assert entered == list(range(8))
    client.close()
    plain.close()
