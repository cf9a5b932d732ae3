# SPDX-License-Identifier: MIT
"""One lock over many names, for tasks: all of them or none, also when cancelled."""

from __future__ import annotations

import random
import time

import anyio
import interlock
import pytest
from aio_case import (
    cancelled,
    on_both_kinds,
    taken_and_given_up,
    until,
    until_waiting,
)
from interlock import aio


def names(name, count=3):
    return [f"{name}:{i}" for i in range(count)]


async def until_free(client, keys):
    """Wait until nobody holds any of them; nobody may stand in line then."""

    async def free():
        return all([(await client.inspect(key)).state == "free" for key in keys])

    await until(free)
    for key in keys:
        assert (await client.inspect(key)).waiting == 0


@on_both_kinds
async def test_all_are_taken_and_given_up(url, name):
    async with aio.connect(url) as client:
        many = client.lock_many(names(name), ttl=10)
        assert many.names == tuple(names(name))
        async with many:
            assert many.held and 9 < many.remaining() <= 10
            for one in names(name):
                assert (await client.inspect(one)).holder == many.token
                assert not await client.lock(one).acquire(0)
            assert await many.extend(20)
            assert 19 < many.remaining() <= 20
            await many.check()
        await until_free(client, names(name))
        with pytest.raises(interlock.NotOwnedError):
            await many.release()
        with pytest.raises(TypeError, match="several names"):
            client.lock_many(name)


@on_both_kinds
async def test_nothing_is_held_when_one_cannot_be_had(url, name):
    async with aio.connect(url) as client:
        async with client.lock(names(name)[1]):
            many = client.lock_many(names(name), wait=0.1)
            assert not await many.acquire(0)
            assert not await many.acquire()
            with pytest.raises(interlock.TimeoutError, match="lock many"):
                await many.__aenter__()
        await until_free(client, names(name))


@on_both_kinds
async def test_opposite_orders_never_block_each_other(url, name):
    seed = random.randrange(2**32)
    print("seed", seed)
    keys, inside, done = names(name, 4), [], 0

    async def work(client, number):
        nonlocal done
        choice = random.Random(seed + number)
        for _ in range(5):
            some = choice.sample(keys, choice.randint(2, 4))
            async with client.lock_many(some, wait=30):
                inside.append(set(some))
                assert sum(len(one) for one in inside) == len(set().union(*inside))
                await anyio.sleep(0)
                inside.remove(set(some))
            done += 1

    async with aio.connect(url) as client, anyio.create_task_group() as group:
        for number in range(30):
            group.start_soon(work, client, number)
    assert done == 150


@on_both_kinds
async def test_a_thousand_waits_share_three_connections(url, name):
    entered = 0

    async with aio.connect(url) as client:
        holder = client.lock_many(names(name, 2))
        await holder.acquire()

        async def wait():
            nonlocal entered
            async with client.lock_many(names(name, 2), renew=False):
                entered += 1

        async with anyio.create_task_group() as group:
            for _ in range(1000):
                group.start_soon(wait)
            await until_waiting(client, names(name)[0], 1000)
            assert client.stats().connections <= 3
            await holder.release()
        assert entered == 1000
        await until_free(client, names(name, 2))


@on_both_kinds
async def test_a_handle_does_one_thing_at_a_time(url, name):
    async with aio.connect(url) as client, client.lock(names(name)[1]):
        many = client.lock_many(names(name))
        async with anyio.create_task_group() as group:
            group.start_soon(many.acquire)
            await until_waiting(client, names(name)[1], 1)
            with pytest.raises(interlock.HeldError, match="in use"):
                await many.acquire()
            group.cancel_scope.cancel()


# ---- cancelling -------------------------------------------------------------


@on_both_kinds
async def test_a_task_cancelled_in_line_gives_back_what_it_had(url, name):
    """It waits for each of the names in turn, and holds those before."""
    async with aio.connect(url) as client:
        for taken in names(name):
            many = client.lock_many(names(name))
            async with client.lock(taken), anyio.create_task_group() as group:
                group.start_soon(many.acquire)
                await until_waiting(client, taken, 1)
                group.cancel_scope.cancel()
            assert not many.held
            await until_free(client, names(name))


@on_both_kinds
async def test_a_task_cancelled_at_any_moment_holds_nothing(url, name):
    """Half of the time one of the names becomes free just then."""
    async with aio.connect(url) as client:
        for step in range(40):
            many, holder = client.lock_many(names(name)), client.lock(names(name)[1])
            if step % 2:
                await holder.acquire()
            async with anyio.create_task_group() as group:
                group.start_soon(taken_and_given_up(many))
                await anyio.sleep(step * 0.0001)
                if step % 2:
                    await holder.release()
                group.cancel_scope.cancel()
            await until_free(client, names(name))


@on_both_kinds
async def test_names_that_come_as_the_task_is_cancelled_are_passed_on(
    url, client, name
):
    """The grant is here, and the task is cancelled before it runs again."""
    holder = client.lock(names(name)[2])
    holder.acquire()
    async with aio.connect(url) as tasks:
        many = tasks.lock_many(names(name))
        async with anyio.create_task_group() as group:
            group.start_soon(taken_and_given_up(many))
            await until_waiting(tasks, names(name)[2], 1)
            holder.release()  # meanwhile the loop does nothing
            assert client.inspect(names(name)[2]).state == "held"
            time.sleep(0.05)
            group.cancel_scope.cancel()
        assert not many.held
        await until_free(tasks, names(name))


@on_both_kinds
async def test_a_release_that_is_cancelled_is_done(url, name):
    async with aio.connect(url) as client:
        many = client.lock_many(names(name))
        await many.acquire()
        with anyio.CancelScope() as scope:
            scope.cancel()
            await many.release()
        assert not many.held
        await until_free(client, names(name))


@on_both_kinds
async def test_an_acquire_cancelled_at_once_is_undone(url, name):
    async with aio.connect(url) as client:
        many = client.lock_many(names(name))
        await cancelled(taken_and_given_up(many))
        await until_free(client, names(name))


# ---- losing them, and the server --------------------------------------------


@on_both_kinds
async def test_a_loss_cancels_the_body_and_raises(url, name):
    reached = False
    async with aio.connect(url) as client:
        with pytest.raises(interlock.LostError):
            async with client.lock_many(names(name), ttl=1.5):
                assert await client.break_lock(names(name)[1])
                await anyio.sleep(10)
                reached = True
        assert not reached
        assert await client.ping()


@on_both_kinds
async def test_closing_ends_what_waits(url, name):
    async with aio.connect(url) as keeper, keeper.lock(names(name)[1]):
        client = await aio.connect(url)

        async def wait():
            with pytest.raises(interlock.ClosedError):
                await client.lock_many(names(name)).acquire()

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await until_waiting(keeper, names(name)[1], 1)
            await client.close()


@on_both_kinds
async def test_waits_go_on_when_the_server_is_killed_and_restarted(own_server, name):
    """It comes back without a memory, also of the names taken by then."""
    got = []

    async with aio.connect(own_server.unix_url) as client:
        holder = client.lock(names(name)[1], ttl=30)
        assert await holder.acquire()
        many = client.lock_many(names(name))

        async def wait():
            got.append(await many.acquire(20))

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await until_waiting(client, names(name)[1], 1)
            own_server.kill()
            await anyio.sleep(0.05)
            own_server.start()
        assert got == [True] and many.held
        for one in names(name):
            assert (await client.inspect(one)).holder == many.token
