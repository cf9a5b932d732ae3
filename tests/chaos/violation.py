# SPDX-License-Identifier: MIT
"""A broken rule, with the lines of the histories that contradict each other."""

from __future__ import annotations

from dataclasses import dataclass, field

from history import Op, Place


@dataclass
class Violation:
    rule: str
    text: str
    places: list[Place] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"VIOLATION: {self.rule}: {self.text}"]
        for place in self.places:
            lines += [f"  {place.path}", *place.around()]
        return "\n".join(lines)


def both(rule: str, name: str, what: str, one: Op, other: Op) -> Violation:
    places = [op.end_place or op.place for op in (one, other)]
    text = f"{name}: {what}: {one.op} {one.found}, {other.op} {other.found}"
    return Violation(rule, text, places)
