# SPDX-License-Identifier: MIT
"""Readers and writers."""

from __future__ import annotations

import threading

import interlock
import pytest


def test_readers_share_and_a_writer_is_alone(client, other, name):
    mine, theirs = client.rwlock(name), other.rwlock(name)
    with mine.read, theirs.read:
        assert client.inspect(name).state == "readers"
        assert client.inspect(name).readers == 2
        assert mine.write.acquire(0) is False
    with mine.write:
        assert theirs.read.acquire(0) is False
        assert theirs.write.acquire(0) is False
    assert client.inspect(name).state == "free"


def test_a_reader_does_not_overtake_a_waiting_writer(client, other, name, waiting):
    order, table = [], other.rwlock(name)
    first = client.rwlock(name).read
    assert first.acquire(0)

    def enter(lock, word):
        with lock:
            order.append(word)

    threads = []
    for lock, word in ((table.write, "w"), (client.rwlock(name).read, "r")):
        threads.append(threading.Thread(target=enter, args=(lock, word)))
        threads[-1].start()
        waiting(name, len(threads))
    assert other.rwlock(name).read.acquire(0) is False
    first.release()
    for thread in threads:
        thread.join(10)

    assert order == ["w", "r"]


def test_readers_next_to_each_other_enter_together(client, other, name, waiting):
    writer = client.rwlock(name).write
    assert writer.acquire(0)
    together, threads, fences = threading.Barrier(3), [], set()

    def work():
        with other.rwlock(name).read as reader:
            fences.add(reader.fence)
            together.wait(10)

    for number in range(3):
        threads.append(threading.Thread(target=work))
        threads[-1].start()
        waiting(name, number + 1)
    writer.release()
    for thread in threads:
        thread.join(15)
    assert not together.broken
    assert len(fences) == 3 and min(fences) > writer.fence


def test_the_writer_is_the_plain_lock(client, other, name):
    with client.lock(name):
        assert other.rwlock(name).write.acquire(0) is False
        assert other.rwlock(name).read.acquire(0) is False
    with client.rwlock(name).read:
        assert other.lock(name).acquire(0) is False


def test_the_options_reach_both(client, name):
    table = client.rwlock(name, ttl=5, wait=0.05, renew=False)
    assert table.name == name
    assert repr(table) == f"<interlock.RWLock '{name}'>"
    with table.read as lock:
        assert 4 < lock.remaining() <= 5
        with pytest.raises(interlock.TimeoutError, match=r"0\.05 s"), table.write:
            pytest.fail("a writer beside a reader")
