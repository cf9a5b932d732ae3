# SPDX-License-Identifier: MIT
"""etcd: one node or three, by etcd's own programs."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from certificates import Certificates
from cluster import until
from ports import free_ports
from server_process import ServerProcess
from store import LONG_S, Store


class EtcdServer(ServerProcess):
    def __init__(
        self,
        home: Path,
        name: str,
        port: int,
        peer_port: int,
        members: str,
        certificates: Certificates | None = None,
    ):
        super().__init__(home)
        self.name, self.port, self.peer_port = name, port, peer_port
        self.members = members
        self.certificates = certificates
        self.scheme = "https" if certificates else "http"
        self.endpoint = f"{self.scheme}://127.0.0.1:{port}"

    def command(self) -> list[str]:
        peer = f"http://127.0.0.1:{self.peer_port}"
        tls = self.certificates.files() if self.certificates else {}
        return [
            "etcd",
            *("--name", self.name, "--data-dir", str(self.home / "data")),
            *("--listen-client-urls", self.endpoint),
            *("--advertise-client-urls", self.endpoint),
            *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer),
            *("--initial-cluster", self.members, "--log-level", "error"),
            *(("--cert-file", tls["tls-cert-file"]) if tls else ()),
            *(("--key-file", tls["tls-key-file"]) if tls else ()),
        ]

    def is_ready(self) -> bool:
        """It knows a leader, too."""
        context = ssl._create_unverified_context() if self.certificates else None
        with urllib.request.urlopen(
            f"{self.endpoint}/health", timeout=2, context=context
        ) as reply:
            return bool(json.load(reply)["health"] == "true")


class Etcd(Store):
    scheme = "etcd"
    programs: ClassVar[Sequence[str]] = ("etcd", "etcdctl")
    packages = "etcd-server etcd-client"
    offers = frozenset(
        {"lock", "rwlock", "semaphore", "election", "register", "group", "list"}
    )
    counts = (1, 3)
    slack_s = 4.0  # whole seconds, at least 2, and a look each half second

    def __init__(
        self,
        count: int = 1,
        session_s: float = LONG_S,
        certificates: Certificates | None = None,
    ):
        self.certificates = certificates
        self.login = ""
        super().__init__(count, session_s)

    def make_servers(self, count: int) -> list[ServerProcess]:
        ports = free_ports(2 * count)
        names = [f"node{number}" for number in range(count)]
        members = ",".join(
            f"{name}=http://127.0.0.1:{port}"
            for name, port in zip(names, ports[count:], strict=True)
        )
        self.nodes = [
            EtcdServer(
                self.home / name,
                name,
                ports[number],
                ports[count + number],
                members,
                self.certificates,
            )
            for number, name in enumerate(names)
        ]
        return list(self.nodes)

    @property
    def ports(self) -> list[int]:
        return [node.port for node in self.nodes]

    def url(self, query: str = "", ports: Sequence[int] = ()) -> str:
        scheme = "etcd+tls" if self.certificates else "etcd"
        query = f"?{query}" if query else ""
        return f"{scheme}://{self.login}{self.hosts(ports)}{query}"

    # ---- etcdctl ---------------------------------------------------------------

    def endpoints(self) -> list[str]:
        return [node.endpoint for node in self.nodes if node.is_running()]

    def ctl_command(
        self, *words: str, endpoints: Sequence[str] = (), user: str = ""
    ) -> list[str]:
        tls = ["--insecure-skip-tls-verify"] if self.certificates else []
        return [
            *("etcdctl", "--endpoints", ",".join(endpoints or self.endpoints())),
            *tls,
            *(("--user", user) if user else ()),
            *words,
        ]

    def ctl(self, *words: str, **more: Any) -> str:
        done = subprocess.run(
            self.ctl_command(*words, **more),
            env={**os.environ, "ETCDCTL_API": "3"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if done.returncode != 0:
            raise OSError(f"etcdctl {words}: {done.stdout}{done.stderr}")
        return done.stdout

    def keys(self, prefix: str) -> list[str]:
        return self.ctl("get", "--prefix", "--keys-only", prefix).split()

    def remove_hold(self, name: str) -> None:
        """The first key is the holder's."""
        first = self.ctl(
            *("get", "--prefix", "--keys-only", "--limit", "1"),
            *("--sort-by", "CREATE", f"{name}/"),
        ).split()
        assert first, f"{name} has no key"
        assert self.ctl("del", first[0]).strip() == "1"

    def leases(self) -> list[str]:
        lines = self.ctl("lease", "list").splitlines()
        return [line.strip() for line in lines if " " not in line.strip() and line]

    def end_sessions(self) -> None:
        for lease in self.leases():
            self.ctl("lease", "revoke", lease)

    # ---- members ---------------------------------------------------------------

    def leader(self) -> EtcdServer:
        """The node that leads, once all agree."""

        def agreed() -> EtcdServer | None:
            nodes = [node for node in self.nodes if node.is_running()]
            found = [
                json.loads(
                    self.ctl("endpoint", "status", "-w", "json", endpoints=[one])
                )[0]["Status"]
                for one in (node.endpoint for node in nodes)
            ]
            leaders = {status["leader"] for status in found}
            if len(leaders) != 1 or not leaders.pop():
                return None
            self.members = {
                node.name: status["header"]["member_id"]
                for node, status in zip(nodes, found, strict=True)
            }
            return next(
                node
                for node, status in zip(nodes, found, strict=True)
                if status["header"]["member_id"] == status["leader"]
            )

        found = until(agreed, what="one leader")
        assert isinstance(found, EtcdServer)
        return found

    def move_leader(self) -> None:
        before = self.leader()
        to = next(node for node in self.nodes if node is not before)
        self.ctl(
            "move-leader", f"{self.members[to.name]:x}", endpoints=[before.endpoint]
        )
        assert self.leader() is to

    # ---- users -----------------------------------------------------------------

    def require_password(self) -> None:
        """root:secret may everything, guest:secret nothing; nobody else may come."""
        self.ctl("user", "add", "root:secret")
        self.ctl("user", "grant-role", "root", "root")
        self.ctl("user", "add", "guest:secret")
        self.ctl("auth", "enable")
