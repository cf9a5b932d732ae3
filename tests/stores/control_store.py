# SPDX-License-Identifier: MIT
"""One Redis or Valkey as a store: the control of these tests, with ILK_TEST_STORES."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import redis
from ports import free_port
from server_process import ServerProcess
from server_programs import SERVER
from store import Store


class RedisServer(ServerProcess):
    def __init__(self, home: Path, port: int):
        super().__init__(home)
        self.port = port

    def command(self) -> list[str]:
        assert SERVER
        return [
            *(SERVER, "--port", str(self.port), "--bind", "127.0.0.1"),
            *("--save", "", "--appendonly", "yes", "--appendfsync", "always"),
            *("--dir", str(self.home), "--loglevel", "warning"),
        ]

    def client(self) -> redis.Redis:
        return redis.Redis(port=self.port, decode_responses=True, socket_timeout=5)

    def is_ready(self) -> bool:
        try:
            return bool(self.client().ping())
        except redis.RedisError:
            return False


class Control(Store):
    scheme = "redis"
    programs: ClassVar[Sequence[str]] = ()
    packages = "redis-server"
    offers = frozenset(
        {
            *("lock", "rwlock", "lock_many", "semaphore", "election", "queue"),
            *("signal", "event", "barrier", "latch", "register", "guard", "list"),
            *("recipes", "detach", "group"),
        }
    )

    @classmethod
    def missing(cls) -> str:
        return "" if SERVER else "redis-server"

    def make_servers(self, count: int) -> list[ServerProcess]:
        assert count == 1
        self.server = RedisServer(self.home, free_port())
        return [self.server]

    @property
    def ports(self) -> list[int]:
        return [self.server.port]

    def url(self, query: str = "", ports: Sequence[int] = ()) -> str:
        query = f"?{query}" if query else ""
        return f"redis://{self.hosts(ports)}{query}"

    def remove_hold(self, name: str) -> None:
        assert self.server.client().delete(name) == 1

    def end_sessions(self) -> None:
        self.server.client().client_kill_filter(skipme=True)
