# SPDX-License-Identifier: MIT
"""Three nodes without persistence that are a quorum, of which one at a time fails."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable

import interlock
from arena import BOUND, Arena
from faults import Fault
from history import Writer
from processes import Slot
from server import ClockedServer
from support import patience, wait_until
from violation import Violation

LONGEST_MS = 1500  # the longest lease of the scenarios, too
HOUR = 3600.0
NAMES = [f"lock{number}" for number in range(4)]
# Its nodes forget what they knew, so they keep no registers.
ENVIRONMENT = {"CHAOS_USES": "lock election"}


class QuorumArena(Arena):
    """A fault of a node is over when all nodes vote again. Then the next one begins.

    Each process has a link of its own to each node, and the faults of the network are
    those of one link. They may add to the fault of a node: the client at that link has
    no majority then.
    """

    def ahead(self, number: int) -> float:
        draw = random.Random(f"{self.seed} {number}")
        return draw.uniform(-3, 3) * HOUR

    def labels(self, at: int) -> list[str]:
        return [f"tcp{at}-{number}" for number in range(self.plan.nodes)]

    def url(self, labels: list[str]) -> str:
        return self.url_of(self.ports[label] for label in labels)

    def url_of(self, ports: Iterable[int]) -> str:
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        return f"redis://{hosts}?quorum&longest_lease_ms={LONGEST_MS}"

    def slot(self, kind: str, labels: list[str], at: int) -> Slot:
        slot = super().slot(kind, labels, at)
        slot.setting.env = {**slot.setting.env, **ENVIRONMENT}
        return slot

    def watch(self) -> None:
        """The faults begin when all nodes vote."""
        wait_until(lambda: all(map(votes, self.servers)), BOUND)

    # ---- faults --------------------------------------------------------------------

    def meet(self, lane: str, fault: Fault) -> None:
        if lane != "server":
            super().meet(lane, fault)
            return
        number = fault.target % len(self.servers)
        self.server = self.servers[number]
        super().meet(lane, fault)
        until = time.monotonic() + self.bound
        while not votes(self.server) and not self.over.wait(0.02):
            if time.monotonic() > until:
                text = f"node {number} does not vote again after {fault}"
                self.violations.append(Violation("wait", text))
                self.over.set()

    def partition(self, fault: Fault) -> None:
        """One process from all nodes."""
        slot = self.faulty[fault.target % len(self.faulty)]
        self.silence(slot.labels, fault)

    def cut_off(self, fault: Fault) -> None:
        number = self.servers.index(self.server)
        self.silence([slot.labels[number] for slot in self.slots], fault)

    def forget_with_other_clock(self, fault: Fault) -> None:
        """A clock that steps while the node votes would end its votes early."""
        self.server.kill()
        self.over.wait(fault.seconds)
        clock = self.server.clock
        clock.step(6 * HOUR * (fault.value - 0.5) - clock.offset)
        self.server.start()

    # ---- the end -------------------------------------------------------------------

    def set_events(self) -> None:
        """A quorum keeps no events."""

    def drain(self) -> None:
        """All nodes vote, and each lock can be held once more."""
        writer = Writer(self.directory / "harness.history")
        with interlock.connect(self.url_of(one.port for one in self.servers)) as client:
            try:
                wait_until(lambda: all(map(votes, self.servers)), BOUND)
            except AssertionError:
                states = [(node.state, node.error) for node in client.stats().nodes]
                text = f"not all nodes vote in the end: {states}"
                self.violations.append(Violation("wait", text))
                return
            for number, name in enumerate(NAMES):
                self.take(client, name, writer, f"harness.{number}")
        writer.close()

    def take(
        self, client: interlock.Client, name: str, writer: Writer, op: str
    ) -> None:
        lock = client.lock(name, ttl=1)
        writer.line("b", op, "acquire", "lock", name, units=1, capacity=1)
        if not lock.acquire(patience(BOUND)):
            writer.line("e", op, "no")
            self.violations.append(Violation("wait", f"{name} is never free"))
            return
        writer.line("e", op, "ok", fence=lock.fence, token=lock.token)
        lock.release()


def votes(node: ClockedServer) -> bool:
    return bool(node.call("HGET", "ilk:quorum:node", "member") == b"1")
