# SPDX-License-Identifier: MIT
"""`min_replicas=N`: a hold is believed when N replicas have it.

docs/topologies.md has the promises. A frozen replica stands for one that is slow or
cut off: it acknowledges nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
import time

import interlock
import pytest
from interlock import aio
from support import patience, wait_until

ONE = "?min_replicas=1"
TOO_FEW = "replicas with the hold after 1000 ms: 0, min_replicas is 1"


def replicas(service):
    primary = service.primary()
    return [server for server in service.servers if server is not primary]


@contextlib.contextmanager
def frozen(*processes):
    for process in processes:
        process.freeze()
    try:
        yield
    finally:
        for process in processes:
            process.thaw()


def in_thread(function):
    """Run it in a thread; the list gets its result, or the exception."""
    results = []

    def run():
        try:
            results.append(function())
        except interlock.Error as error:
            results.append(error)

    threading.Thread(target=run, daemon=True).start()
    return results


def is_free(service, *keys):
    return service.primary().call("EXISTS", *keys) == 0


def token_at(server, key):
    """The token in the key, or an empty one."""
    return (server.call("GET", key) or b"").decode()


def tried(client, name):
    """Whether a try gets the lock. Connections still break for a while after a switch."""
    deadline = time.monotonic() + patience(20)
    while True:
        try:
            return client.lock(name, ttl=30).acquire(timeout=0)
        except interlock.ConnectionError:
            assert time.monotonic() < deadline


def waits_for_replicas(service):
    """The connections that WAIT blocks on the primary, by number."""
    clients = service.primary().call("CLIENT", "LIST").decode().splitlines()
    fields = [dict(f.partition("=")[::2] for f in c.split()) for c in clients]
    return [f["id"] for f in fields if f["cmd"] == "wait" and "b" in f["flags"]]


def test_a_hold_outlives_the_primary_that_granted_it(service, name):
    url = service.url(query=ONE)
    with interlock.connect(url) as client, interlock.connect(url) as other:
        lock = client.lock(name, ttl=30)
        one, two = replicas(service)
        with frozen(one, two):
            entered = in_thread(lambda: lock.acquire(timeout=patience(60)))
            wait_until(lambda: waits_for_replicas(service))
            assert token_at(service.primary(), name)
            assert not entered and not lock.held and lock.remaining() == 0
        wait_until(lambda: entered, 20)
        assert entered == [True] and lock.held

        old = service.primary()
        old.kill()
        service.await_switch(old)
        assert token_at(service.primary(), name) == lock.token
        assert not tried(other, name)
        assert lock.extend(30) and lock.held
        assert client.stats().acquires == 1
        assert lock.release()


def test_a_replica_that_still_follows_the_former_primary_acknowledges(service, name):
    """One of two is promoted, and Sentinel has not configured the other one yet."""
    former = service.primary()
    promoted, _ = replicas(service)
    promoted.call("REPLICAOF", "NO", "ONE")
    wait_until(lambda: not promoted.is_replica(), 10)
    with interlock.connect(service.url(query=ONE)) as client:
        lock = client.lock(name, ttl=30)
        assert lock.acquire(timeout=0) and lock.release()
    with (
        interlock.connect(service.url(query="?min_replicas=2")) as client,
        pytest.raises(interlock.NoQuorumError, match="ms: 1, min_replicas is 2"),
    ):
        client.lock(name, ttl=30).acquire(timeout=0)
    assert service.primary() is former


def test_a_primary_that_is_killed_at_once_has_passed_on_each_hold(service, name):
    """Many holds are confirmed together, and each of them survives."""
    with interlock.connect(service.url(query=ONE)) as client:
        locks = [client.lock(f"{name}:{n}", ttl=60) for n in range(20)]
        entered = [
            in_thread(lambda lock=lock: lock.acquire(timeout=patience(30)))
            for lock in locks
        ]
        wait_until(lambda: sum(map(len, entered)) == len(locks), 40)
        old = service.primary()
        old.kill()
        assert entered == [[True]] * len(locks)
        service.await_switch(old)
        for lock in locks:
            assert token_at(service.primary(), lock.name) == lock.token
            lock.check()


def test_too_few_replicas_have_it_and_it_is_given_back(service, name):
    url = service.url(query=ONE)
    with interlock.connect(url) as client, interlock.connect(service.url()) as plain:
        lock = client.lock(name, ttl=30)
        with frozen(*replicas(service)):
            with pytest.raises(interlock.NoQuorumError, match=TOO_FEW):
                lock.acquire(timeout=0)
            assert not lock.held
            wait_until(lambda: is_free(service, name))
            first = client.stats().passed_on
            with pytest.raises(interlock.NoQuorumError, match=TOO_FEW):
                lock.acquire(timeout=1.5)
            assert client.stats().passed_on == first + 2
            wait_until(lambda: is_free(service, name))

            entered = in_thread(lambda: lock.acquire(timeout=patience(60)))
            wait_until(lambda: client.stats().passed_on == first + 3)
            assert not entered
        wait_until(lambda: entered, 20)
        assert entered == [True] and lock.held
        assert not plain.lock(name).acquire(timeout=0)
        assert lock.release()


def test_all_of_the_number_must_have_it(service, name):
    with interlock.connect(service.url(query="?min_replicas=2")) as client:
        lock = client.lock(name, ttl=30)
        assert lock.acquire(timeout=0) and lock.release()
        with (
            frozen(replicas(service)[0]),
            pytest.raises(interlock.NoQuorumError, match="ms: 1, min_replicas is 2"),
        ):
            lock.acquire(timeout=0)
        assert lock.acquire(timeout=patience(20))
    with (
        interlock.connect(service.url(query="?min_replicas=3")) as client,
        pytest.raises(interlock.NoQuorumError, match="ms: 2, min_replicas is 3"),
    ):
        client.lock(name + ":2", ttl=30).acquire(timeout=0)


def test_a_hand_over_is_confirmed_as_well(service, name):
    with (
        interlock.connect(service.url()) as first,
        interlock.connect(service.url(query=ONE)) as second,
    ):
        held, waiter = first.lock(name, ttl=30), second.lock(name, ttl=30)
        assert held.acquire()
        entered = in_thread(lambda: waiter.acquire(timeout=patience(60)))
        wait_until(lambda: second.stats().waiting == 1)
        with frozen(*replicas(service)):
            token = held.token
            assert held.release()
            wait_until(lambda: token_at(service.primary(), name) not in ("", token))
            wait_until(lambda: waits_for_replicas(service))
            assert not entered and not waiter.held
        wait_until(lambda: entered, 20)
        assert entered == [True] and waiter.held

        old = service.primary()
        old.kill()
        service.await_switch(old)
        assert token_at(service.primary(), name) == waiter.token
        assert waiter.release()


HOLDS = {
    "lock": lambda client, name: client.lock(name, ttl=300),
    "without renewal": lambda client, name: client.lock(name, ttl=300, renew=False),
    "writer": lambda client, name: client.rwlock(name, ttl=300).write,
    "reader": lambda client, name: client.rwlock(name, ttl=300).read,
    "redisson": lambda client, name: client.lock(name, ttl=300, layout="redisson"),
    "many": lambda client, name: client.lock_many([name, name + ":2"], ttl=300),
    "semaphore": lambda client, name: client.semaphore(name, limit=1, ttl=300),
    "election": lambda client, name: client.election(name, ttl=300),
}


def acquire(hold, **timeout):
    return getattr(hold, "campaign", getattr(hold, "acquire", None))(**timeout)


def release(hold):
    return getattr(hold, "resign", getattr(hold, "release", None))()


@pytest.mark.parametrize("kind", HOLDS)
def test_holds_of_every_kind(service, name, kind):
    url = service.url(query=ONE)
    with interlock.connect(url) as client, interlock.connect(service.url()) as plain:
        hold = HOLDS[kind](client, name)
        assert acquire(hold, timeout=0)
        assert not acquire(HOLDS[kind](plain, name), timeout=0) or kind == "reader"
        assert release(hold)
        with frozen(*replicas(service)):
            with pytest.raises(interlock.NoQuorumError, match=TOO_FEW):
                acquire(hold, timeout=0)
            other = HOLDS[kind](plain, name)
            assert acquire(other, timeout=patience(5))
            assert release(other)
        assert acquire(hold, timeout=patience(20))
        assert release(hold)


def test_tasks(service, name):
    async def main():
        async with aio.connect(service.url(query=ONE)) as client:
            lock = client.lock(name, ttl=30)
            assert await lock.acquire(timeout=0)
            assert await lock.release()

            stopped = replicas(service)
            with frozen(*stopped):
                with pytest.raises(interlock.NoQuorumError, match=TOO_FEW):
                    await lock.acquire(timeout=0)
                await wait_for(lambda: is_free(service, name))

                entering = asyncio.create_task(lock.acquire(timeout=60))
                await wait_for(lambda: waits_for_replicas(service))
                begun = time.monotonic()
                entering.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await entering
                assert time.monotonic() - begun < patience(0.5)
                await wait_for(lambda: is_free(service, name))

                many = client.lock_many([name, name + ":2"], ttl=30)
                entering = asyncio.create_task(many.acquire(timeout=patience(60)))
                passed_on = client.stats().passed_on
                await wait_for(lambda: waits_for_replicas(service))
                await wait_for(lambda: client.stats().commands > 0)
                assert not entering.done() and not many.held
                assert client.stats().passed_on == passed_on
            assert await asyncio.wait_for(entering, patience(30))
            assert await many.release()

            waiters = [client.lock(name, ttl=30) for _ in range(5)]

            async def pass_through(waiter):
                assert await waiter.acquire(timeout=patience(60))
                return await waiter.release()

            assert all(await asyncio.gather(*map(pass_through, waiters)))

    async def wait_for(condition):
        await asyncio.to_thread(wait_until, condition)

    asyncio.run(main())


@pytest.mark.parametrize("end", ["cancel", "stop", "close"])
def test_cancel_stop_and_close_end_the_confirmation(service, name, end):
    wanted = interlock.ClosedError if end == "close" else interlock.CancelledError
    with interlock.connect(service.url(query=ONE)) as client:
        lock = client.lock(name, ttl=30)
        with frozen(*replicas(service)):
            entered = in_thread(lambda: lock.acquire(timeout=None))
            wait_until(lambda: waits_for_replicas(service))
            getattr(lock if end == "cancel" else client, end)()
            wait_until(lambda: entered)
            assert isinstance(entered[0], wanted), entered
            assert not lock.held
            if end == "close":
                return
            wait_until(lambda: is_free(service, name))
        if end == "stop":
            assert lock.acquire(timeout=0)  # a try is no wait
            client.resume()
        else:
            assert lock.acquire(timeout=patience(20))


def test_a_signal_ends_an_acquire_that_tries_again(service, name):
    """Its handler runs at the latest when the replicas' second is over."""

    def handler(number, frame):
        raise RuntimeError("the handler")

    with interlock.connect(service.url(query=ONE)) as client:
        lock = client.lock(name, ttl=30)
        before = signal.signal(signal.SIGALRM, handler)
        try:
            with frozen(*replicas(service)):
                signal.setitimer(signal.ITIMER_REAL, 0.3)
                begun = time.monotonic()
                with pytest.raises(RuntimeError, match="the handler"):
                    lock.acquire(timeout=None)
                assert time.monotonic() - begun < 1 + patience(1)
                assert not lock.held
                wait_until(lambda: is_free(service, name))
        finally:
            signal.signal(signal.SIGALRM, before)
        assert lock.acquire(timeout=patience(20))


