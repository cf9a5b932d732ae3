# SPDX-License-Identifier: MIT
"""A server that speaks MySQL's protocol and agrees to everything, or lies.

It executes no SQL: it knows the statements of `libcore/stores/mysql` by their
beginnings, and says that each has matched a row. A subclass lies by overriding a
method. Each connection has a thread; frames are numbered as the protocol wants it.
"""

from __future__ import annotations

import contextlib
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType

VERSION = b"5.5.5-10.11.0-MariaDB"
# FOUND_ROWS, LONG_PASSWORD and so on: all but TLS, compression and MySQL's own.
CAPABILITIES = 0x81BFF7FE & ~0x820
SCRAMBLE = bytes(range(33, 53))
NATIVE = b"mysql_native_password"
MORE_RESULTS = 8
AUTOCOMMIT = 2
NULL = None
COLUMNS = "kind,name,token,who,fence,until,since,session,released,version,value"


def length(number: int) -> bytes:
    if number < 251:
        return bytes([number])
    if number < 1 << 16:
        return b"\xfc" + struct.pack("<H", number)
    if number < 1 << 24:
        return b"\xfd" + struct.pack("<I", number)[:3]
    return b"\xfe" + struct.pack("<Q", number)


def text(value: str | bytes | int | None) -> bytes:
    if value is NULL:
        return b"\xfb"
    data = value if isinstance(value, bytes) else str(value).encode()
    return length(len(data)) + data


def ok(affected: int = 0, number: int = 0, status: int = AUTOCOMMIT) -> bytes:
    return b"\0" + length(affected) + length(number) + struct.pack("<HH", status, 0)


def error(number: int, why: str) -> bytes:
    return b"\xff" + struct.pack("<H", number) + b"#HY000" + why.encode()


def eof(status: int = AUTOCOMMIT) -> bytes:
    return b"\xfe" + struct.pack("<HH", 0, status)


def definition(name: str) -> bytes:
    texts = b"".join(text(one) for one in ("def", "", "", "", name, name))
    return texts + b"\x0c" + struct.pack("<HIBHBH", 33, 255, 253, 0, 0, 0)


Rows = Sequence[Sequence[str | bytes | int | None]]


def result(names: Sequence[str], rows: Rows) -> list[bytes]:
    """The frames of a result."""
    frames = [length(len(names)), *(definition(one) for one in names), eof()]
    return [*frames, *(b"".join(text(one) for one in row) for row in rows), eof()]


class Gone(Exception):
    """The client has closed the connection."""


class Session:
    """A connection; `number` is that of the next frame."""

    def __init__(self, conn: socket.socket, id: int):
        self.conn, self.id, self.number = conn, id, 0
        self.stream = conn.makefile("rb")
        self.ends = False

    def write(self, data: bytes) -> None:
        try:
            self.conn.sendall(data)
        except OSError as error:
            raise Gone from error

    def frame(self, body: bytes) -> bytes:
        head = struct.pack("<I", len(body))[:3] + bytes([self.number & 255])
        self.number += 1
        return head + body

    def send(self, *bodies: bytes) -> None:
        self.write(b"".join(self.frame(one) for one in bodies))

    def receive(self) -> bytes:
        try:
            head = self.stream.read(4)
            body = self.stream.read(int.from_bytes(head[:3], "little"))
        except OSError as error:
            raise Gone from error
        if len(head) < 4 or not body:
            raise Gone
        self.number = head[3] + 1
        return body


