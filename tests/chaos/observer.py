# SPDX-License-Identifier: MIT
"""Clients of the harness itself on a server during the faults, without a proxy.

An observer inspects the wait queues, over and over. A listener has several places in
the wait queue of a signal, and renews them one by one: so somebody else always waits,
and no signal may be dropped.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import interlock
from history import Writer

PAUSE = 0.003  # seconds between two looks
REST = 0.02  # after an error
SIGNAL, WAIT_MS = "signal0", 400
NAMES = [f"lock:lock{number}" for number in range(4)] + ["rw:rw0", "rw:rw1"]


class Watcher:
    """A thread with a client and a history of its own."""

    name = ""

    def __init__(self, url: str, directory: Path):
        self.url, self.path = url, directory / f"{self.name}.history"
        self.over = threading.Event()
        self.count = 0  # of operations
        self.thread = threading.Thread(target=self.run)

    def __enter__(self) -> Watcher:
        self.thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.over.set()
        self.thread.join()

    def run(self) -> None:
        self.writer = Writer(self.path)
        with interlock.connect(self.url, reply_timeout=60) as client:
            self.watch(client)
        self.writer.close()

    def watch(self, client: interlock.Client) -> None:
        raise NotImplementedError

    def begins(self, verb: str, *what: str, **args: object) -> str:
        self.count += 1
        op = f"{self.name}.0.{self.count}"
        self.writer.line("b", op, verb, *what, **args)
        return op


class Observer(Watcher):
    name = "observer"

    def watch(self, client: interlock.Client) -> None:
        looks: list[tuple[str, Callable[[str], Any]]] = [
            (name, client.inspect) for name in NAMES
        ]
        looks.append(("semaphore:sem0", client.inspect_semaphore))
        while not self.over.wait(PAUSE):
            what, look = looks[self.count % len(looks)]
            kind, name = what.split(":")
            op = self.begins("inspect", kind, name)
            tokens = ",".join(waiter.token for waiter in look(name).waiters)
            self.writer.line("e", op, "ok", waiting=tokens)


class Listener(Watcher):
    name = "listener"

    def watch(self, client: interlock.Client) -> None:
        places = deque((one, "") for one in [client.signal(SIGNAL) for _ in range(4)])
        while not self.over.is_set():
            signal, listened = places.popleft()
            if listened:
                self.wait(signal, listened)
            places.append((signal, self.listen(signal)))

    def listen(self, signal: interlock.Signal) -> str:
        """The operation; empty after an error, and a pause."""
        op = self.begins("listen", "signal", SIGNAL)
        try:
            signal.listen()
        except interlock.Error as error:
            self.writer.line("e", op, error.status)
            self.over.wait(REST)
            return ""
        self.writer.line("e", op, "ok")
        return op

    def wait(self, signal: interlock.Signal, listened: str) -> None:
        op = self.begins("wait", "signal", SIGNAL, hold=listened, ms=WAIT_MS)
        try:
            data = signal.wait(WAIT_MS / 1000)
        except interlock.Error as error:
            self.writer.line("e", op, error.status)
            return
        if data is None:
            self.writer.line("e", op, "no")
        else:
            self.writer.line("e", op, "ok", data=data.decode())