def test_nobody_else_waits_for_replicas(service, name):
    """While WAIT blocks its connection, calls and renewals of the client go on."""
    with interlock.connect(service.url(query=ONE)) as client:
        held = client.lock(name, ttl=2)
        assert held.acquire()
        with frozen(*replicas(service)):
            entered = in_thread(
                lambda: client.lock(name + ":2", ttl=30).acquire(timeout=3)
            )
            wait_until(lambda: waits_for_replicas(service))
            begun = time.monotonic()
            client.ping()
            held.check()
            assert held.extend(2)
            assert time.monotonic() - begun < patience(0.5)
            renewals = client.stats().renewals
            wait_until(lambda: client.stats().renewals > renewals)
            assert len(waits_for_replicas(service)) <= 1
            wait_until(lambda: entered, 20)
        assert isinstance(entered[0], interlock.NoQuorumError)
        assert held.release()


def test_the_connection_breaks_before_replicas_answer(service, name):
    """A WAIT on a new connection, which has written nothing, would count them all."""
    with interlock.connect(service.url(query=ONE)) as client:
        lock = client.lock(name, ttl=30)
        with frozen(*replicas(service)):
            entered = in_thread(lambda: lock.acquire(timeout=patience(60)))
            wait_until(lambda: waits_for_replicas(service))
            token = token_at(service.primary(), name)
            [number] = waits_for_replicas(service)
            assert service.primary().call("CLIENT", "KILL", "ID", number) == 1
            wait_until(lambda: waits_for_replicas(service) not in ([], [number]))
            assert token_at(service.primary(), name) == token
            assert not entered
        wait_until(lambda: entered, 20)
        assert entered == [True] and lock.held
        assert lock.release()


