# SPDX-License-Identifier: MIT
"""Replicated values for tasks."""

from __future__ import annotations

import anyio
import interlock
import pytest
from aio_case import on_both_kinds
from interlock import KVEntry, aio


@on_both_kinds
async def test_a_value_is_put_read_and_deleted(url, name):
    async with aio.connect(url) as client:
        kv = client.kv(name)
        assert await kv.get("k") is None
        first = await kv.put("k", "one")
        assert await kv.get("k") == KVEntry(b"one", first)
        second = await kv.put(b"k", b"\0\xff", fast=True)
        assert await kv.get("k") == (b"\0\xff", second)
        third = await kv.delete("k")
        fourth = await kv.delete("k", fast=True)
        assert await kv.get("k") is None
        assert first < second < third < fourth
        assert repr(kv) == f"<interlock.KV {name!r}>"


@on_both_kinds
async def test_arguments_are_checked(url, name):
    async with aio.connect(url) as client:
        kv = client.kv(name)
        with pytest.raises(interlock.InvalidError, match="1 to 512 bytes, got 0"):
            await kv.get("")
        with pytest.raises(TypeError, match="value must be str or bytes"):
            await kv.put("k", None)
        with pytest.raises(interlock.InvalidError, match="at most 65536 bytes"):
            await kv.put("k", b"x" * 65537)
        with pytest.raises(TypeError, match="after must be KVProgress"):
            await client.kv_move("x").__anext__()


@on_both_kinds
async def test_many_tasks_write_and_the_greatest_version_stays(url, name):
    versions = []

    async def write(kv):
        versions.append(await kv.put("k", b"x"))

    async with aio.connect(url) as client:
        kv = client.kv(name)
        async with anyio.create_task_group() as tasks:
            for _ in range(100):
                tasks.start_soon(write, kv)
        assert (await kv.get("k")).version == max(versions)
        assert len(set(versions)) == 100


@on_both_kinds
async def test_a_move_yields_how_far_it_is(url, name):
    async with aio.connect(url) as client:
        version = await client.kv(name).put("k", b"v")
        steps = [step async for step in client.kv_move()]
        assert [(step.servers, step.done) for step in steps] == [(1, True)]
        assert [step async for step in client.kv_move(steps[-1])] == []
        assert await client.kv(name).get("k") == (b"v", version)


@on_both_kinds
async def test_a_closed_client_refuses(url, name):
    async with aio.connect(url) as client:
        kv = client.kv(name)
    for call in (lambda: kv.get("k"), lambda: kv.put("k", b""), lambda: kv.delete("k")):
        with pytest.raises(interlock.ClosedError):
            await call()
    with pytest.raises(interlock.ClosedError):
        await client.kv_move().__anext__()
