# SPDX-License-Identifier: MIT
"""Locks of a quorum, and other libraries' Redlock on the same nodes."""

from __future__ import annotations

import concurrent.futures
import itertools
import random
import time

import interlock
import pytest
import quorum_nodes
from cluster import PATIENCE, until
from crowd import Waiter
from peers import REDLOCKS, Redisson, RedlockPy, Redsync

FOREIGN_POLL = 0.1
SLACK = 0.3  # for a busy machine, on top of what is promised
LONGEST = 5  # seconds, so that no hold of a busy machine ends early
LEASE = 20  # of a peer; redsync gives its nodes a twentieth of it to answer
LONG = 60 * PATIENCE


def urls(nodes):
    return [f"redis://127.0.0.1:{node.port}/0" for node in nodes.nodes]


@pytest.fixture(scope="module")
def kept():
    """Three nodes that no test breaks."""
    with (
        quorum_nodes.running(longest_ms=LONGEST * 1000) as nodes,
        interlock.connect(nodes.url()),
    ):
        nodes.settle()
        yield nodes


@pytest.fixture
def nodes():
    """Three nodes to take to pieces."""
    with quorum_nodes.running() as own, interlock.connect(own.url()):
        own.settle()
        yield own


@pytest.fixture(scope="module")
def redlock_of(kept):
    """A peer of this class on all nodes, kept for the module."""
    peers = {}

    def get(kind, number=0):
        if (kind, number) not in peers:
            peers[kind, number] = kind(*urls(kept))
        return peers[kind, number]

    yield get
    for peer in peers.values():
        peer.close()


