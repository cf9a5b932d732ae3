# SPDX-License-Identifier: MIT
"""Three nodes of etcd or ZooKeeper: the leader moves, dies, and a majority is lost."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Iterator

import interlock
import pytest
from cluster import PATIENCE, until
from crowd import crowd
from etcd_store import Etcd
from store import Store
from test_store_servers import SHORT_TTL, TTL, extend
from waiting import two_on
from zookeeper_store import ZooKeeper

pytestmark = pytest.mark.parametrize(
    "kind", ["etcd", "zookeeper"], indirect=True, scope="session"
)

ENSEMBLES = 4  # of which one does not diverge
PATIENCE_S = 15


@pytest.fixture
def three(kind: type[Store]) -> Iterator[Store]:
    with kind(3) as running:
        yield running


class Diverged(Exception):
    """The servers contradict each other: no client can make up for that."""


@contextlib.contextmanager
def agreeing(three: Store) -> Iterator[None]:
    """Judge a failure while the clients, and with them their nodes, are still there."""
    try:
        yield
    except (AssertionError, interlock.Error) as error:
        if three.has_diverged():
            raise Diverged from error
        raise


def again_if_diverged(
    test: Callable[[Store, str], None],
) -> Callable[[type[Store], str], None]:
    """The test of a leader that dies under load begins again with other servers."""

    def run(kind: type[Store], name: str) -> None:
        for left in reversed(range(ENSEMBLES)):
            with kind(3) as three:
                try:
                    test(three, name)
                    return
                except Diverged as reason:
                    if not left:
                        raise
                    text = f"{kind.scheme}: servers diverged: {reason.__cause__}"
                    warnings.warn(text, stacklevel=2)

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return pytest.mark.timeout(ENSEMBLES * 150)(run)


def lead_elsewhere(store: Store) -> None:
    """The leader is another node: by order at etcd, by the old one's end at
    ZooKeeper, whose old leader comes back as a follower."""
    if isinstance(store, Etcd):
        store.move_leader()
        return
    assert isinstance(store, ZooKeeper)
    before = store.leader()
    before.kill()
    until(lambda: store.leader() is not before, 30, "another leader")
    before.start()


def kill_leader(store: Store) -> None:
    assert isinstance(store, (Etcd, ZooKeeper))
    store.leader().kill()


def test_a_hold_and_a_wait_outlast_a_leader_that_moves(three: Store, name: str) -> None:
    with (
        interlock.connect(three.url()) as client,
        two_on(three, client, name, TTL) as (lock, waiter),
    ):
        lead_elsewhere(three)
        assert until(lambda: extend(lock), TTL, "an extension")
        assert lock.held and not waiter.acquired.is_set()


@again_if_diverged
def test_work_goes_on_without_the_leader(three: Store, name: str) -> None:
    names = [f"{name}-a", f"{name}-b"]
    with (
        interlock.connect(three.url()) as client,
        crowd(three, names, patience_s=PATIENCE_S) as one,
        agreeing(three),
        two_on(three, client, name, TTL) as (lock, waiter),
    ):
        kill_leader(three)
        one.all_advance()
        assert until(lambda: extend(lock), PATIENCE_S, "an extension")
        assert lock.held and not waiter.acquired.is_set()


@again_if_diverged
def test_work_goes_on_when_each_node_restarts_in_turn(three: Store, name: str) -> None:
    names = [f"{name}-a", f"{name}-b"]
    with crowd(three, names, patience_s=PATIENCE_S) as one, agreeing(three):
        for server in three.servers:
            server.kill()
            one.all_advance(1)
            server.start()
        one.all_advance()


def test_a_hold_ends_at_its_deadline_without_a_majority(
    three: Store, name: str
) -> None:
    """The node that is left answers, but can decide nothing."""
    with interlock.connect(three.url()) as client:
        news = client.notifications()
        lock = client.lock(name, ttl=SHORT_TTL)
        assert lock.acquire(10 * PATIENCE)
        fence = lock.fence
        for server in three.servers[:2]:
            server.kill()
        notification = news.get(SHORT_TTL + 5 * PATIENCE)
        assert notification and notification.kind == "lock_lost"
        assert not lock.held
        began = time.monotonic()
        with pytest.raises(interlock.Error) as caught:
            client.lock(f"{name}-try").acquire(0)
        assert caught.value.status in ("ILK_ECONN", "ILK_ENOQUORUM", "ILK_ETIMEOUT")
        assert not try_for(client.lock(f"{name}-wait"))
        assert time.monotonic() - began < 15 * PATIENCE
        for server in three.servers[:2]:
            server.launch()
        for server in three.servers[:2]:
            server.await_ready()
        following = client.lock(name, ttl=TTL)
        assert until(lambda: try_for(following), 60, "the lock")
        assert following.fence > fence
        assert following.release()


def try_for(lock: interlock.Lock) -> bool:
    try:
        return lock.acquire(2)
    except interlock.Error:
        return False


def test_a_url_may_name_nodes_that_are_away(three: Store, name: str) -> None:
    three.servers[0].kill()
    with interlock.connect(three.url()) as client:
        lock = client.lock(name, ttl=TTL)
        assert lock.acquire(10 * PATIENCE)
        assert lock.release()
