# SPDX-License-Identifier: MIT
"""A service on loopback: a primary, two replicas and three sentinels."""

from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from certificates import Certificates
from ports import free_port
from server_programs import SERVER
from support import ReplyError, read_reply, wait_until

ROOT = Path(__file__).resolve().parents[2]
SERVICE = "mymaster"
DOWN_AFTER_MS = 1000


class Process:
    """A server or a sentinel on a port of its own."""

    def __init__(
        self,
        directory: Path,
        name: str,
        words: list[str],
        password: str = "",
        has_tls: bool = False,
        program: str = "",
    ):
        assert SERVER, "no redis-server or valkey-server on PATH"
        self.port = free_port()
        self.socket = str(directory / "s")
        self.name, self.password, self.frozen = name, password, False
        self.has_tls = has_tls
        self.log = directory / f"{name}.log"
        self.command = [program or SERVER, *words]
        self.command += ["--unixsocket", self.socket]
        self.command += ["--tls-port" if has_tls else "--port", str(self.port)]
        self.command += ["--bind", "127.0.0.1", "--logfile", str(self.log)]
        self.command += ["--dir", str(directory)]

    def start(self) -> None:
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL)
        wait_until(self.answers, 20)

    def answers(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        try:
            return bool(self.call("PING") == "PONG")
        except ReplyError:
            return True
        except OSError:
            return False

    def connect(self) -> socket.socket:
        """With any certificate: what is refused is up to the clients."""
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=5)
        if not self.has_tls:
            return plain
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context.wrap_socket(plain)

    def call(self, *words: object) -> Any:
        """One command over a connection of its own."""
        with self.connect() as conn, conn.makefile("rb") as replies:
            if self.password:
                conn.sendall(encode("AUTH", self.password))
                read_reply(replies)
            conn.sendall(encode(*words))
            return read_reply(replies)

    def is_replica(self) -> bool:
        """Sentinel closes all connections of a server that it makes a replica."""
        with contextlib.suppress(OSError):
            return bool(self.call("ROLE")[0] == b"slave")
        return False

    def kill(self) -> None:
        self.thaw()
        self.process.kill()
        self.process.wait()

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)
        self.frozen = True

    def thaw(self) -> None:
        if self.frozen:
            self.process.send_signal(signal.SIGCONT)
        self.frozen = False

    def is_running(self) -> bool:
        return hasattr(self, "process") and self.process.poll() is None


def encode(*words: object) -> bytes:
    raw = [w if isinstance(w, bytes) else str(w).encode() for w in words]
    out = b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in raw)
    return b"*%d\r\n" % len(raw) + out


