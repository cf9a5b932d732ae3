# SPDX-License-Identifier: MIT
"""Events, latches, barriers and registers for tasks: verbs, waits, and what ends them."""

from __future__ import annotations

import anyio
import interlock
import pytest
from aio_case import on_both_kinds, until
from interlock import aio
from interlock.barrier import BarrierInfo
from interlock.latch import LatchInfo


@pytest.fixture
def lines(server):
    """How many stand in line for a name of one kind."""

    def count(kind, name):
        return server.call("ZCARD", f"ilk:{kind}:wait:{{{name}}}")

    return count


async def until_in_line(lines, kind, name, count):
    async def there():
        return lines(kind, name) == count

    await until(there)


# ---- events -----------------------------------------------------------------


@on_both_kinds
async def test_an_event_is_set_read_and_cleared(url, name):
    async with aio.connect(url) as client:
        event, same = client.event(name), client.event(name)
        assert (event.generation, event.data) == (0, b"")
        assert not await event.wait(0)
        first = await same.set("seven")
        assert await event.wait() and await event.is_set()
        assert (event.generation, event.data) == (first, b"seven")
        assert await event.read() == (True, first, b"seven")
        second = await event.clear()
        assert second > first
        assert await same.wait_change(first) == (False, second, b"")
        assert await same.wait_change(second, timeout=0.02) is None
        assert not await event.wait(0.02)
        with pytest.raises(interlock.InvalidError, match="generation must be"):
            await event.wait_change(-1)
        with pytest.raises(TypeError):
            await event.wait_change("1")
        assert (event.name, event.client) == (name, client)


@on_both_kinds
async def test_a_thousand_tasks_wait_for_one_event(url, name, lines):
    woken = 0
    async with aio.connect(url) as client:
        event = client.event(name)

        async def wait():
            nonlocal woken
            assert await event.wait()
            woken += 1

        async with anyio.create_task_group() as group:
            for _ in range(1000):
                group.start_soon(wait)
            await until_in_line(lines, "event", name, 1000)
            assert client.stats().connections <= 3
            await event.set()
        assert woken == 1000
        assert lines("event", name) == 0


# ---- latches ----------------------------------------------------------------


@on_both_kinds
async def test_a_latch_is_counted_down(url, name):
    async with aio.connect(url) as client:
        parts, other = client.latch(name, 3), client.latch(name, 4)
        assert await client.inspect_latch(name) == LatchInfo(0, 0)
        assert await parts.count() == 3
        assert await parts.count_down() == 2
        assert await client.inspect_latch(name) == LatchInfo(3, 2)
        assert not await parts.wait(0)
        assert not await parts.wait(0.02)
        with pytest.raises(interlock.DiffersError):
            await other.count_down()
        with pytest.raises(interlock.DiffersError):
            await other.wait(1)
        async with anyio.create_task_group() as group:
            group.start_soon(parts.wait, 5)
            group.start_soon(parts.wait, 5)
            assert await parts.count_down(2) == 0
        assert await parts.wait()
        await parts.reset()
        assert await parts.count() == 3


# ---- barriers ---------------------------------------------------------------


@on_both_kinds
async def test_parties_go_on_together_round_by_round(url, name):
    indices = []
    async with aio.connect(url) as client:
        start = client.barrier(name, 3)

        async def arrive():
            for _ in range(4):
                indices.append(await start.wait(5))

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(arrive)
        rounds = [sorted(indices[i : i + 3]) for i in range(0, 12, 3)]
        assert rounds == [[0, 1, 2]] * 4
        with pytest.raises(interlock.BusyError, match="is not full yet"):
            await start.wait(0)
        with pytest.raises(interlock.TimeoutError, match="was not full within 0.02 s"):
            await start.wait(0.02)
        assert await client.inspect_barrier(name) == BarrierInfo(3, 0)
        assert start.parties == 3


@on_both_kinds
async def test_a_party_that_is_cancelled_breaks_the_round(url, name):
    broken = 0
    async with aio.connect(url) as client:
        start = client.barrier(name, 3)

        async def arrive():
            nonlocal broken
            with pytest.raises(interlock.BrokenError):
                await start.wait(10)
            broken += 1

        async def there():
            return await start.waiting() == 2

        async with anyio.create_task_group() as stays:
            stays.start_soon(arrive)
            async with anyio.create_task_group() as leaves:
                leaves.start_soon(start.wait)
                await until(there)
                leaves.cancel_scope.cancel()
        assert broken == 1
        assert await start.waiting() == 0


