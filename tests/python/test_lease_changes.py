# SPDX-License-Identifier: MIT
"""The holder's view of its lease beside the server's."""

from __future__ import annotations

import re
import time

import interlock
import pytest
from late_proxy import LateProxy
from support import wait_until


def lock(client, name, **options):
    handle = client.lock(name, **options)
    return handle, handle.acquire, lambda server: server.call("PTTL", name)


def many(client, name, **options):
    handle = client.lock_many([name, name + "2"], **options)
    left = lambda server: server.call("PTTL", name + "2")  # noqa: E731
    return handle, handle.acquire, left


def clock_ms(server):
    seconds, us = server.call("TIME")
    return int(seconds) * 1000 + int(us) // 1000


def reader(client, name, **options):
    handle = client.rwlock(name, **options).read

    def left(server):
        ends = server.call("ZSCORE", f"ilk:lock:readers:{{{name}}}", handle.token)
        return float(ends) - clock_ms(server)

    return handle, handle.acquire, left


def semaphore(client, name, **options):
    handle = client.semaphore(name, 2, **options)

    def left(server):
        member = f"{handle.token} 1"
        ends = server.call("ZSCORE", f"ilk:semaphore:{{{name}}}", member)
        return float(ends) - clock_ms(server)

    return handle, handle.acquire, left


def election(client, name, **options):
    handle = client.election(name, **options)
    left = lambda server: server.call("PTTL", f"ilk:election:{{{name}}}")  # noqa: E731
    return handle, handle.campaign, left


KINDS = [lock, many, reader, semaphore, election]


def change(handle, ttl):
    return (handle.renew if hasattr(handle, "renew") else handle.extend)(ttl)


def give_up(handle):
    return (handle.resign if hasattr(handle, "resign") else handle.release)()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_extend_beside_a_renewal_is_never_believed_too_long(own_server, kind, name):
    """The server holds both back, and then executes them in its own order."""
    with interlock.connect(own_server.unix_url) as client:
        handle, acquire, left = kind(client, name, ttl=3)
        acquire()
        for ttl in (60, 3, 60, 3):
            sent = client.stats().commands
            own_server.call("CLIENT", "PAUSE", "1400", "WRITE")
            if ttl > 3:  # the next renewal is on its way by then
                wait_until(lambda before=sent: client.stats().commands > before)
            assert change(handle, ttl)
            assert left(own_server) >= handle.remaining() * 1000
            wait_until(lambda: left(own_server) >= handle.remaining() * 1000)
            if ttl > 3:
                assert handle.remaining() > 50
        for _ in range(20):
            assert change(handle, 60)
            assert change(handle, 3)
            assert left(own_server) >= handle.remaining() * 1000
            time.sleep(0.02)
        assert give_up(handle) is not False


@pytest.fixture
def proxy(own_server):
    with LateProxy(own_server.socket) as between:
        yield between


def forget(server, client, name):
    server.call("FLUSHALL")


def restart(server, client, name):
    server.kill()
    server.start()


@pytest.mark.parametrize("takeover", [False, True])
@pytest.mark.parametrize("loss", [forget, restart])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_repeated_release_of_a_lost_hold_is_not_true(
    own_server, proxy, kind, loss, takeover, name
):
    with interlock.connect(proxy.url) as client:
        handle, acquire, _ = kind(client, name, renew=False)
        acquire()
        loss(own_server, client, name)
        client.ping()
        with interlock.connect(own_server.unix_url) as other:
            if takeover:
                kind(other, name, renew=False)[1]()
            proxy.keep_next()
            with pytest.raises(interlock.UnknownOutcomeError):
                give_up(handle)
            assert proxy.was_kept.is_set()


@pytest.mark.parametrize("layout", ["plain", "redisson"])
@pytest.mark.parametrize("named", [True, False])
def test_a_repeated_release_of_a_broken_lock_is_lost(
    own_server, proxy, layout, named, name
):
    with interlock.connect(proxy.url) as client:
        lock = client.lock(name, layout=layout)
        lock.acquire()
        with interlock.connect(own_server.unix_url) as other:
            assert other.break_lock(name, lock.token if named else None)
            assert other.lock(name, layout=layout).acquire(timeout=0)
            proxy.keep_next()
            assert lock.release() is False


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_repeated_release_of_what_was_held_is_true(own_server, proxy, kind, name):
    """The first copy is executed, and its answer is lost."""
    with interlock.connect(proxy.url) as client:
        handle, acquire, _ = kind(client, name)
        acquire()
        proxy.lose_next_reply()
        assert give_up(handle) is not False
        assert proxy.was_kept.is_set()


def sources(server):
    """How many scripts the server was sent with their source."""
    stats = server.call("INFO", "commandstats")
    found = re.search(rb"cmdstat_eval:calls=(\d+)", stats)
    return int(found[1]) if found else 0


def test_detach_comes_after_the_last_renewal(own_server, name):
    """Also when the server lacks the renewal's script: nothing more is sent then."""
    with interlock.connect(own_server.unix_url) as client:
        lock = client.lock(name, ttl=3)
        lock.acquire()
        before = sources(own_server)
        own_server.call("CLIENT", "PAUSE", "1500", "WRITE")
        sent = client.stats().commands
        wait_until(lambda: client.stats().commands > sent)
        token = lock.detach()
        renewals = client.stats().renewals
        own_server.call("PEXPIRE", name, "700")
        time.sleep(0.05)
        assert own_server.call("PTTL", name) <= 700
        assert sources(own_server) == before
        assert client.stats().renewals == renewals
        assert client.lock(name).adopt(token)
