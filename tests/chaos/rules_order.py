# SPDX-License-Identifier: MIT
"""The order of a wait queue: who came later is not served earlier.

Which request reached the server first cannot be read from the calls. But an observer
inspects the wait queues, and finds tokens under which the waiters will hold. A waiter
of that list comes before those behind it, and before each acquire that began when the
list was complete. Fences say in which order all were granted.

A waiter may be passed over while its client cannot be reached, and may be granted the
name and lose it unseen. So only waiters of the steady processes, which have no faults,
are compared, and only with grants that ended, after the list was read, sooner than the
shortest lease.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from history import Op
from violation import Violation, both

STEADY = "steady"
SHORTEST_LEASE = 200_000_000


def overtakings(ops: list[Op]) -> Iterator[Violation]:
    granted = [op for op in ops if op.verb == "acquire" and op.ok]
    holders = {op.found.get("token"): op for op in granted}
    names: dict[str, list[Op]] = {}
    for op in granted:
        names.setdefault(op.resource, []).append(op)
    begins = {name: [op.began for op in those] for name, those in names.items()}
    for seen in ops:
        if seen.verb != "inspect" or not seen.ok or seen.resource not in names:
            continue
        waiters = [
            holders[token]
            for token in seen.found["waiting"].split(",")
            if token in holders
        ]
        those = names[seen.resource]
        first = bisect_right(begins[seen.resource], seen.ended or 0)
        until = seen.began + SHORTEST_LEASE
        last = bisect_right(begins[seen.resource], until)
        for place, waiter in enumerate(waiters):
            if not waiter.process.startswith(STEADY):
                continue
            for later in [*waiters[place + 1 :], *those[first:last]]:
                if later.fence < waiter.fence and (later.ended or 0) < until:
                    what = "who came later is served first"
                    violation = both("order", seen.resource, what, later, waiter)
                    violation.places.append(seen.place)
                    yield violation
