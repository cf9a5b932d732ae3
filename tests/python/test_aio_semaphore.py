# SPDX-License-Identifier: MIT
"""The semaphore for tasks: how many get in, and what a cancelled one leaves."""

from __future__ import annotations

import time

import anyio
import interlock
import pytest
from aio_case import cancelled, on_both_kinds, taken_and_given_up, until
from interlock import aio


async def until_in_line(client, name, count):
    """Wait until so many stand in line for a semaphore."""

    async def there():
        return (await client.inspect_semaphore(name)).waiting == count

    await until(there)


async def until_unused(client, name):
    """Wait until nobody holds a permit; nobody may stand in line then."""

    async def unused():
        return (await client.inspect_semaphore(name)).used == 0

    await until(unused)
    assert (await client.inspect_semaphore(name)).waiting == 0


# ---- taking -----------------------------------------------------------------


@on_both_kinds
async def test_permits_are_taken_and_given_back(url, name):
    async with aio.connect(url) as client:
        permit = client.semaphore(name, 3, permits=2, ttl=10)
        assert (permit.name, permit.limit, permit.permits) == (name, 3, 2)
        assert repr(permit) == f"<interlock.Semaphore {name!r} not held by this handle>"
        assert await permit.acquire()
        assert permit.held and 9 < permit.remaining() <= 10 and permit.fence > 0
        assert (await client.inspect_semaphore(name)).used == 2
        assert await permit.extend(20)
        assert 19 < permit.remaining() <= 20
        await permit.check()
        assert await permit.release()
        assert not permit.held
        assert (await client.inspect_semaphore(name)).used == 0
        with pytest.raises(interlock.NotOwnedError):
            await permit.release()


@on_both_kinds
async def test_a_try_or_wait_in_vain_raises(url, name):
    async with aio.connect(url) as client, client.semaphore(name, 1):
        second = client.semaphore(name, 1, wait=0.05)
        assert not await second.acquire(0)
        began = time.monotonic()
        assert not await second.acquire(0.1)
        assert time.monotonic() - began >= 0.1
        with pytest.raises(interlock.TimeoutError, match="semaphore .* within 0.05 s"):
            async with second:
                pass
        assert (await client.inspect_semaphore(name)).waiting == 0


@on_both_kinds
async def test_no_more_tasks_get_in_than_the_limit_says(url, name):
    inside, most, entered = 0, 0, 0

    async def print_page(client):
        nonlocal inside, most, entered
        async with client.semaphore(name, 3):
            inside += 1
            most, entered = max(most, inside), entered + 1
            await anyio.sleep(0.001)
            inside -= 1

    async with aio.connect(url) as client, anyio.create_task_group() as group:
        for _ in range(100):
            group.start_soon(print_page, client)

    assert (most, entered) == (3, 100)


@on_both_kinds
async def test_a_thousand_waits_share_three_connections(url, name):
    async with aio.connect(url) as client:
        whole = client.semaphore(name, 8, permits=8)
        await whole.acquire()
        entered = 0

        async def wait():
            nonlocal entered
            async with client.semaphore(name, 8, renew=False):
                entered += 1

        async with anyio.create_task_group() as group:
            for _ in range(1000):
                group.start_soon(wait)
            await until_in_line(client, name, 1000)
            assert client.stats().connections <= 3
            await whole.release()
        assert entered == 1000
        assert (await client.inspect_semaphore(name)).used == 0


@on_both_kinds
async def test_a_waiter_for_many_is_not_overtaken(url, name):
    order = []

    async def take(client, permits):
        async with client.semaphore(name, 3, permits=permits):
            order.append(permits)

    async with aio.connect(url) as client:
        whole = client.semaphore(name, 3, permits=3)
        await whole.acquire()
        async with anyio.create_task_group() as group:
            for place, permits in enumerate((3, 1), 1):
                group.start_soon(take, client, permits)
                await until_in_line(client, name, place)
            await whole.release()
    assert order == [3, 1]


@on_both_kinds
async def test_a_handle_does_one_thing_at_a_time(url, name):
    async with aio.connect(url) as client, client.semaphore(name, 1):
        second = client.semaphore(name, 1)
        async with anyio.create_task_group() as group:
            group.start_soon(second.acquire)
            await until_in_line(client, name, 1)
            with pytest.raises(interlock.HeldError, match="in use"):
                await second.acquire()
            group.cancel_scope.cancel()


