# SPDX-License-Identifier: MIT
"""The lock for tasks: whose it is, what a cancelled task leaves, what a loss does."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import time

import anyio
import interlock
import pytest
import redis.asyncio
from aio_case import on_both_kinds, on_every_loop, until, until_waiting
from interlock import _core, aio
from interlock.aio import _driver


@on_every_loop
async def test_a_lock_is_taken_and_given_up(url, name):
    async with aio.connect(url) as client:
        lock = client.lock(name, ttl=10)
        assert await lock.acquire()
        assert lock.held and 9 < lock.remaining() <= 10 and lock.fence > 0
        assert (await client.inspect(name)).holder == lock.token
        assert await lock.extend(20)
        assert 19 < lock.remaining() <= 20
        await lock.check()
        assert await lock.release()
        assert not lock.held
        with pytest.raises(interlock.NotOwnedError):
            await lock.release()


@on_every_loop
async def test_a_try_or_wait_in_vain_raises(url, name):
    async with aio.connect(url) as client, client.lock(name):
        second = client.lock(name, wait=0.05)
        assert not await second.acquire(0)
        began = time.monotonic()
        assert not await second.acquire(0.1)
        assert time.monotonic() - began >= 0.1
        with pytest.raises(interlock.TimeoutError, match="within 0.05 s"):
            async with second:
                pass
        assert (await client.inspect(name)).waiting == 0


@on_every_loop
async def test_a_hundred_tasks_hold_it_one_after_the_other(url, name):
    order, inside = [], 0

    async def sell(client, number):
        nonlocal inside
        async with client.lock(name) as lock:
            inside += 1
            assert inside == 1
            await anyio.sleep(0)
            order.append((lock.fence, number))
            inside -= 1

    async with aio.connect(url) as client, anyio.create_task_group() as group:
        for number in range(100):
            group.start_soon(sell, client, number)

    assert len(order) == 100
    assert [fence for fence, _ in order] == sorted({fence for fence, _ in order})


@on_every_loop
async def test_a_thousand_waits_share_three_connections(url, name):
    async with aio.connect(url) as client:
        holder = client.lock(name)
        await holder.acquire()
        entered = 0

        async def wait():
            nonlocal entered
            async with client.lock(name, renew=False):
                entered += 1

        async with anyio.create_task_group() as group:
            for _ in range(1000):
                group.start_soon(wait)
            await until_waiting(client, name, 1000)
            assert client.stats().connections <= 3
            await holder.release()
        assert entered == 1000
        assert (await client.inspect(name)).state == "free"


@on_every_loop
async def test_a_handle_does_one_thing_at_a_time(url, name):
    async with aio.connect(url) as client, client.lock(name):
        second = client.lock(name)
        async with anyio.create_task_group() as group:
            group.start_soon(second.acquire)
            await until_waiting(client, name, 1)
            with pytest.raises(interlock.HeldError, match="in use"):
                await second.acquire()
            group.cancel_scope.cancel()


# ---- cancelling -------------------------------------------------------------


@on_every_loop
async def test_a_task_cancelled_in_line_leaves_no_place_behind(url, name):
    async with aio.connect(url) as client, client.lock(name):
        for _ in range(20):
            lock = client.lock(name)
            async with anyio.create_task_group() as group:
                group.start_soon(lock.acquire)
                await until_waiting(client, name, 1)
                group.cancel_scope.cancel()
            assert (await client.inspect(name)).waiting == 0
            assert not lock.held


@on_every_loop
async def test_a_task_cancelled_at_any_moment_holds_nothing(url, name):
    """Held and granted while it is cancelled: after it nobody holds."""
    async with aio.connect(url) as client:
        for step in range(60):
            lock, holder = client.lock(name), client.lock(name)
            if step % 2:
                await holder.acquire()
            async with anyio.create_task_group() as group:

                async def take(lock=lock):
                    await lock.acquire()
                    with anyio.CancelScope(shield=True):
                        await lock.release()

                group.start_soon(take)
                await anyio.sleep(step * 0.00005)
                if step % 2:
                    await holder.release()
                group.cancel_scope.cancel()

            async def is_free():
                return (await client.inspect(name)).state == "free"

            await until(is_free)
            assert (await client.inspect(name)).waiting == 0


@on_every_loop
async def test_a_timeout_around_acquire_leaves_nothing_behind(url, name):
    async with aio.connect(url) as client, client.lock(name):
        lock = client.lock(name)
        with anyio.move_on_after(0.05) as scope:
            await lock.acquire()
        assert scope.cancelled_caught
        assert not await lock.acquire(0)  # the handle is free again
        assert (await client.inspect(name)).waiting == 0


@on_every_loop
async def test_a_release_that_is_cancelled_is_done(url, name):
    async with aio.connect(url) as client:
        lock = client.lock(name)
        await lock.acquire()
        with anyio.CancelScope() as scope:
            scope.cancel()
            await lock.release()
        assert not lock.held
        assert await client.lock(name).acquire(1)


def test_asyncio_tasks_may_be_cancelled_again_and_again(url, name):
    async def main():
        async with aio.connect(url) as client, client.lock(name):
            lock = client.lock(name)
            task = asyncio.create_task(lock.acquire())
            await until_waiting(client, name, 1)
            for _ in range(3):
                task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await client.inspect(name)).waiting == 0

    asyncio.run(main())


@on_every_loop
async def test_a_release_need_not_be_confirmed(url, name):
    async with aio.connect(url) as client:
        lock = client.lock(name, renew=False)
        for _ in range(50):
            assert await lock.acquire(1)
            assert await lock.release(confirm=False)
            assert not lock.held
        assert await client.lock(name).acquire(5)


@on_every_loop
async def test_a_loss_is_raised_late_when_it_was_not_confirmed(url, name):
    async with aio.connect(url) as client:
        lock = client.lock(name, renew=False)
        assert await lock.acquire()
        assert await client.break_lock(name)
        assert await lock.release(confirm=False)
        with pytest.raises(interlock.LostError):
            await lock.acquire()
        assert await lock.acquire(0)
        assert await lock.release()


@on_every_loop
async def test_an_unconfirmed_release_is_freed_with_its_lock(url, name, monkeypatch):
    freed = []

    class Counting:
        def __getattr__(self, attribute):
            return getattr(_core.lib, attribute)

        def ilk_op_free(self, op):
            freed.append(op)
            _core.lib.ilk_op_free(op)

    monkeypatch.setattr(_driver, "lib", Counting())
    async with aio.connect(url) as client:
        lock = client.lock(name, renew=False)
        assert await lock.acquire()
        assert await lock.release(confirm=False)
        freed.clear()

        del lock
        assert await client.ping()
        assert await client.ping()

        assert len(freed) == 3


# ---- whose it is ------------------------------------------------------------


@on_every_loop
async def test_another_task_may_release_what_one_acquired(url, name):
    async with aio.connect(url) as client:
        lock = client.lock(name)
        async with anyio.create_task_group() as group:
            group.start_soon(lock.acquire)
        assert lock.held
        async with anyio.create_task_group() as group:
            group.start_soon(lock.release)
        assert not lock.held


def test_a_late_release_touches_nobodys_lock_while_redis_pys_does(server, name):
    """Two tasks share one lock object; the first one's lease has run out."""

    async def theirs():
        conn = redis.asyncio.Redis(unix_socket_path=server.socket)
        lock = redis.asyncio.lock.Lock(conn, name, timeout=0.1)
        await lock.acquire()
        await asyncio.sleep(0.15)  # the first task works for too long
        assert await lock.acquire()  # the second one takes it
        with contextlib.suppress(redis.exceptions.LockError):
            await lock.release()  # the first one: late
        held = await conn.exists(name)
        await conn.aclose()
        return held

    async def ours():
        async with aio.connect(server.unix_url) as client:
            lock = client.lock(name, ttl=0.1, renew=False)
            await lock.acquire()
            await asyncio.sleep(0.15)
            second = client.lock(name)
            assert await second.acquire()
            assert not await lock.release()
            held = second.held and (await client.inspect(name)).state == "held"
            await second.release()
        return held

    assert not asyncio.run(theirs())
    assert asyncio.run(ours())


