# SPDX-License-Identifier: MIT
"""Intervals in which handles held, and the moments at which they were too many."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable


class Hold:
    """One hold, from when it was sure first to when it was sure last."""

    def __init__(self, name: str, who: str, units: int, capacity: int):
        self.name, self.who, self.units, self.capacity = name, who, units, capacity
        self.begins, self.ends = 0.0, 0.0

    def __repr__(self) -> str:
        return f"{self.who} sure of {self.name} {self.begins:.6f}-{self.ends:.6f}"


def crowds(history: Iterable[Hold]) -> list[list[Hold]]:
    """The holds of each moment at which more was held than there is.

    A hold is an interval in which its handle was sure throughout.
    """
    found: list[list[Hold]] = []
    names: defaultdict[str, list[Hold]] = defaultdict(list)
    for hold in history:
        if hold.ends > hold.begins:
            names[hold.name].append(hold)
    for holds in names.values():
        edges = [(h.begins, 1, h) for h in holds] + [(h.ends, 0, h) for h in holds]
        now: list[Hold] = []
        for _, begins, hold in sorted(edges, key=lambda edge: edge[:2]):
            if not begins:
                now.remove(hold)
                continue
            now.append(hold)
            if sum(h.units for h in now) > min(h.capacity for h in now):
                found.append(list(now))
    return found