@on_both_kinds
async def test_another_task_may_give_back_what_one_took(url, name):
    async with aio.connect(url) as client:
        permit = client.semaphore(name, 1)
        async with anyio.create_task_group() as group:
            group.start_soon(permit.acquire)
        assert permit.held
        with pytest.raises(interlock.HeldError):
            await permit.acquire()
        async with anyio.create_task_group() as group:
            group.start_soon(permit.release)
        assert not permit.held


@on_both_kinds
async def test_a_hold_moves_to_another_handle(url, name):
    async with aio.connect(url) as client:
        donor = client.semaphore(name, 4, permits=3)
        heir = client.semaphore(name, 4)
        await donor.acquire(ttl=20)
        assert donor.remaining() <= 20
        assert await heir.adopt(donor.detach())
        assert (donor.held, heir.held, heir.fence) == (False, True, donor.fence)
        info = await client.inspect_semaphore(name)
        assert info.holders[0].permits == 3
        assert await heir.release()
        assert not await donor.adopt(heir.token)


@on_both_kinds
async def test_a_token_is_not_lost_with_a_task_that_is_cancelled(url, name):
    async with aio.connect(url) as client:
        donor, heir = client.semaphore(name, 1), client.semaphore(name, 1)
        await donor.acquire()
        token, adopted = donor.detach(), False
        with anyio.CancelScope() as scope:
            scope.cancel()
            adopted = await heir.adopt(token)
        assert heir.held == adopted  # trio keeps what has been done
        if not adopted:
            assert await heir.adopt(token)
        assert heir.fence == donor.fence
        assert await heir.release()


@on_both_kinds
async def test_giving_back_need_not_be_confirmed(url, name):
    async with aio.connect(url) as client:
        permit = client.semaphore(name, 1)
        for _ in range(3):
            assert await permit.acquire()
            assert await permit.release(confirm=False)
            assert not permit.held
        await until_unused(client, name)


# ---- the limit, and looking -------------------------------------------------


@on_both_kinds
async def test_a_raised_limit_lets_those_who_wait_in(url, name):
    async with aio.connect(url) as client:
        first, second = client.semaphore(name, 1), client.semaphore(name, 1)
        await first.acquire()
        async with anyio.create_task_group() as group:
            group.start_soon(second.acquire)
            await until_in_line(client, name, 1)
            await first.set_limit(2)
        assert second.held
        info = await client.inspect_semaphore(name)
        assert (info.limit, info.used) == (2, 2)
        with pytest.raises(interlock.DiffersError, match="limit 2, this handle has 5"):
            await client.semaphore(name, 5).acquire()
        with pytest.raises(interlock.InvalidError, match="limit must be 1 "):
            await first.set_limit(0)


@on_both_kinds
async def test_inspection_lists_holders_and_waiters(url, name):
    async with aio.connect(url, label="printer") as client:
        nobody = await client.inspect_semaphore(name)
        assert (nobody.limit, nobody.used, nobody.holders) == (0, 0, [])
        holder = client.semaphore(name, 4, permits=3)
        await holder.acquire()
        waiter = client.semaphore(name, 4, permits=2)
        async with anyio.create_task_group() as group:
            group.start_soon(waiter.acquire)
            await until_in_line(client, name, 1)
            info = await client.inspect_semaphore(name)
            group.cancel_scope.cancel()
    assert (info.name, info.limit, info.used) == (name, 4, 3)
    assert info.fence == holder.fence
    assert [(one.token, one.label) for one in info.holders] == [
        (holder.token, "printer")
    ]
    assert [one.permits for one in info.waiters] == [2]
    assert abs(info.holders[0].since - time.time()) < 60


# ---- cancelling -------------------------------------------------------------


@on_both_kinds
async def test_a_task_cancelled_in_line_leaves_no_place_behind(url, name):
    async with aio.connect(url) as client, client.semaphore(name, 2, permits=2):
        for _ in range(20):
            permit = client.semaphore(name, 2)
            async with anyio.create_task_group() as group:
                group.start_soon(permit.acquire)
                await until_in_line(client, name, 1)
                group.cancel_scope.cancel()
            assert (await client.inspect_semaphore(name)).waiting == 0
            assert not permit.held


