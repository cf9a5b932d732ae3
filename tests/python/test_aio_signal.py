# SPDX-License-Identifier: MIT
"""Signals for tasks: who receives one, and what becomes of a cancelled task's."""

from __future__ import annotations

import asyncio
import gc
import time

import anyio
import interlock
import pytest
from aio_case import on_both_kinds, until
from interlock import aio
from support import patience


async def until_heard(client, name, count):
    """Wait until so many waits stand in line for a signal."""

    async def there():
        return await client.inspect_signal(name) == count

    await until(there)


@on_both_kinds
async def test_tasks_wait_with_one_signal_each_for_itself(url, name):
    got = []
    async with aio.connect(url) as client:
        sig = client.signal(name)

        async def wait():
            got.append(await sig.wait(5))

        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(wait)
            await until_heard(client, name, 20)
            assert await client.signal(name).notify_one(b"one") == 1
            assert await sig.notify_all(b"all") == 19
        assert sorted(got) == [b"all"] * 19 + [b"one"]
        assert await sig.notify_all() == 0
        assert await sig.wait(0) is None
        began = time.monotonic()
        assert await sig.wait(0.05) is None
        assert 0.05 <= time.monotonic() - began < patience(1)


@on_both_kinds
async def test_a_thousand_tasks_are_woken_over_three_connections(url, name):
    got = 0
    async with aio.connect(url) as client:
        sig = client.signal(name)

        async def wait():
            nonlocal got
            if await sig.wait() == b"x":
                got += 1

        async with anyio.create_task_group() as group:
            for _ in range(1000):
                group.start_soon(wait)
            await until_heard(client, name, 1000)
            assert client.stats().connections <= 3
            assert await sig.notify_all(b"x") == 1000
        assert got == 1000
        assert await client.inspect_signal(name) == 0


@on_both_kinds
async def test_any_and_all_of_several(url, name):
    async with aio.connect(url) as client:
        first, second = client.signal(name + "a"), client.signal(name + "b")

        async def give(*which):
            for one in which:
                await until_heard(client, one, 1)
                assert await client.signal(one).notify_one(one[-1:].encode()) == 1

        async with anyio.create_task_group() as group:
            group.start_soon(give, name + "b")
            assert await aio.wait_any([first, second], 5) == (second, b"b")
        await until_heard(client, name + "a", 0)
        async with anyio.create_task_group() as group:
            group.start_soon(give, name + "b", name + "a")
            assert await aio.wait_all([first, second], 5) == {
                first: b"a",
                second: b"b",
            }
        assert await aio.wait_any([first, second], 0.02) is None
        assert await aio.wait_all([first, second], 0.02) is None


@on_both_kinds
async def test_signals_that_do_not_go_together_are_refused(url, name):
    async with aio.connect(url) as client, aio.connect(url) as other:
        sig = client.signal(name)
        with pytest.raises(interlock.InvalidError, match="count must be 1 to 64"):
            await aio.wait_any([], 1)
        for wrong in (
            [sig, sig],
            [sig, client.signal(name)],
            [sig, other.signal(name + "b")],
            [sig, client.signal(pattern="a.*")],
            [client.signal(f"{name}{i}") for i in range(65)],
        ):
            with pytest.raises(interlock.InvalidError):
                await aio.wait_any(wrong, 1)
        with pytest.raises(TypeError, match="not a Signal"):
            await aio.wait_all([sig, name], 1)
        with pytest.raises(TypeError, match="data must be bytes"):
            await sig.notify_one("text")
        with pytest.raises(interlock.InvalidError):
            await client.signal(pattern="a.*").notify_one(b"")
        with pytest.raises(TypeError, match="a name or a pattern"):
            client.signal(name, pattern="a.*")


@on_both_kinds
async def test_a_signal_of_a_pattern_has_its_name(url, server, name):
    async with aio.connect(url) as client:
        listener = client.signal(pattern=name + ".*")
        await listener.listen()
        assert await client.signal(name + ".mail").notify_all(b"x") == 1
        assert await listener.receive(5) == ((name + ".mail").encode(), b"x")
        assert await listener.receive(0.01) is None
        assert (listener.name, listener.pattern) == (None, name + ".*")

        async def unheard():
            return server.call("PUBSUB", "NUMPAT") == 0

        await until(unheard)