@pytest.fixture(params=REDLOCKS, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


@pytest.fixture
def peer(kind, redlock_of):
    return redlock_of(kind)


@pytest.fixture
def client(kept):
    with interlock.connect(kept.url()) as client:
        yield client


def ours(client, name, **options):
    return client.lock(name, ttl=LONGEST, **options)


# ---- one after the other ----------------------------------------------------------


def test_its_hold_keeps_us_out_until_its_release(client, peer, name):
    name = peer.prefix + name
    lock = ours(client, name)

    assert peer.acquire(name, LEASE)
    assert not lock.acquire(timeout=0)
    assert not lock.acquire(timeout=0.3)
    assert client.inspect(name).state == "foreign"
    assert peer.release()

    assert lock.acquire(timeout=0)
    assert lock.release()


@pytest.mark.parametrize("kind", [*REDLOCKS, Redisson], indirect=True)
def test_our_hold_keeps_it_out_until_our_release(client, peer, name):
    name = peer.prefix + name
    lock = ours(client, name)

    assert lock.acquire(timeout=0)
    assert not peer.acquire(name, LEASE)
    assert not peer.acquire(name, LEASE, wait=0.3)
    assert lock.extend(LONGEST)
    assert lock.release()

    assert peer.acquire(name, LEASE, wait=LONG)
    assert peer.release()


def test_our_wait_ends_within_a_foreign_poll_of_its_release(kept, client, peer, name):
    """In one of five rounds, for the machine may be busy. Every two seconds a wait
    looks without a poll as well."""
    name = peer.prefix + name

    def late():
        assert peer.acquire(name, LEASE)
        waiter = Waiter(kept, name, ttl=LONGEST)
        until(lambda: client.inspect(name).waiting == 1, what="a waiter")
        assert not waiter.acquired.wait(0.3)
        assert peer.release()
        released = time.monotonic()
        assert waiter.acquired.wait(LONG)
        took = time.monotonic() - released
        waiter.end()
        return took

    assert any(late() < FOREIGN_POLL + SLACK for _ in range(5))


@pytest.mark.parametrize("kind", [*REDLOCKS, Redisson], indirect=True)
def test_its_wait_ends_after_our_release(client, peer, name):
    name = peer.prefix + name
    lock = ours(client, name)
    assert lock.acquire(timeout=0)
    with concurrent.futures.ThreadPoolExecutor() as threads:
        waiting = threads.submit(peer.acquire, name, LEASE, LONG)
        assert not concurrent.futures.wait([waiting], 0.3).done

        assert lock.release()

        assert waiting.result()
    assert peer.release()


def test_its_late_release_leaves_our_hold_alone(kept, client, peer, name):
    name = peer.prefix + name
    lock = ours(client, name)
    assert peer.acquire(name, 2)
    assert lock.acquire(timeout=LONG)
    tokens = set(until(lambda: majority(kept, name), what="a majority"))

    peer.release()  # most of them say that they had no lock any more

    assert tokens == majority(kept, name)
    assert lock.extend(LONGEST)
    assert lock.release()


def majority(nodes, name):
    """The token that most nodes have."""
    tokens = nodes.tokens(name)
    return {token for token in tokens if token and tokens.count(token) > 1}


# ---- faults ---------------------------------------------------------------------


def test_both_exclude_each_other_without_one_node(nodes, kind, name):
    name = kind.prefix + name
    peer = kind(*urls(nodes))
    with interlock.connect(nodes.url()) as client:
        lock = client.lock(name, ttl=quorum_nodes.LONGEST_MS / 1000)
        assert peer.acquire(name, LEASE)
        until(lambda: None not in nodes.tokens(name), what="all votes")
        nodes.nodes[1].kill()
        assert not lock.acquire(timeout=0)
        assert not lock.acquire(timeout=0.3)
        assert peer.release()

        assert lock.acquire(timeout=LONG)
        assert not peer.acquire(name, LEASE)
        assert lock.release()

        if kind is not RedlockPy:
            assert peer.acquire(name, LEASE, wait=LONG)
            assert not lock.acquire(timeout=0)
            assert peer.release()
            assert lock.acquire(timeout=LONG)
            assert lock.release()
    peer.close()


def test_redlock_py_needs_all_nodes_and_leaves_its_votes(nodes, name):
    """As with a hold that nobody has: our wait takes as long as its lease."""
    peer = RedlockPy(*urls(nodes))
    nodes.nodes[1].kill()
    with interlock.connect(nodes.url()) as client:
        lock = client.lock(name, ttl=quorum_nodes.LONGEST_MS / 1000)
        with pytest.raises(peer.module.MultipleRedlockException):
            peer.acquire(name, 1)
        assert len(majority_of_living(nodes, name)) == 1

        assert lock.acquire(timeout=LONG)
        assert lock.release()
    peer.close()


def majority_of_living(nodes, name):
    return {nodes.nodes[number].redis().get(name) for number in (0, 2)} - {None}


def test_a_node_that_has_forgotten_our_hold_votes_for_a_peer(name):
    """Our clients know that the node was restarted, and theirs do not."""
    with (
        quorum_nodes.running(longest_ms=LONGEST * 1000) as nodes,
        interlock.connect(nodes.url()) as client,
    ):
        nodes.settle()
        peer, lock = Redsync(*urls(nodes)), ours(client, name, renew=False)
        _, second, third = nodes.nodes
        third.kill()
        assert lock.acquire(timeout=LONG)
        assert not peer.acquire(name, LEASE)
        second.kill()
        second.start()
        third.start()
        until(lambda: peer.acquire(name, LEASE), what="two votes")
        assert lock.held
        peer.close()


def test_a_node_that_has_forgotten_a_longer_lease_of_a_peer_votes_for_us(nodes, name):
    """After the longest lease of ours, which a lease of theirs should not exceed."""
    peer = Redsync(*urls(nodes))
    first, second, third = nodes.nodes
    with interlock.connect(nodes.url()) as client:
        lock = client.lock(name, ttl=quorum_nodes.LONGEST_MS / 1000)
        assert peer.acquire(name, LONG)
        third.redis().delete(name)  # as when it did not answer in time
        assert not lock.acquire(timeout=0)
        second.kill()
        second.start()

        assert lock.acquire(timeout=LONG / 2)
        assert first.redis().get(name) not in (None, lock.token)
        assert lock.release()
    peer.close()


# ---- all at once ------------------------------------------------------------------


class Counter:
    """Loses an update where two are inside at the same time."""

    def __init__(self):
        self.value = 0
        self.turns = []

    def add(self, side):
        value = self.value
        time.sleep(0.005)
        self.value = value + 1
        self.turns.append(side)

    def is_enough(self):
        changes = sum(one != next for one, next in itertools.pairwise(self.turns))
        return min(map(self.turns.count, ("ours", "theirs"))) >= 15 and changes >= 8


def compete(*workers):
    """A thread each of (side, acquire, release), two of each side."""
    counter = Counter()

    def work(side, acquire, release):
        while not counter.is_enough():
            assert acquire()
            counter.add(side)
            assert release()
            # While one of ours waits at each moment, no poller gets a turn.
            time.sleep(random.uniform(0, 0.1))

    with concurrent.futures.ThreadPoolExecutor(len(workers)) as threads:
        for worker in [threads.submit(work, *worker) for worker in workers]:
            worker.result()
    assert counter.value == len(counter.turns)


def test_no_update_is_lost_between_two_of_ours_and_two_of_theirs(
    kept, kind, redlock_of, name
):
    name = kind.prefix + name

    def our_worker(client):
        lock = ours(client, name)
        return "ours", lambda: lock.acquire(timeout=LONG), lock.release

    def their_worker(number):
        peer = redlock_of(kind, number)
        return "theirs", lambda: peer.acquire(name, LEASE, wait=LONG), peer.release

    with interlock.connect(kept.url()) as one, interlock.connect(kept.url()) as two:
        compete(our_worker(one), our_worker(two), their_worker(0), their_worker(1))


# ---- Redisson: a hash at the key, which is an error for the others -------------------


def test_redissons_redlock_keeps_us_out_with_an_error(kept, client, redlock_of, name):
    peer, lock = redlock_of(Redisson), ours(client, name)
    assert peer.acquire(name, LEASE)
    for timeout in (0, 1):
        with pytest.raises(interlock.WrongTypeError):
            lock.acquire(timeout=timeout)
    assert [node.redis().type(name) for node in kept.nodes] == ["hash"] * 3

    assert peer.release()

    assert lock.acquire(timeout=LONG)
    assert lock.release()


def test_no_update_is_lost_beside_redissons_redlock(kept, redlock_of, name):
    """Each side has to try again by itself."""

    def our_worker(client):
        lock = ours(client, name)

        def attempt():
            try:
                return lock.acquire(timeout=0)
            except interlock.WrongTypeError:
                return False

        return "ours", lambda: until(attempt, what="a turn"), lock.release

    def their_worker(number):
        peer = redlock_of(Redisson, number)
        return (
            "theirs",
            lambda: until(lambda: peer.acquire(name, LEASE), what="a turn"),
            peer.release,
        )

    with interlock.connect(kept.url()) as one, interlock.connect(kept.url()) as two:
        compete(our_worker(one), our_worker(two), their_worker(0), their_worker(1))


def test_a_quorum_refuses_redissons_layout(client, name):
    with pytest.raises(interlock.UnsupportedError, match="a quorum keeps locks"):
        ours(client, name, layout="redisson").acquire(timeout=0)
