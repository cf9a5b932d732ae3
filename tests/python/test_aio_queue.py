# SPDX-License-Identifier: MIT
"""Queues for tasks: each message once, and back when its task is cancelled."""

from __future__ import annotations

import asyncio
import gc
import time

import anyio
import interlock
import pytest
from aio_case import on_both_kinds, until
from interlock import aio


async def until_info(queue, **wanted):
    """Wait until the queue's numbers are these."""

    async def so():
        info = await queue.inspect()
        return all(getattr(info, key) == value for key, value in wanted.items())

    await until(so)


@on_both_kinds
async def test_the_contract(url, name):
    async with aio.connect(url) as client:
        queue = client.queue(name, order="fifo")
        assert await queue.push(b"a\0\xff") == 1
        assert await queue.push("text", once="id") == 2
        assert await queue.push("text", once="id") == 2
        assert list(await queue.push_many([b"c", "d"])) == [3, 4]
        assert await queue.size() == 4
        assert await queue.pop(timeout=0) == b"a\0\xff"
        job = await queue.reserve(timeout=0, lease=20.0)
        assert (job.data, job.id, job.attempts, job.queue) == (b"text", 2, 1, name)
        assert 19 < job.remaining() <= 20
        assert await job.extend(40) and job.remaining() > 20
        assert await job.nack(delay=0) is True
        job = await queue.reserve()
        assert job.attempts == 2
        assert await job.ack() is True
        with pytest.raises(interlock.NotOwnedError):
            await job.ack()
        assert [await queue.pop(), await queue.pop()] == [b"c", b"d"]
        assert await queue.pop() is None
        assert await queue.reserve(timeout=0.02) is None
        assert await queue.pop(0.02) is None
        assert queue.names == (name,)


@on_both_kinds
async def test_looking_and_clearing_up(url, name):
    async with aio.connect(url) as client:
        queue = client.queue(name, max_attempts=1)
        await queue.push_many([b"a", b"b", b"c"])
        await queue.push(b"later", delay=100)
        await (await queue.reserve()).bury("no use")
        await (await queue.reserve()).nack()
        (dead, other) = await queue.peek("dead")
        assert (dead.data, dead.reason) == (b"a", "no use")
        assert (other.data, other.reason) == (b"b", "given back too often")
        assert [job.data for job in await queue.peek()] == [b"c"]
        info = await queue.inspect()
        assert (info.ready, info.delayed, info.dead, info.order) == (1, 1, 2, "fifo")
        with pytest.raises(interlock.DiffersError):
            await client.queue(name, order="filo").push(b"x")
        with pytest.raises(interlock.DiffersError):
            await client.queue(name, order="filo").pop(1)
        assert await queue.requeue(id=dead.id) == 1
        assert await queue.requeue(count=0) == 0
        assert await queue.requeue() == 1
        assert await queue.purge("ready") == 3
        assert await queue.purge() == 1
        with pytest.raises(interlock.InvalidError, match="where must be ready"):
            await queue.peek("nowhere")
        with pytest.raises(TypeError, match="several names"):
            client.queues("one")


@on_both_kinds
async def test_batches(url, name):
    async with aio.connect(url) as client:
        queue = client.queue(name)
        await queue.push_many([b"a", b"b", b"c", b"d", b"e"])
        first = await queue.reserve_many(3)
        assert [job.data for job in first] == [b"a", b"b", b"c"]
        assert await first[1].ack() is True
        second = await queue.reserve_many(1, done=first)
        assert [job.data for job in second] == [b"d"]
        assert (await queue.inspect()).finished == 3
        job = second[0]
        del second
        gc.collect()
        assert job.data == b"d" and await job.ack()
        late = await queue.reserve_many(1, lease=0.5)
        assert await (await queue.reserve(timeout=20)).ack()
        assert await late.ack() is False and late.lost == 1
        assert await queue.reserve_many(1, done=None) is None


@on_both_kinds
async def test_a_job_as_a_context(url, name):
    async with aio.connect(url) as client:
        queue = client.queue(name)
        await queue.push(b"a")
        with pytest.raises(KeyError):
            async with await queue.reserve():
                raise KeyError("no")
        async with await queue.reserve() as job:
            assert job.attempts == 2
        assert (await queue.inspect()).finished == 1
        await queue.push(b"b")
        with anyio.CancelScope() as scope:
            async with await queue.reserve():
                scope.cancel()
                await anyio.sleep(5)
        assert (await queue.reserve()).attempts == 2
        with pytest.raises(interlock.LostError):
            await queue.push(b"c")
            async with await queue.reserve(lease=0.5):
                await (await queue.reserve(timeout=60)).ack()


