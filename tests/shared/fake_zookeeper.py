# SPDX-License-Identifier: MIT
"""A ZooKeeper server in this process, whose replies a test may spoil.

It has what clients here use: sessions with their timeouts, nodes of all kinds, one-shot
watches, logins that it believes. `spoil(what, frame)` gets each frame before it is sent,
with its length, and returns what is sent instead, as a list of bytes: an empty one drops
the frame, and None in it closes the connection. `what` is "session", "login", "event" or
the name of a request.
"""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable

Spoil = Callable[[str, bytes], "Iterable[bytes | None]"]

NO_NODE, BAD_VERSION, NODE_EXISTS, NOT_EMPTY = -101, -103, -110, -111
UNIMPLEMENTED, EXPIRED = -6, -112
CREATED, DELETED, CHANGED, CHILDREN = 1, 2, 3, 4
NAMES = {
    1: "create",
    2: "delete",
    3: "exists",
    4: "get",
    5: "set",
    6: "acl",
    8: "children",
    9: "sync",
    11: "ping",
    12: "children",
    15: "create",
    19: "create",
    100: "login",
    101: "watches",
    -11: "close",
}
EVERYBODY = struct.pack(">ii", 1, 31) + b"\0\0\0\5world\0\0\0\6anyone"


class Refusal(Exception):
    def __init__(self, code: int):
        super().__init__(code)
        self.code = code


class Reader:
    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def take(self, form: str) -> int:
        (value,) = struct.unpack_from(">" + form, self.data, self.at)
        self.at += struct.calcsize(form)
        return int(value)

    def blob(self) -> bytes:
        length = max(0, self.take("i"))
        self.at += length
        return self.data[self.at - length : self.at]

    def text(self) -> str:
        return self.blob().decode()

    def acl(self) -> bytes:
        begin, count = self.at, self.take("i")
        for _ in range(count):
            self.take("i")
            self.blob()
            self.blob()
        return self.data[begin : self.at]