@on_both_kinds
async def test_a_signal_after_listen_is_kept_for_whichever_task(url, name):
    got = []
    async with aio.connect(url) as client:
        sig = client.signal(name)
        await sig.listen()
        await sig.listen()
        assert await client.inspect_signal(name) == 1
        assert await sig.notify_one(b"\0 any") == 1

        async def wait():
            got.append(await sig.wait(0))

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
        assert got == [b"\0 any"]
        assert await sig.wait(0) is None


@on_both_kinds
async def test_cancel_ends_the_waits_of_all_tasks_and_no_task(url, name):
    ended = 0
    async with aio.connect(url) as client:
        sig = client.signal(name)

        async def wait():
            nonlocal ended
            with pytest.raises(interlock.CancelledError):
                await sig.wait()
            ended += 1

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(wait)
            await until_heard(client, name, 3)
            sig.cancel()
        assert ended == 3
        assert await client.inspect_signal(name) == 0
        await sig.listen()
        sig.cancel()
        gc.collect()
        await until_heard(client, name, 0)


# ---- cancelling -------------------------------------------------------------


@on_both_kinds
async def test_a_cancelled_wait_leaves_the_line(url, name):
    async with aio.connect(url) as client:
        sig = client.signal(name)
        several = [sig, client.signal(name + "b")]
        for wait in (sig.wait, sig.receive, lambda: aio.wait_any(several)):
            async with anyio.create_task_group() as group:
                group.start_soon(wait)
                await until_heard(client, name, 1)
                group.cancel_scope.cancel()
            await until_heard(client, name, 0)
            await until_heard(client, name + "b", 0)
        assert not sig._busy


@on_both_kinds
async def test_a_signal_is_received_once_although_waits_are_cancelled_as_it_comes(
    url, name
):
    """One who stays, and one before it who is cancelled at that moment."""
    async with aio.connect(url) as client, aio.connect(url) as other:
        for step in range(60):
            heard = []

            async def hear(sig, heard=heard):
                data = await sig.wait(5)
                if data is not None:
                    heard.append(data)

            async with anyio.create_task_group() as stays:
                async with anyio.create_task_group() as leaves:
                    leaves.start_soon(hear, client.signal(name))
                    await until_heard(client, name, 1)
                    stays.start_soon(hear, client.signal(name))
                    await until_heard(client, name, 2)
                    sender = other if step % 2 else client
                    assert await sender.signal(name).notify_one(b"x") == 1
                    await anyio.sleep(step * 0.00002)
                    leaves.cancel_scope.cancel()
                if not heard:
                    with anyio.move_on_after(2):
                        while not heard:
                            await anyio.sleep(0.002)
                assert heard == [b"x"], step
                stays.cancel_scope.cancel()
            await until_heard(client, name, 0)


def test_a_signal_whose_task_is_cancelled_after_it_came_is_passed_on(url, name):
    """Both happen in one turn of the loop: the signal came, and the cancel."""

    async def main():
        async with aio.connect(url) as client:
            sig = client.signal(name)
            leaves = asyncio.create_task(sig.wait())
            await until_heard(client, name, 1)
            stays = asyncio.create_task(sig.wait(5))
            await until_heard(client, name, 2)
            pending = client._driver._pending
            waiting = pending[min(pending)]  # the first that was started
            wake = client._driver.wake

            def wake_and_cancel(started):
                wake(started)
                if started is waiting:
                    leaves.cancel()

            client._driver.wake = wake_and_cancel
            assert await sig.notify_one(b"x") == 1
            with pytest.raises(asyncio.CancelledError):
                await leaves
            return await stays

    assert asyncio.run(main()) == b"x"


# ---- the server goes --------------------------------------------------------


@on_both_kinds
async def test_close_ends_the_waits(url, name):
    ended = 0
    async with aio.connect(url) as client, anyio.create_task_group() as group:

        async def wait():
            nonlocal ended
            with pytest.raises(interlock.ClosedError):
                await client.signal(name).wait()
            ended += 1

        for _ in range(3):
            group.start_soon(wait)
        await until_heard(client, name, 3)
        await client.close()
    assert ended == 3


@on_both_kinds
async def test_waits_survive_a_restart_of_the_server(own_server, name):
    got = []
    async with aio.connect(own_server.unix_url) as client:
        sig = client.signal(name)

        async def wait():
            got.append(await sig.wait(20))

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(wait)
            await until_heard(client, name, 5)
            own_server.kill()
            own_server.start()
            async with aio.connect(own_server.unix_url) as other:
                await until_heard(other, name, 5)

                async def reaches_all():
                    return await other.signal(name).notify_all(b"back") == 5

                # They may be in line a moment before their client listens again.
                await until(reaches_all)
        assert got == [b"back"] * 5
