# SPDX-License-Identifier: MIT
"""Whether transactions were serializable, by what they have read and appended.

Each value is a list of ids, to which a transaction appends its own. So a list that
somebody has read shows in which order its key was written, and three kinds of edges
between transactions follow (Adya, "Weak Consistency", 1999; Kingsbury and Alvaro, "Elle",
2020):

    written by a, then by b         a before b
    written by a, read by b         a before b
    read by a, then written by b    a before b

There is a serial order unless these edges have a cycle.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence


@dataclasses.dataclass(frozen=True)
class Transaction:
    """One that has committed. It has appended its id to the keys that it wrote."""

    id: str
    reads: Mapping[str, Sequence[str]]  #: key -> the list that it has read there
    writes: frozenset[str]  #: keys


class NotSerializableError(Exception):
    """No serial order explains what was read."""


def _orders(history: Iterable[Transaction]) -> dict[str, Sequence[str]]:
    """The longest list of each key, of which all others are the beginning."""
    longest: dict[str, Sequence[str]] = {}
    for one in history:
        for key, seen in one.reads.items():
            known = longest.setdefault(key, seen)
            common = min(len(known), len(seen))
            if list(known[:common]) != list(seen[:common]):
                raise NotSerializableError(f"{key}: {known} and {seen} were read")
            longest[key] = max(known, seen, key=len)
    return longest


def _edges(
    history: Sequence[Transaction], orders: Mapping[str, Sequence[str]]
) -> dict[str, set[str]]:
    after: dict[str, set[str]] = {one.id: set() for one in history}
    for key, order in orders.items():
        for first, second in zip(order, order[1:]):
            after.setdefault(first, set()).add(second)
        for one in history:
            seen = one.reads.get(key)
            if seen is None:
                continue
            if seen:
                after.setdefault(seen[-1], set()).add(one.id)
            if len(seen) < len(order):
                after[one.id].add(order[len(seen)])
    return {one: found - {one} for one, found in after.items()}


def _find_cycle(after: Mapping[str, set[str]]) -> list[str]:
    open_, done = 1, 2
    state: dict[str, int] = {}
    for start in after:
        path: list[str] = []
        work = [(start, iter(sorted(after[start])))] if start not in state else []
        while work:
            one, rest = work[-1]
            if one not in state:
                state[one] = open_
                path.append(one)
            following = next(rest, None)
            if following is None:
                state[one] = done
                path.pop()
                work.pop()
            elif state.get(following) == open_:
                return [*path[path.index(following) :], following]
            elif following not in state:
                work.append((following, iter(sorted(after.get(following, ())))))
    return []


def check(history: Sequence[Transaction], last: Mapping[str, Sequence[str]]) -> None:
    """Raise NotSerializableError unless there is a serial order.

    ``last`` has the lists of all keys when all was over: nothing that was committed
    is missing there, nothing is there twice, and nothing of anybody else.
    """
    reader = Transaction("at last", last, frozenset())
    for key, order in last.items():
        wrote = {one.id for one in history if key in one.writes}
        if len(order) != len(set(order)):
            raise NotSerializableError(f"{key}: one wrote twice: {order}")
        if wrote != set(order):
            raise NotSerializableError(f"{key}: lost or invented {wrote ^ set(order)}")
    orders = _orders([*history, reader])
    for key, order in orders.items():
        if list(order) != list(last.get(key, ())):
            raise NotSerializableError(f"{key}: {order} was read, and is gone")
    cycle = _find_cycle(_edges(history, orders))
    if cycle:
        raise NotSerializableError(" before ".join(cycle))
