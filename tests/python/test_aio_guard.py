# SPDX-License-Identifier: MIT
"""Reads and writes that refuse an older fence, for tasks."""

from __future__ import annotations

import inspect

import anyio
import interlock
import pytest
from aio_case import on_both_kinds, until
from interlock import aio
from interlock.aio import guard


@on_both_kinds
async def test_the_newer_fence_wins(url, server, name):
    async with aio.connect(url) as client:
        assert await guard.get(client, name) == guard.Guarded(None, 0)
        await guard.set(client, name, b"new", 7)
        await guard.set(client, name, "newer", 7)
        with pytest.raises(interlock.StaleError):
            await guard.set(client, name, b"late", 6)
        assert await guard.get(client, name) == guard.Guarded(b"newer", 7)
        assert server.call("GET", name) == b"newer"
        await guard.set(client, name, b"forced", 0)
        assert await guard.get(client, name) == guard.Guarded(b"forced", 7)
        await guard.remove(client, name)
        assert await guard.get(client, name) == guard.Guarded(None, 0)


@on_both_kinds
async def test_a_late_write_between_read_and_write_is_refused(url, name):
    async with aio.connect(url) as client:
        value = f"{name}:left"
        await guard.set(client, value, b"10", 0)
        frozen = client.lock(name)
        await frozen.acquire()
        assert await guard.get(client, value, frozen.fence) == guard.Guarded(
            b"10", frozen.fence
        )
        await client.break_lock(name)  # its lease is over
        async with client.lock(name) as following:
            seen = int((await guard.get(client, value, following.fence)).value)
            with pytest.raises(interlock.StaleError):
                await guard.get(client, value, frozen.fence)
            with pytest.raises(interlock.StaleError):
                await guard.set(client, value, b"9", frozen.fence)
            await guard.set(client, value, str(seen - 1), following.fence)
        assert (await guard.get(client, value)).value == b"9"


@on_both_kinds
async def test_a_write_whose_task_is_cancelled_is_done_whole_or_not_at_all(url, name):
    async with aio.connect(url) as client:
        for verb, wanted in (("set", (b"written", 3)), ("remove", (None, 0))):
            words = (b"written", 3) if verb == "set" else ()
            with anyio.CancelScope() as scope:
                scope.cancel()
                await getattr(guard, verb)(client, name, *words)

            async def is_done(wanted=wanted):
                return await guard.get(client, name) == guard.Guarded(*wanted)

            await until(is_done)


@on_both_kinds
async def test_a_thousand_tasks_write_at_once(url, name):
    async with aio.connect(url) as client:
        async with anyio.create_task_group() as group:
            for number in range(1000):
                key = f"{name}:{number}"
                group.start_soon(guard.set, client, key, str(number), number)
        for number in (0, 499, 999):
            found = await guard.get(client, f"{name}:{number}")
            assert found == guard.Guarded(str(number).encode(), number)


@on_both_kinds
async def test_senseless_arguments_are_refused(url, server, name):
    client = await aio.connect(url)
    for fence in (-1, 2**53):
        with pytest.raises(interlock.InvalidError):
            await guard.set(client, name, b"", fence)
        with pytest.raises(interlock.InvalidError):
            await guard.get(client, name, fence)
    with pytest.raises(TypeError):
        await guard.set(client, name, b"", 1.0)
    with pytest.raises(interlock.InvalidError):
        await guard.remove(client, "")
    server.call("RPUSH", name, "x")
    with pytest.raises(interlock.WrongTypeError):
        await guard.get(client, name)
    await client.close()
    with pytest.raises(interlock.ClosedError):
        await guard.get(client, name)


def test_it_has_the_names_and_parameters_of_the_other_face():
    theirs = {
        name
        for name, thing in vars(interlock.guard).items()
        if not name.startswith("_")
        and (
            name in ("LUA", "SQL")
            or getattr(thing, "__module__", "") == "interlock.guard"
        )
    }
    assert set(guard.__all__) == theirs
    for name in ("set", "get", "remove"):
        mine = inspect.signature(getattr(guard, name)).parameters
        other = inspect.signature(getattr(interlock.guard, name)).parameters
        assert [(one.name, one.default) for one in mine.values()] == [
            (one.name, one.default) for one in other.values()
        ]
    for name in theirs - {"set", "get", "remove"}:
        assert getattr(guard, name) is getattr(interlock.guard, name)
