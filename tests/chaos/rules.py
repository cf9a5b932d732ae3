# SPDX-License-Identifier: MIT
"""Rules for the histories of one server, whatever the faults were.

Two kinds of intervals are compared. A handle was *sure* from a moment at which it
said so until the end that it named, or until the next call that may shorten its
lease. A hold is *proved* from the end of its acquire to the begin of a release that
returned success: such a release says that the hold had not been lost. Sure intervals
may overlap where exclusion is not promised (docs/safety.md); proved ones may not.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "shared"))

from history import Op, Place
from holds import Hold, crowds
from rules_barrier import rounds
from rules_fifo import order
from rules_order import overtakings
from rules_register import registers
from rules_signal import signals
from violation import Violation, both

EXCLUSION, FENCES = "exclusion holds", "only fences hold"
HOLDS = {"lock", "rw", "semaphore", "election"}
ENDS = {
    "release",
    "extend",
    "ack",
    "nack",
}  # calls that name the hold that they are for


class Interval(Hold):
    """A stretch of one hold, with the line that it is known from."""

    def __init__(self, op: Op, name: str, begins: int, ends: int, place: Place):
        who = f"{op.op} (fence {op.fence})" if op.fence else op.op
        super().__init__(name, who, op.number("units", 1), op.number("capacity", 1))
        self.begins, self.ends, self.place = begins / 1e9, ends / 1e9, place


def resource_of(op: Op) -> str:
    """The name that is held: of a job its message."""
    message = f" {op.found['data']}" if op.verb == "reserve" else ""
    return op.resource + message


class History:
    """The operations of one server, by what the rules want to know."""

    def __init__(self, ops: list[Op]):
        self.ops = ops
        self.by_op = {one.op: one for one in ops}
        self.later: defaultdict[str, list[Op]] = defaultdict(list)
        for one in ops:
            if one.verb in ENDS:
                self.later[one.args["hold"]].append(one)
        self.granted = [
            one for one in ops if one.verb in ("acquire", "reserve") and one.ok
        ]

    def proved(self, op: Op) -> Interval | None:
        for end in self.later[op.op]:
            if end.verb in ("release", "ack") and end.ok and op.ended:
                return Interval(op, resource_of(op), op.ended, end.began, end.place)
        return None

    def sure(self, op: Op) -> Iterator[Interval]:
        for at, until, place in merged(op, [end.began for end in self.later[op.op]]):
            yield Interval(op, resource_of(op), at, until, place)

    def intervals(self, exclusive: bool) -> Iterator[Interval]:
        for op in self.granted:
            proved = self.proved(op)
            if proved:
                yield proved
            for one in self.sure(op) if exclusive else ():
                # A hold is counted once at each moment.
                if proved and one.begins >= proved.begins and one.ends <= proved.ends:
                    continue
                if proved and one.begins < proved.ends:
                    one.ends = min(one.ends, proved.begins)
                yield one


def merged(op: Op, cuts: list[int]) -> list[tuple[int, int, Place]]:
    """The sure intervals of a hold, each until the next call about it, joined."""
    found: list[tuple[int, int, Place]] = []
    for at, until, place in sorted(op.sure, key=lambda one: one[0]):
        until = min([until, *(cut for cut in cuts if cut > at)])
        if found and at <= found[-1][1]:
            before = found.pop()
            at, until, place = before[0], max(until, before[1]), before[2]
        if until > at:
            found.append((at, until, place))
    return found


def check(
    ops: list[Op], kind: str, in_cluster: bool = False
) -> tuple[list[Violation], int]:
    """The broken rules, and how often exclusion was lost where it may be."""
    history, exclusive = History(ops), kind == EXCLUSION
    found = [*fences(history, exclusive), *truthful(history), *events(history)]
    crowded = list(too_many(history, True))
    if exclusive:
        found += [*crowded, *messages(history), *order(ops)]
        found += [*signals(ops, in_cluster), *rounds(ops), *overtakings(ops)]
        found += registers(ops)
        return found, 0
    return [*found, *too_many(history, False)], len(crowded)


def too_many(history: History, exclusive: bool) -> Iterator[Violation]:
    """One holder, one leader, no more permits than there are, one job of a message."""
    for holds in crowds(history.intervals(exclusive)):
        name = holds[0].name
        places = [hold.place for hold in holds if isinstance(hold, Interval)]
        text = "; ".join(repr(hold) for hold in holds)
        yield Violation("exclusion", f"{name}: {text}", places)


def is_alone(op: Op) -> bool:
    return op.number("units", 1) >= op.number("capacity", 1)


def fences(history: History, exclusive: bool) -> Iterator[Violation]:
    """A grant that was complete before another began has the smaller fence.

    Readers share a record: two of one moment may be given the same number.
    """
    names: defaultdict[str, list[Op]] = defaultdict(list)
    for op in history.granted:
        if op.kind in HOLDS:
            names[op.resource].append(op)
    for name, grants in names.items():
        seen: dict[int, Op] = {}
        for op in grants:
            other = seen.setdefault(op.fence, op)
            shared = not is_alone(op) and not is_alone(other) and op.kind == "rw"
            if op.fence <= 0 or (other is not op and not shared):
                yield both("fence", name, "the same fence twice", other, op)
        yield from rising(name, in_time(grants))
        if exclusive and all(is_alone(op) for op in grants):
            sure = [(merged(op, [])[0][0], op) for op in grants if merged(op, [])]
            sure.sort(key=lambda one: one[0])
            for (_, before), (_, after) in zip(sure, sure[1:]):
                if after.fence <= before.fence:
                    yield both("fence", name, "a later hold, no greater", before, after)


def in_time(grants: list[Op]) -> Iterator[tuple[Op, Op]]:
    """Each grant, with the greatest fence of those that were complete before."""
    ended = sorted(grants, key=lambda op: op.ended or 0)
    at, greatest = 0, None
    for op in grants:
        while at < len(ended) and (ended[at].ended or 0) < op.began:
            if greatest is None or ended[at].fence > greatest.fence:
                greatest = ended[at]
            at += 1
        if greatest is not None:
            yield greatest, op


def rising(name: str, pairs: Iterable[tuple[Op, Op]]) -> Iterator[Violation]:
    for before, op in pairs:
        if op.fence < before.fence or (op.fence == before.fence and is_alone(op)):
            yield both("fence", name, "the fence did not rise", before, op)


def truthful(history: History) -> Iterator[Violation]:
    """A release that returned success: nobody else had been granted the name before."""
    names: defaultdict[str, list[Op]] = defaultdict(list)
    for op in history.granted:
        if op.kind in HOLDS and is_alone(op):
            names[op.resource].append(op)
    for name, grants in names.items():
        grants.sort(key=lambda op: op.fence)
        for op, after in zip(grants, grants[1:]):
            for end in history.later[op.op]:
                if end.verb == "release" and end.ok and end.began > (after.ended or 0):
                    yield both("release", name, "success after the next", after, end)


def events(history: History) -> Iterator[Violation]:
    """No wait for an event succeeds before somebody began to set it."""
    began: dict[str, Op] = {}
    for op in history.ops:
        if op.verb == "set":
            began.setdefault(op.name, op)
    for op in history.ops:
        if op.kind == "event" and op.verb == "wait" and op.ok:
            setter = began.get(op.name)
            if setter is None or setter.began > (op.ended or 0):
                yield Violation("event", f"{op.name} was not set", [op.place])


# ---- queues -------------------------------------------------------------------------


def messages(history: History) -> Iterator[Violation]:
    """Nothing is lost, nothing is done twice, nothing is invented."""
    pushed = {op.args["data"]: op for op in history.ops if op.verb == "push"}
    delivered: defaultdict[str, list[Op]] = defaultdict(list)
    for op in history.granted:
        if op.verb == "reserve":
            delivered[op.found["data"]].append(op)
            if op.found["data"] not in pushed:
                yield Violation(
                    "message", f"{op.found['data']} was not pushed", [op.place]
                )
    for data, push in pushed.items():
        ends = [end for op in delivered[data] for end in history.later[op.op]]
        acks = [end for end in ends if end.verb == "ack"]
        done = [end for end in acks if end.ok]
        if len(done) > 1:
            yield both("message", data, "acknowledged twice", *done[:2])
        for op in delivered[data]:
            if done and op.began > (done[0].ended or 0):
                yield both("message", data, "delivered after it was done", done[0], op)
        if push.ok and all(end.result == "no" for end in acks):
            yield Violation("message", f"{data} is lost", [push.place])
