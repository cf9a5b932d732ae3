# SPDX-License-Identifier: MIT
"""A client for tasks: connecting, closing, servers that go, loops, forks, news."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
import time
import warnings

import anyio
import interlock
import pytest
from aio_case import on_every_loop, run_on, until_waiting
from interlock import aio
from support import patience


@on_every_loop
async def test_connecting_in_all_its_ways(url):
    client = await aio.connect(url)
    assert await client.ping() is True
    assert not client.closed and len(client.id) == 16
    await client.close()
    await client.close()
    assert client.closed
    async with aio.connect(url, lazy=True) as lazy:
        assert lazy.stats().connects == 0
        assert await lazy.ping()
    async with await aio.connect(url) as client:
        assert await client.ping(1)
    with pytest.raises(interlock.ClosedError):
        await client.ping()


@on_every_loop
async def test_connecting_to_nobody_and_with_nonsense(tmp_path):
    with pytest.raises(interlock.ConnectionError, match="nobody"):
        await aio.connect(f"unix://{tmp_path}/nobody.sock")
    with pytest.raises(interlock.InvalidError):
        await aio.connect("http://localhost")
    with pytest.raises(interlock.InvalidError, match="protocol must be 2 or 3"):
        await aio.connect("redis://", protocol=4)


@pytest.mark.parametrize(
    ("url", "given", "outage", "expected"),
    [
        ("redis://h", None, None, 2),
        ("redis://h", 0.3, None, 0.3),
        ("redis://h?connect_timeout_ms=300", None, None, 0.3),
        ("redis://h?reply_timeout_ms=9&connect_timeout_ms=300", 7, None, 0.3),
        ("embedded:///tmp/x", None, None, 10),
        ("embedded:///tmp/x", 3, None, 3),
        ("embedded:///tmp/x?connect_timeout_ms=300", None, None, 0.3),
        ("redis://h", None, 5, 5),
        ("redis://h", 3, 0, 3),
        ("redis://h?outage=4s", None, 5, 4),
        ("redis://h?label=x&outage=2500ms", 0.3, None, 2.5),
        ("redis://h?outage=1m&connect_timeout_ms=300", None, None, 60),
        ("redis://h?outage=0", 0.3, 9, 0.3),
    ],
)
def test_the_limit_for_connecting_is_the_cores(url, given, outage, expected):
    assert aio.client.connect_limit(url, given, outage) == expected


@on_every_loop
async def test_connecting_takes_as_long_as_the_url_allows(own_server, monkeypatch):
    monkeypatch.setattr(aio.client, "CONNECT_TIMEOUT", 0.1)
    own_server.pause()
    began = time.monotonic()
    try:
        with pytest.raises(interlock.Error):
            await aio.connect(f"{own_server.unix_url}?connect_timeout_ms=200")
        assert 0.1 < time.monotonic() - began < patience(1)
        threading.Timer(0.5, own_server.resume).start()
        async with aio.connect(f"{own_server.unix_url}?connect_timeout_ms=9000") as one:
            assert await one.ping()
    finally:
        own_server.resume()


@on_every_loop
async def test_a_server_that_hangs_is_left_in_time(own_server):
    async with aio.connect(own_server.unix_url, reply_timeout=0.3) as client:
        own_server.pause()
        try:
            with anyio.fail_after(3), pytest.raises(interlock.Error):
                await client.ping()
        finally:
            own_server.resume()
        assert await client.ping(5)


@on_every_loop
async def test_waits_go_on_when_the_server_is_killed_and_restarted(own_server, name):
    async with aio.connect(own_server.unix_url) as client:
        holder = client.lock(name, ttl=30)
        await holder.acquire()
        second = client.lock(name)
        async with anyio.create_task_group() as group:
            got = []

            async def wait():
                got.append(await second.acquire(20))

            group.start_soon(wait)
            await until_waiting(client, name, 1)
            own_server.kill()
            await anyio.sleep(0.05)
            own_server.start()  # it has forgotten everything
        assert got == [True]


@on_every_loop
async def test_closing_ends_what_waits(url, name):
    async with aio.connect(url) as keeper, keeper.lock(name):
        client = await aio.connect(url)
        failures = []

        async def wait():
            try:
                await client.lock(name).acquire()
            except interlock.ClosedError as failure:
                failures.append(failure)

        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(wait)
            await until_waiting(keeper, name, 10)
            await client.close()
        assert len(failures) == 10
        with pytest.raises(interlock.ClosedError):
            client.lock(name)


@on_every_loop
async def test_notifications_come_as_they_happen_and_end_with_the_client(url, name):
    client = await aio.connect(url)
    notifications = client.notifications()
    assert await notifications.get(0.01) is None
    lock = client.lock(name, ttl=1.5)
    await lock.acquire()
    await client.break_lock(name)
    notification = await notifications.get(5)
    assert (notification.kind, notification.lock) == ("lock_lost", lock)
    assert isinstance(notification.error, interlock.LostError)
    seen = []

    async def listen():
        async for one in client.notifications():
            seen.append(one)

    async with anyio.create_task_group() as group:
        group.start_soon(listen)
        await anyio.sleep(0.02)
        await client.close()
    assert seen == []


@on_every_loop
async def test_a_wait_for_notifications_that_ends_leaves_nothing(url):
    async with aio.connect(url) as client:
        notifications = client.notifications()
        for _ in range(3):
            assert await notifications.get(0) is None
            assert await notifications.get(0.001) is None
            with anyio.move_on_after(0.001):
                await notifications.get()
        assert client._buffer._events == []


@on_every_loop
async def test_a_task_that_is_woken_in_vain_waits_no_longer_than_its_timeout(url):
    async def wake():
        while True:
            await anyio.sleep(0.05)
            client._buffer.wake()

    async with aio.connect(url) as client, anyio.create_task_group() as group:
        group.start_soon(wake)
        with anyio.fail_after(patience(2)):
            assert await client.notifications().get(0.2) is None
        group.cancel_scope.cancel()


@on_every_loop
async def test_inspecting_and_breaking(url, name):
    async with aio.connect(url) as client:
        assert (await client.inspect(name)).state == "free"
        assert await client.break_lock(name) is False
        async with client.lock(name, renew=False) as lock:
            info = await client.inspect(name)
            assert (info.state, info.holder, info.fence) == (
                "held",
                lock.token,
                lock.fence,
            )
            assert await client.break_lock(name, token="another") is False
            assert await lock.release()
        with pytest.raises(interlock.InvalidError):
            await client.inspect("")


@on_every_loop
async def test_names_and_times_that_make_no_sense(url):
    async with aio.connect(url) as client:
        for bad in ("", "x" * 513, "ilk:x"):
            with pytest.raises(interlock.InvalidError):
                client.lock(bad)
        with pytest.raises(TypeError):
            client.lock(7)
        lock = client.lock("fine")
        with pytest.raises(interlock.InvalidError):
            await lock.acquire(-1)
        with pytest.raises(TypeError):
            await lock.acquire("soon")
        with pytest.raises(interlock.InvalidError):
            await lock.extend(0)


def test_a_client_belongs_to_one_loop(url, name):
    async def make():
        return await aio.connect(url)

    async def use(client):
        with pytest.raises(interlock.InvalidError, match="another event loop"):
            await client.lock(name).acquire()

    client = asyncio.run(make())
    asyncio.run(use(client))
    run_on("trio", use, client)


def test_without_a_loop_it_says_so(url):
    with pytest.raises(interlock.InvalidError, match="no event loop"):
        aio.Client(url)


def test_a_forked_child_is_refused_and_opens_its_own(url, name):
    async def main():
        async with aio.connect(url) as client:
            lock = client.lock(name)
            await lock.acquire()
            child = os.fork()
            if child == 0:
                os._exit(await in_child(client, lock))
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            assert await client.ping()
            assert await lock.release()
            return status

    async def in_child(client, lock):
        try:
            await lock.release()
        except interlock.ForkedError:
            pass
        else:
            return 1
        try:
            await client.ping()
        except interlock.ForkedError:
            return 0
        return 2

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        assert asyncio.run(main()) == 0


def test_no_thread_of_pythons_is_started(url, name):
    async def main():
        before = threading.active_count()
        async with aio.connect(url) as client, client.lock(name):
            assert not await client.lock(name).acquire(0.05)
            return threading.active_count() - before

    assert asyncio.run(main()) == 0


def test_operations_that_are_dropped_with_their_task_leave_nothing(url, name):
    """The loop ends while tasks wait; nothing crashes, nothing is left."""

    async def main():
        client = await aio.connect(url)
        holder = client.lock(name)
        await holder.acquire()

        async def work():
            async with client.lock(name):
                await asyncio.sleep(60)

        tasks = [asyncio.create_task(work()) for _ in range(50)]
        await until_waiting(client, name, 50)
        await holder.release()
        del tasks
        return client

    client = asyncio.run(main())
    gc.collect()
    assert not client.closed

    with interlock.connect(url) as other:  # a grant that is lost lasts 5 s
        assert other.lock(name).acquire(timeout=2)


def test_a_coroutine_that_is_closed_ends_its_wait(url, name):
    async def main():
        async with aio.connect(url) as client, client.lock(name):
            waits = client.lock(name).acquire()
            waits.send(None)
            await until_waiting(client, name, 1)
            waits.close()
            await until_waiting(client, name, 0)
            return len(client._driver._pending)

    assert asyncio.run(main()) == 0


def test_importing_the_package_imports_no_event_loop():
    code = (
        "import sys, interlock; assert 'asyncio' not in sys.modules;"
        "import interlock.aio;"
        "print([m for m in ('trio', 'anyio', 'uvloop') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
