# SPDX-License-Identifier: MIT
"""Locks in etcd and ZooKeeper, and their own ecosystems' locks on the same names:
clientv3 in Go, Curator in Java. Those that need no toolchain are in tests/stores."""

from __future__ import annotations

import concurrent.futures
import sys
import time
from pathlib import Path

import interlock
import pytest
from cluster import PATIENCE, until
from peers import CuratorMutex, EtcdMutex

sys.path.append(str(Path(__file__).parents[1] / "stores"))

from store_kinds import KINDS, absence, point_at_backends
from zookeeper_store import CHROOT

point_at_backends()

LEASE = 20
LONG = 60 * PATIENCE

PEERS = {"etcd": EtcdMutex, "zookeeper": CuratorMutex}


@pytest.fixture(scope="module", params=PEERS)
def store(request):
    lacks = absence(request.param)
    if lacks:
        pytest.skip(f"SKIPPED PEER: {lacks.text}")
    with KINDS[request.param]() as running:
        yield running


@pytest.fixture(scope="module")
def peer_on(store):
    """A peer of this store, kept for the module."""
    kept = {}

    def get(number=0):
        if number not in kept:
            if store.scheme == "etcd":
                places = store.endpoints()
            else:
                places = [store.hosts() + CHROOT]
            kept[number] = PEERS[store.scheme](*places)
        return kept[number]

    yield get
    for peer in kept.values():
        peer.close()


@pytest.fixture
def client(store):
    with interlock.connect(store.url()) as client:
        yield client


@pytest.fixture
def peer(client, peer_on):
    """After our client, which makes the chroot."""
    return peer_on()


def test_its_hold_keeps_us_out_until_its_release(client, peer, name):
    lock = client.lock(name, ttl=LEASE)
    assert peer.acquire(name, LEASE)
    assert not lock.acquire(timeout=0)
    assert not lock.acquire(timeout=0.3)
    assert client.inspect(name).state != "free"

    assert peer.release()

    assert lock.acquire(timeout=0)
    assert lock.release()


def test_our_hold_keeps_it_out_until_our_release(client, peer, name):
    lock = client.lock(name, ttl=LEASE)
    assert lock.acquire(timeout=0)
    assert not peer.acquire(name, LEASE)
    assert not peer.acquire(name, LEASE, wait=0.3)
    assert lock.extend(LEASE)

    assert lock.release()

    assert peer.acquire(name, LEASE)
    assert peer.release()


def test_its_wait_ends_with_our_release(client, peer, name):
    lock = client.lock(name, ttl=LEASE)
    assert lock.acquire(timeout=0)
    with concurrent.futures.ThreadPoolExecutor() as threads:
        waiting = threads.submit(peer.acquire, name, LEASE, LONG)
        until(lambda: client.inspect(name).waiting == 1, what="a waiter")
        assert not waiting.done()
        assert lock.release()
        assert waiting.result()
    assert peer.release()


def test_our_wait_ends_with_its_release(client, peer, name):
    lock = client.lock(name, ttl=LEASE)
    assert peer.acquire(name, LEASE)
    with concurrent.futures.ThreadPoolExecutor() as threads:
        waiting = threads.submit(lock.acquire, LONG)
        until(lambda: client.inspect(name).waiting == 1, what="a waiter")
        assert not waiting.done()
        assert peer.release()
        began = time.monotonic()
        assert waiting.result()
        assert time.monotonic() - began < 1 + PATIENCE
    assert lock.release()


def test_all_wait_in_one_order(store, client, peer_on, name):
    """Ours, theirs, ours: as they came."""
    lock = client.lock(name, ttl=LEASE)
    order = []

    def ours(number):
        with interlock.connect(store.url()) as own:
            one = own.lock(name, ttl=LEASE)
            assert one.acquire(timeout=LONG)
            order.append(number)
            assert one.release()

    def theirs(number):
        peer = peer_on(1)
        assert peer.acquire(name, LEASE, wait=LONG)
        order.append(number)
        assert peer.release()

    assert lock.acquire(timeout=0)
    peer_on(1)
    with concurrent.futures.ThreadPoolExecutor() as threads:
        tasks = []
        for number, work in enumerate([ours, theirs, ours]):
            tasks.append(threads.submit(work, number))
            until(
                lambda number=number: client.inspect(name).waiting == number + 1,
                what="one more waiter",
            )
        assert lock.release()
        for task in tasks:
            task.result()
    assert order == [0, 1, 2]


def test_a_peer_that_dies_is_followed(store, client, name):
    """When its session has ended."""
    if store.scheme == "etcd":
        peer = EtcdMutex(*store.endpoints())
    else:
        peer = CuratorMutex(store.hosts() + CHROOT)
    assert peer.acquire(name, 3)
    peer.process.kill()
    lock = client.lock(name, ttl=LEASE)
    assert lock.acquire(timeout=LONG)
    assert lock.release()
    peer.close()


def test_no_update_is_lost_between_two_of_ours_and_two_of_theirs(
    store, client, peer_on, name
):
    inside, rounds = [], {"ours": 0, "theirs": 0}

    def work(side, acquire, release):
        while min(rounds.values()) < 10:
            assert acquire()
            inside.append(side)
            assert inside == [side]
            time.sleep(0.002)
            inside.remove(side)
            rounds[side] += 1
            assert release()

    def ours():
        with interlock.connect(store.url()) as own:
            lock = own.lock(name, ttl=LEASE)
            work("ours", lambda: lock.acquire(timeout=LONG), lock.release)

    def theirs(number):
        peer = peer_on(number)
        work("theirs", lambda: peer.acquire(name, LEASE, wait=LONG), peer.release)

    for number in range(2):
        peer_on(number)
    with concurrent.futures.ThreadPoolExecutor() as threads:
        tasks = [threads.submit(ours), threads.submit(ours)]
        tasks += [threads.submit(theirs, number) for number in range(2)]
        for task in tasks:
            task.result()
    assert min(rounds.values()) >= 10


@pytest.mark.parametrize("store", ["etcd"], indirect=True)
def test_elections_are_shared_both_ways(client, peer, name):
    mine = client.election(name, ttl=LEASE, value=b"ours")
    assert peer.campaign(name, LEASE, "theirs")
    assert mine.leader() == b"theirs"
    assert not mine.campaign(0)
    assert peer.resign()
    assert mine.campaign(LONG)
    assert peer.leader(name) == "ours"
    assert mine.proclaim(b"changed")
    assert peer.leader(name) == "changed"
    assert mine.resign()
    assert peer.leader(name) is None


@pytest.mark.parametrize("store", ["zookeeper"], indirect=True)
def test_our_readers_and_curators_writer_exclude_each_other(client, peer, name):
    rw = client.rwlock(name, ttl=LEASE)
    assert peer.share(name)
    assert rw.read.acquire(0)
    assert not rw.write.acquire(0)
    assert peer.release()
    assert not peer.write(name)
    assert rw.read.release()
    assert peer.write(name)
    assert not rw.read.acquire(0)
    assert peer.release()
