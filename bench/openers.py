# SPDX-License-Identifier: MIT
"""The calls of each Python side, each with its defaults, on one connection.

KIND is interlock, interlock-unconfirmed, interlock-each (a client for each) or the
name of a peer. A side that polls without a period of its own polls every POLL seconds,
as redis-semaphore does by default.
"""

from __future__ import annotations

import functools
import os
import sys
import time
from pathlib import Path
from typing import Callable

Call = Callable[[], object]
Pair = tuple[Call, Call]
Make = Callable[..., Pair]
BODY = b"x" * 200
POLL = 0.01
LEASE = float(os.environ.get("BENCH_LEASE_MS", "30000")) / 1000


def connection(url: str) -> object:
    """A redis-py client whose threads need not wait for each other."""
    import redis

    return redis.Redis.from_url(url, socket_timeout=None, max_connections=10000)


def locks(kind: str, url: str) -> Make:
    """Connect; the answer makes acquire and release for a name and a lease."""
    if kind.startswith("interlock"):
        import interlock

        shared = None if kind == "interlock-each" else interlock.connect(url)
        unconfirmed = kind == "interlock-unconfirmed"

        def make(name: str, ttl: float = LEASE) -> Pair:
            client = shared or interlock.connect(url)
            lock = client.lock(name, ttl=ttl)
            if unconfirmed:
                return lock.acquire, functools.partial(lock.release, confirm=False)
            return lock.acquire, lock.release

        return make
    if kind == "kazoo":
        return kazoo_locks(url)
    server = connection(url)
    of = {
        "redis-py": redis_py_lock,
        "python-redis-lock": python_redis_lock,
        "pottery": pottery_lock,
        "redlock-py": redlock_py_lock,
    }[kind]
    return lambda name, ttl=LEASE: of(server, name, ttl)


def kazoo_locks(url: str) -> Make:
    """`zookeeper://HOST:PORT/CHROOT`; the lease is the session's."""
    from kazoo.client import KazooClient

    client = KazooClient(url.removeprefix("zookeeper://"), timeout=LEASE)
    client.start(60)

    def make(name: str, ttl: float = LEASE) -> Pair:
        lock = client.Lock(f"/{name}")
        return lock.acquire, lock.release

    return make


def redis_py_lock(server: object, name: str, ttl: float) -> Pair:
    lock = server.lock(name, timeout=ttl)
    return lock.acquire, lock.release


def python_redis_lock(server: object, name: str, ttl: float) -> Pair:
    import redis_lock

    lock = redis_lock.Lock(server, name, expire=int(ttl))
    return lock.acquire, lock.release


def pottery_lock(server: object, name: str, ttl: float) -> Pair:
    import pottery

    lock = pottery.Redlock(key=name, masters={server}, auto_release_time=ttl)
    return lock.acquire, lock.release


def redlock_py_lock(server: object, name: str, ttl: float) -> Pair:
    import redlock

    # Its default gives up after three tries.
    locker = redlock.Redlock([server], retry_count=sys.maxsize)
    held: list[redlock.Lock] = []
    return (
        lambda: held.append(locker.lock(name, int(ttl * 1000))),
        lambda: locker.unlock(held.pop()),
    )


def semaphores(kind: str, url: str, limit: int) -> Make:
    """Connect; the answer makes acquire and release for a name."""
    if kind == "interlock":
        import interlock

        client = interlock.connect(url)

        def make(name: str) -> Pair:
            permit = client.semaphore(name, limit)
            return permit.acquire, permit.release

        return make
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "python"))
    import documents

    server = connection(url)

    def make_other(name: str) -> Pair:
        held: list[str] = []

        def acquire() -> None:
            while True:
                steps = documents.acquire_fair_semaphore(server, name, limit)
                identifier = documents.run(steps)
                if identifier:
                    held.append(identifier)
                    return
                time.sleep(POLL)

        def release() -> None:
            steps = documents.release_fair_semaphore(server, name, held.pop())
            documents.run(steps)

        return acquire, release

    return make_other


def queues(kind: str, url: str) -> Pair:
    """Push and pop on one list of messages."""
    if kind == "interlock":
        import interlock

        queue = interlock.connect(url).queue("messages")
        return lambda: queue.push(BODY), queue.pop
    server = connection(url)
    return lambda: server.lpush("messages", BODY), lambda: server.rpop("messages")
