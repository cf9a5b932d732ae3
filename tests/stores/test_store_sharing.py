# SPDX-License-Identifier: MIT
"""Read/write locks and semaphores between clients, where the store offers them."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator

import interlock
import pytest
from cluster import PATIENCE, Background, until
from store import Store

TTL = 20.0

pytestmark = pytest.mark.parametrize(
    "kind", ["etcd", "zookeeper"], indirect=True, scope="session"
)


def until_waiting(look: Callable[[], int], count: int, what: str) -> None:
    """A wait begins with a try, which may be seen for a moment as well."""
    seen: deque[int] = deque(maxlen=8)

    def is_settled() -> bool:
        seen.append(look())
        return list(seen) == [count] * 8

    until(is_settled, what=what)


@pytest.fixture
def third(store: Store) -> Iterator[interlock.Client]:
    with interlock.connect(store.url()) as opened:
        yield opened


def test_readers_of_several_clients_share_and_a_writer_is_alone(
    client: interlock.Client,
    other: interlock.Client,
    third: interlock.Client,
    name: str,
) -> None:
    one, two, writer = client.rwlock(name), other.rwlock(name), third.rwlock(name)
    assert one.read.acquire(5) and two.read.acquire(5)
    assert client.inspect(name).readers == 2
    assert not writer.write.acquire(0)
    writing = Background(lambda: writer.write.acquire(60))
    until_waiting(lambda: client.inspect(name).waiting or 0, 1, "a writer that waits")

    assert one.read.release()
    assert not one.read.acquire(0)  # the writer comes first
    assert not writing.found
    assert two.read.release()

    assert writing.result()
    assert not one.read.acquire(0) and not one.write.acquire(0)
    reading = [
        Background(lambda: one.read.acquire(60)),
        Background(lambda: two.read.acquire(60)),
    ]
    until_waiting(lambda: third.inspect(name).waiting or 0, 2, "two readers that wait")
    assert writer.write.release()
    assert all(reader.result() for reader in reading)  # both at once
    assert one.read.release() and two.read.release()


def test_permits_never_exceed_the_limit(
    store: Store, client: interlock.Client, other: interlock.Client, name: str
) -> None:
    limit, inside, most, mutex = 3, 0, 0, threading.Lock()
    rounds = dict.fromkeys(range(8), 0)
    over = threading.Event()
    faults: list[object] = []

    def work(number: int) -> None:
        nonlocal inside, most
        permits = 1 + number % 2
        of = (client, other)[number % 2]
        try:
            while not over.is_set():
                one = of.semaphore(name, limit, permits=permits, ttl=TTL)
                assert one.acquire(60 * PATIENCE)
                with mutex:
                    inside += permits
                    most = max(most, inside)
                    assert inside <= limit
                time.sleep(0.002)
                with mutex:
                    inside -= permits
                assert one.release()
                rounds[number] += 1
        except BaseException as error:
            faults.append(error)

    threads = [
        threading.Thread(target=work, args=(one,), daemon=True) for one in rounds
    ]
    for thread in threads:
        thread.start()
    try:
        until(lambda: faults or min(rounds.values()) >= 5, 60, "turns for all")
    finally:
        over.set()
    for thread in threads:
        thread.join(60 * PATIENCE)
    assert not faults
    assert most == limit
    assert client.inspect_semaphore(name).used == 0


def test_a_wide_hold_is_not_starved_by_narrow_ones(
    client: interlock.Client, other: interlock.Client, name: str
) -> None:
    """Permits are granted in the order of arrival."""
    first = client.semaphore(name, 3, ttl=TTL)
    wide = other.semaphore(name, 3, permits=3, ttl=TTL)
    narrow = client.semaphore(name, 3, ttl=TTL)
    assert first.acquire(5)
    all_three = Background(lambda: wide.acquire(60))
    until_waiting(lambda: client.inspect_semaphore(name).waiting, 1, "a waiter")
    assert not narrow.acquire(0)
    behind = Background(lambda: narrow.acquire(60))
    until_waiting(lambda: client.inspect_semaphore(name).waiting, 2, "two waiters")
    assert not all_three.found and not behind.found
    assert first.release()
    assert all_three.result()
    assert not behind.found
    assert wide.release()
    assert behind.result()
    assert narrow.release()


def test_a_limit_that_differs_is_refused_between_clients(
    client: interlock.Client, other: interlock.Client, name: str
) -> None:
    mine, theirs = client.semaphore(name, 2), other.semaphore(name, 3)
    assert mine.acquire(5)
    with pytest.raises(interlock.DiffersError):
        theirs.acquire(0)
    assert mine.release()