class Service:
    """Its servers and sentinels; the first server is the primary at first."""

    def __init__(
        self, sentinel_password: str = "", tls: bool = False, program: str = ""
    ):
        # Sentinels rewrite their configuration: each has a directory of its own.
        self.dir = Path(tempfile.mkdtemp(prefix="ilk-"))
        self.sentinel_password, self.program = sentinel_password, program
        self.certificates = Certificates(self.dir) if tls else None
        self.servers: list[Process] = []
        self.sentinels: list[Process] = []
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        for number in range(3):
            directory = self.dir / f"server{number}"
            directory.mkdir()
            words = [
                "--save",
                "",
                "--appendonly",
                "no",
                "--repl-diskless-sync-delay",
                "0",
            ]
            words += ["--repl-diskless-sync", "yes", "--maxmemory-policy", "noeviction"]
            if number:
                words += ["--replicaof", f"127.0.0.1 {self.servers[0].port}"]
            for key, value in self.tls_settings().items():
                words += [f"--{key}", value]
            server = Process(
                directory, f"server{number}", words, "", self.has_tls, self.program
            )
            self.servers.append(server)
            server.start()
        wait_until(self.is_replicated, 20)
        for number in range(3):
            self.sentinels.append(self._start_sentinel(number))
        wait_until(self.is_watched, 30)

    def _start_sentinel(self, number: int) -> Process:
        directory = self.dir / f"sentinel{number}"
        directory.mkdir()
        config = directory / "sentinel.conf"
        lines = [
            f"sentinel monitor {SERVICE} 127.0.0.1 {self.servers[0].port} 2",
            f"sentinel down-after-milliseconds {SERVICE} {DOWN_AFTER_MS}",
            f"sentinel failover-timeout {SERVICE} 10000",
            f"sentinel parallel-syncs {SERVICE} 2",
        ]
        lines += [f"{key} {value}" for key, value in self.tls_settings().items()]
        if self.sentinel_password:
            lines += [f"requirepass {self.sentinel_password}"]
            lines += [f"sentinel sentinel-pass {self.sentinel_password}"]
        config.write_text("\n".join(lines) + "\n")
        sentinel = Process(
            directory, f"sentinel{number}", [str(config), "--sentinel"],
            self.sentinel_password, self.has_tls, self.program,
        )  # fmt: skip
        sentinel.start()
        return sentinel

    @property
    def has_tls(self) -> bool:
        return self.certificates is not None

    def tls_settings(self) -> dict[str, str]:
        if not self.certificates:
            return {}
        return {**self.certificates.settings(), "tls-replication": "yes"}

    def is_replicated(self) -> bool:
        role = self.servers[0].call("ROLE")
        return role[0] == b"master" and len(role[2]) == 2

    def is_watched(self) -> bool:
        """Each sentinel knows the others and both replicas."""
        for sentinel in self.sentinels:
            known = self.states(sentinel, "MASTER")[0]
            if (known[b"num-slaves"], known[b"num-other-sentinels"]) != (b"2", b"2"):
                return False
            for state in self.states(sentinel, "REPLICAS"):
                if state[b"master-link-status"] != b"ok":
                    return False
        return True

    def url(self, *, first: list[str] = [], query: str = "", db: int = 0) -> str:  # noqa: B006
        hosts = [*first, *(f"127.0.0.1:{s.port}" for s in self.sentinels)]
        scheme = "rediss" if self.certificates else "redis"
        if self.certificates:
            query = f"?ca={self.certificates.trusted}{query.replace('?', '&')}"
        return f"{scheme}+sentinel://{','.join(hosts)}/{SERVICE}/{db}{query}"

    def primary_port(self) -> int:
        """As the first sentinel that answers says."""
        for sentinel in self.sentinels:
            if sentinel.is_running() and not sentinel.frozen:
                reply = sentinel.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", SERVICE)
                return int(reply[1])
        raise AssertionError("no sentinel is left")

    def primary(self) -> Process:
        port = self.primary_port()
        return next(s for s in self.servers if s.port == port)

    def cut_replication(self) -> None:
        """Replicas cannot log in to the primary any more; its clients go on.

        A frozen replica would not do: it reads what was sent to it when it is thawed.
        """
        primary = self.servers[0]
        primary.call("CONFIG", "SET", "requirepass", "cut")
        primary.password = "cut"
        primary.call("CLIENT", "KILL", "TYPE", "replica")
        wait_until(lambda: primary.call("ROLE")[2] == [])

    def is_failover_possible(self, replica: Process) -> bool:
        """The first sentinel would promote this replica, and no other."""
        sentinel = self.sentinels[0]
        if self.states(sentinel, "MASTER")[0][b"flags"] != b"master":
            return False
        for state in self.states(sentinel, "REPLICAS"):
            ours = int(state[b"port"]) == replica.port
            if (state[b"slave-priority"] != b"0") != ours:
                return False
            if ours and (state[b"flags"], state[b"master-link-status"]) != (
                b"slave", b"ok",
            ):  # fmt: skip
                return False
        return True

    def is_replica_to_all(self, server: Process) -> bool:
        """A sentinel that has known it as a primary would make a replica of it again, as
        soon as another one has promoted it."""
        return all(
            state[b"role-reported"] == b"slave"
            for sentinel in self.sentinels
            if sentinel.is_running() and not sentinel.frozen
            for state in self.states(sentinel, "REPLICAS")
            if int(state[b"port"]) == server.port
        )

    def promote(self, replica: Process) -> None:
        """Let the first sentinel do it. It gives a failover up that takes too long, and
        does not begin another one by itself.
        """

        def is_promoted() -> bool:
            if self.primary() is replica:
                return True
            if self.is_failover_possible(replica) and self.is_replica_to_all(replica):
                with contextlib.suppress(ReplyError):  # one has just begun
                    self.sentinels[0].call("SENTINEL", "FAILOVER", SERVICE)
            time.sleep(0.1)
            return False

        wait_until(is_promoted, 60)

    def states(self, sentinel: Process, what: str) -> list[dict[bytes, bytes]]:
        replies = sentinel.call("SENTINEL", what, SERVICE)
        rows = [replies] if what == "MASTER" else replies
        return [dict(zip(row[::2], row[1::2])) for row in rows]

    def await_switch(self, old: Process) -> float:
        """The time at which a sentinel names another primary that says it is one."""

        def has_switched() -> bool:
            now = self.primary()
            return now is not old and now.call("ROLE")[0] == b"master"

        wait_until(has_switched, 30)
        return time.monotonic()

    def close(self) -> None:
        for process in [*self.sentinels, *self.servers]:
            if process.is_running():
                process.kill()
        shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
