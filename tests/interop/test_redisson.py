# SPDX-License-Identifier: MIT
"""Ours with layout="redisson" and Redisson's RLock on one hash."""

from __future__ import annotations

import threading
import time

import interlock
import pytest
from peers import Redisson

SLACK = 0.3


@pytest.fixture
def peer(peer_of):
    return peer_of(Redisson)


@pytest.fixture
def client(url):
    with interlock.connect(url) as client:
        yield client


def ours(client, name, **options):
    return client.lock(name, ttl=10, layout="redisson", **options)


def later(run):
    """Run in a thread; its result and the time it came at, once joined."""
    result = []

    def body():
        result.append((run(), time.monotonic()))

    thread = threading.Thread(target=body)
    thread.start()

    def join():
        thread.join(30)
        assert result, "it never came back"
        return result[0]

    return join


def subscribers(server, name):
    channel = f"redisson_lock__channel:{{{name}}}"
    return server.pubsub_numsub(channel)[0][1]


def wait_for_subscribers(server, name, count):
    deadline = time.monotonic() + 5
    while subscribers(server, name) < count:
        assert time.monotonic() < deadline, "nobody listens on the channel"
        time.sleep(0.005)
    time.sleep(0.05)  # it tries once more after it has subscribed


def test_each_excludes_the_other(client, peer, name):
    lock = ours(client, name)

    assert lock.acquire(timeout=0)
    assert not peer.acquire(name, 5)
    assert lock.release()
    assert peer.acquire(name, 5)
    assert not lock.acquire(timeout=0)
    assert peer.release()
    assert lock.acquire(timeout=0)
    assert lock.release()


def test_our_keys_are_those_of_redisson(client, peer, name, server):
    lock = ours(client, name)
    assert lock.acquire(timeout=0)
    own = server.hgetall(name)
    assert 9000 < server.pttl(name) <= 10000
    assert lock.release()
    assert peer.acquire(name, 10)
    theirs = server.hgetall(name)
    assert peer.release()

    assert server.exists(name) == 0
    assert list(own.values()) == list(theirs.values()) == [b"1"]
    for (owner,) in (own, theirs):
        uuid, _, number = owner.rpartition(b":")
        assert [len(part) for part in uuid.split(b"-")] == [8, 4, 4, 4, 12]
        assert number.isdigit()


def test_a_second_hold_of_theirs_keeps_us_out(client, peer, name, server):
    lock = ours(client, name)
    assert peer.acquire(name, 10)
    assert peer.acquire(name, 10)
    assert peer.count() == 2

    assert peer.release()
    assert not lock.acquire(timeout=0.3)
    assert list(server.hgetall(name).values()) == [b"1"]
    assert peer.release()

    assert lock.acquire(timeout=0)
    assert lock.release()


def test_their_release_wakes_us(client, peer, name, server):
    lock = ours(client, name, foreign_poll=20)  # so that no poll can help
    assert peer.acquire(name, 20)
    join = later(lambda: lock.acquire(timeout=10))
    wait_for_subscribers(server, name, 1)

    released = time.monotonic()
    assert peer.release()

    acquired, at = join()
    assert acquired
    assert at - released < SLACK
    assert lock.release()


def test_our_release_wakes_them(client, peer, name, server):
    lock = ours(client, name)
    assert lock.acquire(timeout=0)
    join = later(lambda: peer.acquire(name, 10, wait=8))
    wait_for_subscribers(server, name, 1)

    released = time.monotonic()
    assert lock.release()

    acquired, at = join()
    assert acquired
    assert at - released < SLACK
    assert peer.release()


def test_we_enter_when_their_lease_has_expired(client, peer, name, server):
    lock = ours(client, name)
    assert peer.acquire(name, 1)
    ends = time.monotonic() + server.pttl(name) / 1000

    assert lock.acquire(timeout=5)

    assert -0.05 < time.monotonic() - ends < SLACK
    assert not peer.release()
    assert lock.held
    assert lock.release()


def test_our_reentrant_hold_is_one_count_on_the_server(client, peer, name, server):
    lock = ours(client, name, reentrant=True)
    assert lock.acquire(timeout=0)
    assert lock.acquire(timeout=0)
    assert list(server.hgetall(name).values()) == [b"1"]

    assert lock.release()
    assert not peer.acquire(name, 5)
    assert lock.release()

    assert peer.acquire(name, 5)
    assert peer.release()


def test_we_never_touch_their_hash(client, peer, name, server):
    assert peer.acquire(name, 20)
    before, left = server.hgetall(name), server.pttl(name)

    assert not ours(client, name).acquire(timeout=0)
    assert not ours(client, name).acquire(timeout=0.3)

    assert server.hgetall(name) == before
    assert left - 2000 < server.pttl(name) <= left
    assert peer.release()


def test_the_plain_layout_on_their_hash_is_refused(client, peer, name):
    assert peer.acquire(name, 10)

    with pytest.raises(interlock.WrongTypeError):
        client.lock(name).acquire(timeout=0)

    assert peer.release()


def test_their_lock_on_our_string_is_an_error_there(client, peer, name):
    with (
        client.lock(name, ttl=10),
        pytest.raises(AssertionError, match="WRONGTYPE"),
    ):
        peer.acquire(name, 5)