class FakeMySql:
    """Use it as a context manager; `url` is where it listens."""

    plugin = NATIVE

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        self.statements: list[str] = []
        self.received: list[bytes] = []  # frames of logins
        self.connections = 0
        self.faults = 0
        self.open: set[socket.socket] = set()
        self.is_closed = False
        self.thread = threading.Thread(target=self.accept, daemon=True)

    def url(self, query: str = "") -> str:
        query = f"?{query}" if query else ""
        return f"mysql://ilk:secret@127.0.0.1:{self.port}/interlock{query}"

    def __enter__(self) -> FakeMySql:
        self.thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.is_closed = True
        # A thread in accept() does not see that its socket is closed.
        with socket.create_connection(("127.0.0.1", self.port)):
            pass
        self.listener.close()
        for conn in list(self.open):
            with contextlib.suppress(OSError):
                conn.shutdown(socket.SHUT_RDWR)

    def accept(self) -> None:
        while True:
            conn, _ = self.listener.accept()
            if self.is_closed:
                return
            conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.open.add(conn)
            self.connections += 1
            session = Session(conn, self.connections)
            threading.Thread(target=self.serve, args=(session,), daemon=True).start()

    def serve(self, session: Session) -> None:
        try:
            self.log_in(session)
            while not session.ends:
                self.execute(session)
        except Gone:
            pass
        finally:
            self.open.discard(session.conn)
            session.stream.close()
            session.conn.close()

    # ---- what a subclass overrides -------------------------------------------

    def greeting(self, session: Session) -> bytes:
        return (
            b"\x0a"
            + VERSION
            + b"\0"
            + struct.pack("<I", session.id)
            + SCRAMBLE[:8]
            + b"\0"
            + struct.pack("<H", CAPABILITIES & 0xFFFF)
            + b"\x21"
            + struct.pack("<HH", AUTOCOMMIT, CAPABILITIES >> 16)
            + bytes([21])
            + bytes(10)
            + SCRAMBLE[8:]
            + b"\0"
            + self.plugin
            + b"\0"
        )

    def log_in(self, session: Session) -> None:
        session.send(self.greeting(session))
        self.received.append(session.receive())
        self.accept_login(session)

    def accept_login(self, session: Session) -> None:
        session.send(ok())

    def execute(self, session: Session) -> None:
        command = session.receive()
        if command[:1] == b"\x01":
            raise Gone
        statement = command[1:].decode("latin-1")
        self.statements.append(statement)
        self.reply(session, statement)

    def reply(self, session: Session, statement: str) -> None:
        session.send(*self.answer(session, statement))

    # ---- agreement -----------------------------------------------------------

    def answer(self, session: Session, statement: str) -> list[bytes]:
        for begins, answer in self.ANSWERS:
            if re.match(begins, statement):
                return answer(self, session, statement)
        return [ok()]

    def matched(self, session: Session, statement: str) -> list[bytes]:
        return [ok(1, now_us())]

    def session_row(self, session: Session, statement: str) -> list[bytes]:
        return result(["id", "lock", "now"], [[session.id, 1, now_us()]])

    def columns(self, session: Session, statement: str) -> list[bytes]:
        return result(COLUMNS.split(","), [])

    def row(self, session: Session, statement: str) -> list[bytes]:
        """As many columns as the statement selects, each 1."""
        wanted = statement[len("SELECT ") : statement.find(" FROM ")]
        depth, count = 0, 1
        for char in wanted:
            depth += (char == "(") - (char == ")")
            count += char == "," and depth == 0
        return result([str(i) for i in range(count)], [[1] * count])

    Answer = Callable[["FakeMySql", Session, str], list[bytes]]
    ANSWERS: Sequence[tuple[str, Answer]] = (
        (r"SELECT CONNECTION_ID\(\)", session_row),
        (r"SELECT TIMESTAMPDIFF", lambda *_: result(["now"], [[now_us()]])),
        (r"SHOW GLOBAL VARIABLES", lambda *_: result(["name", "value"], [])),
        (r"SELECT ENGINE", lambda *_: result(["ENGINE"], [["InnoDB"]])),
        (rf"SELECT {COLUMNS}", columns),
        (r"SELECT ", row),
        (r"UPDATE |INSERT ", matched),
    )


def now_us() -> int:
    return int(time.time() * 1e6)
