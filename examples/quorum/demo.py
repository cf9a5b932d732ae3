# SPDX-License-Identifier: MIT
"""Sell a stock by many processes under a lock over three independent servers.

Meanwhile one node is killed and restarted without its data, one is wiped, and a
seller is frozen beyond its lease while it holds the lock. The status is 0 when
exactly the stock was sold, nothing twice, under strictly rising fences, no two
sellers were sure to hold at one time, and the late write of the frozen one was
refused; else 1.

    ./dev demo --quorum
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import interlock
from interlock import guard
from nodes import Node, end_with_parent, until
from seller import STOCK
from verdict import Verdict

NODES = 3
LONGEST_MS = 2000  # short, because the first start takes as long
LEASE_MS = 1000
THINK_MS = 10
LAST = 5  # a fifth of the stock is sold after the faults
TICK_S = 0.05
PATIENCE_S = 60.0  # of one step


class FailedError(Exception):
    """The run cannot go on."""


class Run:
    """Three nodes, a shop, and sellers; the faults one after the other."""

    longest_ms, lease_ms = LONGEST_MS, LEASE_MS

    def __init__(self, given: argparse.Namespace, home: Path) -> None:
        self.given = given
        self.nodes = [Node(number, home) for number in range(1, NODES + 1)]
        self.shop = Node(0, home)
        self.sellers: list[subprocess.Popen[bytes]] = []
        self.reports, self.reports_end = os.pipe()
        self.rest = b""
        self.ready = 0
        self.ended = 0
        self.holds: list[dict] = []
        self.sold = 0
        self.faults: list[dict] = []
        self.stalled: dict = {}
        self.frozen: dict = {}
        self.late: dict = {}
        self.first = {"seller": 0, "item": 0, "fence": 0}
        self.stock: dict = {}
        self.began = self.over = time.monotonic()

    # ---- from the first seller to the last ---------------------------------------

    def run(self) -> None:
        for node in [*self.nodes, self.shop]:
            node.start()
        with interlock.connect(self.url()) as client:
            self.note(
                f"{self.given.items} items, {self.given.processes} sellers, one lock "
                f"over {NODES} nodes, on {self.url()}"
            )
            self.note(f"a first start takes the longest lease, {LONGEST_MS} ms")
            with client.lock("first", ttl=LEASE_MS / 1000):
                until(self.all_vote, PATIENCE_S, "all nodes vote")
        self.fill_shop()
        self.start_sellers()
        self.loop()

    def url(self) -> str:
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
        return f"redis://{hosts}?quorum&longest_lease_ms={LONGEST_MS}"

    def all_vote(self) -> bool:
        return all(node.votes() for node in self.nodes)

    def shop_url(self) -> str:
        return f"redis://127.0.0.1:{self.shop.port}"

    def fill_shop(self) -> None:
        stock = {"left": self.given.items, **self.first}
        with interlock.connect(self.shop_url()) as shop:
            guard.set(shop, STOCK, json.dumps(stock), 0)

    def start_sellers(self) -> None:
        plan = {
            "quorum": self.url(), "shop": self.shop_url(), "items": self.given.items,
            "lease_ms": LEASE_MS, "think_ms": THINK_MS,
            # However fast the machine is, there is something to sell during all faults.
            "last": self.given.items // LAST,
        }  # fmt: skip
        for number in range(1, self.given.processes + 1):
            words = json.dumps({**plan, "number": number})
            seller = subprocess.Popen(
                [sys.executable, Path(__file__).with_name("seller.py"), words],
                stdin=subprocess.PIPE, stdout=self.reports_end,
                preexec_fn=end_with_parent,
            )  # fmt: skip
            self.sellers.append(seller)

    def loop(self) -> None:
        steps = itertools.chain(self.begin(), self.strike(), self.finish())
        tick = itertools.count(1)
        shown = next(tick)
        for step, what in steps:
            ends = time.monotonic() + PATIENCE_S
            while not step():
                self.take_reports()
                self.look_at_sellers()
                if time.monotonic() > ends:
                    raise FailedError(f"{what}: not within {PATIENCE_S:g} s")
                if time.monotonic() - self.began > shown and self.holds:
                    shown = next(tick)
                    self.show()

    def show(self) -> None:
        last = self.holds[-1]
        since = time.monotonic() - 1
        recent = sum(hold["entered"] > since for hold in self.holds[-2000:])
        print_unless(
            self.given,
            f"sold {self.sold} of {self.given.items}, held by seller "
            f"{last['seller']}, fence {last['fence']}, hand-overs {recent}/s",
        )

    # ---- steps: each yields a condition and its name --------------------------------

    def begin(self) -> Iterator:
        yield lambda: self.ready == len(self.sellers), "all sellers are ready"
        self.began = time.monotonic()
        self.order_all("g")
        yield lambda: self.sold > 0, "the first sale"

    def strike(self) -> Iterator:
        """The faults, one after the other: each leaves a majority."""
        some = self.given.items // 10
        yield self.more(some), "sales before the first fault"
        yield from self.kill_node(self.nodes[1], some)
        yield from self.wipe_node(self.nodes[2])
        yield from self.freeze_seller()

    def finish(self) -> Iterator:
        self.order_all("o")
        yield lambda: self.ended == len(self.sellers), "the end of all sellers"
        self.over = time.monotonic()
        with interlock.connect(self.shop_url()) as shop:
            self.stock = json.loads(guard.get(shop, STOCK).value)

    def more(self, items: int):
        """The condition that so many more were sold, or that no more are for sale."""
        goal = self.sold + items
        least = self.given.items - self.given.items // LAST
        return lambda: self.sold >= min(goal, least)

    def kill_node(self, node: Node, some: int) -> Iterator:
        node.kill()
        fault = self.fault(node, killed=True)
        self.note(f"node {node.number} is killed")
        yield self.held_after(fault), "a hold without the node"
        yield self.more(some), "sales without the node"
        node.start()
        restarted = time.monotonic()
        self.note(f"node {node.number} is started again, its memory is gone")
        yield node.votes, f"node {node.number} votes again"
        self.close_fault(fault, restarted)

    def wipe_node(self, node: Node) -> Iterator:
        node.wipe()
        fault = self.fault(node, killed=False)
        self.note(f"node {node.number} is wiped (FLUSHALL)")
        yield self.held_after(fault), "a hold without the node"
        yield node.votes, f"node {node.number} votes again"
        self.close_fault(fault, fault["at"])

    def fault(self, node: Node, killed: bool) -> dict:
        """Reports of former sales may still lie in the pipe."""
        self.take_reports()
        fault = {"node": node.number, "killed": killed, "at": time.monotonic()}
        self.faults.append(fault)
        return fault

    def held_after(self, fault: dict):
        return lambda: self.holds_after(fault["at"])

    def holds_after(self, when: float) -> list[dict]:
        return [hold for hold in self.holds[-2000:] if hold["entered"] > when]

    def close_fault(self, fault: dict, since: float) -> None:
        self.take_reports()
        ended = time.monotonic()
        fault["votes_ms"] = round((ended - since) * 1000)
        during = [
            hold["entered"] - fault["at"]
            for hold in self.holds
            if fault["at"] < hold["entered"] < ended
        ]
        fault["holds"] = len(during)
        fault["next_ms"] = round(min(during, default=-1) * 1000)
        del fault["at"]
        self.note(f"node {fault['node']} votes again after {fault['votes_ms']} ms")

    def freeze_seller(self) -> Iterator:
        """Thaw it beyond its lease, once another one has held."""
        self.order(1, "f")
        yield lambda: self.stalled, "a seller that holds and can be frozen"
        pid = self.sellers[0].pid
        os.kill(pid, signal.SIGSTOP)
        os.waitpid(pid, os.WUNTRACED)
        began = time.monotonic()
        self.note(f"seller 1 is frozen at item {self.stalled['item']}, before writing, "
                  "holding the lock")  # fmt: skip
        yield lambda: self.holds_after(self.stalled["entered"]), "the next holder"
        gap = self.holds_after(self.stalled["entered"])[0]["entered"] - began
        self.note(f"the next one holds {gap * 1000:.0f} ms later")
        yield lambda: time.monotonic() - began > LEASE_MS * 1.25 / 1000, "the lease"
        frozen = time.monotonic() - began
        self.frozen = {"seller": 1, "ms": round(frozen * 1000)}
        self.note(f"seller 1 thaws after {self.frozen['ms']} ms")
        self.order(1, "t")
        os.kill(pid, signal.SIGCONT)
        yield lambda: self.late, "the late write"
        self.note(f"seller 1's late write: {self.late['write'] or 'accepted'}")

    # ---- sellers ---------------------------------------------------------------------

    def order(self, seller: int, letter: str) -> None:
        """A seller that is gone is noticed by look_at_sellers()."""
        pipe = self.sellers[seller - 1].stdin
        with contextlib.suppress(BrokenPipeError):
            os.write(pipe.fileno(), letter.encode())

    def order_all(self, letter: str) -> None:
        for number in range(1, len(self.sellers) + 1):
            self.order(number, letter)

    def take_reports(self) -> None:
        """The whole lines that have come, after a short wait for the first."""
        wait = TICK_S
        while select.select([self.reports], [], [], wait)[0]:
            *lines, self.rest = (self.rest + os.read(self.reports, 65536)).split(b"\n")
            for line in lines:
                self.take(json.loads(line))
            wait = 0

    def take(self, word: dict) -> None:
        kind = word.pop("kind")
        if kind == "ready":
            self.ready += 1
        elif kind == "end":
            self.ended += 1
        elif kind == "hold":
            self.holds.append(word)
            self.sold += bool(word.get("item"))
        elif kind == "stall":
            self.stalled = word
        elif kind == "late":
            self.late = word
        elif kind == "error":
            raise FailedError(f"seller {word['seller']}: {word['text']}")

    def look_at_sellers(self) -> None:
        for number, seller in enumerate(self.sellers, 1):
            if seller.poll():
                raise FailedError(f"seller {number}: exit status {seller.returncode}")

    def missed(self) -> int:
        """Holds whose seller was overtaken, or noticed its loss, before it wrote."""
        return sum(hold.get("item") == 0 for hold in self.holds)

    def seconds(self) -> float:
        return self.over - self.began

    def note(self, text: str) -> None:
        print_unless(self.given, f"  {text}")

    def stop(self) -> None:
        for seller in self.sellers:
            seller.kill()
            seller.wait()
        for node in [*self.nodes, self.shop]:
            node.kill()


def print_unless(given: argparse.Namespace, text: str) -> None:
    if not (given.json or given.quiet):
        print(text, flush=True)


def at_least(least: int):
    def number(text: str) -> int:
        if int(text) < least:
            raise argparse.ArgumentTypeError(f"at least {least}, got {text}")
        return int(text)

    return number


def take_options() -> argparse.Namespace:
    options = argparse.ArgumentParser(prog="dev demo", description=__doc__)
    options.add_argument("--quorum", action="store_true", help="what this program is")
    options.add_argument("--processes", type=at_least(2), default=8, metavar="N")
    options.add_argument("--items", type=at_least(20), default=600, metavar="N")
    options.add_argument("--json", action="store_true", help="print one JSON object")
    options.add_argument("-q", "--quiet", action="store_true", help="no progress")
    return options.parse_args()


def main() -> int:
    given = take_options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with tempfile.TemporaryDirectory() as home:
        run = Run(given, Path(home))
        try:
            run.run()
        except (FailedError, OSError, interlock.Error) as error:
            print(f"demo: {error}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            return 128 + signal.SIGINT
        finally:
            run.stop()
    verdict = Verdict(run)
    if given.json:
        verdict.print_json()
    else:
        verdict.print_text()
    return 0 if verdict.ok else 1


if __name__ == "__main__":
    sys.exit(main())
