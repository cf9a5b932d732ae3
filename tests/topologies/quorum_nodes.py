# SPDX-License-Identifier: MIT
"""Independent servers on loopback that are a quorum together."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import redis
from cluster import SERVER, free_port, until

LONGEST_MS = 2000


class Node:
    """One server, without persistence: what it knew is gone when it restarts."""

    def __init__(self, home: Path, password: str | None):
        self.port = free_port()
        self.home = home
        self.password = password
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        assert SERVER
        self.process = subprocess.Popen(
            [
                SERVER,
                "--port",
                str(self.port),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--dir",
                str(self.home),
                "--logfile",
                str(self.home / f"{self.port}.log"),
                *(["--requirepass", self.password] if self.password else []),
            ],
            stdin=subprocess.DEVNULL,
        )
        until(lambda: self.redis().ping(), what="a node that answers")

    def redis(self) -> redis.Redis:
        return redis.Redis(
            port=self.port,
            password=self.password,
            decode_responses=True,
            socket_timeout=5,
        )

    def kill(self) -> None:
        assert self.process
        self.process.kill()
        self.process.wait()

    def freeze(self) -> None:
        assert self.process
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self.process
        self.process.send_signal(signal.SIGCONT)

    def is_member(self) -> bool:
        return self.redis().hget("ilk:quorum:node", "member") == "1"


class Quorum:
    def __init__(self, home: Path, count: int, longest_ms: int, password: str | None):
        self.longest_ms = longest_ms
        self.login = f":{password}@" if password else ""
        self.nodes: list[Node] = []
        try:
            for _ in range(count):
                self.nodes.append(Node(home, password))
        except BaseException:
            self.stop()
            raise

    def url(self, query: str = "") -> str:
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
        return f"redis://{self.login}{hosts}?quorum&longest_lease_ms={self.longest_ms}{query}"

    def settle(self) -> None:
        """All nodes vote; somebody must be connected."""
        until(lambda: all(node.is_member() for node in self.nodes), what="members")

    def tokens(self, name: str) -> list[str | None]:
        return [node.redis().get(name) for node in self.nodes]

    def stop(self) -> None:
        for node in self.nodes:
            if node.process and node.process.poll() is None:
                node.thaw()
                node.kill()


@contextlib.contextmanager
def running(
    count: int = 3, longest_ms: int = LONGEST_MS, password: str | None = None
) -> Iterator[Quorum]:
    with tempfile.TemporaryDirectory() as home:
        one = Quorum(Path(home), count, longest_ms, password)
        try:
            yield one
        finally:
            one.stop()
