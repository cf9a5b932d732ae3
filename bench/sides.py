# SPDX-License-Identifier: MIT
"""Sides that stay: processes that read lines and answer them, see README.md."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from harness import ANY, OUT, Server, pinned

PATIENCE = 60.0


class SilentError(Exception):
    """A side that does not answer, or is gone."""


@dataclass(frozen=True)
class Kind:
    """A measured side: its command, its requests, the place of its lease.

    `sent` are the commands of INFO commandstats that its clients send, each
    with the weight that leaves out what its scripts call under that name.
    """

    command: list
    sent: dict[str, float] = field(default_factory=dict)
    key: str = "%s"
    alone: bool = False  # one process stands for the whole crowd


class Side:
    """One process of a kind."""

    def __init__(self, command: list, cpus: set[int]) -> None:
        self.command = [str(word) for word in command]
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            preexec_fn=pinned(cpus),
        )  # fmt: skip
        self.heard = b""

    def tell(self, *words: object) -> None:
        self.process.stdin.write((" ".join(map(str, words)) + "\n").encode())
        self.process.stdin.flush()

    def hear(self, patience: float = PATIENCE) -> object:
        """The next line."""
        pipe, ends = self.process.stdout.fileno(), time.monotonic() + patience
        parts = [self.heard]
        while b"\n" not in parts[-1]:
            ready, _, _ = select.select([pipe], [], [], max(0, ends - time.monotonic()))
            parts.append(os.read(pipe, 1 << 20) if ready else b"")
            if not parts[-1]:
                why = "it has ended" if ready else f"no answer in {patience:g} s"
                raise SilentError(f"{why}: {' '.join(self.command)}")
        line, _, self.heard = b"".join(parts).partition(b"\n")
        return json.loads(line)

    def ask(self, *words: object, patience: float = PATIENCE) -> object:
        self.tell(*words)
        return self.hear(patience)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.kill()
        self.process.stdout.close()


class Crew:
    """The processes of one kind, ready."""

    def __init__(self, kind: Kind, cpus: set[int], count: int) -> None:
        self.kind, self.cpus = kind, cpus
        self.count = 1 if kind.alone else count
        self.sides: list[Side] = []
        self.start()

    def start(self) -> None:
        while len(self.sides) < self.count:
            self.sides.append(Side(self.kind.command, self.cpus))
        for side in self.sides:
            side.hear()

    def start_anew(self) -> None:
        """Kill sides that have not answered; they may have an answer left."""
        for side in self.sides:
            side.kill()
        self.close()
        self.start()

    def close(self) -> None:
        while self.sides:
            self.sides.pop().close()


@contextlib.contextmanager
def started(command: list, cpus: set[int], count: int = 1) -> Iterator[list[Side]]:
    """So many processes of one command; gone at the end."""
    crew = Crew(Kind(command), cpus, count)
    try:
        yield crew.sides
    finally:
        crew.close()


@contextlib.contextmanager
def all_started(
    kinds: dict[str, Kind], cpus: set[int], count: int = 1
) -> Iterator[dict[str, Crew]]:
    crews: dict[str, Crew] = {}
    try:
        for name, kind in kinds.items():
            crews[name] = Crew(kind, cpus, count)
        yield crews
    finally:
        for crew in crews.values():
            crew.close()


def fresh(what: str) -> str:
    """A name that no side has used, for each leaves other keys behind."""
    return f"{what}-{time.monotonic_ns()}"


def ask_once(command: list, cpus: set[int], *words: object) -> dict:
    """The answer of a fresh process to one line."""
    with started(command, cpus) as (side,):
        return side.ask(*words)


def thread_pairs(servers: list[Server], url: str, threads: int, seconds: float) -> dict:
    """Pairs by threads of one client, and the CPU of all servers for each."""
    before = sum(server.counters()["cpu"] for server in servers)
    command = [OUT / "side", "lock", url]
    result = ask_once(command, ANY, "pairs", "pairs", threads, seconds)
    spent = sum(server.counters()["cpu"] for server in servers) - before
    result["server_us"] = spent / result["pairs"] * 1e6
    return result
