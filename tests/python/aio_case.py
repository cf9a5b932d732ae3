# SPDX-License-Identifier: MIT
"""Tests of the asynchronous face run on every loop that it is said to run on."""

from __future__ import annotations

import functools
import inspect

import anyio
import pytest
from support import patience

LOOPS = {
    "asyncio": ("asyncio", {}),
    "uvloop": ("asyncio", {"use_uvloop": True}),
    "trio": ("trio", {}),
}


def run_on(loop, function, *args, **more):
    """Run an async function to its end on asyncio, uvloop or trio."""
    backend, options = LOOPS[loop]
    call = functools.partial(function, *args, **more)
    return anyio.run(call, backend=backend, backend_options=options)


def on_every_loop(function):
    """Make an async test a test for each loop; its fixtures stay the same."""
    return on_loops(function, LOOPS)


def on_both_kinds(function):
    """The same without uvloop, for what stands on the tests of all loops."""
    return on_loops(function, ["asyncio", "trio"])


def on_loops(function, loops):
    """Make an async test a test for each of these loops."""

    @pytest.mark.parametrize("loop", loops)
    @functools.wraps(function)
    def test(loop, **fixtures):
        run_on(loop, function, **fixtures)

    loop = inspect.Parameter("loop", inspect.Parameter.KEYWORD_ONLY)
    known = inspect.signature(function).parameters.values()
    test.__signature__ = inspect.Signature([*known, loop])
    return test


async def until(condition, seconds=5.0):
    """Wait until an async function answers something true."""
    with anyio.fail_after(patience(seconds)):
        while not await condition():
            await anyio.sleep(0.005)


async def until_waiting(client, name, count):
    """Wait until so many stand in line for a name."""

    async def there():
        return (await client.inspect(name)).waiting == count

    await until(there)


async def cancelled(function, seconds=0.0):
    """Run an async function in a task that is cancelled after some time."""
    async with anyio.create_task_group() as group:
        group.start_soon(function)
        await anyio.sleep(seconds)
        group.cancel_scope.cancel()


def taken_and_given_up(handle):
    """A task's work: take it, and when that was in time give it up."""

    async def work():
        await handle.acquire()
        with anyio.CancelScope(shield=True):
            await handle.release()

    return work
