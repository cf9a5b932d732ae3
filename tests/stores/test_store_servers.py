# SPDX-License-Identifier: MIT
"""The server is killed and restarted, frozen and thawed, or away, while locks are held
and waited for."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from functools import partial

import interlock
import pytest
from cluster import PATIENCE, Background, until
from crowd import Waiter, crowd
from store import Store
from waiting import await_waiters, two_on

TTL = 20.0
SHORT_TTL = 3.0
FROZEN_S = 2.0  # well within a lease


def extend(lock: interlock.Lock) -> bool:
    """While the connection is broken, a call may say so at once."""
    with contextlib.suppress(interlock.ConnectionError, interlock.TimeoutError):
        return lock.extend(TTL)
    return False


def test_a_hold_and_a_wait_outlast_a_restart_of_the_server(
    own: Store, name: str
) -> None:
    with (
        interlock.connect(own.url()) as client,
        two_on(own, client, name, TTL) as (lock, waiter),
    ):
        token = lock.token
        own.restart()
        assert until(lambda: extend(lock), 10, "an extension")
        assert lock.held and lock.token == token
        assert not waiter.acquired.is_set()
        if own.keeps_places:
            await_waiters(own, client, name, 1)


def test_a_hold_and_a_wait_outlast_a_server_that_is_frozen(
    own: Store, name: str
) -> None:
    with (
        interlock.connect(own.url()) as client,
        two_on(own, client, name, TTL) as (lock, waiter),
    ):
        own.freeze()
        time.sleep(FROZEN_S)
        assert lock.held and not waiter.acquired.is_set()
        own.thaw()
        assert until(lambda: extend(lock), 10, "an extension")


def test_a_hold_ends_at_its_deadline_when_the_server_is_silent(
    own: Store, name: str
) -> None:
    """Here, whatever the server believes; and the next one gets a greater fence."""
    with interlock.connect(own.url()) as client, interlock.connect(own.url()) as other:
        news = client.notifications()
        lock = client.lock(name, ttl=SHORT_TTL)
        assert lock.acquire(5)
        fence = lock.fence
        own.freeze()
        frozen = time.monotonic()

        notification = news.get(SHORT_TTL + 5 * PATIENCE)

        assert notification and notification.kind == "lock_lost"
        assert time.monotonic() - frozen <= SHORT_TTL + PATIENCE
        assert not lock.held and lock.remaining() == 0
        own.thaw()
        following = other.lock(name, ttl=TTL)
        assert following.acquire(60 * PATIENCE)
        assert following.fence > fence
        with contextlib.suppress(interlock.LostError):
            assert not lock.release()
        assert following.extend(TTL)
        assert following.release()


def test_a_hold_ends_at_its_deadline_when_the_server_is_dead(
    own: Store, name: str
) -> None:
    with interlock.connect(own.url()) as client:
        news = client.notifications()
        lock = client.lock(name, ttl=SHORT_TTL)
        assert lock.acquire(5)
        fence = lock.fence
        own.kill()

        notification = news.get(SHORT_TTL + 5 * PATIENCE)

        assert notification and notification.kind == "lock_lost"
        assert not lock.held
        own.start()
        with interlock.connect(own.url()) as other:
            following = other.lock(name, ttl=TTL)
            assert following.acquire(60 * PATIENCE)
            assert following.fence > fence
            assert following.release()


AWAY = (interlock.ConnectionError, interlock.NoQuorumError)
Wait = Callable[[float], object]
WAIT_S = 6.0  # beyond the second refresh


def watch_group(client: interlock.Client, name: str) -> Wait:
    watch = client.group(name).watch()
    watch.get(20)
    return watch.get


def is_refreshed(client: interlock.Client) -> bool:
    """Its background thread is connected, too, and sends the next refresh after 2 s."""
    return client.stats().refreshes > 0


# Waits for events that do not happen.
WAITS: dict[str, Callable[[interlock.Client, str], Wait]] = {
    "lock": lambda client, name: client.lock(name, ttl=TTL).acquire,
    "election": lambda client, name: client.election(name).observe().get,
    "register": lambda client, name: (
        lambda seconds: client.register(name).wait(0, seconds)
    ),
    "group": watch_group,
}


def test_a_wait_of_each_kind_ends_with_the_outage_and_not_with_no(
    own: Store, name: str
) -> None:
    """The server has said nothing, so nobody knows what it would have said. Each has a
    client of its own, because the calls of a client share what they know of an outage."""
    with contextlib.ExitStack() as stack:
        holder = stack.enter_context(interlock.connect(own.url()))
        assert holder.lock(name, ttl=TTL).acquire(5)
        waits, clients = {}, []
        for kind, make in WAITS.items():
            if holder.offers(kind):
                client = stack.enter_context(interlock.connect(own.url()))
                waits[kind] = Background(partial(make(client, name), WAIT_S))
                clients.append(client)
        for client in clients:
            until(partial(is_refreshed, client), 10, "a wait")
        own.freeze()
        for wait in waits.values():
            wait.thread.join(60)
        own.thaw()

        for kind, wait in waits.items():
            assert isinstance(wait.error, AWAY), (kind, wait.found, wait.error)


def test_calls_say_that_the_server_is_away(own: Store, name: str) -> None:
    errors = (interlock.ConnectionError, interlock.TimeoutError)
    with interlock.connect(own.url()) as client:
        lock = client.lock(name, ttl=TTL)
        own.kill()
        with pytest.raises(errors) as caught:
            lock.acquire(0)
        assert not isinstance(caught.value, interlock.BusyError)
        assert "secret" not in str(caught.value)
        with pytest.raises(errors) as refused:
            interlock.connect(own.url())
        assert "secret" not in str(refused.value)
        with pytest.raises(errors):
            client.inspect(name)

        own.start()

        assert until(lambda: is_acquired(lock), 30, "the lock")
        assert lock.release()


def is_acquired(lock: interlock.Lock) -> bool:
    with contextlib.suppress(interlock.ConnectionError, interlock.TimeoutError):
        return lock.acquire(1)
    return False


def test_a_client_that_is_closed_ends_its_holds_or_leaves_them_to_their_lease(
    own: Store, name: str
) -> None:
    """A closed client renews nothing: the next one gets the lock by the lease's end."""
    client = interlock.connect(own.url())
    lock = client.lock(name, ttl=SHORT_TTL)
    assert lock.acquire(5)
    fence = lock.fence
    client.close()
    with interlock.connect(own.url()) as other:
        following = other.lock(name, ttl=TTL)
        assert following.acquire(60 * PATIENCE)
        assert following.fence > fence
        assert following.release()


def test_no_two_hold_while_the_server_comes_and_goes(own: Store, name: str) -> None:
    away = (interlock.ConnectionError, interlock.TimeoutError)
    with crowd(own, [name, f"{name}-two"], away=away) as one:
        own.restart()
        one.all_advance()
        own.freeze()
        time.sleep(FROZEN_S)
        own.thaw()
        one.all_advance()
        own.end_sessions()
        one.all_advance()


def test_a_waiter_gets_the_lock_that_is_released_as_the_server_returns(
    own: Store, name: str
) -> None:
    """The wake-up may be lost with the connection, and the lock must not be."""
    with interlock.connect(own.url()) as client:
        lock = client.lock(name, ttl=TTL)
        assert lock.acquire(5)
        waiter = Waiter(own, name, TTL)
        await_waiters(own, client, name, 1)
        own.restart()
        with contextlib.suppress(
            interlock.UnknownOutcomeError, interlock.ConnectionError
        ):
            lock.release()
        assert waiter.acquired.wait(60 * PATIENCE)
        waiter.end()