@on_both_kinds
async def test_a_task_cancelled_at_any_moment_holds_nothing(url, name):
    async with aio.connect(url) as client:
        for step in range(40):
            permit = client.semaphore(name, 2, permits=2)
            await cancelled(taken_and_given_up(permit), step * 0.00005)
            await until_unused(client, name)


@on_both_kinds
async def test_permits_that_come_as_the_task_is_cancelled_are_passed_on(
    url, client, name
):
    """The grant is here, and the task is cancelled before it runs again."""
    holder = client.semaphore(name, 1)
    holder.acquire()
    async with aio.connect(url) as tasks:
        permit = tasks.semaphore(name, 1)
        async with anyio.create_task_group() as group:
            group.start_soon(taken_and_given_up(permit))
            await until_in_line(tasks, name, 1)
            holder.release()  # meanwhile the loop does nothing
            assert client.inspect_semaphore(name).used == 1
            time.sleep(0.05)
            group.cancel_scope.cancel()
        assert not permit.held
        await until_unused(tasks, name)


@on_both_kinds
async def test_a_release_that_is_cancelled_is_done(url, name):
    async with aio.connect(url) as client:
        permit = client.semaphore(name, 1)
        await permit.acquire()
        with anyio.CancelScope() as scope:
            scope.cancel()
            await permit.release()
        assert not permit.held
        assert await client.semaphore(name, 1).acquire(1)


@on_both_kinds
async def test_cancel_ends_the_wait_of_another_task(url, name):
    async with aio.connect(url) as client, client.semaphore(name, 1):
        permit = client.semaphore(name, 1)

        async def wait():
            with pytest.raises(interlock.CancelledError):
                await permit.acquire()

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await until_in_line(client, name, 1)
            permit.cancel()
        assert (await client.inspect_semaphore(name)).waiting == 0


# ---- losing them, and the server --------------------------------------------


@on_both_kinds
async def test_a_loss_cancels_the_body_and_raises(url, server, name):
    reached = False
    async with aio.connect(url) as client:
        with pytest.raises(interlock.LostError):
            async with client.semaphore(name, 2, ttl=1.5):
                server.call("DEL", f"ilk:semaphore:{{{name}}}")
                await anyio.sleep(10)
                reached = True
        assert not reached
        notification = await client.notifications().get(5)
        assert notification.kind == "semaphore_lost"
        assert await client.ping()


@on_both_kinds
async def test_closing_ends_what_waits(url, name):
    async with aio.connect(url) as keeper, keeper.semaphore(name, 1):
        client, failures = await aio.connect(url), []

        async def wait():
            try:
                await client.semaphore(name, 1).acquire()
            except interlock.ClosedError as failure:
                failures.append(failure)

        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(wait)
            await until_in_line(keeper, name, 10)
            await client.close()
        assert len(failures) == 10
        with pytest.raises(interlock.ClosedError):
            client.semaphore(name, 1)


@on_both_kinds
async def test_waits_go_on_when_the_server_is_killed_and_restarted(own_server, name):
    got = []

    async with aio.connect(own_server.unix_url) as client:
        holder = client.semaphore(name, 1, ttl=30)
        await holder.acquire()

        async def wait():
            got.append(await client.semaphore(name, 1).acquire(20))

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await until_in_line(client, name, 1)
            own_server.kill()
            await anyio.sleep(0.05)
            own_server.start()  # it has forgotten everything
        assert got == [True]


# ---- bad input --------------------------------------------------------------


@on_both_kinds
async def test_senseless_arguments_are_refused(url, server, name):
    async with aio.connect(url) as client:
        for options in ({"limit": 0}, {"limit": 3, "permits": 4}):
            with pytest.raises(interlock.InvalidError):
                client.semaphore(name, **options)
        with pytest.raises(TypeError, match="limit must be a whole number"):
            await client.semaphore(name, 3).set_limit(2.0)
        with pytest.raises(interlock.InvalidError):
            await client.semaphore(name, 3).acquire(ttl=0)
        server.call("SET", f"ilk:semaphore:{{{name}}}", "x")
        with pytest.raises(interlock.WrongTypeError):
            await client.semaphore(name, 2).acquire()
        with pytest.raises(interlock.WrongTypeError):
            await client.inspect_semaphore(name)
