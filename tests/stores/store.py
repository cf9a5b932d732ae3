# SPDX-License-Identifier: MIT
"""A store of the tests: one server or three, the URL of its clients, and its faults."""

from __future__ import annotations

import abc
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import interlock
from server_process import ServerProcess

if TYPE_CHECKING:
    from typing_extensions import Self

BRIEF_S = 4.0  # the longest session of a store that forgets its clients soon
LONG_S = 120.0  # of one that bears with them: longer than all leases of the tests


class Store(abc.ABC):
    """A running store. `count` servers; session_s bounds its clients' sessions."""

    scheme: ClassVar[str]
    programs: ClassVar[Sequence[str]]  # that must be on PATH
    packages: ClassVar[str]  # of Debian, that have them
    offers: ClassVar[frozenset[str]]  # as client.offers() has them
    counts: ClassVar[tuple[int, ...]] = (1,)  # of servers that it can have
    # A hold may outlast its lease by so much when its client has died: the store
    # counts in whole seconds, or looks for dead sessions now and then.
    slack_s: ClassVar[float] = 1.0
    # The options that the conformance table's leases of a minute need.
    table_query: ClassVar[str] = ""

    # Whether places in a queue outlast a restart of the server.
    keeps_places: ClassVar[bool] = True

    def __init__(self, count: int = 1, session_s: float = LONG_S):
        self.session_s = session_s
        self.home = Path(tempfile.mkdtemp(prefix="ilk-store-"))
        self.servers: list[ServerProcess] = []
        try:
            self.servers = self.make_servers(count)
            for server in self.servers:
                server.launch()
            for server in self.servers:
                server.await_ready()
        except BaseException:
            self.stop()
            raise

    # ---- what a store defines --------------------------------------------------

    @classmethod
    def missing(cls) -> str:
        """The programs that this machine does not have; "" when all are there."""
        return ", ".join(one for one in cls.programs if not shutil.which(one))

    @abc.abstractmethod
    def make_servers(self, count: int) -> list[ServerProcess]: ...

    @property
    @abc.abstractmethod
    def ports(self) -> list[int]:
        """The port of each server for clients."""

    @abc.abstractmethod
    def url(self, query: str = "", ports: Sequence[int] = ()) -> str:
        """By the servers' own ports, or by those of proxies before them."""

    @abc.abstractmethod
    def remove_hold(self, name: str) -> None:
        """As an operator does it with the store's own tools: nobody holds the lock."""

    @abc.abstractmethod
    def end_sessions(self) -> None:
        """The store forgets its clients, or closes their connections, where an
        operator can have that."""

    def waiters(self, client: interlock.Client, name: str) -> int:
        """How many clients wait for the lock, of which each waits once."""
        return client.inspect(name).waiting or 0

    def has_diverged(self) -> bool:
        """Whether the servers themselves have lost what they had agreed on."""
        return False

    # ---- the same for all ------------------------------------------------------

    def hosts(self, ports: Sequence[int] = ()) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in ports or self.ports)

    def kill(self) -> None:
        for server in self.servers:
            server.kill()

    def start(self) -> None:
        for server in self.servers:
            server.launch()
        for server in self.servers:
            server.await_ready()

    def restart(self) -> None:
        self.kill()
        self.start()

    def freeze(self) -> None:
        for server in self.servers:
            server.freeze()

    def thaw(self) -> None:
        for server in self.servers:
            server.thaw()

    def stop(self) -> None:
        for server in self.servers:
            server.stop()
        shutil.rmtree(self.home, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        for server in self.servers:  # which is shown when the test has failed
            print(f"{server.home}:\n{server.end_of_log()}")
        self.stop()