@on_both_kinds
async def test_reset_breaks_the_round(url, name):
    async with aio.connect(url) as client:
        start = client.barrier(name, 2)

        async def arrive():
            with pytest.raises(interlock.BrokenError):
                await start.wait(10)

        async def there():
            return await start.waiting() == 1

        async with anyio.create_task_group() as group:
            group.start_soon(arrive)
            await until(there)
            await start.reset()
        assert await start.waiting() == 0


# ---- registers --------------------------------------------------------------


@on_both_kinds
async def test_a_register_is_set_compared_and_deleted(url, name):
    async with aio.connect(url) as client:
        register, same = client.register(name), client.register(name)
        assert await register.get() == (None, 0)
        assert await register.wait(0, timeout=0) is None
        first = await register.set("one")
        assert await same.wait(0) == (b"one", first)
        second = await same.cas(first, b"two")
        assert second > first
        assert await register.cas(first, b"three") is None
        assert await register.delete(first) is False
        assert await register.wait(second, timeout=0.02) is None
        assert await register.delete(second) is True
        assert await register.delete() is False
        value, third = await same.get()
        assert value is None
        assert third > second
        with pytest.raises(interlock.InvalidError, match="version must be"):
            await register.wait(-1)
        with pytest.raises(TypeError, match="version must be int"):
            await register.cas("1", b"x")
        assert (register.name, register.client) == (name, client)


@on_both_kinds
async def test_tasks_that_count_lose_nothing(url, name):
    async with aio.connect(url) as client:
        register = client.register(name)

        async def count():
            for _ in range(10):
                await register.change(lambda old: b"%d" % (int(old or b"0") + 1))

        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(count)
        assert (await register.get()).value == b"100"


@on_both_kinds
async def test_a_change_ends_in_time_or_by_what_its_function_raises(url, name):
    with interlock.connect(url) as other:
        async with aio.connect(url) as client:
            register, theirs = client.register(name), other.register(name)

            def overtaken(_):
                theirs.set(b"theirs")
                return b"mine"

            with pytest.raises(interlock.TimeoutError, match="before each attempt"):
                await register.change(overtaken, timeout=0)
            with pytest.raises(ZeroDivisionError):
                await register.change(lambda _: 1 // 0)
            with pytest.raises(TypeError, match="fn's result must be str or bytes"):
                await register.change(lambda _: None)
            assert (await register.get()).value == b"theirs"


# ---- what ends a wait -------------------------------------------------------


class Known:
    """A register whose ``wait`` has no version to name."""

    def __init__(self, client, name):
        self._register = client.register(name)

    async def wait(self):
        return await self._register.wait(0)


KINDS = {
    "event": lambda client, name: client.event(name),
    "latch": lambda client, name: client.latch(name, 2),
    "barrier": lambda client, name: client.barrier(name, 2),
    "register": Known,
}


@pytest.mark.parametrize("kind", KINDS)
@on_both_kinds
async def test_a_cancelled_wait_leaves_the_line(url, name, lines, kind):
    async with aio.connect(url) as client:
        waited = KINDS[kind](client, name)
        for _ in range(10):
            async with anyio.create_task_group() as group:
                group.start_soon(waited.wait)
                await until_in_line(lines, kind, name, 1)
                group.cancel_scope.cancel()
            await until_in_line(lines, kind, name, 0)


@pytest.mark.parametrize("kind", KINDS)
@on_both_kinds
async def test_a_wait_cancelled_at_any_moment_leaves_the_line(url, name, lines, kind):
    async with aio.connect(url) as client:
        waited = KINDS[kind](client, name)
        for step in range(40):
            async with anyio.create_task_group() as group:
                group.start_soon(waited.wait)
                await anyio.sleep(step * 0.00005)
                group.cancel_scope.cancel()
        await until_in_line(lines, kind, name, 0)
        assert await client.ping()


@pytest.mark.parametrize("kind", KINDS)
@on_both_kinds
async def test_close_ends_the_waits(url, name, lines, kind):
    async with aio.connect(url) as client, anyio.create_task_group() as group:

        async def wait():
            with pytest.raises(interlock.ClosedError):
                await KINDS[kind](client, name).wait()

        group.start_soon(wait)
        await until_in_line(lines, kind, name, 1)
        await client.close()


@on_both_kinds
async def test_waits_survive_a_restart_of_the_server(own_server, name):
    woken = []
    async with aio.connect(own_server.unix_url) as client:
        event = client.event(name)

        async def wait():
            woken.append(await event.wait(20))

        async def all_in_line():
            line = f"ilk:event:wait:{{{name}}}"
            return own_server.call("ZCARD", line) == 5

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(wait)
            await until(all_in_line)
            own_server.kill()
            own_server.start()
            await until(all_in_line)
            await event.set()
        assert woken == [True] * 5