@on_both_kinds
async def test_a_block_reserves_acknowledges_and_gives_back(url, name):
    async with aio.connect(url) as client:
        queue = client.queue(name)
        with pytest.raises(TimeoutError, match=f"no message in queue '{name}'"):
            async with queue.job(timeout=0.01):
                pytest.fail("there was none")
        await queue.push(b"a")
        with pytest.raises(KeyError):
            async with queue.job():
                raise KeyError("no")
        async with queue.job(timeout=5) as job:
            assert (job.data, job.attempts) == (b"a", 2)
        assert (await queue.inspect()).finished == 1


@on_both_kinds
async def test_another_handle_finishes_by_the_token(url, name):
    async with aio.connect(url) as client, aio.connect(url) as other:
        await client.queue(name).push(b"x")
        job = await client.queue(name).reserve()
        assert await other.queue(name).adopt(job.token).ack()
        assert not await job.ack()


@on_both_kinds
async def test_several_queues_by_priority(url, name):
    async with aio.connect(url) as client:
        names = [f"{name}:high", f"{name}:low"]
        both = client.queues(names)
        await client.queue(names[1]).push(b"low")
        await client.queue(names[0]).push(b"high")
        assert [await both.pop(1), await both.pop(1)] == [b"high", b"low"]


@on_both_kinds
async def test_a_thousand_messages_reach_a_thousand_tasks_once(url, name):
    got = []
    async with aio.connect(url) as client:
        queue = client.queue(name)

        async def take():
            async with await queue.reserve(timeout=None) as job:
                got.append(job.data)

        async with anyio.create_task_group() as group:
            for _ in range(1000):
                group.start_soon(take)
            await until_info(queue, waiting=1000)
            assert client.stats().connections <= 3
            for start in range(0, 1000, 100):
                await queue.push_many(b"%d" % i for i in range(start, start + 100))
        assert sorted(got, key=int) == [b"%d" % i for i in range(1000)]
        info = await queue.inspect()
        assert (info.finished, info.ready, info.taken, info.waiting) == (1000, 0, 0, 0)


@on_both_kinds
async def test_cancel_ends_the_waits_of_the_object_and_no_task(url, name):
    ended = 0
    async with aio.connect(url) as client:
        queue, other = client.queue(name), client.queue(name)

        async def wait(take):
            nonlocal ended
            with pytest.raises(interlock.CancelledError):
                await take(None)
            ended += 1

        async with anyio.create_task_group() as group:
            group.start_soon(wait, queue.reserve)
            group.start_soon(wait, queue.pop)
            group.start_soon(other.pop, None)
            await until_info(queue, waiting=3)
            queue.cancel()
            await until_info(queue, waiting=1)
            await other.push(b"")
        assert ended == 2


# ---- cancelling -------------------------------------------------------------


@on_both_kinds
async def test_a_cancelled_wait_leaves_the_line(url, name):
    async with aio.connect(url) as client:
        queue = client.queue(name)
        for take in (queue.reserve, queue.pop, lambda _: queue.reserve_many(3, None)):
            async with anyio.create_task_group() as group:
                group.start_soon(take, None)
                await until_info(queue, waiting=1)
                group.cancel_scope.cancel()
            await until_info(queue, waiting=0)


@pytest.mark.parametrize("verb", ["reserve", "pop"])
@on_both_kinds
async def test_a_task_cancelled_at_any_moment_takes_nothing_along(url, name, verb):
    async with aio.connect(url) as client, aio.connect(url) as other:
        queue, taken, kept = client.queue(name, max_attempts=1), 0, []
        for step in range(60):
            async with anyio.create_task_group() as group:

                async def take():
                    got = await getattr(queue, verb)(None)
                    kept.append(got)  # what came in time is the task's

                group.start_soon(take)
                if step % 3 == 0:
                    await until_info(queue, waiting=1)
                pushed = await (client, other)[step % 2].queue(name).push(b"m")
                assert pushed
                await anyio.sleep(step * 0.00002)
                group.cancel_scope.cancel()
            taken += len(kept)
            while kept:
                job = kept.pop()
                assert verb == "pop" or await job.ack()
            await until_info(queue, waiting=0, taken=0, ready=step + 1 - taken)
            if step + 1 > taken:
                assert (await queue.peek())[0].attempts == 0
                taken += await queue.purge()
        assert (await queue.inspect()).dead == 0


