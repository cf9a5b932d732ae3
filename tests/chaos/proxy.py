# SPDX-License-Identifier: MIT
"""A proxy whose network fails: it keeps bytes back, loses connections, and lies not.

Each client has a label for each server. Commands, with `label` and, where it applies, `for` seconds:

    delay   all that is sent takes `seconds` longer
    cut     its connections end
    dead    nothing passes in the directions `up` (to the server) and `down`; it is
            delivered afterwards, as a network does that was interrupted
    refuse  new connections end at once
    tear    each connection ends after 1 to `bytes` bytes in both directions, drawn
            from `seed`
    late    the client's ends are closed; what was sent before reaches the server later
    heal    all labels work again

Labels that begin with "tcp" listen on a port, those that are an address there, the
others on a unix socket.
"""

from __future__ import annotations

import json
import random
import socket
import sys
import time
from collections import deque
from collections.abc import Collection
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "shared"))

from relay import Link, Relay


class Line:
    """The faults in the network of one label, and until when."""

    def __init__(self) -> None:
        self.delay, self.delay_until = 0.0, 0.0
        self.dead_until = {"up": 0.0, "down": 0.0}
        self.refuse_until = 0.0
        self.tear_until, self.tear_bytes = 0.0, 0


class Way:
    """The bytes on their way in one direction of one connection."""

    def __init__(self, source: socket.socket, target: socket.socket, which: str):
        self.source, self.target, self.which = source, target, which
        self.bytes: deque[tuple[float, bytes]] = deque()
        self.ends = False  # the source has closed
        self.next_at = 0.0


class FaultyLink(Link):
    def __init__(self, label: str, client: socket.socket, server: socket.socket):
        super().__init__(label, client, server)
        self.ways = [Way(client, server, "up"), Way(server, client, "down")]
        self.is_late = False  # the client's end is closed
        self.left: int | None = None  # bytes until it is torn


class Proxy(Relay[FaultyLink]):
    def __init__(self, directory: str, servers: dict[str, str]):
        self.servers = servers  # each label's
        self.lines = {label: Line() for label in servers}
        self.ports: dict[str, int] = {}
        self.loaded: set[FaultyLink] = set()  # those with bytes on their way
        self.rng = random.Random()
        super().__init__(directory, list(servers), "")

    def server_of(self, label: str) -> str:
        return self.servers[label]

    def listen(self, label: str) -> socket.socket:
        host, _, port = label.rpartition(":")
        if not host and not label.startswith("tcp"):
            return super().listen(label)
        listener = socket.socket()
        listener.bind((host, int(port)) if host else ("127.0.0.1", 0))
        self.ports[label] = listener.getsockname()[1]
        return listener

    def accept(self, listener: Any, label: str) -> None:
        if time.monotonic() < self.lines[label].refuse_until:
            client, _ = listener.accept()
            client.close()
            return
        super().accept(listener, label)

    def new_link(
        self, label: str, client: socket.socket, server: socket.socket
    ) -> FaultyLink:
        if client.family == socket.AF_INET:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return FaultyLink(label, client, server)

    def waiting(self) -> Collection[FaultyLink]:
        return self.loaded

    def due(self, link: FaultyLink) -> list[float]:
        return [way.next_at for way in link.ways if way.bytes or way.ends]

    def receive(self, link: FaultyLink, end: socket.socket, data: bytes) -> None:
        if link.is_late:
            if not data:
                self.drop(link)
            return
        way = link.ways[0 if end is link.client else 1]
        line, now = self.lines[link.label], time.monotonic()
        delay = line.delay if now < line.delay_until else 0.0
        ends = not data
        if data and now < line.tear_until:
            data = self.tear(link, line, data)
            ends = link.left == 0
        if data:
            # Bytes do not overtake each other when a delay ends.
            before = way.bytes[-1][0] if way.bytes else 0.0
            way.bytes.append((max(before, now + delay), data))
        if ends:
            way.ends = True
            self.selector.unregister(end)
        self.loaded.add(link)

    def tear(self, link: FaultyLink, line: Line, data: bytes) -> bytes:
        """The part of these bytes that is still delivered."""
        if link.left is None:
            link.left = self.rng.randint(1, line.tear_bytes)
        data = data[: link.left]
        link.left -= len(data)
        return data

    def flush(self, link: FaultyLink) -> None:
        now = time.monotonic()
        for way in link.ways[:1] if link.is_late else link.ways:
            if not self.flush_way(way, self.lines[link.label], now):
                self.drop(link)
                return
        if not any(way.bytes or way.ends for way in link.ways):
            self.loaded.discard(link)

    def flush_way(self, way: Way, line: Line, now: float) -> bool:
        """Send what is due; False when the connection has ended."""
        dead = line.dead_until[way.which]
        way.next_at = max(dead, way.bytes[0][0] if way.bytes else now)
        if now < dead:
            return True
        try:
            while way.bytes and way.bytes[0][0] <= now:
                when, data = way.bytes.popleft()
                sent = way.target.send(data)
                if sent < len(data):
                    way.bytes.appendleft((when, data[sent:]))
                    break
        except BlockingIOError:
            way.bytes.appendleft((when, data))
            way.next_at = now + 0.005
            return True
        except OSError:
            return False
        if way.bytes:
            way.next_at = max(dead, way.bytes[0][0], now + 0.001)
        return not way.ends or bool(way.bytes)

    def drop(self, link: FaultyLink) -> None:
        self.loaded.discard(link)
        for way in link.ways:
            if self.links.pop(way.source, None):
                if not way.ends:
                    self.selector.unregister(way.source)
                way.source.close()

    # ---- faults --------------------------------------------------------------

    def obey(self, what: dict[str, Any]) -> dict[str, Any]:
        label, now = what.get("label", ""), time.monotonic()
        until = now + what.get("for", 0.0)
        if what["do"] == "delay":
            self.lines[label].delay = what["seconds"]
            self.lines[label].delay_until = until
        elif what["do"] == "dead":
            for which in ("up", "down"):
                if what[which]:
                    self.lines[label].dead_until[which] = until
        elif what["do"] == "refuse":
            self.lines[label].refuse_until = until
            self.cut(label)
        elif what["do"] == "tear":
            self.rng = random.Random(what["seed"])
            self.lines[label].tear_bytes = what["bytes"]
            self.lines[label].tear_until = until
        elif what["do"] == "cut":
            self.cut(label)
        elif what["do"] == "late":
            self.late(label, until)
        elif what["do"] == "heal":
            for one in self.lines:
                self.lines[one] = Line()
        return {"ports": self.ports, "links": len(self.links) // 2}

    def of(self, label: str) -> list[FaultyLink]:
        return [link for link in set(self.links.values()) if link.label == label]

    def cut(self, label: str) -> None:
        for link in self.of(label):
            self.drop(link)

    def late(self, label: str, until: float) -> None:
        for link in self.of(label):
            up = link.ways[0]
            if link.is_late:
                continue
            if not up.ends:
                self.selector.unregister(link.client)
            del self.links[link.client]
            link.client.close()
            up.ends = link.is_late = True
            link.ways[1].bytes.clear()
            up.bytes = deque((max(until, at), data) for at, data in up.bytes)
            up.next_at = until
            self.loaded.add(link)


def main() -> None:
    Proxy(**json.loads(sys.argv[1])).run()


if __name__ == "__main__":
    main()
