# SPDX-License-Identifier: MIT
"""Groups for tasks: members, changes, cancellation and loss."""

from __future__ import annotations

import anyio
import interlock
import pytest
from aio_case import on_both_kinds, until
from interlock import aio
from support import patience


@on_both_kinds
async def test_members_join_update_and_leave(url, name):
    async with aio.connect(url) as client:
        group = client.group(name)
        assert await group.members() == {}
        one = await group.join("one", b"1")
        assert one.held and (one.id, group.name, group.client) == ("one", name, client)
        with pytest.raises(interlock.HeldError):
            await group.join("one")
        await one.update(b"2")
        assert await group.members() == {"one": b"2"}
        assert await one.leave() is True
        assert await group.members() == {}
        with pytest.raises(interlock.NotOwnedError):
            await one.leave()


@on_both_kinds
async def test_a_block_leaves_at_its_end(url, name):
    async with aio.connect(url) as client:
        group = client.group(name)
        async with await group.join("a") as member:
            assert member.held
        assert await group.members() == {}
        async with await group.join("a") as member:
            await member.leave()
        with pytest.raises(ZeroDivisionError):
            async with await group.join("a"):
                1 / 0  # noqa: B018
        assert await group.members() == {}


@on_both_kinds
async def test_a_lost_member_cancels_its_block(url, server, name):
    async with aio.connect(url) as client:
        with pytest.raises(interlock.LostError):
            async with await client.group(name).join("a", ttl=0.3):
                server.call("DEL", f"ilk:group:{{{name}}}")
                await anyio.sleep(patience(20))
                raise AssertionError("the block went on")
        assert len(client._joined) == 0


@on_both_kinds
async def test_changes_are_iterated(url, name):
    async with aio.connect(url) as client, aio.connect(url) as other:
        group = other.group(name)
        changes = client.group(name).watch(timeout=patience(5))
        assert (await changes.get()).members == {}
        member = await group.join("a", b"1")
        found = await changes.__anext__()
        assert (found.joined, found.members) == (frozenset("a"), {"a": b"1"})
        await member.update(b"2")
        assert (await changes.get()).updated == frozenset("a")
        await member.leave()
        assert (await changes.get()).left == frozenset("a")
        assert await changes.get(timeout=0) is None
        assert [found.members async for found in group.watch(timeout=0)] == [{}]


@on_both_kinds
async def test_a_cancelled_watch_leaves_the_line_and_loses_no_change(url, server, name):
    def waiting():
        return server.call("ZCARD", f"ilk:group:wait:{{{name}}}")

    async def one_waits():
        return waiting() == 1

    async def none_waits():
        return waiting() == 0

    async with aio.connect(url) as client, aio.connect(url) as other:
        changes = client.group(name).watch()
        await changes.get()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(changes.get)
            await until(one_waits)
            tasks.cancel_scope.cancel()
        await until(none_waits)
        seen = set()
        for step in range(20):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(changes.get)
                await other.group(name).join(f"m{step}")
                await anyio.sleep(step * 0.00005)
                tasks.cancel_scope.cancel()
        while (found := await changes.get(timeout=0.3)) is not None:
            seen = set(found.members)
        assert seen in (set(), {f"m{step}" for step in range(20)})
        assert set(changes._members._members) == {f"m{step}" for step in range(20)}


@on_both_kinds
async def test_a_join_cancelled_at_any_moment_leaves_nobody(url, name):
    async with aio.connect(url) as client:
        group = client.group(name)
        for step in range(40):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(group.join, f"m{step}")
                await anyio.sleep(step * 0.00005)
                tasks.cancel_scope.cancel()
            left = await group.members()
            assert set(left) == {one.id for one in client._joined._members}


@on_both_kinds
async def test_close_ends_the_iteration(url, name, server):
    async with aio.connect(url) as client:
        changes = client.group(name).watch()
        await changes.get()
        seen = []

        async def follow():
            seen.extend([found async for found in changes])
            seen.append("end")

        async def waits():
            return server.call("ZCARD", f"ilk:group:wait:{{{name}}}") == 1

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            await until(waits)
            await client.close()
        assert seen == ["end"]


@on_both_kinds
async def test_a_thousand_members_share_the_connections(url, server, name):
    def connections():
        info = server.call("INFO", "clients").decode()
        return int(info.split("connected_clients:")[1].split()[0])

    before = connections()
    async with aio.connect(url) as client:
        group = client.group(name)
        async with anyio.create_task_group() as tasks:
            for i in range(1000):
                tasks.start_soon(group.join, f"m{i}")
        assert len(await group.members()) == 1000
        assert connections() - before <= 3


@on_both_kinds
async def test_a_ring_follows_the_members(url, name):
    keys = [f"user:{i}" for i in range(500)]
    async with aio.connect(url) as client, aio.connect(url) as other:
        group = other.group(name)
        await group.join("a")
        ring = await client.group(name).ring()
        assert {ring.get(key) for key in keys} == {"a"}

        b = await group.join("b")
        assert (await ring.refresh(timeout=patience(5))).joined == {"b"}
        both = [ring.get(key) for key in keys]
        assert both == [interlock.Ring(["a", "b"]).get(key) for key in keys]
        assert await ring.refresh() is None
        await b.leave()
        assert (await ring.refresh()).left == {"b"}
        assert ring.nodes == {"a": 1}

        with pytest.raises(interlock.InvalidError, match="layout must be"):
            await group.ring(layout="modulo")
    with pytest.raises(interlock.ClosedError):
        await ring.refresh()
    assert ring.get("user:7") == "a"


@on_both_kinds
async def test_a_cancelled_refresh_loses_no_member(url, name):
    async with aio.connect(url) as client, aio.connect(url) as other:
        ring = await client.group(name).ring()
        for step in range(20):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ring.refresh, None)
                await other.group(name).join(f"m{step}")
                await anyio.sleep(step * 0.00005)
                tasks.cancel_scope.cancel()
        while await ring.refresh(timeout=0.3) is not None:
            pass
        assert set(ring) == {f"m{step}" for step in range(20)}


@on_both_kinds
async def test_a_refresh_is_cancelled_by_another_task(url, server, name):
    async def waits():
        return server.call("ZCARD", f"ilk:group:wait:{{{name}}}") == 1

    async with aio.connect(url) as client:
        ring = await client.group(name).ring()
        caught = []

        async def follow():
            try:
                await ring.refresh(timeout=None)
            except interlock.CancelledError as error:
                caught.append(error)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            await until(waits)
            ring.cancel()
        assert len(caught) == 1
