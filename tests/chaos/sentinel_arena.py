# SPDX-License-Identifier: MIT
"""A primary with two replicas, watched by three sentinels that fail over.

Redis replicates asynchronously, so only what replicas have outlasts a failover. The
processes use what `min_replicas` covers, and events, for which one rule needs no copy.
docs/topologies.md says what is promised then; the faults stay within it:

- One server at a time has a fault, or a replica and then the primary. The next fault
  begins when both replicas follow the primary again, so the promoted one has each hold
  that any replica has acknowledged.
- A primary that was killed has no data when it is started again, after the switch.
- A frozen one goes on, as a second primary, when each hold of before the fault has ended.
  A renewal there would last longer than the copy at the new primary. It has no
  replicas then, so it grants to nobody, though some clients may go on with it: those
  that see no sentinel.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import sys
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "topologies"))

import interlock
from arena import BOUND, Arena
from faults import Fault
from history import Writer
from processes import Slot
from quorum_arena import NAMES
from scenarios import LEASES
from sentinel_service import SERVICE, Process, Service, encode
from support import ReplyError, patience, read_reply, wait_until
from violation import Violation

STRETCH = 3  # leases that outlast a failover, which takes about two seconds
ENVIRONMENT = {
    "CHAOS_STRETCH": str(STRETCH),
    "CHAOS_USES": "lock rwlock semaphore election event",
}
# The calls that a frozen primary does not answer end by the news of the switch.
QUERY = "?min_replicas=1&reply_timeout_ms=10000"
LONGEST = max(LEASES) * STRETCH
SWITCH = 30.0  # seconds for sentinels to promote another, and for all to follow it

# Sentinels look this often, in ms, so that a former primary is a replica again after 2 s,
# not 10 s. One that was kept from running trusts itself again after 2 s.
PERIODS = ["info-period", 500, "publish-period", 500, "ping-period", 200]
PERIODS += ["ask-period", 200, "tilt-period", 2000]
FAILOVER_TIMEOUT_MS = 4000  # until another sentinel tries


class SentinelArena(Arena):
    """The faults of the network are those of the links to the sentinels. These name the
    servers' own ports, so the links to the servers have no proxy.
    """

    def open(self) -> None:
        self.service = Service(program=self.program)
        self.opened.callback(self.close_service)
        for sentinel in self.service.sentinels:
            hasten(sentinel)
        wait_until(self.is_settled, SWITCH)
        self.primary = self.service.primary()
        self.misled: list[Slot] = []  # processes that see no sentinel
        sockets = [sentinel.socket for sentinel in self.service.sentinels]
        self.open_proxy(sockets, str(self.service.dir))

    def close_service(self) -> None:
        """The logs stay beside the histories."""
        for log in self.service.dir.glob("*/*.log"):
            shutil.copy(log, self.directory)
        self.service.close()

    def labels(self, at: int) -> list[str]:
        count = len(self.service.sentinels)
        return [f"tcp{at}-{number}" for number in range(count)]

    def url(self, labels: list[str]) -> str:
        hosts = ",".join(f"127.0.0.1:{self.ports[label]}" for label in labels)
        return f"redis+sentinel://{hosts}/{SERVICE}/0{QUERY}"

    def direct_url(self) -> str:
        return self.service.url(query="?min_replicas=1")

    def slot(self, kind: str, labels: list[str], at: int) -> Slot:
        slot = super().slot(kind, labels, at)
        slot.setting.env = {**slot.setting.env, **ENVIRONMENT}
        return slot

    def watch(self) -> None:
        """No promise is about wait queues or signals."""

    # ---- the state of the service --------------------------------------------------

    def is_settled(self) -> bool:
        """Sentinels agree on a primary that both replicas follow."""
        with contextlib.suppress(OSError, ReplyError, IndexError, KeyError):
            service = self.service
            masters = [service.states(one, "MASTER")[0] for one in service.sentinels]
            ports = {int(state[b"port"]) for state in masters}
            return (
                len(ports) == 1
                and all(state[b"flags"] == b"master" for state in masters)
                and service.is_watched()
                and self.are_replicas_up()
                and followers(service.primary()) == 2
            )
        return False

    def are_replicas_up(self) -> bool:
        return all(
            state[b"flags"] == b"slave"
            for sentinel in self.service.sentinels
            for state in self.service.states(sentinel, "REPLICAS")
        )

    def settle(self) -> None:
        wait_until(self.is_settled, SWITCH)
        self.primary = self.service.primary()

    def has_switched(self) -> bool:
        """All sentinels that run name another primary than the former one."""
        with contextlib.suppress(OSError, ReplyError):
            ports = {
                int(sentinel.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", SERVICE)[1])
                for sentinel in self.service.sentinels
                if sentinel.is_running()
            }
            return len(ports) == 1 and self.primary.port not in ports
        return False

    # ---- faults --------------------------------------------------------------------

    def meet(self, lane: str, fault: Fault) -> None:
        if lane != "server":
            super().meet(lane, fault)
            return
        before = self.primary
        if self.service.primary() is not before:
            self.note_switch()
        super().meet(lane, fault)
        switches = fault.kind in ("kill_primary", "freeze_primary")
        self.settle()
        if not switches and self.primary is not before:
            self.note_switch()

    def note_switch(self) -> None:
        """A host that is too slow looks like one that fails."""
        self.faults["switch without a fault"] += 1
        self.log.line("f", "server", "switch without a fault")
        self.settle()

    def kill_primary(self, fault: Fault) -> None:
        """Perhaps with a sentinel, which names the former primary when it is back, or
        after a replica, so that the other one alone has the last holds.
        """
        former, sentinel = self.primary, self.sentinel(fault)
        replica = self.replicas()[fault.target % 2]
        if fault.value < 0.35:
            sentinel.kill()
        elif fault.value < 0.7:
            replica.kill()
            self.over.wait(fault.seconds)
        former.kill()
        wait_until(self.has_switched, SWITCH)
        self.over.wait(fault.seconds)
        if not sentinel.is_running():
            self.start_sentinel(sentinel)
        if not replica.is_running():
            # Not while the former primary is there: it must not be its replica.
            start(replica)
            wait_until(lambda: followers(self.service.primary()) == 1, SWITCH)
        start(former)

    def freeze_primary(self, fault: Fault) -> None:
        """Some processes, or none, see no sentinel until it has gone on for a while."""
        former, until = self.primary, time.monotonic() + LONGEST + 0.5
        first, count = fault.target % len(self.faulty), int(fault.value * 4)
        self.misled = (self.faulty + self.faulty)[first : first + count]
        self.silence_misled(600)
        former.freeze()
        wait_until(self.has_switched, SWITCH)
        time.sleep(max(0.0, until - time.monotonic()))
        former.thaw()
        self.over.wait(fault.seconds)
        self.silence_misled(0)
        self.misled = []

    def kill_replica(self, fault: Fault) -> None:
        replica = self.replicas()[fault.target % 2]
        replica.kill()
        self.over.wait(fault.seconds)
        start(replica)

    def freeze_replica(self, fault: Fault) -> None:
        self.freeze_all(self.replicas()[fault.target % 2 :][:1], fault)

    def freeze_replicas(self, fault: Fault) -> None:
        """Nobody gets a hold meanwhile."""
        self.freeze_all(self.replicas(), fault)

    def freeze_all(self, processes: list[Process], fault: Fault) -> None:
        for process in processes:
            process.freeze()
        self.over.wait(fault.seconds)
        for process in processes:
            process.thaw()

    def kill_sentinel(self, fault: Fault) -> None:
        sentinel = self.sentinel(fault)
        sentinel.kill()
        self.over.wait(fault.seconds)
        self.start_sentinel(sentinel)

    def kill_clients(self, fault: Fault) -> None:
        """All connections of one kind, over and over."""
        kind = "pubsub" if fault.value < 0.5 else "normal"
        until = time.monotonic() + fault.seconds
        while time.monotonic() < until and not self.over.wait(0.1):
            self.primary.call("CLIENT", "KILL", "TYPE", kind)

    def kill(self, fault: Fault) -> None:
        """A new process would not have the connections of one that is misled."""
        slots = self.in_touch()
        slot = slots[fault.target % len(slots)]
        super().kill(replace(fault, target=self.faulty.index(slot)))

    def partition(self, fault: Fault) -> None:
        """One process from all sentinels."""
        slots = self.in_touch()
        self.silence(slots[fault.target % len(slots)].labels, fault)

    def label(self, fault: Fault) -> str:
        labels = [label for slot in self.in_touch() for label in slot.labels]
        return labels[fault.target % len(labels)]

    def in_touch(self) -> list[Slot]:
        """The processes that are not misled."""
        misled = self.misled
        return [slot for slot in self.faulty if slot not in misled]

    def silence_misled(self, seconds: float) -> None:
        more = {"up": True, "down": True, "for": seconds}
        for label in [label for slot in self.misled for label in slot.labels]:
            self.ask(do="dead", label=label, **more)

    def replicas(self) -> list[Process]:
        return [one for one in self.service.servers if one is not self.primary]

    def sentinel(self, fault: Fault) -> Process:
        return self.service.sentinels[fault.target % len(self.service.sentinels)]

    def start_sentinel(self, sentinel: Process) -> None:
        start(sentinel)
        hasten(sentinel)

    # ---- the end -------------------------------------------------------------------

    def drain(self) -> None:
        """Each lock can be held once more, at the primary of now."""
        writer = Writer(self.directory / "harness.history")
        with interlock.connect(self.direct_url()) as client:
            for number, name in enumerate(NAMES):
                lock, op = client.lock(name, ttl=1), f"harness.{number}"
                writer.line("b", op, "acquire", "lock", name, units=1, capacity=1)
                if not lock.acquire(patience(BOUND)):
                    writer.line("e", op, "no")
                    found = Violation("wait", f"{name} is never free")
                    self.violations.append(found)
                    continue
                writer.line("e", op, "ok", fence=lock.fence, token=lock.token)
                lock.release()
        writer.close()


def hasten(sentinel: Process) -> None:
    sentinel.call("SENTINEL", "DEBUG", *PERIODS)
    timeout = ("failover-timeout", FAILOVER_TIMEOUT_MS)
    sentinel.call("SENTINEL", "SET", SERVICE, *timeout)


def followers(primary: Process) -> int:
    """The replicas that have a write of now."""
    with socket.create_connection(("127.0.0.1", primary.port), timeout=5) as conn:
        conn.sendall(encode("SET", "settled", "1") + encode("WAIT", 2, 1000))
        with conn.makefile("rb") as replies:
            read_reply(replies)
            return int(read_reply(replies))


def start(process: Process) -> None:
    """While it was down, a connection of somebody else may have got its port."""

    def is_started() -> bool:
        with contextlib.suppress(AssertionError):
            process.start()
        return process.is_running()

    wait_until(is_started, 20)