def packed(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


class Node:
    def __init__(self, zxid: int, data: bytes, acl: bytes, owner: int):
        self.czxid = self.mzxid = self.pzxid = zxid
        self.data, self.acl, self.owner = data, acl, owner
        self.version = self.cversion = 0
        self.children: set[str] = set()

    def stat(self) -> bytes:
        return struct.pack(
            ">qqqqiiiqiiq",
            self.czxid,
            self.mzxid,
            0,
            0,
            self.version,
            self.cversion,
            0,
            self.owner,
            len(self.data),
            len(self.children),
            self.pzxid,
        )


class Session:
    def __init__(self, number: int, timeout_ms: int):
        self.number, self.timeout_s = number, timeout_ms / 1000
        self.password = random.randbytes(16)
        self.heard_at = time.monotonic()


class Connection:
    """One client's, with the watches that the server keeps for it."""

    def __init__(self, server: FakeZooKeeper, client: socket.socket):
        self.server, self.client = server, client
        self.session: Session | None = None
        self.watches: set[tuple[str, str]] = set()  # (of what, path)
        self.sending = threading.Lock()
        threading.Thread(target=self.run, daemon=True).start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.client.shutdown(socket.SHUT_RDWR)

    def send(self, what: str, body: bytes) -> None:
        frame = packed(body)
        with self.sending:
            for part in self.server.spoil(what, frame):
                if part is None:
                    self.close()
                    return
                with contextlib.suppress(OSError):
                    self.client.sendall(part)

    def receive(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self.client.recv(size - len(data))
            if not more:
                raise ConnectionError
            data += more
        return data

    def frame(self) -> Reader:
        (length,) = struct.unpack(">i", self.receive(4))
        return Reader(self.receive(length))

    def run(self) -> None:
        with contextlib.suppress(OSError, struct.error):
            self.open(self.frame())
            while self.session:
                self.answer(self.frame())
        self.client.close()
        with self.server.mutex:
            self.server.connections.discard(self)

    def open(self, asked: Reader) -> None:
        server = self.server
        asked.take("i")
        if asked.take("q") > server.zxid:  # the client has seen more than there is
            return
        timeout, number = asked.take("i"), asked.take("q")
        password = asked.blob()
        with server.mutex:
            known = server.sessions.get(number)
            if not number:
                known = server.new_session(timeout)
            elif known and known.password != password:
                known = None
            self.session = known
        if known:
            known.heard_at = time.monotonic()
            form = struct.pack(">iiq", 0, int(known.timeout_s * 1000), known.number)
            self.send("session", form + packed(known.password) + b"\0")
        else:
            self.send("session", struct.pack(">iiq", 0, 0, 0) + packed(bytes(16)))

    def answer(self, asked: Reader) -> None:
        xid, kind = asked.take("i"), asked.take("i")
        what, code, body = NAMES.get(kind, "unknown"), 0, b""
        with self.server.mutex:
            session = self.session
            if not session or session.number not in self.server.sessions:
                self.session = None
                return
            session.heard_at = time.monotonic()
            try:
                body = self.server.execute(self, kind, asked)
            except Refusal as refusal:
                code = refusal.code
            zxid = 0 if kind == 100 else self.server.zxid
            # Events about the request come before its answer, and no other between.
            for connection, event in self.server.take_events():
                connection.send("event", event)
            self.send(what, struct.pack(">iqi", xid, zxid, code) + body)
        if kind == -11:
            self.session = None


class FakeZooKeeper:
    def __init__(self, spoil: Spoil | None = None, most_session_ms: int = 60000):
        self.spoil: Spoil = spoil or (lambda what, frame: [frame])
        self.most_session_ms = most_session_ms
        self.mutex = threading.RLock()
        self.zxid = 1
        self.nodes = {"/": Node(0, b"", EVERYBODY, 0)}
        self.sessions: dict[int, Session] = {}
        self.connections: set[Connection] = set()
        self.events: list[tuple[Connection, bytes]] = []
        self.accepted = 0
        self.ends = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        for work in (self.accept, self.expire):
            threading.Thread(target=work, daemon=True).start()

    def url(self, query: str = "") -> str:
        return f"zookeeper://127.0.0.1:{self.port}/t" + (query and f"?{query}")

    def close(self) -> None:
        self.ends.set()
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        with self.mutex:
            for one in self.connections:
                one.close()

    def __enter__(self) -> FakeZooKeeper:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with self.mutex:
                    self.accepted += 1
                    self.connections.add(Connection(self, client))

    def expire(self) -> None:
        while not self.ends.wait(0.05):
            with self.mutex:
                now = time.monotonic()
                for one in list(self.sessions.values()):
                    if now - one.heard_at > one.timeout_s:
                        self.end_session(one.number)
                for connection, event in self.take_events():
                    connection.send("event", event)

    # ---- sessions ------------------------------------------------------------

    def new_session(self, timeout_ms: int) -> Session:
        number = random.randrange(1, 1 << 62)
        self.zxid += 1
        made = Session(number, max(200, min(timeout_ms, self.most_session_ms)))
        self.sessions[number] = made
        return made

    def end_session(self, number: int) -> None:
        self.sessions.pop(number, None)
        for connection in self.connections:
            if connection.session and connection.session.number == number:
                connection.close()
        for path in [p for p, node in self.nodes.items() if node.owner == number]:
            self.remove(path)

    # ---- nodes ---------------------------------------------------------------

    def fire(self, kind: int, path: str, *of: str) -> None:
        event = struct.pack(">iqiii", -1, -1, 0, kind, 3) + packed(path.encode())
        for connection in self.connections:
            if any((one, path) in connection.watches for one in of):
                connection.watches -= {(one, path) for one in of}
                self.events.append((connection, event))

    def take_events(self) -> list[tuple[Connection, bytes]]:
        events, self.events = self.events, []
        return events

    def find(self, path: str) -> Node:
        if path not in self.nodes:
            raise Refusal(NO_NODE)
        return self.nodes[path]

    def remove(self, path: str) -> None:
        parent = path.rpartition("/")[0] or "/"
        self.zxid += 1
        del self.nodes[path]
        self.nodes[parent].children.discard(path.rpartition("/")[2])
        self.nodes[parent].pzxid = self.zxid
        self.fire(DELETED, path, "node", "children")
        self.fire(CHILDREN, parent, "children")

    def execute(self, of: Connection, kind: int, asked: Reader) -> bytes:
        what = NAMES.get(kind)
        if what in ("login", "ping", "watches"):
            return b""
        if what == "close":
            assert of.session
            self.end_session_of_close(of)
            return b""
        if what is None:
            raise Refusal(UNIMPLEMENTED)
        path = asked.text()
        return bytes(getattr(self, what)(of, path, asked, kind))

    def end_session_of_close(self, of: Connection) -> None:
        assert of.session
        number = of.session.number
        self.sessions.pop(number, None)
        for path in [p for p, node in self.nodes.items() if node.owner == number]:
            self.remove(path)

    def create(self, of: Connection, path: str, asked: Reader, kind: int) -> bytes:
        data, acl, mode = asked.blob(), asked.acl(), asked.take("i")
        parent = self.find(path.rpartition("/")[0] or "/")
        if mode & 2:
            path += f"{parent.cversion:010d}"
        if path in self.nodes:
            raise Refusal(NODE_EXISTS)
        assert of.session
        self.zxid += 1
        owner = of.session.number if mode in (1, 3) else 0
        self.nodes[path] = node = Node(self.zxid, data, acl, owner)
        parent.children.add(path.rpartition("/")[2])
        parent.cversion += 1
        parent.pzxid = self.zxid
        self.fire(CREATED, path, "node")
        self.fire(CHILDREN, path.rpartition("/")[0] or "/", "children")
        return packed(path.encode()) + (node.stat() if kind != 1 else b"")

    def delete(self, of: Connection, path: str, asked: Reader, kind: int) -> bytes:
        node, version = self.find(path), asked.take("i")
        if version not in (-1, node.version):
            raise Refusal(BAD_VERSION)
        if node.children:
            raise Refusal(NOT_EMPTY)
        self.remove(path)
        return b""

    def watch(self, of: Connection, asked: Reader, *watch: str) -> None:
        if asked.take("b"):
            of.watches.add((watch[0], watch[1]))

    def exists(self, of: Connection, path: str, asked: Reader, kind: int) -> bytes:
        self.watch(of, asked, "node", path)
        return self.find(path).stat()

    def get(self, of: Connection, path: str, asked: Reader, kind: int) -> bytes:
        node = self.find(path)
        self.watch(of, asked, "node", path)
        return packed(node.data) + node.stat()

    def set(self, of: Connection, path: str, asked: Reader, kind: int) -> bytes:
        node, data, version = self.find(path), asked.blob(), asked.take("i")
        if version not in (-1, node.version):
            raise Refusal(BAD_VERSION)
        self.zxid += 1
        node.data, node.mzxid = data, self.zxid
        node.version += 1
        self.fire(CHANGED, path, "node")
        return node.stat()

    def acl(self, of: Connection, path: str, asked: Reader, kind: int) -> bytes:
        node = self.find(path)
        return node.acl + node.stat()

    def children(self, of: Connection, path: str, asked: Reader, kind: int) -> bytes:
        node = self.find(path)
        self.watch(of, asked, "children", path)
        names = b"".join(packed(one.encode()) for one in sorted(node.children))
        listed = struct.pack(">i", len(node.children)) + names
        return listed + (node.stat() if kind == 12 else b"")

    def sync(self, of: Connection, path: str, asked: Reader, kind: int) -> bytes:
        return packed(path.encode())
