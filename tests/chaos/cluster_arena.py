# SPDX-License-Identifier: MIT
"""A cluster of three primaries, of which one at a time fails, and whose slots move."""

from __future__ import annotations

import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "topologies"))

import interlock
from arena import BOUND, Arena
from cluster import Cluster, Node
from faults import Fault
from history import Writer
from observer import NAMES as WAITED
from ports import free_node_port
from support import patience
from violation import Violation

# No fault of a node lasts so long, so no primary is declared failed.
NODE_TIMEOUT_MS = 20000
SIGNALS = ["signal0", "signal1"]
OTHERS = ["sem0", "elect0", "queue0", "queue1", "barrier2", "barrier3", "guard0"]
NAMES = [name.split(":")[1] for name in WAITED] + SIGNALS + OTHERS
# A client that was killed is given up after 6 s, and a refresh comes every 2 s.
REFRESHED_MS = 3000


def has_endpoint_types(program: str) -> bool:
    """Redis has `cluster-preferred-endpoint-type` since 7.0, Valkey always had it."""
    shown = subprocess.run([program, "--version"], capture_output=True, text=True)
    version = re.search(r"v=(\d+)", shown.stdout)
    return version is not None and int(version[1]) >= 7


class ChaosNode(Node):
    """It has what an arena needs of a server, and loses no write that it confirmed.

    It knows no host of its own. So its clients take the host at which they reached it
    for that of all nodes: each process has a host of its own, where the proxy listens at
    the port of each node.
    """

    def __init__(self, home: Path, program: str):
        port = free_node_port()
        self.dir, self.socket = str(home), str(home / f"{port}.socket")
        options = {
            "--cluster-node-timeout": str(NODE_TIMEOUT_MS),
            "--cluster-preferred-endpoint-type": "unknown-endpoint",
            "--appendonly": "yes",
            "--appendfsync": "always",
            "--unixsocket": self.socket,
        }
        words = (word for option in options.items() for word in option)
        super().__init__(home, port, program, tuple(words))

    def call(self, *words: object) -> Any:
        with self.redis() as client:
            found = client.execute_command(*words)
        return found.encode() if isinstance(found, str) else found

    def pause(self) -> None:
        self.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.send_signal(signal.SIGCONT)


class ClusterArena(Arena):
    """A fault of a node is over when all slots are served. Then the next one begins.

    Each process has a link of its own to each node, and the faults of the network are
    those of one link.
    """

    cluster: Cluster
    in_cluster = True

    def start_server(self, number: int) -> Any:
        """The first one is started with all others."""
        if number == 0:
            fast = "/dev/shm" if Path("/dev/shm").is_dir() else None
            home = Path(tempfile.mkdtemp(prefix="ilk-", dir=fast))
            self.opened.callback(shutil.rmtree, home, ignore_errors=True)
            self.cluster = Cluster(
                home,
                self.plan.nodes,
                0,
                new_node=lambda home: ChaosNode(home, self.program),
            )
            self.opened.callback(self.cluster.stop)
        return self.cluster.nodes[number]

    def labels(self, at: int) -> list[str]:
        return [f"127.0.1.{at + 1}:{node.port}" for node in self.cluster.nodes]

    def url(self, labels: Iterable[str]) -> str:
        return f"redis+cluster://{','.join(labels)}"

    def direct_url(self) -> str:
        return self.cluster.url()

    # ---- faults --------------------------------------------------------------------

    def meet(self, lane: str, fault: Fault) -> None:
        if lane == "server":
            self.server = self.servers[fault.target % len(self.servers)]
        super().meet(lane, fault)

    def partition(self, fault: Fault) -> None:
        """One process from all nodes."""
        slot = self.faulty[fault.target % len(self.faulty)]
        self.silence(slot.labels, fault)

    def cut_off(self, fault: Fault) -> None:
        number = self.servers.index(self.server)
        self.silence([slot.labels[number] for slot in self.slots], fault)

    def restart(self, fault: Fault) -> None:
        super().restart(fault)
        self.cluster.settle()

    def move_slot(self, fault: Fault) -> None:
        """The keys of one name go to another primary, one after another.

        Between the first key and the last, some of a script's keys exist at neither
        node. In half of the moves one of the two nodes fails then.
        """
        name = NAMES[fault.target % len(NAMES)]
        slot = self.cluster.slot(name)
        source = self.cluster.owner(slot)
        others = [node for node in self.cluster.nodes if node is not source]
        target = random.Random(fault.value).choice(others)
        self.cluster.begin_migration(slot, source, target)
        self.over.wait(fault.seconds / 4)
        keys = self.cluster.migrate_keys(slot, source, target, 1)
        if not {"freeze_server", "restart"} & set(self.plan.leaves_out):
            self.fail_in_move(fault, source, target)
        while self.cluster.migrate_keys(slot, source, target, 1):
            keys += 1
            self.over.wait(fault.seconds / 16)
        self.over.wait(fault.seconds / 4)
        self.cluster.end_migration(slot, target)
        self.log.line("m", name, f"keys={keys}")

    def fail_in_move(self, fault: Fault, source: Node, target: Node) -> None:
        self.server = source if fault.target % 2 else target  # type: ignore[assignment]
        if fault.value < 0.25:
            self.restart(fault)
        elif fault.value < 0.5:
            self.freeze_server(fault)

    # ---- the end -------------------------------------------------------------------

    def drain(self) -> None:
        super().drain()
        with interlock.connect(self.direct_url()) as client:
            for name in SIGNALS:
                self.drain_signal(client, name)

    def drain_signal(self, client: interlock.Client, name: str) -> None:
        """Wait for those that were given to the dead, as one more waiter.

        A node does not see that a client was killed, so such a signal may be handed on
        from one to the next before it comes to somebody who lives.
        """
        writer = Writer(self.directory / f"{name}.history")
        until, count = time.monotonic() + patience(BOUND), 0
        signal, wait = client.signal(name), {"ms": REFRESHED_MS}
        while self.is_given(name):
            if time.monotonic() > until:
                text = f"{name}: one is on its way and comes to nobody"
                self.violations.append(Violation("signal", text))
                break
            count += 1
            op = f"{name}.{count}"
            writer.line("b", op, "listen", "signal", name)
            signal.listen()
            writer.line("e", op, "ok")
            writer.line("b", op + ".wait", "wait", "signal", name, hold=op, **wait)
            data = signal.wait(REFRESHED_MS / 1000)
            if data is None:
                writer.line("e", op + ".wait", "no")
            else:
                writer.line("e", op + ".wait", "ok", data=data.decode())
        writer.close()

    def is_given(self, name: str) -> bool:
        """Whether a node keeps one for somebody who has not acknowledged it."""
        slot = self.cluster.slot(name)
        with self.cluster.owner(slot).redis() as node:
            keys = node.execute_command("CLUSTER GETKEYSINSLOT", slot, 1000)
        return any("signal:given" in key for key in keys)
