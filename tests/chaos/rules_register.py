# SPDX-License-Identifier: MIT
"""Registers: no change is lost, and nobody sees an older state than another has seen.

Versions rise, so they are the order in which the changes were made. A call that
ended before another one began does not come after it in that order. A change that was written names the
version on which it was made, so no other change can have been made on that.
"""

from __future__ import annotations

from collections.abc import Iterator

from history import Op, by_name
from violation import Violation, both


def registers(ops: list[Op]) -> Iterator[Violation]:
    for name, calls in by_name(ops, "register").items():
        done = [op for op in calls if op.ok and op.ended]
        yield from conflicts(name, [op for op in done if op.verb == "cas"])
        yield from invented(name, done)
        yield from backwards(name, done)


def version(op: Op) -> int:
    return int(op.found["version"])


def conflicts(name: str, changes: list[Op]) -> Iterator[Violation]:
    """Two changes were made on one version, or have the same."""
    made_on: dict[int, Op] = {}
    by_version: dict[int, Op] = {}
    for op in changes:
        other = made_on.setdefault(op.number("known"), op)
        if other is not op:
            yield both("register", name, "changed twice", other, op)
        other = by_version.setdefault(version(op), op)
        if other is not op:
            yield both("register", name, "has a version twice", other, op)
        if version(op) <= op.number("known"):
            yield Violation("register", f"{name}: {op.op} did not rise", [op.place])


def invented(name: str, done: list[Op]) -> Iterator[Violation]:
    """A reading shows the value that the change with its version has written."""
    wrote = {version(op): op for op in done if op.verb == "cas"}
    for op in done:
        change = wrote.get(version(op))
        if op.verb == "get" and change and op.found["value"] != change.args["value"]:
            yield both("register", name, "has another value", change, op)


def backwards(name: str, done: list[Op]) -> Iterator[Violation]:
    """A call has a version before that of a call that ended before it began."""
    ends = sorted(done, key=lambda op: op.ended or 0)
    latest: Op | None = None
    at = 0
    for op in sorted(done, key=lambda op: op.began):
        while at < len(ends) and (ends[at].ended or 0) < op.began:
            if latest is None or version(ends[at]) > version(latest):
                latest = ends[at]
            at += 1
        if latest and version(op) < version(latest):
            yield both("register", name, "goes back", latest, op)
