# SPDX-License-Identifier: MIT
"""All verbs of all drivers through one outage: each driver is a process, and all of
their calls share the outage."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

import interlock
from cells import (
    CAP_S,
    FOREVER,
    LIMIT_S,
    LONG_S,
    PATIENCE,
    SLACK_S,
    TAKING,
    Cell,
    Ended,
    Outage,
    plan_outage,
    plan_return,
)
from cluster import until
from places import Place
from store_kinds import BUILD
from verbs import VERBS

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
AWAY_S = 1.5  # of an outage that ends before the limits of the calls
AFTER_S = 20.0  # an acquire that a frozen server executes late is withdrawn by then
TICK_S = 0.02
REST_S = 90.0 * PATIENCE


def environment(lease_s: float = 60) -> dict[str, str]:
    """Of the callers: Lua finds its modules."""
    lua = f"{ROOT}/lua/?.lua;{ROOT}/lua/?/init.lua;;"
    return {
        **os.environ,
        "OUTAGE_LEASE_S": str(lease_s),
        "LUA_PATH": lua,
        "LUA_CPATH": f"{BUILD}/lua/lua5.4/?.so;;",
    }


class Caller:
    """A process that calls the verbs of one driver."""

    def __init__(
        self, driver: str, command: list[str], urls: Sequence[str], lease_s: float
    ):
        self.driver = driver
        self.process = subprocess.Popen(
            [*command, *urls],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(lease_s),
        )
        self.cells: dict[int, Cell] = {}
        self.ended: dict[int, Ended] = {}
        self.said: queue.Queue[str] = queue.Queue()
        self.begun: dict[str, float] = {}  # the calls of each moment
        self.lock = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()
        if driver == "Lua":
            threading.Thread(target=self._tick, daemon=True).start()

    def _tick(self) -> None:
        """Lua fetches what has come each time."""
        with contextlib.suppress(OSError, ValueError):  # it has ended
            while True:
                self.send("tick")
                time.sleep(TICK_S)

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            word, *rest = json.loads(line)
            if rest:
                self._take(int(word), *rest)
            else:
                self.said.put(word)
        self.said.put("gone")

    def _take(
        self, number: int, began: float | None, ended: float | None, *how: str
    ) -> None:
        """A driver without a clock leaves the times to its reader."""
        status, text = how
        if status in {"ILK_ETIMEOUT", "ILK_EBUSY"}:
            status = "NO"
        self.ended[number] = Ended(
            began or self.begun[self.cells[number].when],
            ended or time.monotonic(),
            status,
            text,
        )

    def send(self, line: str) -> None:
        assert self.process.stdin
        with self.lock:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()

    def add(self, cell: Cell) -> None:
        self.cells[cell.number] = cell
        self.send(cell.line())

    def hear(self, word: str) -> None:
        said = self.said.get(timeout=REST_S)
        assert said == word, f"{self.driver} says {said}, not {word}"

    def left(self, is_meant: Callable[[Cell], bool]) -> list[Cell]:
        """The calls that still run, of those that are meant."""
        return [
            cell
            for number, cell in self.cells.items()
            if number not in self.ended and is_meant(cell)
        ]

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


PYTHON = [sys.executable, str(HERE / "caller.py")]
C = [str(BUILD / "tests" / "outage_caller")]
LUA = ["lua5.4", str(HERE / "caller.lua")]
DRIVERS: dict[str, list[str]] = {
    "blocking": [*PYTHON, "blocking"],
    "asyncio": [*PYTHON, "asyncio"],
    "trio": [*PYTHON, "trio"],
    "C blocking": [*C, "blocking"],
    "C started": [*C, "started"],
    "Lua": [*LUA, "started"],
}


def verbs_of(place: Place | None, driver: str) -> list[str]:
    """The verbs of what the store offers, or all, as far as the driver has them."""
    *command, driver = DRIVERS[driver]
    done = subprocess.run(
        [*command, f"verbs-{driver}"],
        capture_output=True,
        text=True,
        check=True,
        env=environment(),
    )
    known = done.stdout.split()
    if place is None:
        return known
    with interlock.connect(place.url()) as client:
        return [
            verb
            for verb, (_, what) in VERBS.items()
            if verb in known
            and verb not in place.lacks
            and all(map(client.offers, what.split()))
        ]


class Walk:
    """One outage at one place."""

    def __init__(self, place: Place, drivers: Sequence[str], kind: str):
        self.place, self.kind = place, kind
        self.returns = kind in {"back", "failover"}
        given = LONG_S if self.returns else CAP_S
        urls = [
            place.url(query)
            for query in ("", f"outage={int(given * 1000)}ms", "outage=0")
        ]
        self.callers = [
            Caller(one, DRIVERS[one], urls, place.lease_s) for one in drivers
        ]
        try:
            self._add_cells()
        except BaseException:
            self.close()
            raise

    def _add_cells(self) -> None:
        plan = plan_return if self.returns else plan_outage
        number = 0
        for caller in self.callers:
            verbs = verbs_of(self.place, caller.driver)
            for verb, when, client, limit in plan(verbs, self.place.keeps_places):
                name = f"test{self.place.tag}:{uuid.uuid4().hex[:12]}"
                cell = Cell(number, verb, when, client, limit, name)
                caller.add(cell)
                number += 1
                gave_up = when == "during" and not self.returns and limit != FOREVER
                if verb in TAKING and gave_up:
                    caller.add(Cell(number, verb, "after", "plain", AFTER_S, name))
                    number += 1

    def tell(self, word: str) -> None:
        """All callers do it at the same time."""
        for caller in self.callers:
            moment = {"wait": "waiting", "go": "during"}.get(word, word)
            caller.begun[moment] = time.monotonic()
            caller.send(word)
        for caller in self.callers:
            caller.hear(word)

    def run(self) -> list[str]:
        """What is wrong, a line for each call."""
        self.tell("prepare")
        self.tell("wait")
        began, wait_for_next = self._begin()
        self.tell("go")
        if self.returns:
            rest = began + AWAY_S - time.monotonic()
            time.sleep(max(rest, 0))
        outage = Outage(
            began, 0, self.kind == "frozen", self.returns, self.kind == "failover",
            self.place.has_gateway, self.place.outage_s, self.place.errors,
        )  # fmt: skip
        if not self.returns:
            self._await_ends(
                lambda cell: cell.when != "after" and not outage.is_answered(cell),
                self.place.outage_s + LIMIT_S + 3 * SLACK_S,
            )
        outage.ended = time.monotonic()
        if wait_for_next:
            wait_for_next()
        elif self.kind == "frozen":
            self.place.thaw()
        else:
            self.place.start()
        self.tell("serve")
        self._await_ends(lambda cell: cell.when != "after", 2 * LONG_S)
        self.tell("after")
        self._await_ends(lambda cell: cell.when == "after", 2 * LONG_S)
        return [
            f"{self.place.name} | {self.kind} | {caller.driver} | {cell} | {wrong}"
            for caller in self.callers
            for cell in caller.cells.values()
            if (wrong := outage.complaint(cell, caller.ended.get(cell.number)))
        ]

    def _begin(self) -> tuple[float, Callable[[], None] | None]:
        began = time.monotonic()
        if self.kind == "failover":
            return began, self.place.fail_over()
        if self.kind == "frozen":
            self.place.freeze()
        else:
            self.place.kill()
        return began, None

    def _await_ends(self, is_meant: Callable[[Cell], bool], seconds: float) -> None:
        """Or the end of all patience; those that still run are found then."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if not any(caller.left(is_meant) for caller in self.callers):
                return
            time.sleep(0.05)

    def close(self) -> None:
        for caller in self.callers:
            caller.close()


def is_in_reach(place: Place) -> bool:
    try:
        with interlock.connect(place.url()) as client:
            return client.ping()
    except interlock.Error:
        return False


def walk(place: Place, drivers: Sequence[str], kind: str) -> list[str]:
    until(lambda: is_in_reach(place), 60, "servers that can be reached")
    one = Walk(place, drivers, kind)
    try:
        return one.run()
    finally:
        one.close()
