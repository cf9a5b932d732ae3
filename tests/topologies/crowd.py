# SPDX-License-Identifier: MIT
"""Clients that wait for locks, and the rules that they watch."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Protocol

import interlock
from cluster import until


class Servers(Protocol):
    def url(self) -> str: ...


class Waiter:
    """A thread of another client that takes the lock and keeps it."""

    def __init__(self, nodes: Servers, name: str, ttl: float = 20):
        self.client = interlock.connect(nodes.url())
        self.lock = self.client.lock(name, ttl=ttl)
        self.acquired = threading.Event()
        self.error: Exception | None = None
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self) -> None:
        try:
            if self.lock.acquire(90):
                self.acquired.set()
        except interlock.Error as error:
            self.error = error

    def end(self) -> None:
        self.thread.join(100)
        assert self.error is None
        assert self.lock.release()
        self.client.close()


def inspected_waiters(client: interlock.Client, name: str) -> int:
    return client.inspect(name).waiting or 0


@contextlib.contextmanager
def two_on(
    nodes: Servers,
    client: interlock.Client,
    name: str,
    ttl: float = 20,
    waiters: Callable[[interlock.Client, str], int] = inspected_waiters,
) -> Iterator[tuple[interlock.Lock, Waiter]]:
    """One holds and one waits; after the block the second gets the lock."""
    lock = client.lock(name, ttl=ttl)
    assert lock.acquire(5)
    waiter = Waiter(nodes, name, ttl)
    try:
        until(lambda: waiters(client, name) == 1, what="a waiter")
        yield lock, waiter
        assert not waiter.acquired.is_set()
        fence = lock.fence
        assert lock.release()
        assert waiter.acquired.wait(60)
        assert waiter.lock.fence > fence
        waiter.end()
    finally:
        waiter.client.close()


class Crowd:
    """Threads of some clients that take names in turn; two never hold one name.

    `away` are errors that a call may raise while a server is away; all_advance() waits
    for `patience_s`.
    """

    def __init__(
        self,
        nodes: Servers,
        names: list[str],
        clients: int = 3,
        ttl: float = 20,
        away: tuple[type[interlock.Error], ...] = (),
        patience_s: float = 60,
    ):
        self.ttl = ttl
        self.patience_s = patience_s
        self.away = away
        self.clients = [interlock.connect(nodes.url()) for _ in range(clients)]
        self.inside = dict.fromkeys(names, 0)
        self.fences = dict.fromkeys(names, 0)
        self.rounds = dict.fromkeys(names, 0)
        self.rounds_of = dict.fromkeys(self.clients, 0)
        self.faults: list[str] = []
        self.over = threading.Event()
        self.threads = [
            threading.Thread(target=self.work, args=(client, name), daemon=True)
            for client in self.clients
            for name in names
        ]
        for thread in self.threads:
            thread.start()

    def work(self, client: interlock.Client, name: str) -> None:
        while not self.over.is_set():
            lock = client.lock(name, ttl=self.ttl)
            try:
                if not lock.acquire(60):
                    self.faults.append(f"{name}: no lock in a minute")
                    continue
                self.inside[name] += 1
                if self.inside[name] != 1 and lock.held:
                    self.faults.append(f"{name}: two inside")
                if lock.fence <= self.fences[name]:
                    self.faults.append(
                        f"{name}: fence {lock.fence} after {self.fences[name]}"
                    )
                self.fences[name] = lock.fence
                self.rounds[name] += 1
                self.rounds_of[client] += 1
                self.inside[name] -= 1
                with contextlib.suppress(
                    interlock.UnknownOutcomeError, interlock.NoQuorumError
                ):  # no reply while nodes are missing
                    lock.release()
            except interlock.Error as error:
                if not isinstance(error, self.away):
                    self.faults.append(f"{name}: {error!r}")

    def all_advance(self, by: int = 3) -> None:
        before = dict(self.rounds)
        until(
            lambda: all(self.rounds[name] >= before[name] + by for name in before),
            self.patience_s,
            "progress at each name",
        )

    def all_clients_advance(self, by: int = 3) -> None:
        before = dict(self.rounds_of)
        until(
            lambda: all(self.rounds_of[one] >= before[one] + by for one in before),
            60,
            "progress of each client",
        )

    def end(self) -> None:
        self.all_advance()
        self.over.set()
        for thread in self.threads:
            thread.join(90)
            assert not thread.is_alive()
        assert not self.faults, self.faults[:5]

    def close(self) -> None:
        """Also when the test has failed: nobody goes on to look for the servers."""
        self.over.set()
        for client in self.clients:
            client.close()


@contextlib.contextmanager
def crowd(
    nodes: Servers,
    names: list[str],
    ttl: float = 20,
    away: tuple[type[interlock.Error], ...] = (),
    patience_s: float = 60,
) -> Iterator[Crowd]:
    one = Crowd(nodes, names, ttl=ttl, away=away, patience_s=patience_s)
    try:
        one.all_advance()
        yield one
        one.end()
    finally:
        one.close()
