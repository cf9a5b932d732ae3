# SPDX-License-Identifier: MIT
"""Locks and semaphores as decorators of functions."""

from __future__ import annotations

import contextlib
import inspect
import threading

import anyio
import pytest
from aio_case import on_both_kinds
from interlock import aio


def handles(client, name, **options):
    return [
        client.lock(name, **options),
        client.lock_many([name, name + "2"], **options),
        client.rwlock(name, **options).write,
    ]


def test_each_call_holds_while_it_runs(client, other, name):
    for handle in [*handles(client, name), client.semaphore(name, 1)]:

        @handle
        def work(one, *, two):
            """Use one permit."""
            permits = other.inspect_semaphore(name).used
            return one, two, other.lock(name).locked() + permits

        assert work(1, two=2) == (1, 2, 1)
        assert work.__name__ == "work" and work.__doc__ == "Use one permit."
        assert not handle.held
    assert other.lock(name).acquire(0)


def test_it_is_released_when_the_function_raises(client, other, name):
    @client.lock(name)
    def work():
        raise KeyError(name)

    with pytest.raises(KeyError):
        work()
    assert other.lock(name).acquire(0)


def test_a_call_that_does_not_get_it_in_time_raises(client, other, name):
    @client.lock(name, wait=0.05)
    def work():
        pytest.fail("it is held elsewhere")

    with other.lock(name), pytest.raises(TimeoutError, match=r"within 0\.05 s"):
        work()


def test_threads_call_it_one_after_the_other(client, name):
    inside, most = [], []

    @client.lock(name)
    def work():
        inside.append(1)
        most.append(len(inside))
        inside.pop()

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert most == [1] * 16


def test_a_reentrant_one_may_call_itself(client, other, name):
    depths = []

    @client.lock(name, reentrant=True)
    def work(depth):
        assert not other.lock(name).acquire(0)
        depths.append(depth)
        if depth:
            work(depth - 1)

    work(3)
    assert depths == [3, 2, 1, 0]
    assert other.lock(name).acquire(0)


def test_a_function_that_would_run_after_the_hold_is_refused(client, name):
    def generator():
        yield 1

    async def coroutine():
        pass

    for wrong, text in (
        (generator, "generator"),
        (coroutine, "handles of interlock.aio"),
        (7, "decorates functions, got int"),
    ):
        with pytest.raises(TypeError, match=text):
            client.lock(name)(wrong)


def test_objects_are_refused_by_their_method(client, name):
    class Coroutine:
        async def __call__(self):
            pass

    class Generator:
        def __call__(self):
            yield 1

    with pytest.raises(TypeError, match=r"handles of interlock\.aio"):
        client.lock(name)(Coroutine())
    with pytest.raises(TypeError, match="generator"):
        client.lock(name)(Generator())


def test_a_result_that_would_run_after_the_hold_is_refused(client, other, name):
    ran = []

    async def coroutine():
        ran.append(1)

    def generator():
        ran.append(1)
        yield 1

    async def stream():
        ran.append(1)
        yield 1

    for wrong in (
        coroutine,
        generator,
        stream,
        contextlib.contextmanager(generator),
        contextlib.asynccontextmanager(stream),
    ):
        late = client.lock(name)(lambda make=wrong: make())
        with pytest.raises(TypeError, match="after the hold has ended"):
            late()
        assert other.lock(name).locked() is False
    assert ran == []
    assert list(client.lock(name)(lambda: iter([1]))()) == [1]


@on_both_kinds
async def test_awaited_objects_and_results(url, name):
    async with aio.connect(url) as client:

        class Coroutine:
            async def __call__(self):
                return 7

        assert await client.lock(name)(Coroutine())() == 7

        def generator():
            yield 1

        @client.lock(name)
        async def late():
            return generator()

        with pytest.raises(TypeError, match="after the hold has ended"):
            await late()


@on_both_kinds
async def test_coroutine_functions(url, name):
    async with aio.connect(url) as client, aio.connect(url) as other:
        inside, most = [], []

        @client.lock(name)
        async def work(number):
            inside.append(number)
            most.append(len(inside))
            assert not await other.lock(name).acquire(0)
            inside.pop()
            return number

        assert inspect.iscoroutinefunction(work)
        async with anyio.create_task_group() as group:
            for number in range(8):
                group.start_soon(work, number)
        assert most == [1] * 8
        assert await work(7) == 7

        @client.lock(name, reentrant=True)
        async def nested(depth):
            return depth + (await nested(depth - 1) if depth else 0)

        assert await nested(3) == 6

        @client.lock(name, reentrant=True)
        async def with_children(depth):
            if depth:
                async with anyio.create_task_group() as group:
                    with anyio.move_on_after(0.05) as scope:
                        group.start_soon(with_children, depth - 1)
                        await anyio.sleep(10)
                    group.cancel_scope.cancel()
                return scope.cancelled_caught
            pytest.fail("another task")

        assert await with_children(1)
        with pytest.raises(TypeError, match="handles of interlock$"):
            client.lock(name)(lambda: None)
        assert await other.lock(name).acquire(0)
