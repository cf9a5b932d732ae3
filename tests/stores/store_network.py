# SPDX-License-Identifier: MIT
"""A network between clients and the servers of a store, and its faults."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from store import Store

sys.path.append(str(Path(__file__).resolve().parents[1] / "shared"))

from relay import RelayProcess

PROXY = Path(__file__).resolve().parents[1] / "chaos" / "proxy.py"
LONG = 3600.0  # until heal()


class Network:
    """A proxy before each server, with a line of its own for each client."""

    def __init__(self, store: Store, clients: Sequence[str]):
        self.store = store
        self.clients = clients
        self.opened = contextlib.ExitStack()
        with contextlib.ExitStack() as opened:
            self.proxies = []
            for port in store.ports:
                servers = {f"tcp-{one}": f"127.0.0.1:{port}" for one in clients}
                setting = {"directory": str(store.home), "servers": servers}
                proxy = RelayProcess(str(PROXY), setting)
                opened.callback(proxy.close)
                self.proxies.append(proxy)
            self.ports = [proxy.ask(do="stats")["ports"] for proxy in self.proxies]
            self.opened = opened.pop_all()

    def url(self, client: str = "a", query: str = "") -> str:
        ports = [ports[f"tcp-{client}"] for ports in self.ports]
        return self.store.url(query, ports)

    def fault(self, clients: str, do: str, **what: Any) -> None:
        """Between all servers and each of these clients."""
        for proxy in self.proxies:
            for client in clients:
                proxy.ask(do=do, label=f"tcp-{client}", **{"for": LONG, **what})

    def links(self) -> int:
        """The connections that pass through the proxies now."""
        return sum(int(proxy.ask(do="stats")["links"]) for proxy in self.proxies)

    def heal(self) -> None:
        for proxy in self.proxies:
            proxy.ask(do="heal")


@contextlib.contextmanager
def between(store: Store, clients: Sequence[str] = "ab") -> Iterator[Network]:
    one = Network(store, clients)
    with one.opened:
        yield one
