# SPDX-License-Identifier: MIT
"""A network between clients and the nodes of a quorum, and its faults."""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from quorum_nodes import Quorum

sys.path.append(str(Path(__file__).resolve().parents[1] / "shared"))

from relay import RelayProcess

PROXY = Path(__file__).resolve().parents[1] / "chaos" / "proxy.py"
LONG = 3600.0  # until heal()


class View:
    """The nodes as these clients reach them, each one in turn."""

    def __init__(self, *urls: str):
        self.urls = itertools.cycle(urls)

    def url(self) -> str:
        return next(self.urls)


class Network:
    """A proxy before each node, with a line of its own for each client."""

    def __init__(self, nodes: Quorum, clients: Sequence[str]):
        self.nodes = nodes
        self.clients = clients
        self.opened = contextlib.ExitStack()
        with contextlib.ExitStack() as opened:
            self.proxies = []
            for node in nodes.nodes:
                servers = {f"tcp-{client}": str(node.socket) for client in clients}
                setting = {"directory": str(node.home), "servers": servers}
                proxy = RelayProcess(str(PROXY), setting)
                opened.callback(proxy.close)
                self.proxies.append(proxy)
            self.ports = [proxy.ask(do="stats")["ports"] for proxy in self.proxies]
            self.opened = opened.pop_all()

    def url(self, client: str = "a", query: str = "") -> str:
        ports = [ports[f"tcp-{client}"] for ports in self.ports]
        return self.nodes.url(query, ports)

    def view(self, clients: str, query: str = "") -> View:
        return View(*(self.url(client, query) for client in clients))

    def fault(self, node: int, clients: str, do: str, **what: Any) -> None:
        """Between this node and each of these clients."""
        for client in clients:
            self.proxies[node].ask(
                do=do, label=f"tcp-{client}", **{"for": LONG, **what}
            )

    def heal(self) -> None:
        for proxy in self.proxies:
            proxy.ask(do="heal")


@contextlib.contextmanager
def between(nodes: Quorum, clients: Sequence[str]) -> Iterator[Network]:
    one = Network(nodes, clients)
    with one.opened:
        yield one
