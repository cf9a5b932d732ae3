# SPDX-License-Identifier: MIT
"""Shared by several tests: a private server, raw commands, waiting for a state."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import interlock

sys.path.append(str(Path(__file__).resolve().parents[1] / "shared"))

from ports import free_port


def patience(seconds: float) -> float:
    """A bound on lateness, stretched for a machine that has more to do, or stalls."""
    factor = float(os.environ.get("ILK_TEST_PATIENCE", "1"))
    return seconds * factor + (1 if factor > 1 else 0)


def wait_until(condition: Callable[[], object], seconds: float = 5.0) -> None:
    """Return when the condition holds; fail when it does not in time."""
    end = time.monotonic() + patience(seconds)
    while not condition():
        assert time.monotonic() < end, "the condition did not come about"
        time.sleep(0.002)


class Server:
    """A redis-server or valkey-server on a unix socket and a port of its own."""

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *options: str,
        program: str | None = None,
        env: dict[str, str] | None = None,
    ) -> None:
        program = (
            program
            or os.environ.get("ILK_TEST_SERVER")
            or (shutil.which("redis-server") or shutil.which("valkey-server"))
        )
        assert program, "no redis-server or valkey-server on PATH"
        self.port = free_port()
        # A socket's path has about 100 bytes; pytest's directories are longer.
        self.dir = tempfile.mkdtemp(prefix="ilk-")
        self.socket = os.path.join(self.dir, "s")
        self.command = [
            program,
            *("--port", str(self.port), "--bind", "127.0.0.1"),
            *("--unixsocket", self.socket, "--dir", str(directory)),
            *("--save", "", "--appendonly", "no", "--daemonize", "no"),
            *("--loglevel", "warning", *options),
        ]
        self.env = {**os.environ, **(env or {})}
        self.unix_url = f"unix://{self.socket}"
        self.tcp_url = f"redis://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        self._spawn()
        wait_until(self._answers, 20)

    def _spawn(self) -> None:
        self.process = subprocess.Popen(
            self.command, stdout=subprocess.DEVNULL, env=self.env
        )

    def _answers(self) -> bool:
        # While it was down, a connection of somebody else may have got its port.
        if self.process.poll() is not None:
            time.sleep(0.2)
            self._spawn()
        try:
            self.call("PING")
        except ReplyError:  # it wants a password, or loads: it is there
            return True
        except OSError:
            return False
        return True

    def kill(self) -> None:
        self.resume()
        self.process.kill()
        self.process.wait()

    def pause(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def call(self, *words: object) -> Any:
        """One command over a socket of its own; the answer as plain Python."""
        with socket.socket(socket.AF_UNIX) as conn:
            conn.settimeout(5)
            conn.connect(self.socket)
            raw = [w if isinstance(w, bytes) else str(w).encode() for w in words]
            out = b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in raw)
            conn.sendall(b"*%d\r\n" % len(raw) + out)
            with conn.makefile("rb") as replies:
                return read_reply(replies)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.dir, ignore_errors=True)


class Memory(Server):
    """The store in memory of tests/gateway, of this process: the first client that is
    opened begins to serve the socket."""

    def __init__(self, faults: str = "") -> None:
        self.dir = tempfile.mkdtemp(prefix="ilk-")
        self.socket = os.path.join(self.dir, "s")
        self.unix_url = f"memory://{self.socket}{'?' if faults else ''}{faults}"

    def __exit__(self, *exc: object) -> None:
        shutil.rmtree(self.dir, ignore_errors=True)


class ReplyError(Exception):
    """The server's -ERR."""


def read_reply(stream: BinaryIO) -> Any:
    line = stream.readline()
    if not line:
        raise ConnectionError("closed")
    kind, rest = line[:1], line[1:-2]
    if kind == b"+":
        return rest.decode()
    if kind == b"-":
        raise ReplyError(rest.decode())
    if kind == b":":
        return int(rest)
    if kind == b"$":
        if rest == b"-1":
            return None
        return stream.read(int(rest) + 2)[:-2]
    return [read_reply(stream) for _ in range(int(rest))]


def in_child(work: Callable[[], object]) -> str:
    """A function in a forked child; its text, or its exception's."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            text = str(work())
        except BaseException as error:
            text = type(error).__name__
        os.write(writer, text.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        text = answer.read()
    os.waitpid(pid, 0)
    return text


def raise_after(monkeypatch: Any, exception: BaseException) -> None:
    """Raise from the next wait in C that succeeds, as a signal handler may."""
    wait = interlock._ffi.call_blocking

    def interrupted(*args: Any) -> int:
        status = wait(*args)
        if status == interlock._ffi.OK:
            monkeypatch.undo()
            raise exception
        return status

    monkeypatch.setattr(interlock._ffi, "call_blocking", interrupted)
