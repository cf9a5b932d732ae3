# SPDX-License-Identifier: MIT
"""Servers with a proxy, processes and faults, from begin to verdict."""

from __future__ import annotations

import contextlib
import random
import signal
import sys
import threading
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "shared"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

import interlock
from faults import LANES, Fault, Plan, schedule
from history import Op, Writer, now_ns, read
from observer import Listener, Observer
from processes import Slot
from relay import RelayProcess
from rules import EXCLUSION, check
from rules_order import STEADY
from scenarios import EVENTS
from server import Clock, ClockedServer
from support import patience
from violation import Violation
from worker import Setting

HERE = Path(__file__).resolve().parent
ACTORS = 8  # threads or tasks of a process
FEW, PAUSE = 4, 0.12  # where only fences hold: actors; for each server, seconds to rest
BOUND = 20.0  # seconds until every call has ended, when the faults have


class Arena:
    """All that happens on one server; the arenas of a run are side by side.

    In a subclass it is several servers that are used as one.
    """

    in_cluster = False  # see rules_signal.py

    def __init__(
        self,
        plan: Plan,
        program: str,
        kinds: list[str],
        directory: Path,
        seed: str,
        env: dict[str, str] | None = None,  # of the programs
    ):
        self.plan, self.program, self.seed = plan, program, seed
        self.directory, self.env = directory, env or {}
        directory.mkdir()
        self.bound = patience(BOUND)
        self.over = threading.Event()
        self.faults: Counter[str] = Counter()
        self.violations: list[Violation] = []
        self.trouble: list[str] = []  # of the harness itself
        self.ops: list[Op] = []
        self.lost = 0  # exclusion, where it is not promised
        self.log = Writer(directory / "faults.log")
        self.began = now_ns()
        self.kinds = kinds
        self.slots: list[Slot] = []
        self.faulty = self.slots  # those that have faults
        self.mutex = threading.Lock()  # of the proxy's commands
        self.opened = contextlib.ExitStack()
        self.watchers = self.opened.enter_context(contextlib.ExitStack())

    def open(self) -> None:
        """The servers, and the proxy with a label for each process and server."""
        self.servers = [self.start_server(number) for number in range(self.plan.nodes)]
        self.server = self.servers[0]  # the one that has the faults
        self.open_proxy([one.socket for one in self.servers], self.server.dir)

    def open_proxy(self, paths: list[str], directory: str) -> None:
        """The proxy for the servers with these sockets, and the processes' places."""
        self.clients_clock = Clock(self.directory / "clients-clock")
        labels = [self.labels(at) for at in range(len(self.kinds))]
        sockets = {label: path for those in labels for label, path in zip(those, paths)}
        setting = {"directory": directory, "servers": sockets}
        self.proxy = RelayProcess(str(HERE / "proxy.py"), setting)
        self.opened.callback(self.proxy.close)
        self.ports: dict[str, int] = self.proxy.ask(do="stats")["ports"]
        self.slots = [
            self.slot(kind, those, at)
            for at, (kind, those) in enumerate(zip(self.kinds, labels))
        ]
        self.faulty = self.slots[: len(self.kinds) - self.plan.steady]

    def start_server(self, number: int) -> ClockedServer:
        place = self.directory / f"server{number}"
        place.mkdir()
        keeps, steps = self.plan.keeps_data, self.plan.steps_clock
        ahead = self.ahead(number)
        server = ClockedServer(self.program, place, keeps, steps, ahead)
        self.opened.callback(server.close)
        return server

    def ahead(self, number: int) -> float:
        """Seconds by which a server's clock differs from the time of day."""
        return 0.0

    def labels(self, at: int) -> list[str]:
        """Those of one process, in the order of the servers."""
        return [f"{'tcp' if at % 2 else 'unix'}{at}"]

    def url(self, labels: list[str]) -> str:
        """Where the process with these labels finds the servers."""
        if labels[0] in self.ports:
            return f"redis://127.0.0.1:{self.ports[labels[0]]}"
        return f"unix://{self.server.dir}/{labels[0]}"

    def direct_url(self) -> str:
        """Where the harness itself finds them, without the proxy."""
        return self.server.unix_url

    def slot(self, kind: str, labels: list[str], at: int) -> Slot:
        name, url = f"{kind}{at}", self.url(labels)
        if at >= len(self.kinds) - self.plan.steady:
            # It waits for replies however slow the host is.
            name, url = f"{STEADY}-{name}", f"{url}?reply_timeout_ms=60000"
        setting = Setting(name, url, self.directory, self.seed, ACTORS)
        if self.plan.kind != EXCLUSION:
            setting.rest, setting.actors = PAUSE * self.plan.nodes, FEW
        if kind == "c":
            setting.env = {**self.env, **self.clients_clock.environment}
        return Slot(kind, labels, setting)

    # ---- the run -----------------------------------------------------------------

    def run(self, seconds: float, pace: float) -> None:
        """The faults, their end, the end of all calls, the verdict."""
        try:
            self.open()
            for slot in self.slots:
                slot.start()
            self.watch()
            lanes = [
                threading.Thread(target=self.lane, args=[lane, pace], daemon=True)
                for lane in LANES
            ]
            for thread in lanes:
                thread.start()
            self.over.wait(seconds)
            self.over.set()
            for thread in lanes:
                thread.join()
            self.end()
        except Exception:
            self.trouble.append(traceback.format_exc())
        finally:
            self.close()

    def watch(self) -> None:
        if self.plan.kind == EXCLUSION:
            watchers = [Listener, Observer] if self.plan.steady else [Listener]
            for watcher in watchers:
                one = watcher(self.direct_url(), self.directory)
                self.watchers.enter_context(one)

    def lane(self, lane: str, pace: float) -> None:
        try:
            for fault in schedule(self.seed, self.plan, lane, pace):
                if self.over.wait(fault.pause):
                    return
                self.faults[fault.kind] += 1
                self.log.line("f", lane, str(fault))
                self.meet(lane, fault)
                self.log.line("h", lane, str(fault))
        except Exception:
            self.trouble.append(f"{lane} lane: {traceback.format_exc()}")
            self.over.set()

    def meet(self, lane: str, fault: Fault) -> None:
        getattr(self, fault.kind)(fault)

    def end(self) -> None:
        """When the faults are over, every call gets its answer."""
        self.ask(do="heal")
        (self.directory / "stop").touch()
        until = time.monotonic() + self.bound
        set_at = 0.0
        while any(slot.is_alive() for slot in self.slots):
            if time.monotonic() > until:
                break
            if time.monotonic() > set_at + 1:
                self.set_events()
                set_at = time.monotonic()
            time.sleep(0.02)
        self.watchers.close()
        stuck = {slot.setting.name for slot in self.slots if slot.is_alive()}
        for slot in self.slots:
            slot.kill()
            slot.note_end()
            self.trouble += slot.failed
        for path in self.directory.glob("*.error"):
            self.trouble.append(path.read_text())
        if not stuck:
            self.drain()
        self.ops = read(sorted(self.directory.glob("*.history")))
        found, self.lost = check(self.ops, self.plan.kind, self.in_cluster)
        self.violations += found
        for name in stuck:
            self.violations += self.waits_of(name)

    def waits_of(self, name: str) -> list[Violation]:
        """The calls of a process that do not end."""
        slot = next(one for one in self.slots if one.setting.name == name)
        of = f"{name}-{slot.count}."
        found = [one for one in self.ops if one.op.startswith(of) and not one.ended]
        places = [one.place for one in found]
        text = f"{name} has calls without an end: {[one.op for one in found]}"
        return [Violation("wait", text, places)]

    def set_events(self) -> None:
        """All that somebody may still wait for, which a lost memory may have cleared."""
        writer = Writer(self.directory / "harness.history")
        first, last = (int(at / 1e9 / EVENTS) for at in (self.began, now_ns()))
        with interlock.connect(self.direct_url()) as client:
            for number in range(first, last + 2):
                op = f"harness.{number}.{now_ns()}"
                name = f"event{number}"
                writer.line("b", op, "set", "event", name)
                client.event(name).set()
                writer.line("e", op, "ok")
        writer.close()

    def drain(self) -> None:
        """Take all messages that are left, as one more consumer."""
        writer = Writer(self.directory / "drain.history")
        until, count = time.monotonic() + patience(BOUND), 0
        with interlock.connect(self.direct_url()) as client:
            for name in ("queue0", "queue1"):
                queue = client.queue(name, max_attempts=None)
                while True:
                    count += 1
                    op = f"drain.{count}"
                    writer.line("b", op, "reserve", "queue", name, wait=2)
                    job = queue.reserve(2, 60)
                    if job is None:
                        writer.line("e", op, "no")
                        info = queue.inspect()
                        if not (info.ready or info.delayed or info.taken):
                            break
                        if time.monotonic() > until:
                            self.trouble.append(f"{name} does not get empty: {info}")
                            break
                        continue
                    found = f"data={job.data.decode()}"
                    writer.line("e", op, "ok", found, f"attempts={job.attempts}")
                    writer.line("b", op + ".ack", "ack", "queue", name, f"hold={op}")
                    done = job.ack()
                    writer.line("e", op + ".ack", "ok" if done else "no")
        writer.close()

    def close(self) -> None:
        for slot in self.slots:
            slot.kill()
        self.opened.close()
        self.log.close()

    # ---- processes -----------------------------------------------------------------

    def kill(self, fault: Fault) -> None:
        slot = self.faulty[fault.target % len(self.faulty)]
        slot.kill()
        slot.note_end()
        self.over.wait(fault.seconds)
        slot.start()

    def freeze(self, fault: Fault) -> None:
        slot = self.faulty[fault.target % len(self.faulty)]
        slot.signal(signal.SIGSTOP)
        self.over.wait(fault.seconds)
        slot.signal(signal.SIGCONT)

    def clients_clock_steps(self, fault: Fault) -> None:
        """No client goes by the time of day."""
        self.clients_clock.step(7200 * (fault.value - 0.5))

    # ---- the network ---------------------------------------------------------------

    def ask(self, **what: Any) -> Any:
        with self.mutex:
            return self.proxy.ask(**what)

    def label(self, fault: Fault) -> str:
        labels = [label for slot in self.faulty for label in slot.labels]
        return labels[fault.target % len(labels)]

    def delay(self, fault: Fault) -> None:
        seconds = 0.002 + 0.3 * fault.value**3
        more = {"seconds": seconds, "for": fault.seconds}
        self.ask(do="delay", label=self.label(fault), **more)
        self.over.wait(fault.seconds * 0.5)

    def cut(self, fault: Fault) -> None:
        self.ask(do="cut", label=self.label(fault))

    def late(self, fault: Fault) -> None:
        label = self.label(fault)
        self.ask(do="dead", label=label, up=True, down=False, **{"for": 0.1})
        self.over.wait(0.03)
        self.ask(do="late", label=label, **{"for": fault.seconds})

    def dead(self, fault: Fault) -> None:
        up, down = fault.value < 0.66, fault.value > 0.33
        more = {"up": up, "down": down, "for": fault.seconds}
        self.ask(do="dead", label=self.label(fault), **more)
        self.over.wait(fault.seconds * 0.5)

    def refuse(self, fault: Fault) -> None:
        self.ask(do="refuse", label=self.label(fault), **{"for": fault.seconds})

    def partition(self, fault: Fault) -> None:
        self.silence([label for slot in self.faulty for label in slot.labels], fault)

    def silence(self, labels: list[str], fault: Fault) -> None:
        """Nothing passes, in both directions."""
        for label in labels:
            self.ask(
                do="dead", label=label, up=True, down=True, **{"for": fault.seconds}
            )
        self.over.wait(fault.seconds)

    # ---- the server ----------------------------------------------------------------

    def storm(self, fault: Fault, pause: float, *words: str) -> None:
        until = time.monotonic() + fault.seconds
        while time.monotonic() < until and not self.over.wait(pause):
            self.server.call(*words)

    def kill_clients(self, fault: Fault) -> None:
        """All connections of one kind, or one after the other."""
        if fault.value < 0.5:
            kind = "pubsub" if fault.value < 0.25 else "normal"
            self.storm(fault, 0.1, "CLIENT", "KILL", "TYPE", kind)
            return
        rng = random.Random(fault.value)
        until = time.monotonic() + fault.seconds
        while time.monotonic() < until and not self.over.wait(0.01):
            text = self.server.call("CLIENT", "LIST")
            ids = [line.split()[0][3:] for line in text.decode().splitlines()]
            self.server.call("CLIENT", "KILL", "ID", rng.choice(ids))

    def flush_scripts(self, fault: Fault) -> None:
        self.storm(fault, 0.005, "SCRIPT", "FLUSH")

    def out_of_memory(self, fault: Fault) -> None:
        self.server.call("CONFIG", "SET", "maxmemory", "1")
        self.over.wait(fault.seconds)
        self.server.call("CONFIG", "SET", "maxmemory", "0")

    def freeze_server(self, fault: Fault) -> None:
        self.server.pause()
        self.over.wait(fault.seconds)
        self.server.resume()

    def restart(self, fault: Fault) -> None:
        self.server.kill()
        self.over.wait(fault.seconds)
        self.server.start()

    forget = restart

    def flush_all(self, fault: Fault) -> None:
        self.server.call("FLUSHALL")

    def clock_forward(self, fault: Fault) -> None:
        self.server.clock.step(10 ** (4 * fault.value))  # up to three hours

    def clock_back(self, fault: Fault) -> None:
        self.server.clock.step(-2 * fault.value)  # leases last so much longer
