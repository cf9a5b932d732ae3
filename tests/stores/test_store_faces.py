# SPDX-License-Identifier: MIT
"""The command, Lua and asyncio over each store: a hold, a wait, a hand-over."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator

import interlock
import interlock.aio
import pytest
from cluster import PATIENCE
from store import Store
from store_kinds import BUILD, ROOT
from waiting import await_waiters

COMMAND = os.environ.get("ILK_CLI", str(BUILD / "bin" / "interlock"))
TTL = 20.0


@pytest.fixture
def environment(store: Store) -> dict[str, str]:
    return {**os.environ, "INTERLOCK_URL": store.url()}


# ---- the command ------------------------------------------------------------------


@pytest.fixture
def holder(environment: dict[str, str], name: str) -> Iterator[subprocess.Popen[bytes]]:
    """A command that runs under the lock until its input ends."""
    script = 'echo "$INTERLOCK_FENCE"; read line; exit 7'
    words = [COMMAND, "lock", name, "--", "sh", "-c", script]
    with subprocess.Popen(
        words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as one:
        yield one
        one.kill()


def test_the_command_holds_while_a_command_runs(
    holder: subprocess.Popen[bytes], client: interlock.Client, name: str
) -> None:
    assert holder.stdout and holder.stdin
    fence = int(holder.stdout.readline())
    assert client.inspect(name).fence == fence
    lock = client.lock(name, ttl=TTL)
    assert not lock.acquire(0)
    holder.stdin.write(b"\n")
    holder.stdin.flush()
    assert holder.wait(30 * PATIENCE) == 7
    assert lock.acquire(10 * PATIENCE)
    assert lock.fence > fence
    assert lock.release()


def test_the_command_waits_for_its_turn(
    environment: dict[str, str], store: Store, client: interlock.Client, name: str
) -> None:
    lock = client.lock(name, ttl=TTL)
    assert lock.acquire(5)
    busy = subprocess.run(
        [COMMAND, "lock", name, "--wait", "0", "--", "true"],
        env=environment,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert busy.returncode == 75, busy
    with subprocess.Popen(
        [COMMAND, "lock", name, "--", "echo", "mine"],
        env=environment,
        stdout=subprocess.PIPE,
    ) as waiter:
        await_waiters(store, client, name, 1)
        assert lock.release()
        said, _ = waiter.communicate(timeout=60 * PATIENCE)
        assert said == b"mine\n" and waiter.returncode == 0


def test_the_command_stops_a_program_whose_lock_was_lost(
    environment: dict[str, str], client: interlock.Client, store: Store, name: str
) -> None:
    words = [COMMAND, "lock", name, "--ttl", "3s", "--", "sh", "-c", "echo; sleep 60"]
    with subprocess.Popen(
        words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as one:
        try:
            assert one.stdout
            assert one.stdout.readline() == b"\n"
            assert client.break_lock(name)
            assert one.wait(30 * PATIENCE) == 76
        finally:
            one.send_signal(signal.SIGKILL)


# ---- Lua --------------------------------------------------------------------------

SCRIPT = """
local interlock = require "interlock"
local client = assert(interlock.connect(arg[1]))
local lock = assert(client:lock(arg[2], { ttl_ms = 20000 }))
assert(lock:acquire(10000))
assert(lock.held)
local other = assert(client:lock(arg[2]))
local ok, _, code = other:acquire(0)
assert(not ok and interlock.status[code] == "ILK_EBUSY", code)
assert(lock:release())
assert(other:acquire(10000))
assert(other.fence > lock.fence)
io.write(("%.0f %.0f"):format(lock.fence, other.fence))
assert(other:release())
client:close()
"""


@pytest.mark.parametrize("lua", ["lua5.1", "lua5.4", "luajit"])
def test_lua_holds_and_hands_over(store: Store, name: str, lua: str) -> None:
    module = BUILD / "lua" / lua
    if not shutil.which(lua) or not (module / "interlock" / "core.so").exists():
        pytest.skip(f"SKIPPED STORE: {lua} is not there")
    paths = {
        "LUA_PATH": f"{ROOT}/lua/?.lua;{ROOT}/lua/?/init.lua;;",
        "LUA_CPATH": f"{module}/?.so;;",
    }
    done = subprocess.run(
        [lua, "-", store.url(), name],
        input=SCRIPT,
        env={**os.environ, **paths},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first, second = map(int, done.stdout.split())
    assert first < second


# ---- asyncio ----------------------------------------------------------------------


def test_tasks_take_turns(store: Store, name: str) -> None:
    inside, fences = 0, []

    async def work(client: interlock.aio.Client) -> None:
        nonlocal inside
        for _ in range(3):
            async with client.lock(name, ttl=TTL) as lock:
                inside += 1
                assert inside == 1
                fences.append(lock.fence)
                await asyncio.sleep(0.002)
                inside -= 1

    async def run() -> None:
        async with (
            interlock.aio.connect(store.url()) as one,
            interlock.aio.connect(store.url()) as two,
        ):
            await asyncio.gather(*(work(of) for of in (one, two) for _ in range(4)))

    asyncio.run(run())
    assert len(fences) == 24 and fences == sorted(set(fences))


def test_a_task_that_is_cancelled_leaves_the_queue(
    store: Store, client: interlock.Client, name: str
) -> None:
    async def run() -> None:
        async with interlock.aio.connect(store.url()) as aio:
            task = asyncio.create_task(aio.lock(name).acquire())
            while (await aio.inspect(name)).waiting != 1:
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            while (await aio.inspect(name)).waiting:
                await asyncio.sleep(0.01)

    with client.lock(name, ttl=TTL) as lock:
        asyncio.run(run())
        assert lock.held