@on_every_loop
async def test_two_tasks_cannot_both_own_one_handle(url, name):
    async with aio.connect(url) as client:
        lock = client.lock(name)
        await lock.acquire()
        with pytest.raises(interlock.HeldError):
            await lock.acquire()
        assert await lock.release()


@on_every_loop
async def test_a_reentrant_lock_counts_for_one_task(url, name):
    async with aio.connect(url) as client:
        lock = client.lock(name, reentrant=True)

        async def intrude():
            with pytest.raises(interlock.HeldError, match="another"):
                await lock.acquire()

        async with lock, anyio.create_task_group() as group:
            group.start_soon(intrude)
        async with lock, lock, anyio.create_task_group() as group:
            group.start_soon(intrude)
        assert not lock.held


@on_every_loop
async def test_a_reentrant_lock_does_not_nest_in_a_hold_that_was_lost(url, name):
    async with aio.connect(url) as client:
        lock = client.lock(name, reentrant=True, renew=False)
        assert await lock.acquire()
        assert await lock.acquire()
        fence = lock.fence
        assert await client.break_lock(name)
        assert not await lock.extend()
        with pytest.raises(interlock.LostError, match="release it"):
            await lock.acquire()
        assert not await lock.release()
        with pytest.raises(interlock.LostError, match="release it"):
            async with lock:
                pytest.fail("it was lost")
        with pytest.raises(interlock.NotOwnedError):
            await lock.release()
        assert (await client.inspect(name)).state == "free"
        async with lock:
            assert lock.fence > fence


@on_every_loop
async def test_a_nested_block_reports_the_loss_of_the_outer_hold_as_such(url, name):
    async with aio.connect(url) as client:
        lock = client.lock(name, reentrant=True, renew=False)
        with pytest.raises(interlock.LostError, match="inside its block"):
            async with lock:
                with contextlib.suppress(interlock.LostError):
                    async with lock:
                        await client.break_lock(name)
                        assert not await lock.extend()


