# SPDX-License-Identifier: MIT
"""Proxies between clients and a server: what they have in common.

A proxy is a process of its own. Each client has a listener of its own, so that
faults go to one client. Commands of the test come as lines of JSON on standard
input, and each is answered by a line on standard output; the end of input ends the
process. A subclass of Relay decides what happens to the bytes.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Collection
from typing import Any, Generic, TypeVar

CHUNK = 65536


class Link:
    """One connection of a client, and the one to the server that belongs to it."""

    def __init__(self, label: str, client: socket.socket, server: socket.socket):
        self.label, self.client, self.server = label, client, server


L = TypeVar("L", bound=Link)


def connect(place: str) -> socket.socket:
    """A connection to a socket's path, or to host:port."""
    if "/" not in place:
        host, _, port = place.rpartition(":")
        server = socket.create_connection((host, int(port)))
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return server
    server = socket.socket(socket.AF_UNIX)
    try:
        server.connect(place)
    except OSError:
        server.close()
        raise
    return server


class Relay(Generic[L]):
    def __init__(self, directory: str, labels: list[str], server_path: str):
        self.directory, self.server_path = directory, server_path
        self.selector = selectors.DefaultSelector()
        self.links: dict[socket.socket, L] = {}  # each end to its link
        for label in labels:
            listener = self.listen(label)
            listener.listen(128)
            listener.setblocking(False)
            self.selector.register(listener, selectors.EVENT_READ, label)

    # ---- what a subclass decides ---------------------------------------------

    def listen(self, label: str) -> socket.socket:
        """A bound socket for the clients of this label."""
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(os.path.join(self.directory, label))
        return listener

    def server_of(self, label: str) -> str:
        """The server that these clients reach: a socket's path, or host:port."""
        return self.server_path

    def new_link(self, label: str, client: socket.socket, server: socket.socket) -> L:
        raise NotImplementedError

    def receive(self, link: L, end: socket.socket, data: bytes) -> None:
        """Bytes of one end; none when it has closed."""
        raise NotImplementedError

    def flush(self, link: L) -> None:
        """Send what is due."""
        raise NotImplementedError

    def due(self, link: L) -> list[float]:
        """When something that waits is to be sent."""
        raise NotImplementedError

    def waiting(self) -> Collection[L]:
        """The links that may have something to send."""
        return set(self.links.values())

    def obey(self, what: dict[str, Any]) -> dict[str, Any]:
        """Execute a command of the test."""
        raise NotImplementedError

    # ---- the loop ------------------------------------------------------------

    def run(self) -> None:
        os.set_blocking(0, False)
        self.selector.register(sys.stdin, selectors.EVENT_READ, None)
        rest = b""
        while True:
            for key, _ in self.selector.select(self.pause()):
                if key.fileobj is sys.stdin:
                    more = os.read(0, CHUNK)
                    if not more:
                        return
                    *lines, rest = (rest + more).split(b"\n")
                    for line in lines:
                        print(json.dumps(self.obey(json.loads(line))), flush=True)
                elif isinstance(key.data, str):
                    self.accept(key.fileobj, key.data)
                elif key.fileobj in self.links:
                    self.read(key.fileobj)
            for link in list(self.waiting()):
                self.flush(link)

    def pause(self) -> float | None:
        """Seconds until something that waits is to be sent."""
        times = [at for link in self.waiting() for at in self.due(link)]
        return max(0.0, min(times) - time.monotonic()) if times else None

    def accept(self, listener: Any, label: str) -> None:
        client, _ = listener.accept()
        try:
            server = connect(self.server_of(label))
        except OSError:
            client.close()
            return
        link = self.new_link(label, client, server)
        for end in (client, server):
            end.setblocking(False)
            self.links[end] = link
            self.selector.register(end, selectors.EVENT_READ, link)

    def read(self, end: Any) -> None:
        try:
            data = end.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self.receive(self.links[end], end, data)

    def forget(self, end: socket.socket) -> None:
        """Close one end; the other one stays."""
        if self.links.pop(end, None):
            self.selector.unregister(end)
            end.close()

    def close(self, link: L) -> None:
        self.forget(link.client)
        self.forget(link.server)


class RelayProcess:
    """The process of a proxy, seen by the test."""

    def __init__(self, program: str, setting: dict[str, Any]):
        self.process = subprocess.Popen(
            [sys.executable, program, json.dumps(setting)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.ask(do="stats")  # it listens now

    def ask(self, **what: Any) -> Any:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(what).encode() + b"\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "the proxy has ended"
        return json.loads(line)

    def close(self) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
