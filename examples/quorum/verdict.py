# SPDX-License-Identifier: MIT
"""The checks of a run, as text and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from demo import Run

# INFO has a server's age in whole seconds.
WHOLE_SECOND_MS = 1000


class Verdict:
    def __init__(self, run: Run) -> None:
        self.run = run
        self.checks: list[dict] = []
        in_time = [hold for hold in run.holds if not hold["late"]]
        self.holds = sorted(in_time, key=lambda hold: hold["entered"])
        self.sales = [hold for hold in self.holds if hold.get("item")]
        self.judge_sales()
        self.judge_holds()
        self.judge_nodes()
        self.judge_frozen()

    def check(self, name: str, ok: bool, text: str) -> None:
        self.checks.append({"name": name, "ok": bool(ok), "text": text})

    @property
    def ok(self) -> bool:
        return all(check["ok"] for check in self.checks)

    def judge_sales(self) -> None:
        items, left = self.run.given.items, self.run.stock["left"]
        sold = [sale["item"] for sale in self.sales]
        self.check(
            "all_sold",
            set(sold) == set(range(1, items + 1)) and left == 0,
            f"{len(set(sold))} of {items} items sold, {left} left",
        )
        twice = len(sold) - len(set(sold))
        self.check(
            "none_twice",
            not twice,
            f"{twice} items were sold twice" if twice else "nothing sold twice",
        )
        loose = self.loose()
        self.check(
            "chain_whole",
            not loose,
            f"{loose} sales do not follow on the one before"
            if loose
            else "every sale follows on the one before it",
        )

    def loose(self) -> int:
        """Sales that name another one before them than the one that was."""
        before = [self.run.first] + [
            {key: sale[key] for key in ("seller", "item", "fence")}
            for sale in self.sales
        ]
        named = [sale["before"] for sale in self.sales] + [self.run.stock]
        return sum(
            any(is_named[key] != was[key] for key in was)
            for was, is_named in zip(before, named)
        )

    def judge_holds(self) -> None:
        pairs = list(zip(self.holds, self.holds[1:]))
        fences = [hold["fence"] for hold in self.holds]
        rise = all(one["fence"] < two["fence"] for one, two in pairs)
        self.check(
            "fences_rise",
            fences and rise,
            f"fences {'strictly rising' if rise else 'NOT STRICTLY RISING'}, "
            f"from {min(fences, default=0)} to {max(fences, default=0)}",
        )
        both = sum(one["sure"] > two["entered"] for one, two in pairs)
        self.check(
            "one_holder",
            fences and not both,
            f"{len(fences)} holds, {both or 'none'} beside another one that was sure",
        )

    def judge_nodes(self) -> None:
        for fault in self.run.faults:
            number, done = fault["node"], "killed" if fault["killed"] else "wiped"
            self.check(
                f"node_{done}",
                fault["holds"] > 0,
                f"node {number} {done}: {fault['holds']} holds without its vote, "
                f"the first after {fault['next_ms']} ms",
            )
            ok = fault["votes_ms"] > self.run.longest_ms - WHOLE_SECOND_MS
            since = "its restart" if fault["killed"] else "that"
            self.check(
                f"node_{done}_votes_again",
                ok,
                f"node {number} votes again {fault['votes_ms']} ms after {since}, "
                f"{'not' if ok else 'BUT'} before the longest lease",
            )

    def judge_frozen(self) -> None:
        frozen, late = self.run.frozen, self.run.late
        if not late:
            self.check("frozen_notified", False, "no seller was frozen and thawed")
            return
        told = late["notified"] and late["check"] == "LostError"
        self.check(
            "frozen_notified",
            told,
            f"seller {frozen['seller']} frozen for {frozen['ms']} ms: "
            f"{'' if late['notified'] else 'not '}notified that it lost the lock "
            f"({late['check'] or 'still held'})",
        )
        refused = late["write"] == "StaleError"
        self.check(
            "late_write_refused",
            refused,
            f"its late write under fence {late['fence']} was "
            f"{'refused' if refused else 'NOT REFUSED'} ({late['write'] or 'written'})",
        )

    def print_text(self) -> None:
        print("\nverdict")
        for check in self.checks:
            print(f"  {'ok  ' if check['ok'] else 'FAIL'} {check['text']}")
        missed = self.run.missed()
        if missed:
            print(f"  note {missed} leases ran out under sellers that were too slow; "
                  "they sold nothing")  # fmt: skip
        print(f"  {len(self.sales)} sales by {self.run.given.processes} sellers "
              f"in {self.run.seconds():.1f} s")  # fmt: skip
        print(
            "The lock held."
            if self.ok
            else "THE LOCK DID NOT HOLD, or proof is missing."
        )

    def print_json(self) -> None:
        run = self.run
        found = {
            "kind": "demo", "ok": self.ok, "quorum": len(run.nodes),
            "processes": run.given.processes, "items": run.given.items,
            "lease_ms": run.lease_ms, "longest_lease_ms": run.longest_ms,
            "sold": len(self.sales), "left": run.stock["left"],
            "holds": len(self.holds), "missed": run.missed(),
            "seconds": round(run.seconds(), 3), "faults": run.faults,
            "frozen": run.frozen, "late": run.late, "checks": self.checks,
        }  # fmt: skip
        print(json.dumps(found))
