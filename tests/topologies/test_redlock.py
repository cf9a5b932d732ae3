# SPDX-License-Identifier: MIT
"""Schedules in which Redlock's seven steps go wrong, and a quorum in the same ones.

Beside each step docs/quorum.md says what these tests show.
"""

from __future__ import annotations

import contextlib
import threading
import time

import interlock
import pytest
import quorum_nodes
from cluster import PATIENCE, until
from quorum_nodes import LONGEST_MS, Node, Quorum
from redlock_steps import Redlock

TTL = LONGEST_MS / 1000


def restart(node: Node) -> None:
    node.kill()
    node.start()


# ---- steps 2 and 3: a majority of nodes -------------------------------------------


def test_redlock_counts_a_vote_that_its_node_has_forgotten(
    nodes: Quorum, name: str
) -> None:
    first, second, third = nodes.nodes
    one, two = Redlock(nodes, name, 20), Redlock(nodes, name, 20)
    assert one.acquire(first, second)  # the third does not answer in time
    restart(second)
    assert two.acquire(second, third)
    assert one.believes
    assert two.believes


def test_a_quorum_does_not(nodes: Quorum, name: str) -> None:
    _, second, third = nodes.nodes
    with interlock.connect(nodes.url()) as one, interlock.connect(nodes.url()) as two:
        third.freeze()
        lock = one.lock(name, ttl=TTL, renew=False)
        assert lock.acquire(5)
        third.thaw()
        restart(second)
        other = two.lock(name, ttl=TTL)
        while lock.held:
            with contextlib.suppress(interlock.NoQuorumError):
                assert not (other.acquire(0) and lock.held)
        assert other.held or other.acquire(20 * PATIENCE)
        assert other.fence > lock.fence


# ---- step 4: what is left of the lease --------------------------------------------


class Store:
    """The value that the lock protects. It refuses a writer whose fence is not the newest."""

    def __init__(self) -> None:
        self.newest = 0

    def write(self, fence: int | None) -> bool:
        if fence is None:
            return True
        fresh = fence >= self.newest
        self.newest = max(self.newest, fence)
        return fresh


def test_redlock_has_nothing_that_stops_a_holder_who_slept(
    nodes: Quorum, name: str
) -> None:
    store = Store()
    one, two = Redlock(nodes, name, 0.2), Redlock(nodes, name, 5)
    assert one.acquire()
    assert one.believes  # it has looked, and then the process is stopped
    until(two.acquire, what="the next holder")
    assert store.write(None)  # of the second
    assert store.write(None)  # of the first, which goes on


def test_a_quorum_gives_the_store_a_fence(nodes: Quorum, name: str) -> None:
    store = Store()
    with interlock.connect(nodes.url()) as one, interlock.connect(nodes.url()) as two:
        lock, other = one.lock(name, ttl=0.2, renew=False), two.lock(name, ttl=TTL)
        assert lock.acquire(5)
        assert other.acquire(20 * PATIENCE)
        assert store.write(other.fence)
        assert not store.write(lock.fence)


def let_votes_end(nodes: Quorum, name: str) -> None:
    """As when the clocks of two nodes step forward."""
    for node in nodes.nodes[1:]:
        node.redis().pexpire(name, 1)
        until(lambda node=node: not node.redis().exists(name), what="an end")


def test_a_clock_that_steps_gives_redlock_two_holders(nodes: Quorum, name: str) -> None:
    one, two = Redlock(nodes, name, 20), Redlock(nodes, name, 20)
    assert one.acquire()
    let_votes_end(nodes, name)
    assert two.acquire()
    assert one.believes
    assert two.believes


def test_a_clock_that_steps_gives_a_quorum_two_holders_and_ordered_fences(
    nodes: Quorum, name: str
) -> None:
    """Outside of what can hold: only the fences help, until the next renewal."""
    with interlock.connect(nodes.url()) as one, interlock.connect(nodes.url()) as two:
        lock, other = one.lock(name, ttl=TTL, renew=False), two.lock(name, ttl=TTL)
        assert lock.acquire(5)
        let_votes_end(nodes, name)
        assert other.acquire(20 * PATIENCE)
        assert other.fence > lock.fence
        with pytest.raises(interlock.LostError):
            while True:
                lock.check()
                lock.extend(TTL)


# ---- steps 5 and 6: too few votes, and another try -----------------------------------


def test_redlock_divides_the_votes_of_four_nodes(name: str) -> None:
    with quorum_nodes.running(4) as nodes:
        for _ in range(5):
            one, two = Redlock(nodes, name, 20), Redlock(nodes, name, 20)
            began = time.monotonic()
            votes = [one.ask(nodes.nodes[0]), two.ask(nodes.nodes[3])]
            votes += [one.ask(nodes.nodes[1]), two.ask(nodes.nodes[2])]
            assert votes == [True] * 4
            assert not one.count(2, began)
            assert not two.count(2, began)


def test_a_quorum_of_four_serves_all_of_them_in_turn(name: str) -> None:
    with quorum_nodes.running(4) as nodes, interlock.connect(nodes.url()):
        nodes.settle()
        served = []

        def hold() -> None:
            with interlock.connect(nodes.url()) as client:
                for _ in range(5):
                    with client.lock(name, ttl=TTL) as lock:
                        served.append(lock.fence)

        threads = [threading.Thread(target=hold, daemon=True) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60 * PATIENCE)
            assert not thread.is_alive()
        assert len(served) == 30
        assert served == sorted(served)


def test_redlock_loses_its_hold_to_one_restart_after_another(
    nodes: Quorum, name: str
) -> None:
    lock = Redlock(nodes, name, 20)
    assert lock.acquire()
    restart(nodes.nodes[0])
    assert lock.extend()
    restart(nodes.nodes[1])
    assert not lock.extend()  # never was more than one of them away


def test_a_quorum_takes_its_nodes_again(nodes: Quorum, name: str) -> None:
    with interlock.connect(nodes.url()) as client:
        lock = client.lock(name, ttl=TTL)
        assert lock.acquire(5)
        for node in nodes.nodes[:2]:
            restart(node)
            until(lambda node=node: node.redis().exists(name), what="the vote")
        assert lock.held
        assert lock.extend(TTL)


# ---- step 7: unlock at all nodes ----------------------------------------------------


def test_redlock_leaves_its_vote_at_a_node_that_was_away(
    nodes: Quorum, name: str
) -> None:
    third = nodes.nodes[2]
    lock = Redlock(nodes, name, 20)
    assert lock.acquire()
    lock.nodes = nodes.nodes[:2]  # the third is cut off from the client
    lock.release()
    assert third.redis().get(name) == lock.token


def test_a_quorum_owes_the_release_to_that_node(nodes: Quorum, name: str) -> None:
    third = nodes.nodes[2]
    with interlock.connect(nodes.url()) as client:
        lock = client.lock(name, ttl=TTL)
        assert lock.acquire(5)
        until(lambda: nodes.tokens(name)[2], what="the third vote")
        third.freeze()
        assert lock.release()
        third.thaw()
        began = time.monotonic()
        until(lambda: not third.redis().exists(name), what="the vote is back")
        assert time.monotonic() - began < TTL
