# SPDX-License-Identifier: MIT
"""The calls of each Python side, each with its defaults, on one connection.

KIND is interlock or the name of a peer. What polls without a period of its
own looks every POLL seconds, as redis-semaphore does by default.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Callable

Call = Callable[[], object]
Pair = tuple[Call, Call]
BODY = b"x" * 200
POLL = 0.01


def locks(kind: str, url: str) -> Callable[[str], Pair]:
    """Connect; the answer makes acquire and release for a name."""
    if kind == "interlock":
        import interlock

        client = interlock.connect(url)

        def make(name: str) -> Pair:
            lock = client.lock(name)
            return lock.acquire, lock.release

        return make
    import redis

    connection = redis.Redis.from_url(url, socket_timeout=None)

    def make_other(name: str) -> Pair:
        if kind == "redis-py":
            lock = connection.lock(name, timeout=30)
        else:
            import redis_lock

            lock = redis_lock.Lock(connection, name, expire=30)
        return lock.acquire, lock.release

    return make_other


def semaphores(kind: str, url: str, limit: int) -> Callable[[str], Pair]:
    """Connect; the answer makes acquire and release for a name."""
    if kind == "interlock":
        import interlock

        client = interlock.connect(url)

        def make(name: str) -> Pair:
            permit = client.semaphore(name, limit)
            return permit.acquire, permit.release

        return make
    import redis

    sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "python"))
    import documents

    connection = redis.Redis.from_url(url, socket_timeout=None)

    def make_other(name: str) -> Pair:
        held: list[str] = []

        def acquire() -> None:
            while True:
                steps = documents.acquire_fair_semaphore(connection, name, limit)
                identifier = documents.run(steps)
                if identifier:
                    held.append(identifier)
                    return
                time.sleep(POLL)

        def release() -> None:
            steps = documents.release_fair_semaphore(connection, name, held.pop())
            documents.run(steps)

        return acquire, release

    return make_other


def queues(kind: str, url: str) -> Pair:
    """Push and pop on one list of messages."""
    if kind == "interlock":
        import interlock

        queue = interlock.connect(url).queue("messages")
        return lambda: queue.push(BODY), queue.pop
    import redis

    connection = redis.Redis.from_url(url, socket_timeout=None)
    return lambda: connection.lpush("messages", BODY), lambda: connection.rpop(
        "messages"
    )
