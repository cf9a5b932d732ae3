# SPDX-License-Identifier: MIT
"""Servers on loopback that the demonstration kills, restarts and wipes."""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import redis

START_S = 30.0
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def end_with_parent() -> None:
    """Linux kills this process when its parent ends, also while it is frozen."""
    if sys.platform == "linux":
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def until(condition: Callable[[], object], seconds: float, what: str) -> None:
    ends = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > ends:
            raise TimeoutError(f"{what}: not within {seconds:g} s")
        time.sleep(0.02)


def free_port() -> int:
    """A port that no outgoing connection takes while its node is away."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return port


def program() -> str:
    found = (
        os.environ.get("ILK_TEST_SERVER")
        or shutil.which("redis-server")
        or shutil.which("valkey-server")
    )
    if not found:
        raise FileNotFoundError("neither redis-server nor valkey-server is installed")
    return found


class Node:
    """One server without persistence: a restart loses all that it knew."""

    def __init__(self, number: int, home: Path) -> None:
        self.number, self.home = number, home
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        self.redis = redis.Redis(
            port=self.port, socket_timeout=5, decode_responses=True
        )

    def start(self) -> None:
        self.process = subprocess.Popen(
            [program(), "--bind", "127.0.0.1", "--port", str(self.port),
             "--save", "", "--appendonly", "no", "--dir", str(self.home),
             "--logfile", str(self.home / f"{self.number}.log")],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            preexec_fn=end_with_parent,
        )  # fmt: skip
        until(self.answers, START_S, f"node {self.number} answers")

    def answers(self) -> bool:
        with contextlib.suppress(redis.RedisError):
            return bool(self.redis.ping())
        return False

    def kill(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
        self.process = None

    def wipe(self) -> None:
        self.redis.flushall()

    def votes(self) -> bool:
        """Whether the clients have taken the node into the quorum."""
        with contextlib.suppress(redis.RedisError):
            return self.redis.hget("ilk:quorum:node", "member") == "1"
        return False