def test_a_former_primary_grants_to_nobody(service, name):
    """The old primary and one sentinel are cut off with a client."""
    cut, *others = service.sentinels
    old = service.primary()
    inside = f"redis+sentinel://127.0.0.1:{cut.port}/mymaster{ONE}"
    outside = ",".join(f"127.0.0.1:{s.port}" for s in others)
    with (
        interlock.connect(f"redis+sentinel://{outside}/mymaster{ONE}") as majority,
        interlock.connect(inside) as minority,
    ):
        before = minority.lock(name, ttl=30)
        assert before.acquire() and before.release()
        cut.freeze()
        old.freeze()
        service.await_switch(old)
        # The frozen server executes what was sent to it as soon as it is thawed.
        assert majority.lock(name + ":late", ttl=60).acquire(timeout=patience(30))
        theirs = majority.lock(name, ttl=60)
        assert theirs.acquire(timeout=patience(30))
        old.thaw()  # Sentinel leaves it a primary for 8 s
        ours = minority.lock(name, ttl=30)
        with pytest.raises(interlock.NoQuorumError, match=TOO_FEW):
            ours.acquire(timeout=0)
        assert minority.stats().passed_on == 1
        assert old.call("ROLE")[0] == b"master"
        assert not ours.held and theirs.held
        theirs.check()
        assert token_at(service.primary(), name) == theirs.token


