# SPDX-License-Identifier: MIT
"""The drop-in for redis.asyncio.lock.Lock behaves as redis-py's own, and excludes it."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import socket
import uuid

import interlock
import pytest
import redis
import redis.asyncio
from interlock import aio
from interlock.compat.redis_py import Lock as Blocking
from interlock.compat.redis_py.aio import Lock as Ours
from redis.asyncio.lock import Lock as Stock
from redis.exceptions import LockError, LockNotOwnedError
from support import free_port, in_child, patience


def with_redis(*kinds):
    """Run a test with a connection of redis-py, once for each of these classes."""

    def decorate(function):
        @pytest.mark.parametrize("kind", kinds, ids=lambda kind: kind.__module__)
        @functools.wraps(function)
        def test(url, name, kind):
            async def main():
                async with redis.asyncio.from_url(url) as r:
                    make = functools.partial(r.lock, lock_class=kind)
                    given = {"r": r, "make": make, "name": name, "url": url}
                    wanted = inspect.signature(function).parameters
                    await function(**{key: given[key] for key in wanted})

            asyncio.run(asyncio.wait_for(main(), patience(60)))

        del test.__wrapped__  # pytest would ask for its parameters
        return test

    return decorate


on_both = with_redis(Ours, Stock)
on_ours = with_redis(Ours)


@on_both
async def test_acquire_and_release(r, make, name):
    lock = make(name, timeout=10)
    assert await lock.acquire(blocking=False) is True
    assert await r.get(name) == lock.local.token
    assert 9000 < await r.pttl(name) <= 10000
    assert await lock.release() is None
    assert await r.get(name) is None
    assert lock.local.token is None


@on_both
async def test_a_token_of_ones_own(r, make, name):
    for token in ("mine", uuid.uuid1().hex.encode()):
        lock = make(name, timeout=10)
        assert await lock.acquire(blocking=False, token=token)
        stored = token.encode() if isinstance(token, str) else token
        assert await r.get(name) == stored == lock.local.token
        assert not await make(name).acquire(blocking=False, token="another")
        await lock.release()
        assert not await r.exists(name)


@on_both
async def test_a_token_set_by_hand_releases(r, make, name):
    lock, other = make(name, timeout=10), make(name, timeout=10)
    assert await lock.acquire()
    other.local.token = lock.local.token
    await other.release()
    assert not await r.exists(name)


@on_both
async def test_locked_and_owned(r, make, name):
    lock, other = make(name, timeout=10), make(name, timeout=10)
    assert not await lock.locked() and not await lock.owned()
    await lock.acquire(blocking=False)
    assert await lock.locked() and await lock.owned()
    assert await other.locked() and not await other.owned()
    await lock.release()
    assert not await lock.locked() and not await lock.owned()


@on_both
async def test_competing_locks(make, name):
    first, second = make(name, timeout=10), make(name, timeout=10)
    assert await first.acquire(blocking=False)
    assert not await second.acquire(blocking=False)
    await first.release()
    assert await second.acquire(blocking=False)
    assert not await first.acquire(blocking=False)
    await second.release()


@on_both
async def test_blocking_timeout(make, name):
    holder, waiter = make(name, timeout=10), make(name, blocking_timeout=0.1)
    assert await holder.acquire(blocking=False)
    assert not await waiter.acquire()
    assert waiter.local.token is None
    assert not await make(name).acquire(blocking_timeout=0.1)
    assert not await make(name, sleep=5).acquire(blocking_timeout=0.1)
    assert not await make(name, blocking=False).acquire()
    await holder.release()
    assert await waiter.acquire()
    await waiter.release()


@on_both
async def test_context_manager(r, make, name):
    async with make(name, timeout=10) as lock:
        assert await r.get(name) == lock.local.token
        with pytest.raises(LockError, match="Unable to acquire lock"):
            async with make(name, blocking_timeout=0.05):
                pytest.fail("two holders")
    assert await r.get(name) is None


@on_both
async def test_context_manager_without_ownership(r, make, name):
    with pytest.raises(LockNotOwnedError):
        async with make(name, timeout=10):
            await r.set(name, "somebody")
    await r.delete(name)
    async with make(name, timeout=10, raise_on_release_error=False):
        await r.set(name, "somebody")
    assert await r.get(name) == b"somebody"


@on_both
async def test_releasing_what_is_not_held(r, make, name):
    lock = make(name, timeout=10)
    with pytest.raises(LockError):
        await lock.release()
    await lock.acquire(blocking=False)
    await r.set(name, "somebody")
    with pytest.raises(LockNotOwnedError):
        await lock.release()
    assert lock.local.token is None
    assert await r.get(name) == b"somebody"


@on_both
async def test_extend(r, make, name):
    lock = make(name, timeout=10)
    assert await lock.acquire(blocking=False)
    assert await lock.extend(10) is True
    assert 16000 < await r.pttl(name) <= 20000
    assert await lock.extend(10, replace_ttl=True) is True
    assert 8000 < await r.pttl(name) <= 10000
    assert await lock.extend(10.5, replace_ttl=True) is True
    assert 8000 < await r.pttl(name) <= 10500
    assert await lock.reacquire() is True
    assert 8000 < await r.pttl(name) <= 10000
    await lock.release()


@on_both
async def test_prolonging_what_is_not_held(r, make, name):
    lock = make(name, timeout=10)
    for verb in (lambda: lock.extend(10), lambda: lock.reacquire()):
        with pytest.raises(LockError):
            await verb()
    endless = make(name)
    assert await endless.acquire(blocking=False)
    for verb in (lambda: endless.extend(10), lambda: endless.reacquire()):
        with pytest.raises(LockError):
            await verb()
    await endless.release()
    for verb in (lambda: lock.extend(10), lambda: lock.reacquire()):
        assert await lock.acquire(blocking=False)
        await r.set(name, "somebody")
        with pytest.raises(LockNotOwnedError):
            await verb()
        await r.delete(name)


@on_both
async def test_one_object_for_many_tasks(make, name):
    inside, most = [], []

    async def work():
        async with make(name, timeout=10, sleep=0.01):
            inside.append(1)
            most.append(len(inside))
            await asyncio.sleep(0)
            inside.pop()

    await asyncio.gather(*[work() for _ in range(8)])
    assert most == [1] * 8


@on_ours
async def test_it_is_a_redis_py_lock(r, make, name):
    assert isinstance(make(name), Stock)
    for verb in ("acquire", "release", "extend", "reacquire", "locked", "owned"):
        ours, theirs = getattr(Ours, verb), getattr(Stock, verb)
        assert list(inspect.signature(ours).parameters) == list(
            inspect.signature(theirs).parameters
        )
    ours, theirs = inspect.signature(Ours), inspect.signature(Stock)
    assert [(p.name, p.default) for p in ours.parameters.values()] == [
        (p.name, p.default) for p in theirs.parameters.values()
    ]


@on_ours
async def test_all_kinds_exclude_each_other(r, make, name, url):
    with redis.from_url(url) as other:
        async with make(name, timeout=10):
            assert not await Stock(r, name, timeout=10).acquire(blocking=False)
            assert not other.lock(name, lock_class=Blocking).acquire(blocking=False)
        async with Stock(r, name, timeout=10):
            assert not await make(name).acquire(blocking=False)


@on_ours
async def test_a_waiter_is_woken_by_a_release(make, name):
    holder, waiter = make(name, timeout=10), make(name, timeout=10, sleep=3600)
    assert await holder.acquire()
    waiting = asyncio.ensure_future(waiter.acquire())
    await asyncio.sleep(0.05)
    await holder.release()
    assert await waiting
    await waiter.release()


@on_ours
async def test_a_cancelled_acquire_holds_nothing(make, name):
    holder, waiter = make(name, timeout=10), make(name, timeout=10)
    assert await holder.acquire()
    waiting = asyncio.ensure_future(waiter.acquire())
    await asyncio.sleep(0.05)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await holder.release()
    assert await make(name, timeout=10).acquire(blocking=False)


@on_both
async def test_a_cancelled_release_may_be_repeated(r, make, name):
    lock = make(name, timeout=10)
    assert await lock.acquire()
    releasing = asyncio.ensure_future(lock.release())
    await asyncio.sleep(0)
    releasing.cancel()
    await asyncio.gather(releasing, return_exceptions=True)
    if lock.local.token is not None:
        # The server may have executed the first one.
        with contextlib.suppress(LockNotOwnedError):
            await lock.release()
    assert lock.local.token is None
    assert not await r.exists(name)


@on_ours
async def test_without_timeout_the_lease_is_renewed(r, make, name):
    lock = make(name)
    assert await lock.acquire()
    assert 0 < await r.pttl(name) <= 30000
    assert lock.local.handle.client.stats().held == 1
    await lock.release()


@on_ours
async def test_one_client_serves_all_locks_of_a_pool(make, name):
    first, second = make(name), make(name + "2")
    assert await first.acquire() and await second.acquire()
    assert first.local.handle.client is second.local.handle.client
    await first.release()
    await second.release()


def test_each_loop_has_a_client_of_its_own(url, name):
    r = redis.asyncio.from_url(url)

    async def main():
        async with r.lock(name, lock_class=Ours) as lock:
            client = lock.local.handle.client
        await r.aclose()
        return client

    first, second = asyncio.run(main()), asyncio.run(main())
    assert first is not second


def test_a_client_of_interlock_will_do(url, name):
    async def main():
        async with aio.connect(url) as client:
            async with Ours(client, name, timeout=10) as lock:
                assert lock.local.handle.client is client
            with pytest.raises(TypeError, match=r"redis\.asyncio\.Redis, got str"):
                await Ours(url, name).acquire()

    asyncio.run(main())


def test_errors_are_redis_pys_own(name):
    async def main():
        r = redis.asyncio.Redis(port=free_port())
        with pytest.raises(redis.ConnectionError) as caught:
            await r.lock(name, lock_class=Ours).acquire(blocking=False)
        assert isinstance(caught.value.__cause__, interlock.ConnectionError)
        with pytest.raises(redis.DataError):
            r.lock("x" * 513, lock_class=Ours)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            port = silent.getsockname()[1]
            slow = redis.asyncio.Redis(port=port, socket_timeout=0.2)
            with pytest.raises((redis.ConnectionError, redis.TimeoutError)):
                await slow.lock(name, lock_class=Ours).acquire(blocking=False)

    asyncio.run(asyncio.wait_for(main(), patience(30)))


@pytest.mark.parametrize("kind", [Ours, Stock])
def test_a_forked_child_releases(url, server, name, kind):
    async def acquire():
        async with redis.asyncio.from_url(url) as r:
            lock = r.lock(name, timeout=10, lock_class=kind)
            assert await lock.acquire()
            return lock

    lock = asyncio.run(acquire())

    assert in_child(lambda: asyncio.run(lock.release())) == "None"
    assert server.call("EXISTS", name) == 0
