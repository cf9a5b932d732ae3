# SPDX-License-Identifier: MIT
"""Barriers: a full round releases each of its parties, and a break has a cause.

A history does not say which round a wait was in. But the moment at which the round
became full lies within the calls of all its parties. So each wait that passed with
the index i has, for each other index k, a wait of its own that passed with k, or whose
outcome is unknown, at the same time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator

from history import Op, by_name, last_lines
from rules_signal import GONE, SILENT
from violation import Violation

# These are certain. A wait with another result may have passed for the others of its
# round, even later: its process was killed, or the server was out of reach when it ended.
CERTAIN = {"ok", "ILK_EBROKEN", "ILK_EBUSY", "ILK_EDIFFERS"}


def rounds(ops: list[Op]) -> Iterator[Violation]:
    last = last_lines(ops)
    for name, waits in by_name(ops, "barrier").items():
        ends = {
            op.op: (op.ended or last[op.process]) + GONE * (op.result not in CERTAIN)
            for op in waits
        }
        yield from incomplete(name, waits, ends)
        yield from causeless(name, waits, ends)


def incomplete(name: str, waits: list[Op], ends: dict[str, int]) -> Iterator[Violation]:
    unknown = [op for op in waits if op.result not in CERTAIN]
    passed: defaultdict[int, list[Op]] = defaultdict(list)
    for op in waits:
        if op.ok:
            passed[int(op.found["index"])].append(op)
    parties = waits[0].number("parties")
    for index in [one for one in passed if not 0 <= one < parties]:
        places = [op.place for op in passed[index]]
        yield Violation("barrier", f"{name}: the index {index} of {parties}", places)
    for index in range(parties):
        for other in range(parties):
            if index != other:
                for op in alone(passed[index], passed[other] + unknown, ends):
                    text = f"{name}: {op.op} passed without a party {other}"
                    yield Violation("barrier", text, [op.end_place or op.place])


def alone(some: list[Op], others: list[Op], ends: dict[str, int]) -> list[Op]:
    """Those of `some` that are left when as many as possible have one of `others`.

    Two belong together when their calls overlap, and each belongs to one. This is
    a bipartite matching that grows along augmenting paths.
    """
    others = sorted(others, key=lambda op: op.began)
    begins = [op.began for op in others]
    longest = max((ends[op.op] - op.began for op in others), default=0)

    def beside(op: Op) -> list[str]:
        first = bisect_left(begins, op.began - longest)
        found = others[first : bisect_right(begins, ends[op.op])]
        return [other.op for other in found if ends[other.op] >= op.began]

    owner: dict[str, Op] = {}  # of each of `others` that is taken
    taken: dict[str, str] = {}  # the same, the other way round
    left = []
    for op in some:
        tried, wave, free = dict[str, Op](), [op], ""
        for one in wave:
            for other in beside(one):
                if other not in tried:
                    tried[other] = one
                    if other in owner:
                        wave.append(owner[other])
                    else:
                        free = free or other
            if free:
                break
        if not free:
            left.append(op)
        while free:
            owner[free] = tried[free]
            taken[tried[free].op], free = free, taken.get(tried[free].op, "")
    return left


def causeless(name: str, waits: list[Op], ends: dict[str, int]) -> Iterator[Violation]:
    """A round breaks because somebody who had arrived is gone, or was silent."""
    for op in waits:
        if op.result != "ILK_EBROKEN":
            continue
        beside = [
            one for one in waits if one.began < ends[op.op] and ends[one.op] > op.began
        ]
        left = [one for one in beside if one.result not in CERTAIN]
        if not left and all(ends[one.op] - one.began < SILENT for one in beside):
            text = f"{name}: {op.op} is broken, and nobody had left"
            yield Violation("barrier", text, [op.end_place or op.place])