def test_the_primary_changes_while_replicas_are_waited_for(service, name):
    """The acquire ends with a hold that the new primary and its replica have."""
    with interlock.connect(service.url(query=ONE)) as client:
        lock = client.lock(name, ttl=30)
        assert lock.acquire() and lock.release()
        old = service.primary()
        old.freeze()
        entered = in_thread(lambda: lock.acquire(timeout=patience(60)))
        service.await_switch(old)
        wait_until(lambda: entered, 40)
        assert entered == [True] and lock.held
        assert token_at(service.primary(), name) == lock.token
        other = next(s for s in service.servers if s not in (old, service.primary()))
        assert token_at(other, name) == lock.token


def test_a_user_needs_the_right_to_wait(service, name):
    primary = service.primary()
    rule = ["reset", "on", ">app", "~*", "&*", "+@all", "-wait"]
    assert primary.call("ACL", "SETUSER", "app", *rule) == "OK"
    url = service.url(query=ONE).replace("://", "://app:app@")
    with interlock.connect(url) as client:
        lock = client.lock(name, ttl=30)
        with pytest.raises(interlock.AuthError, match=r"lacks \+wait"):
            lock.acquire(timeout=patience(5))
        wait_until(lambda: is_free(service, name))
        assert primary.call("ACL", "SETUSER", "app", "+wait") == "OK"
        assert lock.acquire(timeout=0)


@pytest.mark.parametrize("store", ["redis://h", "unix:///s", "redis://a,b,c?quorum",
                                   "redis+cluster://h"])  # fmt: skip
def test_other_urls_refuse_it(store):
    url = store + ("&" if "?" in store else "?") + "min_replicas=1"
    with pytest.raises(ValueError, match="min_replicas is for sentinels only"):
        interlock.connect(url)
