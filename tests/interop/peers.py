# SPDX-License-Identifier: MIT
"""Lockers of other makes on the same key, all driven in the same way.

One that may use several independent servers takes several URLs.

A locker in another language is a process that reads lines and answers each
with one:

    acquire NAME TTL_MS [WAIT_MS]    ok | busy; `default`: as the library waits
    release                          ok | lost
    anything that went wrong         error TEXT
"""

from __future__ import annotations

import contextlib
import importlib
import secrets
import subprocess
from typing import Protocol

import pottery
import pytest
import redis
import redis.lock
import redis_lock
import toolchain
from redis.backoff import NoBackoff
from redis.retry import Retry


class Locker(Protocol):
    """The methods of a peer that the tests need. Times are in seconds."""

    prefix: str

    def acquire(self, name: str, ttl: float, wait: float = 0) -> bool: ...
    def release(self) -> bool: ...
    def close(self) -> None: ...


class RedisPy:
    """redis-py's Lock, with its own defaults."""

    prefix = ""

    def __init__(self, url: str) -> None:
        self.redis = redis.Redis.from_url(url)

    def acquire(self, name: str, ttl: float, wait: float = 0) -> bool:
        self.lock = self.redis.lock(name, timeout=ttl)
        return self.lock.acquire(blocking=wait > 0, blocking_timeout=wait or None)

    def acquire_by_default(self, name: str, ttl: float) -> bool:
        """By its own polling, for as long as the slowest of the others polls."""
        return self.acquire(name, ttl, wait=4)

    def release(self) -> bool:
        try:
            self.lock.release()
        except redis.lock.LockNotOwnedError:
            return False
        return True

    def close(self) -> None:
        self.redis.close()


class FiveLines:
    """The lock of documents: SET NX PX, and a delete by its owner."""

    prefix = ""
    unlock = (
        "if redis.call('get', KEYS[1]) == ARGV[1] then"
        " return redis.call('del', KEYS[1]) else return 0 end"
    )

    def __init__(self, url: str) -> None:
        self.redis = redis.Redis.from_url(url)

    def acquire(self, name: str, ttl: float, wait: float = 0) -> bool:
        assert not wait, "the five lines do not wait"
        self.name, self.value = name, secrets.token_hex(16)
        return bool(self.redis.set(name, self.value, nx=True, px=int(ttl * 1000)))

    def release(self) -> bool:
        return bool(self.redis.eval(self.unlock, 1, self.name, self.value))

    def close(self) -> None:
        self.redis.close()


class PythonRedisLock:
    """python-redis-lock: the key of its NAME is `lock:NAME`, whole seconds."""

    prefix = "lock:"

    def __init__(self, url: str) -> None:
        self.redis = redis.Redis.from_url(url)

    def acquire(self, name: str, ttl: float, wait: float = 0) -> bool:
        assert name.startswith(self.prefix)
        self.lock = redis_lock.Lock(
            self.redis, name[len(self.prefix) :], expire=max(1, int(ttl))
        )
        return self.lock.acquire(blocking=wait > 0, timeout=wait or None)

    def release(self) -> bool:
        try:
            self.lock.release()
        except redis_lock.NotAcquired:
            return False
        return True

    def close(self) -> None:
        self.redis.close()


class SeveralServers:
    """Connections on which a command to a server that is away fails at once."""

    def __init__(self, *urls: str) -> None:
        self.servers = [
            redis.Redis.from_url(url, retry=Retry(NoBackoff(), 0)) for url in urls
        ]

    def close(self) -> None:
        for server in self.servers:
            server.close()


class Pottery(SeveralServers):
    """pottery's Redlock: the key of its NAME is `redlock:NAME`."""

    prefix = "redlock:"

    def acquire(self, name: str, ttl: float, wait: float = 0) -> bool:
        assert name.startswith(self.prefix)
        self.lock = pottery.Redlock(
            key=name[len(self.prefix) :],
            masters=set(self.servers),
            auto_release_time=ttl,
        )
        if wait:
            return self.lock.acquire(timeout=wait)
        return self.lock.acquire(blocking=False)

    def release(self) -> bool:
        try:
            self.lock.release()
        except pottery.ReleaseUnlockedLock:
            return False
        return True


class RedlockPy(SeveralServers):
    """redlock-py. Its release does not say whether there was a lock."""

    prefix = ""
    retry_delay = 0.05

    def __init__(self, *urls: str) -> None:
        super().__init__(*urls)
        try:
            self.module = importlib.import_module("redlock")
        except ImportError:
            pytest.skip("SKIPPED PEER: redlock-py is not installed")

    def acquire(self, name: str, ttl: float, wait: float = 0) -> bool:
        self.locks = self.module.Redlock(
            self.servers,
            retry_count=1 + int(wait / self.retry_delay),
            retry_delay=self.retry_delay,
        )
        self.lock = self.locks.lock(name, int(ttl * 1000))
        return bool(self.lock)

    def release(self) -> bool:
        self.locks.unlock(self.lock)
        return True


class Process:
    """A locker in another language."""

    prefix = ""
    language = ""
    folder = ""  # of its source, where it is not that of the language

    def __init__(self, *urls: str) -> None:
        self.process = subprocess.Popen(
            [*toolchain.command(self.language, self.folder), *urls],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            bufsize=1,
        )
        word = self.process.stdout.readline().strip()
        assert word == "ready", f"{self.language} peer said {word!r}"

    def ask(self, *words: object) -> str:
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        answer = self.process.stdout.readline().strip()
        assert answer, f"{self.language} peer ended"
        assert not answer.startswith("error"), answer
        return answer

    def acquire(self, name: str, ttl: float, wait: float = 0) -> bool:
        return self.ask("acquire", name, int(ttl * 1000), int(wait * 1000)) == "ok"

    def acquire_by_default(self, name: str, ttl: float) -> bool:
        return self.ask("acquire", name, int(ttl * 1000), "default") == "ok"

    def release(self) -> bool:
        return self.ask("release") == "ok"

    def close(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class NodeRedlock(Process):
    """node-redlock; several names are parted by commas."""

    language = "node"


class Redsync(Process):
    """redsync."""

    language = "go"


class Redisson(Process):
    """Redisson's RLock: a hash, waiters woken by publish. RedLock on several servers,
    whose release does not say whether there was a lock."""

    language = "java"

    def count(self) -> int:
        return int(self.ask("count").split()[1])


class EtcdMutex(Process):
    """clientv3's Mutex and Election; the URLs are endpoints. The hold's lease has whole
    seconds."""

    language, folder = "go", "etcd"

    def campaign(self, name: str, ttl: float, value: str) -> bool:
        return self.ask("campaign", name, int(ttl * 1000), value) == "ok"

    def resign(self) -> bool:
        return self.ask("resign") == "ok"

    def leader(self, name: str) -> str | None:
        word, _, value = self.ask("leader", name).partition(" ")
        return None if word == "nobody" else value


class CuratorMutex(Process):
    """Curator's InterProcessMutex, and its read/write lock; the URL is a list of hosts
    with a chroot."""

    language, folder = "java", "curator"

    def share(self, name: str, wait: float = 0) -> bool:
        return self.ask("read", name, 0, int(wait * 1000)) == "ok"

    def write(self, name: str, wait: float = 0) -> bool:
        return self.ask("write", name, 0, int(wait * 1000)) == "ok"


PLAIN = [RedisPy, FiveLines, PythonRedisLock, NodeRedlock, Redsync]
REDLOCKS = [Redsync, NodeRedlock, Pottery, RedlockPy]
