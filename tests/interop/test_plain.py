# SPDX-License-Identifier: MIT
"""Ours and the lockers that keep a plain string at the key."""

from __future__ import annotations

import threading
import time

import interlock
import pytest
from peers import PLAIN

FOREIGN_POLL = 0.1
SLACK = 0.3  # for a busy machine, on top of what is promised


@pytest.fixture(params=PLAIN, ids=lambda kind: kind.__name__)
def peer(request, peer_of):
    return peer_of(request.param)


@pytest.fixture
def name(name, peer):
    """A name that this peer can lock, too."""
    return peer.prefix + name


@pytest.fixture
def client(url):
    with interlock.connect(url) as client:
        yield client


class Waiting:
    """Our acquire in a thread; when it entered, by the monotonic clock."""

    def __init__(self, lock, timeout):
        self.entered = None
        self.thread = threading.Thread(target=self._run, args=(lock, timeout))
        self.thread.start()

    def _run(self, lock, timeout):
        if lock.acquire(timeout=timeout):
            self.entered = time.monotonic()

    def join(self):
        self.thread.join(30)
        assert not self.thread.is_alive()
        return self.entered


def wait_until_queued(client, name):
    deadline = time.monotonic() + 5
    while not client.inspect(name).waiters:
        assert time.monotonic() < deadline, "the waiter never stood in line"
        time.sleep(0.005)


def test_ours_excludes_it_and_release_lets_it_in(client, peer, name):
    lock = client.lock(name, ttl=10)

    assert lock.acquire(timeout=0)
    assert not peer.acquire(name, 5)
    assert lock.release()

    assert peer.acquire(name, 5)
    assert peer.release()


def test_it_excludes_ours_and_release_lets_us_in(client, peer, name):
    lock = client.lock(name, ttl=10)

    assert peer.acquire(name, 5)
    assert not lock.acquire(timeout=0)
    assert peer.release()

    assert lock.acquire(timeout=0)
    assert lock.release()


def test_we_enter_within_a_foreign_poll_of_its_release(client, peer, name):
    lock = client.lock(name, ttl=10, foreign_poll=FOREIGN_POLL)
    assert peer.acquire(name, 20)
    waiting = Waiting(lock, 10)
    wait_until_queued(client, name)
    time.sleep(0.15)
    assert waiting.entered is None

    assert peer.release()
    released = time.monotonic()

    assert waiting.join() is not None
    assert waiting.entered - released < FOREIGN_POLL + SLACK
    assert lock.release()


def test_we_enter_when_its_lease_has_expired(client, peer, name, server):
    lock = client.lock(name, ttl=10, foreign_poll=FOREIGN_POLL)
    assert peer.acquire(name, 1)
    ends = time.monotonic() + server.pttl(name) / 1000

    entered = Waiting(lock, 10).join()

    assert entered is not None
    assert -0.05 < entered - ends < FOREIGN_POLL + SLACK
    assert lock.release()


def test_it_enters_when_our_lease_has_expired(client, peer, name):
    lock = client.lock(name, ttl=0.4, renew=False)
    assert lock.acquire(timeout=0)
    assert not peer.acquire(name, 5)

    time.sleep(0.5)

    assert peer.acquire(name, 5)
    assert peer.release()


def test_our_renewal_keeps_it_out(client, peer, name):
    lock = client.lock(name, ttl=0.6)
    assert lock.acquire(timeout=0)

    time.sleep(1.2)

    assert not peer.acquire(name, 5)
    assert lock.held
    assert lock.release()


def test_we_never_touch_its_value(client, peer, name, server):
    stale = client.lock(name, ttl=0.3, renew=False)
    assert stale.acquire(timeout=0)
    time.sleep(0.4)
    assert peer.acquire(name, 20)
    value, left = server.get(name), server.pttl(name)

    assert not client.lock(name).acquire(timeout=0)
    assert not client.lock(name).acquire(timeout=0.3)
    assert not stale.extend(30)
    assert not stale.release()
    client.inspect(name)

    assert server.get(name) == value
    assert left - 2000 < server.pttl(name) <= left
    assert peer.release()


def test_its_late_release_leaves_ours_alone(client, peer, name, server):
    lock = client.lock(name, ttl=10)
    assert peer.acquire(name, 1)
    assert lock.acquire(timeout=5)

    assert not peer.release()

    assert server.get(name) == lock.token.encode()
    assert lock.release()


def test_inspection_names_it_as_foreign(client, peer, name, server):
    assert peer.acquire(name, 20)

    info = client.inspect(name)

    assert info.state == "foreign"
    assert 15 < info.ttl <= 20
    assert peer.release()


def test_a_wait_behind_it_ends_in_time(client, peer, name):
    assert peer.acquire(name, 20)
    began = time.monotonic()

    assert not client.lock(name).acquire(timeout=0.5)

    assert 0.49 < time.monotonic() - began < 0.5 + SLACK
    assert client.inspect(name).waiters == []
    assert peer.release()
