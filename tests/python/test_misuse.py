# SPDX-License-Identifier: MIT
"""Mistakes that are easily made, and the errors that name them."""

from __future__ import annotations

import asyncio
import copy
import gc
import os
import pickle
import subprocess
import sys
import warnings

import interlock
import pytest
from aio_case import on_both_kinds
from interlock import aio


def objects(client, name):
    """An object of each public class that belongs to its process."""
    pair = client.rwlock(name)
    return [
        client,
        client.lock(name),
        client.lock_many([name]),
        pair,
        client.semaphore(name, 1),
        client.election(name),
        client.signal(name),
        client.event(name),
        client.barrier(name, 2),
        client.latch(name, 2),
        client.group(name),
        client.group(name).watch(),
        client.register(name),
        client.kv(name),
        client.queue(name),
        client.notifications(),
        client.election(name).observe(),
    ]


def refuses_copies(thing):
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError) as caught:
            attempt(thing)
        assert f".{type(thing).__name__} cannot be pickled or copied: " in str(
            caught.value
        )


def test_objects_of_one_process_are_neither_pickled_nor_copied(client, name):
    for thing in objects(client, name):
        refuses_copies(thing)
    queue = client.queue(name)
    queue.push(b"a")
    batch = queue.reserve_many(1)
    refuses_copies(batch)
    refuses_copies(batch[0])
    refuses_copies(interlock.Worker(client, name, {"print": print}))
    refuses_copies(client.group(name).join("a"))


@on_both_kinds
async def test_the_same_for_tasks(url, name):
    async with aio.connect(url) as client:
        for thing in objects(client, name):
            refuses_copies(thing)
        with pytest.raises(TypeError, match=r"^interlock\.aio\.Lock cannot .*adopt"):
            pickle.dumps(client.lock(name))


def test_the_error_of_a_lock_says_what_to_do(client, name):
    with pytest.raises(TypeError, match=r"^interlock\.Lock cannot be .* adopt\(\)"):
        pickle.dumps(client.lock(name))


def test_results_are_pickled(client, name):
    with client.lock(name):
        found = client.inspect(name)
    assert pickle.loads(pickle.dumps(found)) == found
    assert pickle.loads(pickle.dumps(client.stats())) is not None
    error = interlock.HeldError("held")
    error.token = "abc"
    assert pickle.loads(pickle.dumps(error)).token == "abc"


def test_a_client_that_was_not_awaited_says_so(url):
    async def main():
        client = aio.connect(url)
        with pytest.raises(AttributeError, match=r"'lock'.*await aio\.connect"):
            client.lock("orders")
        with pytest.raises(TypeError, match=r"await aio\.connect"), client:
            pass
        assert not hasattr(client, "lock")
        with pytest.warns(RuntimeWarning, match="was not awaited"):
            del client
            gc.collect()

    asyncio.run(main())


def test_a_client_that_was_awaited_does_not(url):
    async def main():
        async with aio.connect(url) as client:
            await client.ping()
        other = await aio.connect(url, lazy=True)
        await other.close()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asyncio.run(main())
        gc.collect()


@on_both_kinds
async def test_the_error_of_two_tasks_on_one_handle_names_tasks(url, name):
    async with aio.connect(url) as client, client.lock(name):
        lock = client.lock(name)
        first = client._driver.start(lock._start_functions.acquire, lock._handle, -1, 0)
        with pytest.raises(interlock.HeldError, match="another thread or task"):
            await lock.acquire()
        first.free()


def test_a_url_of_another_kind_names_those_that_there_are():
    with pytest.raises(interlock.InvalidError, match="valkey://, valkeys://, unix://"):
        interlock.connect("postgres://host")


@pytest.mark.parametrize("kind", [interlock.Client, aio.Client])
def test_a_habit_from_redis_py_is_answered_with_our_name(kind):
    with pytest.raises(TypeError, match="no argument 'timeout': ttl= is the lease"):
        kind.lock(None, "a", timeout=5)
    with pytest.raises(TypeError, match="'blocking_timeout': wait= is how long"):
        kind.lock(None, "a", blocking_timeout=5)
    with pytest.raises(TypeError, match="unexpected keyword argument 'tll'"):
        kind.lock(None, "a", tll=5)


IN_ANOTHER_INTERPRETER = """
import sys

class Refuses:
    def find_spec(self, name, path=None, target=None):
        if name == "_cffi_backend":
            raise ImportError(
                "module _cffi_backend does not support loading in subinterpreters"
            )

sys.meta_path.insert(0, Refuses())
import interlock
"""


def test_an_import_in_a_subinterpreter_says_that_it_is_ours():
    done = subprocess.run(
        [sys.executable, "-c", IN_ANOTHER_INTERPRETER],
        capture_output=True,
        text=True,
        check=False,
    )

    assert "interlock works in the main interpreter only" in done.stderr
    assert "_cffi_backend does not support loading in subinterpreters" in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_closed_client_keeps_no_descriptor(url, name):
    def descriptors():
        return set(os.listdir("/proc/self/fd"))

    with interlock.connect(url) as warm:  # what the process has once
        warm.lock(name).acquire()
    del warm
    gc.collect()
    before = descriptors()
    client = interlock.connect(url)
    lock = client.lock(name)
    assert lock.acquire(5)  # its background thread runs
    client.close()

    assert descriptors() <= before
    assert client.closed
