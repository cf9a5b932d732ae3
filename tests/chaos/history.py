# SPDX-License-Identifier: MIT
"""Histories: what the processes did and believed, a file for each process.

A line is the time (CLOCK_MONOTONIC in ns, which the processes of a host share),
what it is, the operation's number, and words:

    <ns> b <op> <verb> <kind> <name> key=value ...    a call begins
    <ns> s <op> until=<ns>                            the hold of <op> is sure until then
    <ns> e <op> <result> key=value ...                the call ended: ok, no, or a status

A line is one write to a file that was opened for appending. So a process that is
killed leaves whole lines, and its last call has no end. The programs in C and Lua
write the same lines.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path


def now_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


class Writer:
    """Appends to one file; threads share it."""

    def __init__(self, path: Path):
        self.descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def line(self, kind: str, op: str, *words: str, **more: object) -> None:
        said = [str(now_ns()), kind, op, *words]
        said += [f"{key}={value}" for key, value in more.items()]
        os.write(self.descriptor, (" ".join(said) + "\n").encode())

    def close(self) -> None:
        os.close(self.descriptor)


@dataclass
class Place:
    """One line of a history."""

    path: Path
    number: int  # from 1

    def around(self, lines: int = 3) -> Iterator[str]:
        text = self.path.read_text().splitlines()
        first = max(0, self.number - 1 - lines)
        for at, line in enumerate(text[first : self.number + lines], first + 1):
            mark = ">" if at == self.number else " "
            yield f"  {mark} {self.path.name}:{at}: {line}"


@dataclass
class Op:
    """One call; `ended` is None when its process was killed meanwhile."""

    op: str
    verb: str
    kind: str
    name: str
    began: int
    place: Place
    args: dict[str, str] = field(default_factory=dict)
    ended: int | None = None
    result: str = "open"
    end_place: Place | None = None
    found: dict[str, str] = field(default_factory=dict)
    sure: list[tuple[int, int, Place]] = field(default_factory=list)  # from, until

    @property
    def ok(self) -> bool:
        return self.result == "ok"

    @property
    def fence(self) -> int:
        return int(self.found.get("fence", 0))

    def number(self, key: str, default: int = 0) -> int:
        return int(self.args.get(key, default))

    @property
    def process(self) -> str:
        return self.op.split(".", 1)[0]

    @property
    def resource(self) -> str:
        return f"{self.kind}:{self.name}"


def words_of(words: Iterable[str]) -> dict[str, str]:
    return dict(word.split("=", 1) for word in words if "=" in word)


def read(paths: Iterable[Path]) -> list[Op]:
    """The operations of these files, in the order in which they began."""
    ops: dict[str, Op] = {}
    for path in paths:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            at, kind, op, *words = line.split(" ")
            place = Place(path, number)
            if kind == "b":
                verb, what, name, *more = words
                ops[op] = Op(op, verb, what, name, int(at), place, words_of(more))
            elif kind == "s":
                until = int(words_of(words)["until"])
                ops[op].sure.append((int(at), until, place))
            else:
                one = ops[op]
                one.ended, one.result, one.end_place = int(at), words[0], place
                one.found = words_of(words[1:])
    return sorted(ops.values(), key=lambda one: one.began)


def by_name(ops: Iterable[Op], kind: str) -> dict[str, list[Op]]:
    found: defaultdict[str, list[Op]] = defaultdict(list)
    for op in ops:
        if op.kind == kind:
            found[op.name].append(op)
    return found


def last_lines(ops: Iterable[Op]) -> dict[str, int]:
    """When each process wrote its last line."""
    found: dict[str, int] = {}
    for op in ops:
        found[op.process] = max(found.get(op.process, 0), op.ended or op.began)
    return found
