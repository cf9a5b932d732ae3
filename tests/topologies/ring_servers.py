# SPDX-License-Identifier: MIT
"""Independent servers on loopback that share keys by a ring."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from quorum_nodes import Node

sys.path.append(str(Path(__file__).resolve().parents[1] / "shared"))

from relay import RelayProcess

PROXY = Path(__file__).resolve().parents[1] / "chaos" / "proxy.py"
LONG = 3600.0  # until heal()
LABEL = "tcp"


def on_disk(count: int) -> list[dict[str, Any]]:
    """Settings of servers that remember what they have replied."""
    words = ["--appendonly", "yes", "--appendfsync", "always"]
    return [
        {"options": [*words, "--appendfilename", f"{number}.aof"]}
        for number in range(count)
    ]


def slow_to_load(count: int) -> list[dict[str, Any]]:
    """Settings of servers that take 4 ms for each key that was kept by a SAVE, and
    answer meanwhile."""
    words = ["--key-load-delay", "4000", "--rdbcompression", "no"]
    words += ["--loading-process-events-interval-bytes", "1024"]
    return [
        {"options": [*words, "--dbfilename", f"{number}.rdb"]}
        for number in range(count)
    ]


class Servers:
    """The first ones are on the ring, unless `url()` gets a list."""

    def __init__(self, home: Path, settings: Sequence[Mapping[str, Any]]):
        self.servers: list[Node] = []
        try:
            for setting in settings:
                self.servers.append(Node(home, **setting))
        except BaseException:
            self.stop()
            raise

    def url(
        self, query: str = "", on: Sequence[int] = (), former: Sequence[int] = ()
    ) -> str:
        on = on or range(len(self.servers))
        if former:
            query += f"&former={self.hosts(former)}"
        return f"redis://{self.hosts(on)}?ring{query}"

    def hosts(self, numbers: Sequence[int]) -> str:
        return ",".join(f"127.0.0.1:{self.servers[n].port}" for n in numbers)

    def records(self, key: str) -> list[dict[str, str]]:
        """Of a value, on each server that can be reached."""
        return [server.redis().hgetall(key) for server in self.servers]

    def stop(self) -> None:
        for server in self.servers:
            if server.process and server.process.poll() is None:
                server.thaw()
                server.kill()


@contextlib.contextmanager
def running(
    count: int = 3, settings: Sequence[Mapping[str, Any]] = ()
) -> Iterator[Servers]:
    with tempfile.TemporaryDirectory() as home:
        one = Servers(Path(home), settings or [{}] * count)
        try:
            yield one
        finally:
            one.stop()


class Network:
    """A proxy before each server, by whose addresses the clients know the ring."""

    def __init__(self, servers: Servers):
        self.opened = contextlib.ExitStack()
        self.nodes: dict[str, Node] = {}  # host:port of the proxy -> the server
        self.proxies: dict[Node, RelayProcess] = {}
        with contextlib.ExitStack() as opened:
            for node in servers.servers:
                setting = {
                    "directory": str(node.home),
                    "servers": {LABEL: str(node.socket)},
                }
                proxy = RelayProcess(str(PROXY), setting)
                opened.callback(proxy.close)
                self.proxies[node] = proxy
                port = proxy.ask(do="stats")["ports"][LABEL]
                self.nodes[f"127.0.0.1:{port}"] = node
            self.opened = opened.pop_all()

    def url(self, query: str = "") -> str:
        return f"redis://{','.join(self.nodes)}?ring{query}"

    def fault(self, node: Node, do: str, **what: Any) -> None:
        self.proxies[node].ask(do=do, label=LABEL, **{"for": LONG, **what})

    def hold_replies(self, node: Node) -> None:
        self.fault(node, "dead", up=False, down=True)

    def heal(self) -> None:
        for proxy in self.proxies.values():
            proxy.ask(do="heal")


@contextlib.contextmanager
def between(servers: Servers) -> Iterator[Network]:
    one = Network(servers)
    with one.opened:
        yield one
