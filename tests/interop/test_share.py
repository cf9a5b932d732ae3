# SPDX-License-Identifier: MIT
"""Ours next to pollers of another make on one name: who gets how much.

Pollers can starve behind a line that is never empty, since a free key goes to
who stands in it. What each side gets is printed, not judged; that ours keep
their order, and that mixed names work with `fair=False`, is tested.
"""

from __future__ import annotations

import threading
import time

import interlock
import pytest
import redis

HOLD = 0.002
SECONDS = 3.0


class Shares:
    """Threads that take one name in turns until the time is over."""

    def __init__(self):
        self.ends = time.monotonic() + SECONDS
        self.inside = 0
        self.overlaps = 0
        self.counts = {}
        self.threads = []

    def add(self, label, acquire, release):
        self.counts[label] = 0
        thread = threading.Thread(target=self._run, args=(label, acquire, release))
        self.threads.append(thread)

    def _run(self, label, acquire, release):
        while time.monotonic() < self.ends:
            if not acquire():
                continue
            self.inside += 1
            self.overlaps += self.inside != 1
            time.sleep(HOLD)
            self.inside -= 1
            self.counts[label] += 1
            release()

    def run(self):
        for thread in self.threads:
            thread.start()
        for thread in self.threads:
            thread.join(60)
            assert not thread.is_alive()


@pytest.mark.parametrize("fair", [True, False])
def test_shares_of_ours_and_of_pollers(fair, url, name, tell):
    shares = Shares()
    client = interlock.connect(url)
    plain = redis.Redis.from_url(url)
    for number in range(3):
        lock = client.lock(name, ttl=10, fair=fair)
        shares.add(f"ours {number}", lambda k=lock: k.acquire(timeout=1), lock.release)
        poller = plain.lock(name, timeout=10, blocking_timeout=1)
        shares.add(f"redis-py {number}", poller.acquire, poller.release)

    shares.run()
    client.close()
    plain.close()

    ours = [shares.counts[f"ours {n}"] for n in range(3)]
    theirs = [shares.counts[f"redis-py {n}"] for n in range(3)]
    total = sum(ours) + sum(theirs)
    tell(
        f"share of one name, fair={fair}: ours {sum(ours) / total:.0%} {ours},"
        f" redis-py {sum(theirs) / total:.0%} {theirs}, {total / SECONDS:.0f}/s"
    )
    assert shares.overlaps == 0
    assert sum(ours) > 0
    if fair:
        assert max(ours) - min(ours) <= max(2, 0.1 * max(ours))


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
