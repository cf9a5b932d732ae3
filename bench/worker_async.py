# SPDX-License-Identifier: MIT
"""A side on asyncio, ours or a peer's: worker_async.py KIND URL.

It reads lines and answers them, see README.md: `pairs NAME TASKS SECONDS`, and
`waits NAME COUNT`, memory of so many tasks that wait for one name.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path

Make = Callable[..., object]


@asynccontextmanager
async def opened(kind: str, url: str) -> AsyncIterator[Make]:
    """Makes a lock for a name and a lease."""
    if kind == "interlock":
        from interlock import aio

        async with aio.connect(url) as client:
            yield lambda name, ttl=30.0: client.lock(name, ttl=ttl, renew=False)
    elif kind == "redis.asyncio":
        from redis.asyncio import Redis

        async with Redis.from_url(url, max_connections=20000) as redis:
            yield lambda name, ttl=30.0: redis.lock(name, timeout=ttl, sleep=0.01)
    else:
        from aioredlock import Aioredlock

        manager = Aioredlock([url])
        yield lambda name, ttl=30.0: Redlock(manager, name, ttl)
        await manager.destroy()


class Redlock:
    """aioredlock's manager as a lock of one name."""

    def __init__(self, manager: object, name: str, ttl: float) -> None:
        self.manager, self.name, self.ttl = manager, name, ttl
        self.lock: object = None

    async def acquire(self) -> None:
        self.lock = await self.manager.lock(self.name, lock_timeout=self.ttl)

    async def release(self) -> None:
        await self.manager.unlock(self.lock)


async def pairs(make: Make, name: str, count: str, seconds: str) -> dict:
    locks = [make(f"{name}-{number}") for number in range(int(count))]
    for lock in locks[:1]:  # scripts are loaded, connections made
        await lock.acquire()
        await lock.release()
    done = 0
    began, cpu = time.monotonic(), time.process_time()
    ends = began + float(seconds)

    async def body(lock: object) -> None:
        nonlocal done
        while time.monotonic() < ends:
            await lock.acquire()
            await lock.release()
            done += 1

    await asyncio.gather(*map(body, locks))
    return {
        "pairs": done,
        "per_s": done / (time.monotonic() - began),
        "cpu_us": (time.process_time() - cpu) / done * 1e6,
    }


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


async def waits(make: Make, name: str, count: str) -> dict:
    async def idle() -> None:
        await asyncio.sleep(3600)

    async def measured(begin: Callable[[], Coroutine]) -> float:
        before = resident()
        started = [asyncio.create_task(begin()) for _ in range(number)]
        await asyncio.sleep(3)
        used = resident() - before
        for task in started:
            task.cancel()
        await asyncio.wait(started)
        return used / len(started)

    number = int(count)
    empty = await measured(idle)
    holder = make(name)
    await holder.acquire()
    both = await measured(lambda: make(name).acquire())
    await holder.release()
    return {"bytes": both, "task_bytes": empty}


async def main(kind: str, url: str) -> None:
    verbs = {"pairs": pairs, "waits": waits}
    async with opened(kind, url) as make:
        print('"ready"', flush=True)
        for line in sys.stdin:
            verb, *words = line.split()
            print(json.dumps(await verbs[verb](make, *words)), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