@on_every_loop
async def test_a_hold_moves_to_another_handle(url, name):
    async with aio.connect(url) as client:
        donor, heir = client.lock(name), client.lock(name)
        await donor.acquire()
        assert await heir.adopt(donor.detach())
        assert not donor.held and heir.held
        assert await heir.release()
        assert not await heir.adopt("gone")


@on_every_loop
async def test_readers_share_and_a_writer_is_alone(url, name):
    async with aio.connect(url) as client:
        table, other = client.rwlock(name), client.rwlock(name)
        async with table.read, other.read:
            assert (await client.inspect(name)).readers == 2
            assert not await other.write.acquire(0)
        async with table.write:
            assert not await other.read.acquire(0)


# ---- losing it --------------------------------------------------------------


@on_every_loop
async def test_a_loss_cancels_the_body_and_raises(url, name):
    reached = False
    async with aio.connect(url) as client:
        with pytest.raises(interlock.LostError):
            async with client.lock(name, ttl=1.5):
                assert await client.break_lock(name)
                await anyio.sleep(10)
                reached = True
        assert not reached
        await anyio.sleep(0)  # the task goes on, uncancelled
        assert await client.ping()


@on_every_loop
async def test_a_body_that_ends_before_the_notification_of_the_loss_raises_too(
    url, name
):
    async with aio.connect(url) as client:
        with pytest.raises(interlock.LostError, match="lost inside"):
            async with client.lock(name, ttl=10):
                assert await client.break_lock(name)
        await anyio.sleep(0)


@on_every_loop
async def test_an_error_of_the_body_is_not_hidden_by_a_loss(url, name, caplog):
    async with aio.connect(url) as client:
        with pytest.raises(KeyError):
            async with client.lock(name):
                assert await client.break_lock(name)
                raise KeyError("work")
    assert "lost inside" in caplog.text


@on_every_loop
async def test_a_cancel_from_outside_stays_one_although_the_lock_was_lost(url, name):
    async with aio.connect(url) as client:
        with anyio.CancelScope() as scope:
            async with client.lock(name, ttl=10):
                await client.break_lock(name)
                scope.cancel()
                await anyio.sleep(10)
        assert scope.cancelled_caught


@on_both_kinds
async def test_locked_blocking_and_timedelta(url, name):
    async with aio.connect(url, reply_timeout=datetime.timedelta(seconds=5)) as client:
        lock = client.lock(name, ttl=datetime.timedelta(seconds=9))
        assert await lock.locked() is False
        async with client.lock(name):
            assert await lock.locked() is True
            assert await lock.acquire(blocking=False) is False
            assert await lock.acquire(datetime.timedelta(seconds=0.01)) is False
            with pytest.raises(ValueError, match="blocking=False"):
                await lock.acquire(5, blocking=False)
        async with lock:
            assert 8 < lock.remaining() <= 9
        notifications = client.notifications()
        assert await notifications.get(datetime.timedelta(seconds=0.01)) is None


def test_a_loss_before_the_task_goes_on_cancels_its_body(url, name):
    async def body(lock):
        async with lock:
            await asyncio.sleep(30)

    async def main():
        async with aio.connect(url) as client:
            lock = client.lock(name, ttl=0.3)
            task = asyncio.create_task(body(lock))
            await asyncio.sleep(0)
            while not lock.held:  # the loop does not run: the task does not know yet
                time.sleep(0.01)
                client._driver.drain()
            with interlock.connect(url) as other:
                other.break_lock(name)
            while not client.stats().losses:
                time.sleep(0.01)
            client._driver.drain()
            with pytest.raises(interlock.LostError):
                await asyncio.wait_for(task, 10)

    asyncio.run(main())


@on_every_loop
async def test_a_release_that_is_refused_leaves_the_hold_to_the_block(
    server, url, name
):
    begun = anyio.Event()

    async def extend(lock):
        begun.set()
        await lock.extend(5)

    async with aio.connect(url) as client:
        lock = client.lock(name)
        async with lock, anyio.create_task_group() as group:
            server.call("CLIENT", "PAUSE", "300", "WRITE")
            group.start_soon(extend, lock)
            await begun.wait()
            with pytest.raises(interlock.HeldError):  # the extend is under way
                await lock.release()
        assert not await client.lock(name).locked()


def test_a_loss_beside_another_exception_releases_on_trio(url, name):
    trio = pytest.importorskip("trio")

    async def fails():
        try:
            await trio.sleep_forever()
        finally:
            raise ValueError("while it was cleaned up")

    async def hold(client, lock):
        async with lock, trio.open_nursery() as nursery:
            nursery.start_soon(fails)
            nursery.start_soon(trio.sleep_forever)
            assert await client.break_lock(name)

    async def main():
        async with aio.connect(url) as client:
            lock = client.lock(name, ttl=0.3, reentrant=True)
            with pytest.raises(Exception):  # noqa: B017 - a group of them, or one
                await hold(client, lock)
            assert await lock.acquire(5)
            assert await lock.release()

    trio.run(main)
