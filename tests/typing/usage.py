# SPDX-License-Identifier: MIT
"""Code as users write it: never run, but a type checker must accept it."""

from __future__ import annotations

import datetime

import interlock
from interlock import aio
from interlock.recipes import acquire_lock, release_lock


def blocking(client: interlock.Client) -> bytes:
    queue = client.queue("mail")
    with queue.job(timeout=5) as job:
        data: bytes = job.data
    reserved = queue.reserve(timeout=5)
    if reserved is not None:
        with reserved as job:
            data = job.data
    try:
        client.lock("orders").acquire()
    except interlock.HeldError as error:
        if error.token is not None:
            client.lock("orders").adopt(error.token)
    lock = client.lock("orders", ttl=datetime.timedelta(minutes=1), wait=5)
    held: bool = lock.acquire(blocking=False) or lock.locked()

    @lock
    def double(number: int) -> int:
        return 2 * number

    total: int = double(4) + int(held)
    return data * total


def by_recipe(conn: interlock.Client) -> bool:
    identifier = acquire_lock(conn, "market", acquire_timeout=10)
    return release_lock(conn, "market", identifier)


def located(key: str) -> tuple[str, list[str], bytes]:
    ring = interlock.Ring(["a", "b"])
    ring.add("c", weight=2)
    node: str = ring.get(key)
    spare: list[str] = ring.get_n(key, 2)
    loads: dict[str, int] = dict.fromkeys(ring, 0)
    return ring.get_bounded(key, loads), [node, *spare], interlock.Ring([b"x"]).get(key)


def shared(client: interlock.Client) -> tuple[str, list[str]]:
    ring: interlock.GroupRing = client.group("shards").ring(layout="tooz")
    change: interlock.GroupChange | None = ring.refresh(timeout=None)
    joined = sorted(change.joined) if change is not None else list(ring)
    return ring.get("key"), ring.get_n(b"key", 2) + joined


async def awaited(client: aio.Client) -> bytes:
    async with client.queue("mail").job(timeout=5) as job:
        data = job.data

    @client.lock("orders")
    async def double(number: int) -> int:
        return 2 * number

    return data * await double(4)