@pytest.mark.parametrize("verb", ["reserve", "pop"])
@pytest.mark.parametrize("several", [False, True])
def test_a_message_whose_task_is_cancelled_after_it_came_is_put_back(
    url, name, verb, several
):
    """Both happen in one turn of the loop: the messages came, and the cancel."""

    async def main():
        async with aio.connect(url) as client:
            queue, leaves = client.queue(name, max_attempts=1), []
            for _ in range(5):
                names = [name, name + "b"] if several else [name]
                source = client.queues(names, max_attempts=1)
                leaves.append(asyncio.create_task(getattr(source, verb)(None)))
                del source  # nobody but the task has it
            await until_info(queue, waiting=5)

            wake, waiting = client._driver.wake, set(client._driver._pending.values())

            def wake_and_cancel(started):
                wake(started)
                if started in waiting:
                    for task in leaves:
                        task.cancel()

            client._driver.wake = wake_and_cancel
            await queue.push_many([b"\0\xff"] * 5)
            ended = await asyncio.gather(*leaves, return_exceptions=True)
            assert all(isinstance(one, asyncio.CancelledError) for one in ended)
            del ended, leaves[:]
            gc.collect()
            await until_info(queue, ready=5, taken=0, dead=0, waiting=0)
            return [await queue.pop() for _ in range(5)]

    assert asyncio.run(main()) == [b"\0\xff"] * 5


@on_both_kinds
async def test_answers_are_sent_although_their_task_is_cancelled(url, name):
    async with aio.connect(url) as client:
        queue = client.queue(name)
        with anyio.CancelScope() as scope:
            scope.cancel()
            await queue.push(b"a")
        assert await queue.size() == 1
        job = await queue.reserve()
        with anyio.CancelScope() as scope:
            scope.cancel()
            await job.ack()
        assert (await queue.inspect()).finished == 1


# ---- the server goes --------------------------------------------------------


@on_both_kinds
async def test_close_ends_the_waits(url, name):
    ended = 0
    async with aio.connect(url) as client, anyio.create_task_group() as group:
        queue = client.queue(name)

        async def wait():
            nonlocal ended
            with pytest.raises(interlock.ClosedError):
                await queue.reserve(None)
            ended += 1

        for _ in range(3):
            group.start_soon(wait)
        await until_info(queue, waiting=3)
        await client.close()
        with pytest.raises(interlock.ClosedError):
            await queue.push(b"x")
    assert ended == 3


@on_both_kinds
async def test_waits_survive_a_restart_of_the_server(own_server, name):
    got = []
    async with aio.connect(own_server.unix_url) as client:
        queue = client.queue(name)

        async def take():
            job = await queue.reserve(20)
            got.append((job.data, await job.ack()))

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(take)
            await until_info(queue, waiting=3)
            own_server.kill()
            own_server.start()
            async with aio.connect(own_server.unix_url) as other:
                await until_info(other.queue(name), waiting=3)
                await other.queue(name).push_many([b"x", b"x", b"x"])
        assert got == [(b"x", True)] * 3


@on_both_kinds
async def test_a_lease_is_renewed_while_its_task_works(url, name):
    async with aio.connect(url) as client:
        queue = client.queue(name, renew=True)
        await queue.push(b"x")
        job = await queue.reserve(lease=1.5)
        end = time.monotonic() + 2.2
        while time.monotonic() < end:
            assert await client.queue(name).pop(0.1) is None
        assert await job.ack()


@on_both_kinds
async def test_a_block_may_finish_its_job_itself(url, name):
    async with aio.connect(url) as client:
        queue = client.queue(name)
        await queue.push_many([b"a", b"b"])
        async with queue.job() as job:
            assert await job.ack()
        with pytest.raises(KeyError):
            async with queue.job() as job:
                assert await job.bury("no use")
                raise KeyError(job.data)
        info = await queue.inspect()
        assert (info.finished, info.dead, info.taken) == (1, 1, 0)


@on_both_kinds
async def test_a_failed_nack_does_not_hide_the_bodys_exception(url, name, caplog):
    async with aio.connect(url) as client:
        queue = client.queue(name)
        await queue.push(b"a")
        with pytest.raises(KeyError):
            async with queue.job() as job:
                await client.close()
                raise KeyError(job.data)
    assert f"message 1 of {name} was not given back after KeyError" in caplog.text
