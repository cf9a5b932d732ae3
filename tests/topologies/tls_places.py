# SPDX-License-Identifier: MIT
"""Servers over TLS of each topology, whose certificates and passwords change."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cluster
import interlock
import quorum_nodes
from certificates import Authority, Certificates
from ports import free_port
from sentinel_service import Service
from support import Server

# Of the clients; the servers among themselves are others.
USER = "u"
LONGEST_MS = 20000
REPLY_TIMEOUT_MS = 1500


class Place:
    """The servers take commands by `calls`; `address` is the URL for the user."""

    def __init__(
        self,
        address: Callable[[str], str],
        certificates: Certificates,
        calls: list[Callable[..., Any]],
        renew_more: Callable[[], None] = lambda: None,
    ):
        self.address, self.certificates, self.calls = address, certificates, calls
        self.renew_more = renew_more
        self.refusal: type[interlock.Error] = interlock.AuthError
        self.nodes: cluster.Cluster | None = None
        self.has_changed = False
        self.call("ACL", "SETUSER", USER, "reset", "on", ">1", "~*", "&*", "+@all")

    def call(self, *words: str) -> None:
        for call in self.calls:
            call(*words)

    def url(self, password: str = "1", ca: Path | None = None) -> str:
        """`ca` instead of the clients' own file."""
        url = self.address(f"{USER}:{password}@")
        more = f"ca={ca or self.certificates.trusted}"
        more += f"&reply_timeout_ms={REPLY_TIMEOUT_MS}"
        return f"{url}{'&' if '?' in url else '?'}{more}"

    def use(self, stem: str = "server") -> None:
        """The servers read their certificate and key again."""
        self.has_changed = True
        self.call("CONFIG", "SET", *self.certificates.words(stem))

    def renew(self, by: Authority) -> None:
        """All of them, with the sentinels."""
        self.certificates.issue(by)
        self.use()
        self.renew_more()

    def restore(self) -> None:
        """For the next test."""
        self.call("ACL", "SETUSER", USER, "resetpass", ">1")
        self.certificates.trust(self.certificates.old)
        if self.has_changed:
            self.renew(self.certificates.old)
        self.has_changed = False

    def end_connections(self) -> None:
        """Of the clients."""
        self.call("CLIENT", "KILL", "USER", USER)


@contextlib.contextmanager
def one_server(home: Path) -> Iterator[Place]:
    certificates = Certificates(home)
    port = str(free_port())
    with Server(home, *certificates.options(), "--tls-port", port) as server:
        address = f"127.0.0.1:{port}"
        yield Place(
            lambda login: f"rediss://{login}{address}", certificates, [server.call]
        )


@contextlib.contextmanager
def sentinels(home: Path) -> Iterator[Place]:
    with Service(tls=True) as service:
        assert service.certificates

        def address(login: str) -> str:
            hosts = ",".join(f"127.0.0.1:{one.port}" for one in service.sentinels)
            return f"rediss+sentinel://{login}{hosts}/mymaster"

        def restart() -> None:
            """A sentinel has no CONFIG SET."""
            for sentinel in service.sentinels:
                sentinel.kill()
                sentinel.start()

        calls = [server.call for server in service.servers]
        yield Place(address, service.certificates, calls, restart)


@contextlib.contextmanager
def cluster_nodes(home: Path) -> Iterator[Place]:
    with cluster.running(replicas=0, tls=True) as nodes:
        assert nodes.certificates
        hosts = ",".join(node.url_host for node in nodes.nodes)
        calls = [node.redis().execute_command for node in nodes.nodes]
        place = Place(
            lambda login: f"rediss+cluster://{login}{hosts}", nodes.certificates, calls
        )
        place.nodes, place.refusal = nodes, interlock.ConnectionError
        yield place


@contextlib.contextmanager
def quorum(home: Path) -> Iterator[Place]:
    certificates = Certificates(home)
    with quorum_nodes.running(
        longest_ms=LONGEST_MS, certificates=certificates
    ) as nodes:
        nodes.declare_members()

        def address(login: str) -> str:
            nodes.login = login
            return nodes.url()

        calls = [node.redis().execute_command for node in nodes.nodes]
        place = Place(address, certificates, calls)
        place.refusal = interlock.NoQuorumError
        yield place


PLACES = {
    "one server": one_server,
    "Sentinel": sentinels,
    "cluster": cluster_nodes,
    "quorum": quorum,
}
