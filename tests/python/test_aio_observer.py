# SPDX-License-Identifier: MIT
"""Observers of an election, for tasks: each change is reported once."""

from __future__ import annotations

import time

import anyio
import interlock
import pytest
from aio_case import on_both_kinds, until
from interlock import aio
from support import patience


@on_both_kinds
async def test_observers_receive_each_change(url, name):
    seen = []

    async def listen(client):
        async for value, term in client.election(name).observe():
            seen.append((value, term))

    async def heard(count):
        async def there():
            return len(seen) == count

        await until(there)

    async with aio.connect(url) as keeper:
        client = await aio.connect(url)
        one, two = (keeper.election(name, value=value) for value in (b"1", b"2"))
        async with anyio.create_task_group() as group:
            group.start_soon(listen, client)
            await one.campaign(0)
            await heard(1)
            await one.proclaim(b"1b")
            await heard(2)
            await one.resign()
            await two.campaign(0)
            await heard(3)
            await client.close()  # which ends the iteration
    assert seen == [(b"1", one.term), (b"1b", one.term), (b"2", two.term)]


@on_both_kinds
async def test_observers_that_want_them_receive_vacancies(url, name):
    async with aio.connect(url) as client:
        one = client.election(name, value=b"v")
        observer = one.observe(timeout=0, vacant=True)
        assert [each async for each in observer] == [(None, 0)]
        async with one:
            assert await observer.get(5) == interlock.Leadership(b"v", one.term)
            assert await observer.get(0) is None
            assert await observer.get(0.02) is None
        assert [each async for each in observer] == [(None, one.term)]


@on_both_kinds
async def test_an_iteration_ends_when_nothing_changes_in_time(url, name):
    async with aio.connect(url) as client, client.election(name, value=b"v") as one:
        began = time.monotonic()
        seen = [each async for each in one.observe(timeout=0.1)]
        assert seen == [(b"v", one.term)]
        assert 0.1 <= time.monotonic() - began < patience(2)


@on_both_kinds
async def test_one_task_at_a_time_observes_and_cancel_ends_it(url, name):
    async with aio.connect(url) as client:
        observer = client.election(name).observe()

        async def wait():
            with pytest.raises(interlock.CancelledError):
                await observer.get()

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await anyio.sleep(0.05)
            with pytest.raises(interlock.HeldError):
                await observer.get()
            observer.cancel()
        with pytest.raises(interlock.InvalidError):
            await observer.get(-1)


@on_both_kinds
async def test_a_change_that_comes_as_the_task_is_cancelled_goes_to_the_next(
    url, client, name
):
    told = []
    async with aio.connect(url) as tasks:
        observer = tasks.election(name).observe()

        async def listen():
            told.append(await observer.get())

        async with anyio.create_task_group() as group:
            group.start_soon(listen)
            await anyio.sleep(0.1)  # it stands in line
            leader = client.election(name, value=b"v")
            leader.campaign(0)  # meanwhile the loop does nothing
            time.sleep(0.1)
            group.cancel_scope.cancel()
        if not told:
            told.append(await observer.get(1))
        assert told == [(b"v", leader.term)]
        assert await observer.get(0) is None


@on_both_kinds
async def test_an_observer_that_is_cancelled_again_and_again_misses_nothing(url, name):
    """At every moment of the wait, with a change under way each time."""
    async with aio.connect(url) as client, client.election(name, value=b"") as one:
        observer, last = client.election(name).observe(), None

        async def listen():
            nonlocal last
            async for value, _ in observer:
                last = value

        for step in range(40):
            async with anyio.create_task_group() as group:
                group.start_soon(listen)
                await one.proclaim(b"%d" % step)
                await anyio.sleep(step * 0.00005)
                group.cancel_scope.cancel()
            while (found := await observer.get(0)) is not None:
                last = found.value
            assert last == b"%d" % step
