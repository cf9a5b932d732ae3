# SPDX-License-Identifier: MIT
"""Looking at what is locked, for tasks."""

from __future__ import annotations

import anyio
import interlock
import pytest
from aio_case import on_both_kinds
from interlock import aio


@on_both_kinds
async def test_ls_finds_names_by_a_pattern(url, name):
    async with aio.connect(url) as client:
        plain, tagged = f"{name}:a", f"{name}:{{b}}"
        async with client.lock(plain), client.lock(tagged):
            assert await client.ls(f"{name}*") == [plain, tagged]
            assert await client.ls(f"{name}:a".encode()) == [plain.encode()]
            assert plain in await client.ls()
        assert await client.ls(f"{name}:nothing*") == []
        with pytest.raises(interlock.InvalidError, match="kind must be one of lock"):
            await client.ls(kind="loch")
        with pytest.raises(TypeError):
            await client.ls(7)


@on_both_kinds
async def test_ls_has_the_kinds(url, name):
    async with aio.connect(url) as client:
        await client.semaphore(name, 2).acquire()
        await client.election(name).campaign()
        assert await client.ls(name, kind="semaphore") == [name]
        assert await client.ls(name, kind="election") == [name]
        assert await client.ls(name, kind="queue") == []
        assert await client.ls(name) == []


@on_both_kinds
async def test_a_walk_of_many_pages_may_be_cancelled(url, name):
    async with aio.connect(url) as client:
        locks = [client.lock(f"{name}:{number}") for number in range(300)]
        async with anyio.create_task_group() as group:
            for lock in locks:
                group.start_soon(lock.acquire)
        assert len(await client.ls(f"{name}:*")) == 300
        with anyio.CancelScope() as scope:
            scope.cancel()
            await client.ls(f"{name}:*")
        assert len(await client.ls(f"{name}:*")) == 300


@on_both_kinds
async def test_a_key_that_is_no_lock_is_a_wrong_type(url, server, name):
    server.call("RPUSH", name, "x")
    async with aio.connect(url) as client:
        with pytest.raises(interlock.WrongTypeError):
            await client.inspect(name)
