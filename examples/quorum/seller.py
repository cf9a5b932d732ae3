# SPDX-License-Identifier: MIT
"""One seller of the demonstration, a process of its own; demo.py starts it.

    acquire -> read the stock -> think -> write it back -> report -> release

The lock is the quorum's. The stock is on a server of its own, the shop, which checks
fences: the seller reads under its fence, not only writes, so from then on no former
holder can change what it has read.

The orders are letters on standard input: `g` to begin, `f` to stop in the next hold
between reading and writing, `t` to go on from there, `o` to sell the last items.
A seller that was stopped there writes like a program that did not notice its long
sleep. Reports are lines of JSON on one pipe that all sellers share; they are shorter
than PIPE_BUF, so they never mix.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import sys
import time

import interlock
from interlock import guard
from nodes import end_with_parent

HELD_BACK_S = 0.02  # between two looks at a stock that is held back
NOTIFIED_WITHIN_S = 10.0
LOCK, STOCK = "stock", "stock"


def report(kind: str, **words: object) -> None:
    line = json.dumps({"kind": kind, "seller": NUMBER, **words}) + "\n"
    os.write(1, line.encode())


class Orders:
    """The letters that have come."""

    def __init__(self) -> None:
        self.come = ""

    def read(self) -> None:
        letters = os.read(0, 64)
        if not letters:
            sys.exit("the demonstration has ended")
        self.come += letters.decode()

    def has(self, letter: str) -> bool:
        while select.select([0], [], [], 0)[0]:
            self.read()
        return letter in self.come

    def wait_for(self, letter: str) -> None:
        while letter not in self.come:
            self.read()


class Seller:
    def __init__(self, plan: dict) -> None:
        self.plan = plan
        self.orders = Orders()
        quorum = interlock.connect(plan["quorum"])
        self.notifications = quorum.notifications()
        self.lock = quorum.lock(LOCK, ttl=plan["lease_ms"] / 1000)
        self.shop = interlock.connect(plan["shop"])
        self.was_frozen = False

    def work(self) -> None:
        report("ready")
        self.orders.wait_for("g")
        while self.serve():
            pass
        report("end")

    def serve(self) -> bool:
        """One turn; False when there is nothing left to sell."""
        self.lock.acquire()
        hold = {"fence": self.lock.fence, "entered": time.monotonic()}
        # On a busy machine the lease may be over before this line is reached.
        hold["late"] = not self.lock.held
        left = 1
        try:
            stock = json.loads(guard.get(self.shop, STOCK, self.lock.fence).value)
            left = stock["left"]
            self.sell(stock, hold)
        except interlock.StaleError:
            hold["item"] = 0  # the lease ran out, and the next one has read
        report("hold", **{"sure": self.sure_until(hold), **hold})
        # The votes of a node that is away are given back when it is there again.
        with contextlib.suppress(
            interlock.NoQuorumError,
            interlock.NotOwnedError,
            interlock.UnknownOutcomeError,
        ):
            self.lock.release()
        return left > 0

    def sure_until(self, hold: dict) -> float:
        """Up to here the seller held for sure: its client says that it still does."""
        now = time.monotonic()
        return now if self.lock.held else hold["entered"]

    def sell(self, stock: dict, hold: dict) -> None:
        """Sell one item. A seller that knows of its loss writes nothing."""
        is_victim = self.orders.has("f") and not self.was_frozen
        if not stock["left"]:
            return
        if self.is_held_back(stock) and not is_victim:
            time.sleep(HELD_BACK_S)
            return
        sale = {
            "left": stock["left"] - 1,
            "seller": NUMBER,
            "item": self.plan["items"] - stock["left"] + 1,
            "fence": self.lock.fence,
        }
        time.sleep(self.plan["think_ms"] / 1000)
        if is_victim and not hold["late"]:
            self.sleep_long(sale, hold)
        elif self.lock.held:
            self.write(sale)
            hold.update(item=sale["item"], before=stock)
        else:
            hold["item"] = 0

    def is_held_back(self, stock: dict) -> bool:
        """The last items are sold when the faults are over."""
        return stock["left"] <= self.plan["last"] and not self.orders.has("o")

    def write(self, sale: dict) -> None:
        guard.set(self.shop, STOCK, json.dumps(sale), sale["fence"])

    def sleep_long(self, sale: dict, hold: dict) -> None:
        """Be frozen here, then write late; the client's view is reported with it."""
        self.was_frozen = True
        hold["sure"] = time.monotonic() + self.lock.remaining()
        report("stall", item=sale["item"], **hold)
        self.orders.wait_for("t")
        written = outcome(self.write, sale)
        came = self.notifications.get(NOTIFIED_WITHIN_S)
        report(
            "late",
            fence=sale["fence"],
            write=written,
            check=outcome(self.lock.check),
            notified=bool(came and came.kind == "lock_lost"),
        )


def outcome(call, *arguments: object) -> str:
    """The name of the error; empty when there was none."""
    try:
        call(*arguments)
    except interlock.Error as error:
        return type(error).__name__
    return ""


if __name__ == "__main__":
    end_with_parent()
    PLAN = json.loads(sys.argv[1])
    NUMBER = PLAN["number"]
    try:
        Seller(PLAN).work()
    except interlock.Error as error:
        report("error", text=f"{type(error).__name__}: {error}"[:500])
        sys.exit(1)
