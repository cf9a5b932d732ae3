# SPDX-License-Identifier: MIT
"""The order of a queue: first in, first out, among first deliveries.

A younger message may be delivered first while somebody else holds the older one. If
that delivery does not come about, the message returns to the front with no attempt
counted, and its first delivery is a later one. Two kinds of reserve do so:

    - it fails, or its time ends: what it took, or takes later, is withdrawn;
    - its reply comes when the lease may be over, because the process or the server
      was frozen: the message is returned, and the call waits on. It may succeed with
      another message.

A history shows neither the moment nor the message. But a reserve holds one message at
a time. So each excuses as many overtaken messages as it may have held, of those that
were overtaken at a time at which it may have held one.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator

from history import Op, by_name, last_lines
from rules_order import SHORTEST_LEASE
from violation import Violation, both

LONGEST_LEASE, LONGEST_WAIT = 1_500_000_000, 500_000_000  # of the processes' reserves
# A reply is late when the lease's time has passed since its request. A repeated request
# has only what is left of the lease, counted from when it was sent: half of the lease,
# less 1 % and some milliseconds, may be enough.
SOONEST_LATE = SHORTEST_LEASE * 2 // 5
LATEST = 3_000_000_000  # a request that the network kept back reaches the server
# A killed process has no end of its call: it wrote its last line some time before, and
# its request may be late.
GONE = 10_000_000_000

Delivery = tuple[Op, Op]  # the reserve, and the push of its message


def order(ops: list[Op]) -> Iterator[Violation]:
    last = last_lines(ops)
    for name, those in by_name(ops, "queue").items():
        holders = sorted(
            (op.began, until(op, last), count)
            for op in those
            if op.verb == "reserve" and (count := uncounted(op))
        )
        yield from unexcused(name, list(overtaken(those)), holders)


def uncounted(op: Op) -> int:
    """How many messages this reserve may have held and given back, at most."""
    took = LONGEST_WAIT if op.ended is None else op.ended - op.began
    waits = op.args["wait"] != "0"
    late = min(took, LONGEST_WAIT) // SOONEST_LATE if waits else 0
    if op.ok:
        return late
    found_nothing = not waits and op.result == "no" and took < SOONEST_LATE
    return 0 if found_nothing else late + 1


def until(op: Op, last: dict[str, int]) -> int:
    """When none of these messages is held any more without being counted."""
    if op.ended is None:
        return last[op.process] + GONE
    return op.ended + (0 if op.ok else LATEST) + LONGEST_LEASE


def overtaken(ops: list[Op]) -> Iterator[tuple[Delivery, Delivery]]:
    """First deliveries, each after the youngest of those that were complete before."""
    pushed = {op.args["data"]: op for op in ops if op.verb == "push" and op.ok}
    first: dict[str, Op] = {}
    for op in ops:
        if op.verb == "reserve" and op.ok:
            first.setdefault(op.found["data"], op)
    taken = [(op, pushed[data]) for data, op in first.items() if data in pushed]
    by_end = sorted(taken, key=lambda one: one[0].ended or 0)
    at, youngest = 0, None
    for op, push in sorted(taken, key=lambda one: one[0].began):
        while at < len(by_end) and (by_end[at][0].ended or 0) < op.began:
            if youngest is None or by_end[at][1].began > youngest[1].began:
                youngest = by_end[at]
            at += 1
        if not youngest or op.found["attempts"] != "1":
            continue
        if youngest[1].began > (push.ended or 0):
            yield youngest, (op, push)


def unexcused(
    name: str,
    found: list[tuple[Delivery, Delivery]],
    holders: list[tuple[int, int, int]],  # from, until, how many messages
) -> Iterator[Violation]:
    """Those that remain when each holder excuses as many as it can.

    An older message was held at a time between the push of the younger one and the
    end of its delivery. In the order of these ends, a holder that has begun fits all
    that follow as well, but for those that begin after its end. So the best choice is
    the holder that ends first.
    """
    at, free = 0, list[int]()
    for (before, younger), (after, _) in sorted(
        found, key=lambda one: one[0][0].ended or 0
    ):
        while at < len(holders) and holders[at][0] < (before.ended or 0):
            _, ends, count = holders[at]
            for _ in range(count):
                insort(free, ends)
            at += 1
        fits = bisect_left(free, younger.began)
        if fits < len(free):
            del free[fits]
        else:
            yield both("order", name, "a younger message first", before, after)
