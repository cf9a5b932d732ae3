# SPDX-License-Identifier: MIT
"""The network between clients and the store loses connections, directions and time."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Iterator

import interlock
import pytest
from cluster import PATIENCE, until
from crowd import Waiter
from store import BRIEF_S, Store
from store_network import Network, between
from test_store_servers import extend
from waiting import await_waiters

TTL = 20.0
SHORT_TTL = 3.0
CUT_S = 2.0  # well within a lease

UP = {"up": True, "down": False}  # requests are lost
DOWN = {"up": False, "down": True}  # replies are lost
BOTH = {"up": True, "down": True}


class Line:
    """The store as the clients of one line of the network reach it."""

    def __init__(self, network: Network, client: str):
        self.network, self.client = network, client

    def url(self) -> str:
        return self.network.url(self.client)


@pytest.fixture
def network(store: Store) -> Iterator[Network]:
    with between(store) as one:
        yield one


@pytest.fixture
def brief_network(brief: Store) -> Iterator[Network]:
    with between(brief) as one:
        yield one


@contextlib.contextmanager
def held_and_waited_for(
    network: Network, name: str, ttl: float
) -> Iterator[tuple[interlock.Lock, Waiter]]:
    """The holder on line a, the waiter on line b; the waiter gets it at the end."""
    with (
        interlock.connect(network.url("a")) as client,
        interlock.connect(network.store.url()) as eye,
    ):
        lock = client.lock(name, ttl=ttl)
        assert lock.acquire(5)
        fence = lock.fence
        waiter = Waiter(Line(network, "b"), name, ttl)
        await_waiters(network.store, eye, name, 1)
        yield lock, waiter
        assert waiter.acquired.wait(60 * PATIENCE)
        assert waiter.lock.fence > fence
        waiter.end()


@pytest.mark.parametrize("directions", [UP, DOWN, BOTH], ids=["up", "down", "both"])
def test_a_short_cut_of_the_network_costs_nothing(
    network: Network, name: str, directions: dict[str, bool]
) -> None:
    with held_and_waited_for(network, name, TTL) as (lock, waiter):
        network.fault("ab", "dead", **directions)
        time.sleep(CUT_S)
        assert lock.held and not waiter.acquired.is_set()
        network.heal()
        assert until(lambda: extend(lock), TTL / 2, "an extension")
        assert not waiter.acquired.is_set()
        assert lock.release()


@pytest.mark.parametrize("directions", [UP, DOWN], ids=["up", "down"])
def test_a_cut_in_one_direction_that_outlasts_the_lease_ends_the_hold(
    brief_network: Network, name: str, directions: dict[str, bool]
) -> None:
    """The holder is cut off, the waiter is not. Replies that are lost do not keep the
    holder sure, although the store gets its renewals."""
    network = brief_network
    with held_and_waited_for(network, name, SHORT_TTL) as (lock, waiter):
        cut = time.monotonic()
        network.fault("a", "dead", **directions)
        until(lambda: not lock.held, SHORT_TTL + 2, "the end of the hold")
        assert time.monotonic() - cut <= SHORT_TTL + PATIENCE
        # Nobody else is sure of it before.
        if waiter.acquired.is_set():
            assert not lock.held
        assert waiter.acquired.wait(60 * PATIENCE)
        network.heal()
        assert not lock.held


def test_a_waiter_whose_session_was_lost_gets_the_lock_later(
    brief_network: Network, name: str
) -> None:
    """It is cut off until the store has forgotten it."""
    network = brief_network
    with held_and_waited_for(network, name, SHORT_TTL) as (lock, waiter):
        network.fault("b", "dead", **BOTH)
        time.sleep(max(SHORT_TTL, BRIEF_S) + network.store.slack_s + 2)
        assert lock.held
        network.heal()
        time.sleep(1)
        assert lock.held and not waiter.acquired.is_set()
        assert lock.release()


def test_connections_that_break_again_and_again_cost_nothing(
    network: Network, name: str
) -> None:
    with held_and_waited_for(network, name, TTL) as (lock, waiter):
        for _ in range(5):
            network.fault("ab", "cut")
            time.sleep(0.3)
        assert until(lambda: extend(lock), TTL / 2, "an extension")
        assert not waiter.acquired.is_set()
        assert lock.release()


def test_connections_that_end_in_the_middle_of_a_message_cost_nothing(
    network: Network, name: str
) -> None:
    """Each one ends after some bytes, for a while."""
    with interlock.connect(network.url("a")) as client:
        lock = client.lock(name, ttl=SHORT_TTL)
        network.fault("a", "tear", bytes=1500, seed=7, **{"for": 4.0})
        network.fault("a", "cut")  # those that are whole
        deadline = time.monotonic() + 60 * PATIENCE
        fences: list[int] = []
        while len(fences) < 5 and time.monotonic() < deadline:
            with contextlib.suppress(interlock.Error):
                if lock.acquire(2):
                    fences.append(lock.fence)
                lock.release()
        assert len(fences) == 5
        assert all(before < after for before, after in itertools.pairwise(fences))


def test_a_slow_network_is_only_slow(network: Network, name: str) -> None:
    with held_and_waited_for(network, name, TTL) as (lock, _):
        network.fault("ab", "delay", seconds=0.2)
        began = time.monotonic()
        assert lock.extend(TTL)
        assert time.monotonic() - began >= 0.4
        assert lock.release()


def test_a_release_whose_reply_is_lost_is_a_release(
    network: Network, name: str
) -> None:
    with held_and_waited_for(network, name, TTL) as (lock, waiter):
        network.fault("a", "dead", **DOWN)
        with contextlib.suppress(
            interlock.UnknownOutcomeError,
            interlock.ConnectionError,
            interlock.TimeoutError,
        ):
            lock.release()
        assert not lock.held
        assert waiter.acquired.wait(30 * PATIENCE)
        network.heal()


def test_an_acquire_whose_reply_is_lost_holds_once(network: Network, name: str) -> None:
    """It is repeated over the next connection, under the same token."""
    with interlock.connect(network.url("a")) as client:
        assert client.ping()
        lock = client.lock(name, ttl=TTL)
        network.fault("a", "dead", **DOWN)
        with contextlib.suppress(interlock.TimeoutError, interlock.ConnectionError):
            lock.acquire(1)
        network.heal()
        if not lock.held:
            assert until(lambda: lock.acquire(5), 30, "the lock")
        assert lock.release()
        with interlock.connect(network.store.url()) as eye:
            until(lambda: eye.inspect(name).state == "free", what="a free lock")
