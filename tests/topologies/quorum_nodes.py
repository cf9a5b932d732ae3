# SPDX-License-Identifier: MIT
"""Independent servers on loopback that are a quorum together."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import interlock
import redis
from certificates import Certificates
from cluster import until
from ports import free_port
from server_programs import SERVER

LONGEST_MS = 2000
T = TypeVar("T")


def soon(call: Callable[[], T]) -> T:
    """Its result, as soon as enough nodes have been reached."""

    def attempt() -> list[T]:
        try:
            return [call()]
        except interlock.NoQuorumError:
            return []

    found = until(attempt, 30, "enough nodes")
    assert isinstance(found, list)
    return cast("T", found[0])


def durable(count: int = 3) -> list[dict[str, Any]]:
    """Settings of nodes that keep registers: what they have replied is on the disk."""
    words = ["--appendonly", "yes", "--appendfsync", "always"]
    words += ["--aof-load-truncated", "no"]
    return [
        {"options": [*words, "--appendfilename", f"{number}.aof"]}
        for number in range(count)
    ]


class Node:
    """One server, without persistence unless its options say so: what it knew is gone
    when it restarts."""

    def __init__(
        self,
        home: Path,
        password: str | None = None,
        options: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        program: str | None = SERVER,
        has_tls: bool = False,
    ):
        self.port = free_port()
        self.home = home
        self.socket = home / f"{self.port}.socket"
        self.password = password
        self.options = options
        self.environment = {**os.environ, **(environment or {})}
        self.program = program
        self.has_tls = has_tls
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        self.begin()
        until(lambda: self.redis().ping(), what="a node that answers")

    def begin(self) -> None:
        """Start it, and let it load what it has in peace."""
        assert self.program
        self.process = subprocess.Popen(
            [
                self.program,
                "--tls-port" if self.has_tls else "--port",
                str(self.port),
                "--bind",
                "127.0.0.1",
                "--unixsocket",
                str(self.socket),
                "--save",
                "",
                "--dir",
                str(self.home),
                "--logfile",
                str(self.home / f"{self.port}.log"),
                *(["--requirepass", self.password] if self.password else []),
                *self.options,
            ],
            stdin=subprocess.DEVNULL,
            env=self.environment,
        )

    def redis(self) -> redis.Redis:
        return redis.Redis(
            unix_socket_path=str(self.socket),
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

    def declare_member(self, count: int, longest_ms: int) -> None:
        """It votes at once, as if it had run for as long as the longest lease."""
        fields = {
            "run": self.redis().info("server")["run_id"],
            "nonce": uuid.uuid4().hex,
            "nodes": count,
            "longest": longest_ms,
        }
        self.redis().hset(
            "ilk:quorum:node",
            mapping=fields | {"from": 0, "early": 0, "member": 1, "base": 0},
        )


class Quorum:
    """Nodes, each with settings of its own: the keywords of Node."""

    scheme = "redis"

    def __init__(
        self, home: Path, longest_ms: int, settings: Sequence[Mapping[str, Any]]
    ):
        self.longest_ms = longest_ms
        password = settings[0].get("password")
        self.login = f":{password}@" if password else ""
        self.nodes: list[Node] = []
        try:
            for setting in settings:
                self.nodes.append(Node(home, **setting))
        except BaseException:
            self.stop()
            raise

    def url(self, query: str = "", ports: Sequence[int] = ()) -> str:
        """By the nodes' own ports, or by those of proxies before them."""
        ports = ports or [node.port for node in self.nodes]
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        query = f"quorum&longest_lease_ms={self.longest_ms}{query}"
        return f"{self.scheme}://{self.login}{hosts}?{query}"

    def settle(self) -> None:
        """All nodes vote; somebody must be connected."""
        until(lambda: all(node.is_member() for node in self.nodes), what="members")

    def declare_members(self) -> None:
        for node in self.nodes:
            node.declare_member(len(self.nodes), self.longest_ms)

    def tokens(self, name: str) -> list[str | None]:
        return [node.redis().get(name) for node in self.nodes]

    def stop(self) -> None:
        for node in self.nodes:
            if node.process and node.process.poll() is None:
                node.thaw()
                node.kill()


@contextlib.contextmanager
def running(
    count: int = 3,
    longest_ms: int = LONGEST_MS,
    password: str | None = None,
    settings: Sequence[Mapping[str, Any]] = (),
    certificates: Certificates | None = None,
) -> Iterator[Quorum]:
    common: dict[str, Any] = {"password": password}
    if certificates:
        common |= {"options": certificates.options(), "has_tls": True}
    with tempfile.TemporaryDirectory() as home:
        one = Quorum(Path(home), longest_ms, settings or [common] * count)
        if certificates:
            one.scheme = "rediss"
        try:
            yield one
        finally:
            one.stop()
