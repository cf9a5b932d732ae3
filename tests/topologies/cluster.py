# SPDX-License-Identifier: MIT
"""Six nodes of a cluster on loopback, and what happens to them in the tests."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Generic, TypeVar

import redis
from certificates import Certificates
from server_programs import CLI, SERVER

sys.path.append(str(Path(__file__).resolve().parents[1] / "shared"))

from ports import free_node_port

PATIENCE = float(os.environ.get("ILK_TEST_PATIENCE", "1"))
NODE_TIMEOUT_MS = 2000


def until(
    condition: Callable[[], object], seconds: float = 30, what: str = ""
) -> object:
    """Wait for a condition; an exception of a server that is away counts as no."""
    deadline = time.monotonic() + seconds * PATIENCE
    last: object = None
    while time.monotonic() < deadline:
        try:
            last = condition()
        except (redis.RedisError, OSError) as error:
            last = error
        else:
            if last:
                return last
        time.sleep(0.02)
    raise AssertionError(f"not in time: {what or condition} ({last!r})")


T = TypeVar("T")


class Background(Generic[T]):
    """A call in a thread, and what it returned."""

    def __init__(self, call: Callable[[], T]):
        self.call = call
        self.found: list[T] = []
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self) -> None:
        try:
            self.found.append(self.call())
        except BaseException as error:
            self.error = error

    def result(self) -> T:
        self.thread.join(60 * PATIENCE)
        assert self.error is None, self.error
        assert self.found, "the call has not returned"
        return self.found[0]


class Node:
    """One server of the cluster."""

    def __init__(
        self,
        home: Path,
        port: int,
        program: str | None = SERVER,
        options: tuple[str, ...] = (),  # the last one of a name counts
        certificates: Certificates | None = None,
    ):
        assert program
        self.port = port
        self.certificates = certificates
        self.home = home / str(port)
        self.home.mkdir()
        self.process: subprocess.Popen[bytes] | None = None
        self.command = [
            program,
            *self.port_words(),
            "--bind",
            "127.0.0.1",
            "--cluster-enabled",
            "yes",
            "--cluster-node-timeout",
            str(NODE_TIMEOUT_MS),
            "--cluster-config-file",
            "nodes.conf",
            "--save",
            "",
            "--appendonly",
            "no",
            "--dir",
            str(self.home),
            "--cluster-migration-barrier",
            "5",
            "--repl-diskless-sync-delay",
            "0",
            "--logfile",
            str(self.home / "log"),
            *options,
        ]
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL)
        until(lambda: self.redis().ping(), what="a node that answers")

    def port_words(self) -> list[str]:
        if not self.certificates:
            return ["--port", str(self.port)]
        words = ["--tls-port", str(self.port), "--tls-cluster", "yes"]
        words += ["--tls-replication", "yes"]
        return words + self.certificates.options()

    def redis(self) -> redis.Redis:
        """It takes any certificate: what is refused is up to the clients."""
        return redis.Redis(
            port=self.port,
            decode_responses=True,
            socket_timeout=5,
            ssl=self.certificates is not None,
            ssl_cert_reqs="none",
            ssl_check_hostname=False,
        )

    @property
    def url_host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def id(self) -> str:
        return str(self.redis().execute_command("CLUSTER MYID"))

    def known(self) -> set[str]:
        """The ids of all nodes that it has met."""
        nodes = self.redis().execute_command("CLUSTER NODES").values()
        return {one["node_id"] for one in nodes if "handshake" not in one["flags"]}

    def send_signal(self, number: int) -> None:
        assert self.process
        self.process.send_signal(number)

    def kill(self) -> None:
        assert self.process
        self.process.kill()
        self.process.wait()

    def is_primary(self) -> bool:
        return self.redis().info("replication")["role"] == "master"


class Cluster:
    """`primaries` nodes that serve slots, and as many replicas if wanted."""

    def __init__(
        self,
        home: Path,
        primaries: int = 3,
        replicas: int = 1,
        certificates: Certificates | None = None,
        new_node: Callable[[Path], Node] | None = None,
    ):
        self.home, self.certificates = home, certificates
        self.new_node = new_node or self.usual_node
        self.nodes: list[Node] = []
        try:
            for _ in range(primaries * (1 + replicas)):
                self.nodes.append(self.new_node(home))
            self.cli(
                "--cluster",
                "create",
                *(node.url_host for node in self.nodes),
                "--cluster-replicas",
                str(replicas),
                "--cluster-yes",
            )
            self.settle()
        except BaseException:
            self.stop()
            raise

    def usual_node(self, home: Path) -> Node:
        return Node(home, free_node_port(), certificates=self.certificates)

    def cli(self, *words: str) -> str:
        assert CLI
        tls = ["--tls", "--insecure"] if self.certificates else []
        done = subprocess.run(
            [CLI, *tls, *words],
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def url(self, *nodes: Node, query: str = "") -> str:
        hosts = ",".join(node.url_host for node in nodes or self.nodes)
        if not self.certificates:
            return f"redis+cluster://{hosts}{query}"
        query = f"?ca={self.certificates.trusted}{query.replace('?', '&')}"
        return f"rediss+cluster://{hosts}{query}"

    def settle(self) -> None:
        """All living nodes know each other and agree that each slot is served, and
        replicas follow."""
        living = [
            node for node in self.nodes if node.process and node.process.poll() is None
        ]
        ids = {node.id() for node in living}
        for node in living:
            until(
                lambda node=node: (
                    node.redis().execute_command("CLUSTER INFO")["cluster_state"]
                    == "ok"
                    and ids <= node.known()
                    and (
                        node.is_primary()
                        or node.redis().info("replication")["master_link_status"]
                        == "up"
                    )
                ),
                60,
                "a cluster that serves all slots",
            )

    def slot(self, name: str) -> int:
        return int(self.nodes[0].redis().execute_command("CLUSTER KEYSLOT", name))

    def owner(self, slot: int) -> Node:
        """The node that serves the slot, as the nodes that live see it."""
        for node in self.nodes:
            if node.process and node.process.poll() is None:
                with contextlib.suppress(redis.RedisError):
                    for first, last, (_, port, *_), *_ in node.redis().execute_command(
                        "CLUSTER SLOTS", NEVER_DECODE=1
                    ):
                        if first <= slot <= last:
                            return next(one for one in self.nodes if one.port == port)
        raise AssertionError(f"nobody serves slot {slot}")

    def replica_of(self, primary: Node) -> Node:
        for node in self.nodes:
            found = node.redis().info("replication")
            if found["role"] == "slave" and found["master_port"] == primary.port:
                return node
        raise AssertionError("no replica")

    @staticmethod
    def replicate(primary: Node, name: str) -> None:
        """Its replica has all writes so far; one that it lacks ends with the primary."""
        one = primary.redis()
        one.set(f"{{{name}}}:last", "x", px=60000)
        until(lambda: one.execute_command("WAIT", 1, 1000), what="a replica")

    def fail_over(self, replica: Node) -> None:
        """CLUSTER FAILOVER, which may run out of time and is then repeated."""
        for _ in range(10):
            with contextlib.suppress(redis.ResponseError):
                replica.redis().execute_command("CLUSTER FAILOVER")
            with contextlib.suppress(AssertionError):
                until(replica.is_primary, 6 / PATIENCE)
                return
        raise AssertionError("the replica was not promoted")

    def primaries(self) -> list[Node]:
        return [
            node
            for node in self.nodes
            if node.process and node.process.poll() is None and node.is_primary()
        ]

    # ---- resharding by hand: the steps of `redis-cli --cluster reshard` ------

    def begin_migration(self, slot: int, source: Node, target: Node) -> None:
        target.redis().execute_command(
            "CLUSTER SETSLOT", slot, "IMPORTING", source.id()
        )
        source.redis().execute_command(
            "CLUSTER SETSLOT", slot, "MIGRATING", target.id()
        )

    def migrate_keys(
        self, slot: int, source: Node, target: Node, most: int = 1000
    ) -> int:
        keys = source.redis().execute_command("CLUSTER GETKEYSINSLOT", slot, most)
        if keys:
            source.redis().execute_command(
                "MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys
            )
        return len(keys)

    def end_migration(self, slot: int, target: Node) -> None:
        for node in [target, *(one for one in self.primaries() if one is not target)]:
            node.redis().execute_command("CLUSTER SETSLOT", slot, "NODE", target.id())

    def add_node(self) -> Node:
        node = self.new_node(self.home)
        self.nodes.append(node)
        self.cli("--cluster", "add-node", node.url_host, self.nodes[0].url_host)
        self.settle()
        return node

    def reshard(self, source: Node, target: Node, slots: int) -> None:
        self.cli(
            "--cluster",
            "reshard",
            source.url_host,
            "--cluster-from",
            source.id(),
            "--cluster-to",
            target.id(),
            "--cluster-slots",
            str(slots),
            "--cluster-yes",
        )

    def stop(self) -> None:
        for node in self.nodes:
            if node.process and node.process.poll() is None:
                node.send_signal(signal.SIGCONT)
                node.kill()


@contextlib.contextmanager
def running(
    primaries: int = 3, replicas: int = 1, tls: bool = False
) -> Iterator[Cluster]:
    home = Path(tempfile.mkdtemp(prefix="ilk-cluster-"))
    try:
        certificates = Certificates(home) if tls else None
        one = Cluster(home, primaries, replicas, certificates)
        try:
            yield one
        finally:
            one.stop()
    finally:
        shutil.rmtree(home, ignore_errors=True)
