# SPDX-License-Identifier: MIT
"""Signals to one waiter: what docs/signal.md promises of `notify_one`.

The data of a signal is the operation that sent it. Each wait begins with a `listen`,
whose success says that the server has its entry. A wait that then ends by a signal, or
at its time, has acknowledged or left. Any other wait may have been given a signal
which was handed on afterwards: its process was killed, or the server was out of reach,
and then its end is late. A signal is dropped only when nobody else waits then.

A server sees that a client was killed, so a signal leaves the dead at once. A node of a
cluster does not: its waits have it until their liveness ends, and then the next one may
be dead as well.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from history import Op, by_name, last_lines
from violation import Violation, both

# A waiter's client is given up 6 s after its last refresh, which an entry that
# joins within a sixth of that time does not repeat.
SILENT = 5_000_000_000
# A process that was killed wrote its last line before: its waits take signals until
# its connections have ended, or its liveness.
GONE = 10_000_000_000


LATE = 50_000_000  # the wait was not answered at once when its time had run out


def millis(wait: Op) -> int:
    """Its time, in ns."""
    return wait.number("ms") * 1_000_000


@dataclass
class Entry:
    """A place in the wait queue, from the call that joins to the one that leaves."""

    listen: Op
    wait: Op | None

    @property
    def ended(self) -> int | None:
        last = self.wait or self.listen
        return None if last.ok and last is self.listen else last.ended

    @property
    def may_lose(self) -> bool:
        """Whether a signal that was given to it may be dropped."""
        wait = self.wait
        if wait is None or wait.ended is None or wait.result not in ("ok", "no"):
            return True
        late = wait.ended - wait.began - millis(wait)
        return wait.result == "no" and late > LATE

    def may_have(self, signal: Op, last: dict[str, int]) -> bool:
        ended = self.ended or last[self.listen.process]
        if self.may_lose:
            ended += GONE
        return self.listen.began < (signal.ended or 0) and ended > signal.began

    def present(self, sent: dict[str, Op]) -> tuple[int, int]:
        """When it was in the wait queue for sure: until a signal came, or it left."""
        wait = self.wait
        if self.may_lose or wait is None or not (self.listen.ended and wait.ended):
            return 0, 0
        ended = min(wait.ended, wait.began + millis(wait))
        signal = sent.get(wait.found.get("data", ""))
        return self.listen.ended, min(ended, signal.began) if signal else ended


def entries(ops: list[Op]) -> list[Entry]:
    waits = {op.args["hold"]: op for op in ops if op.verb == "wait"}
    return [Entry(op, waits.get(op.op)) for op in ops if op.verb == "listen"]


def given_up(
    signal: Op, lossy: list[Entry], last: dict[str, int], in_cluster: bool
) -> int:
    """When no wait has the signal any more that may not have received it."""
    until = signal.began + GONE
    if in_cluster:
        for entry in sorted(lossy, key=lambda one: one.listen.began):
            if signal.began <= entry.listen.began < until:
                until = max(until, (entry.ended or last[entry.listen.process]) + GONE)
    return until


def signals(ops: list[Op], in_cluster: bool = False) -> Iterator[Violation]:
    last = last_lines(ops)
    for name, those in by_name(ops, "signal").items():
        received: defaultdict[str, list[Entry]] = defaultdict(list)
        lossy = []
        sent = {op.op: op for op in those if op.verb == "notify"}
        stretches = joined(entry.present(sent) for entry in entries(those))
        for entry in entries(those):
            if entry.wait and entry.wait.ok:
                received[entry.wait.found["data"]].append(entry)
            elif entry.may_lose:
                lossy.append(entry)
        for data, receivers in received.items():
            yield from wrong_receipts(name, sent.get(data), receivers)
        for op in sent.values():
            if op.found.get("reached") == "1" and not received[op.op]:
                until = given_up(op, lossy, last, in_cluster)
                kept = is_within(op.began, until, stretches)
                if kept or not any(entry.may_have(op, last) for entry in lossy):
                    yield Violation("signal", f"{name}: {op.op} is lost", [op.place])


def joined(stretches: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The union of some intervals."""
    found: list[tuple[int, int]] = []
    for begins, ends in sorted(one for one in stretches if one[0] < one[1]):
        if found and begins <= found[-1][1]:
            begins, last = found.pop()
            ends = max(ends, last)
        found.append((begins, ends))
    return found


def is_within(begins: int, ends: int, stretches: list[tuple[int, int]]) -> bool:
    at = bisect_right(stretches, (begins, ends)) - 1
    return at >= 0 and stretches[at][1] >= ends


def wrong_receipts(
    name: str, sender: Op | None, receivers: list[Entry]
) -> Iterator[Violation]:
    first, *others = [(one.listen, one.wait) for one in receivers if one.wait]
    if sender is None or sender.began > (first[1].ended or 0):
        yield Violation("signal", f"{name}: nobody had sent it", [first[1].place])
    elif sender.found.get("reached") == "0":
        yield both("signal", name, "received, and counted for nobody", sender, first[1])
    for other in others:
        # Whether the client of one may have been given up when it had the signal.
        silent = [
            (after.ended or 0) - listen.began >= SILENT
            for listen, after in ((first[0], other[1]), (other[0], first[1]))
        ]
        if not any(silent):
            yield both("signal", name, "received twice", first[1], other[1])
