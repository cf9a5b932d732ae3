# SPDX-License-Identifier: MIT
"""The server is killed and restarted, frozen and thawed, or away, while locks are held
and waited for."""

from __future__ import annotations

import contextlib
import time

import interlock
import pytest
from cluster import PATIENCE, until
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
