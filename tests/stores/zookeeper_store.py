# SPDX-License-Identifier: MIT
"""ZooKeeper: one server or three, by the jars of the distribution."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from certificates import Certificates
from cluster import until
from ports import free_ports
from server_process import ServerProcess
from store import LONG_S, Store

JAR = Path(os.environ.get("ILK_ZOOKEEPER_JAR", "/usr/share/java/zookeeper.jar"))
TICK_MS = 500
JAVA = (
    "java",
    *("-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
    *("-Djava.net.preferIPv4Stack=true", "-Dzookeeper.forceSync=no"),
)
CHROOT = "/ilk-test"
# TLS needs Netty, of which the jar's own class path lacks some.
NETTY = "org.apache.zookeeper.server.NettyServerCnxnFactory"
JARS = [JAR, *(JAR.with_name(f"netty-{one}.jar") for one in ("codec", "resolver"))]


class ZooKeeperServer(ServerProcess):
    def __init__(
        self,
        home: Path,
        number: int,
        port: int,
        members: str,
        session_s: float,
        tls: str = "",
    ):
        super().__init__(home)
        self.port = port
        (home / "data").mkdir()
        (home / "data" / "myid").write_text(f"{number}\n")
        self.config = home / "zoo.cfg"
        self.config.write_text(
            f"tickTime={TICK_MS}\ninitLimit=20\nsyncLimit=10\n"
            f"dataDir={home / 'data'}\n"
            f"clientPort={port}\nclientPortAddress=127.0.0.1\nmaxClientCnxns=0\n"
            f"minSessionTimeout=1000\nmaxSessionTimeout={int(session_s * 1000)}\n"
            f"admin.enableServer=false\n4lw.commands.whitelist=*\n{members}{tls}"
        )

    def command(self) -> list[str]:
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        return [*JAVA, "-cp", ":".join(map(str, JARS)), main, str(self.config)]

    def four_letters(self, word: str) -> str:
        with socket.create_connection(("127.0.0.1", self.port), timeout=2) as one:
            one.sendall(word.encode())
            with one.makefile() as reply:
                return reply.read()

    def mode(self) -> str:
        """leader, follower or standalone; "" while it serves nobody."""
        found = re.search(r"^Mode: (\w+)", self.four_letters("srvr"), re.M)
        return found[1] if found else ""

    def is_ready(self) -> bool:
        return bool(self.mode())

    def ephemeral_nodes(self) -> set[str]:
        """Which this server believes to exist."""
        return set(re.findall(r"^\t(/.*)", self.four_letters("dump"), re.M))


class ZooKeeper(Store):
    scheme = "zookeeper"
    programs: ClassVar[Sequence[str]] = ("java",)
    packages = "zookeeper default-jre-headless"
    offers = frozenset(
        {"lock", "rwlock", "semaphore", "election", "register", "group", "list"}
    )
    counts = (1, 3)
    slack_s = 2 * TICK_MS / 1000
    table_query = "session_timeout_ms=100000"

    def __init__(
        self,
        count: int = 1,
        session_s: float = LONG_S,
        certificates: Certificates | None = None,
    ):
        self.certificates, self.tls_port = certificates, 0
        super().__init__(count, session_s)

    def tls(self) -> str:
        """The lines of one server's configuration."""
        if not self.certificates:
            return ""
        files = self.certificates.files()
        both = self.home / "server.pem"  # the key and the certificate in one file
        both.write_text("".join(Path(files[one]).read_text() for one in files))
        (self.tls_port,) = free_ports(1)
        return (
            f"secureClientPort={self.tls_port}\nserverCnxnFactory={NETTY}\n"
            f"ssl.keyStore.location={both}\nssl.clientAuth=none\n"
            f"ssl.trustStore.location={self.certificates.both}\n"
        )

    @classmethod
    def missing(cls) -> str:
        lacks = super().missing()
        return lacks or ("" if JAR.exists() else str(JAR))

    def make_servers(self, count: int) -> list[ServerProcess]:
        ports = free_ports(3 * count)
        members = "".join(
            f"server.{number + 1}=127.0.0.1:{ports[count + number]}"
            f":{ports[2 * count + number]}\n"
            for number in range(count)
        )
        self.nodes = [
            ZooKeeperServer(
                self.home / f"node{number + 1}",
                number + 1,
                ports[number],
                members if count > 1 else "",
                self.session_s,
                self.tls(),
            )
            for number in range(count)
        ]
        return list(self.nodes)

    @property
    def ports(self) -> list[int]:
        return [node.port for node in self.nodes]

    def url(self, query: str = "", ports: Sequence[int] = ()) -> str:
        query = f"?{query}" if query else ""
        if self.tls_port:
            return f"zookeeper+tls://{self.hosts([self.tls_port])}{CHROOT}{query}"
        return f"zookeeper://{self.hosts(ports)}{CHROOT}{query}"

    def shell(self, *words: str) -> str:
        """A command of ZooKeeper's own command line."""
        main = "org.apache.zookeeper.ZooKeeperMain"
        port = next(node.port for node in self.nodes if node.is_running())
        done = subprocess.run(
            [*JAVA, "-cp", str(JAR), main, "-server", f"127.0.0.1:{port}", *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if done.returncode != 0:
            raise OSError(f"{words}: {done.stdout}{done.stderr}")
        return done.stdout

    def children(self, name: str) -> list[str]:
        """In the order of their numbers."""
        lines = self.shell("ls", f"{CHROOT}/{name}").splitlines()
        found = next(line for line in reversed(lines) if line.startswith("["))
        return sorted(found.strip("[]").replace(",", " ").split(), key=number_of)

    def remove_hold(self, name: str) -> None:
        self.shell("delete", f"{CHROOT}/{name}/{self.children(name)[0]}")

    def end_sessions(self) -> None:
        """Nobody but a client can end its session: its connections end."""
        self.restart()

    def has_diverged(self) -> bool:
        """Whether a node is on one server and not on another, for two seconds.

        ZooKeeper 3.8.0 gets there now and then when its leader dies while clients
        write: a follower that changes its leader may lose transactions
        (ZOOKEEPER-4712). The others have them, and it never asks again. A client of a
        server with a node that is deleted elsewhere waits behind it for as long as the
        session of that node lives.
        """
        running = [node for node in self.nodes if node.is_running()]
        looks = []
        for _ in range(10):
            looks.append([node.ephemeral_nodes() for node in running])
            time.sleep(0.2)
        by_server = list(zip(*looks))
        always = [set.intersection(*sets) for sets in by_server]
        ever = [set.union(*sets) for sets in by_server]
        return any(kept - seen for kept in always for seen in ever)

    def leader(self) -> ZooKeeperServer:
        def leads() -> ZooKeeperServer | None:
            running = [node for node in self.nodes if node.is_running()]
            modes = {node: node.mode() for node in running}
            leaders = [node for node in running if modes[node] == "leader"]
            return leaders[0] if len(leaders) == 1 else None

        found = until(leads, what="one leader")
        assert isinstance(found, ZooKeeperServer)
        return found


def number_of(node: str) -> int:
    """The ten digits that the server adds to the name."""
    return int(node[-10:])
