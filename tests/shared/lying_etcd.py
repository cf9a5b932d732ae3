# SPDX-License-Identifier: MIT
"""A proxy before an etcd that lies: each lie is a class.

It passes the client's bytes on, counts its calls, and takes the server's bytes apart
into frames of HTTP/2, of which a subclass makes others.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import socket
import struct
import threading
from collections.abc import Callable
from types import TracebackType
from typing import BinaryIO

DATA, HEADERS, SETTINGS, PING, WINDOW_UPDATE, UNKNOWN = 0, 1, 4, 6, 8, 0x7F
HEAD = 9
PREFACE = 24
CHUNK = 64 * 1024


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    size = struct.pack(">I", len(payload))[1:]
    return size + bytes([kind, flags]) + struct.pack(">I", stream) + payload


class Line:
    """One connection of a client, with the one to the server that belongs to it."""

    def __init__(self, client: socket.socket, server: socket.socket):
        self.client, self.server = client, server
        self.frames = 0  # that the server has sent
        self.is_lying = False

    def close(self) -> None:
        for one in (self.client, self.server):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


class LyingEtcd:
    """Use it as a context manager; `port` is where it listens."""

    def __init__(self, server_port: int):
        self.server_port = server_port
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        self.calls = 0  # that clients have begun
        self.connections, self.faults = 0, 0
        self.lines: set[Line] = set()
        self.is_closed = False
        self.thread = threading.Thread(target=self.accept, daemon=True)

    def url(self) -> str:
        return f"etcd://127.0.0.1:{self.port}"

    def __enter__(self) -> LyingEtcd:
        self.thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.is_closed = True
        with socket.create_connection(("127.0.0.1", self.port)):
            pass  # a thread in accept() does not see that its socket is closed
        self.listener.close()
        for line in list(self.lines):
            line.close()

    def accept(self) -> None:
        while True:
            client, _ = self.listener.accept()
            if self.is_closed:
                return
            self.connections += 1
            server = socket.create_connection(("127.0.0.1", self.server_port))
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            line = Line(client, server)
            self.lines.add(line)
            for part in (self.requests, self.replies):
                threading.Thread(target=part, args=(line,), daemon=True).start()

    def requests(self, line: Line) -> None:
        with contextlib.suppress(OSError, EOFError):
            stream = line.client.makefile("rb")
            line.server.sendall(read(stream, PREFACE))
            while True:
                head, payload = read_frame(stream)
                self.calls += head[3] == HEADERS
                line.server.sendall(head + payload)
        line.close()

    def replies(self, line: Line) -> None:
        with contextlib.suppress(OSError, EOFError):
            stream = line.server.makefile("rb")
            while True:
                head, payload = read_frame(stream)
                line.frames += 1
                line.client.sendall(self.change(line, head, payload))
                if line.is_lying:
                    self.lie(line)
        line.close()
        self.lines.discard(line)

    def change(self, line: Line, head: bytes, payload: bytes) -> bytes:
        return head + payload

    def lie(self, line: Line) -> None:
        """A lie about the replies that follow, once `is_lying` is set."""


def read(stream: BinaryIO, count: int) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise EOFError
    return data


def read_frame(stream: BinaryIO) -> tuple[bytes, bytes]:
    head = read(stream, HEAD)
    return head, read(stream, int.from_bytes(head[:3], "big"))


# ---- revisions -----------------------------------------------------------------


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A number, and the place behind it."""
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return value, at


def padded(value: int, size: int) -> bytes:
    """A number in so many bytes."""
    out = [value >> 7 * i & 0x7F | 0x80 for i in range(size)]
    out[-1] &= 0x7F
    return bytes(out)


def with_revision(payload: bytes, function: Callable[[int], int]) -> bytes:
    """A message whose header has another revision, in as many bytes."""
    if len(payload) < 8 or payload[5] != 0x0A:
        return payload
    end, at = varint(payload, 6)
    end += at
    while at < min(end, len(payload)):
        tag, at = varint(payload, at)
        if tag & 7 != 0:
            return payload
        value, behind = varint(payload, at)
        if tag >> 3 == 3:
            new = padded(function(value), behind - at)
            return payload[:at] + new + payload[behind:]
        at = behind
    return payload


class RevisionsGoBack(LyingEtcd):
    """Each answer is older than the one before it."""

    step = 0

    def older(self, revision: int) -> int:
        self.step += 1
        self.faults += 1
        return max(1, revision - self.step)

    def change(self, line: Line, head: bytes, payload: bytes) -> bytes:
        if head[3] == DATA:
            payload = with_revision(payload, self.older)
        return head + payload


# ---- floods --------------------------------------------------------------------


class Flood(LyingEtcd):
    """Frames that bring nothing and are allowed, after some that are honest."""

    honest = 12

    def change(self, line: Line, head: bytes, payload: bytes) -> bytes:
        line.is_lying = line.frames >= self.honest
        return head + payload

    def lie(self, line: Line) -> None:
        self.faults += 1
        many = b"".join(itertools.islice(itertools.cycle(self.pieces()), 2000))
        while not self.is_closed:
            line.client.sendall(many)

    def pieces(self) -> list[bytes]:
        raise NotImplementedError


class UnknownFrames(Flood):
    def pieces(self) -> list[bytes]:
        return [frame(UNKNOWN, 0, 0, b"")]


class WindowUpdates(Flood):
    """For streams that have ended, so that no window gets too large."""

    def pieces(self) -> list[bytes]:
        return [frame(WINDOW_UPDATE, 0, 1, struct.pack(">I", 1))]


class PingReplies(Flood):
    def pieces(self) -> list[bytes]:
        return [frame(PING, 1, 0, bytes(8))]


class Pings(Flood):
    def pieces(self) -> list[bytes]:
        return [frame(PING, 0, 0, bytes(8))]


class Settings(Flood):
    def pieces(self) -> list[bytes]:
        return [frame(SETTINGS, 0, 0, b"")]


class EmptyData(Flood):
    def pieces(self) -> list[bytes]:
        return [frame(DATA, 0, 1, b"")]


class Spoils(LyingEtcd):
    """Bytes of frames are changed, frames left out and sent twice, by chance."""

    CHANCE = 0.04

    def __init__(self, server_port: int, rng: random.Random):
        super().__init__(server_port)
        self.rng = rng

    def change(self, line: Line, head: bytes, payload: bytes) -> bytes:
        whole = bytearray(head + payload)
        if self.rng.random() >= self.CHANCE:
            return bytes(whole)
        self.faults += 1
        kind = self.rng.randrange(4)
        if kind == 0:
            return b""
        if kind == 1:
            return bytes(whole) * self.rng.choice([2, 50])
        for _ in range(self.rng.randint(1, 3)):
            at = self.rng.randrange(HEAD if kind == 2 else len(whole))
            whole[at] = self.rng.randrange(256)
        return bytes(whole)


FLOODS: tuple[type[Flood], ...] = (
    UnknownFrames,
    WindowUpdates,
    PingReplies,
    Pings,
    Settings,
    EmptyData,
)
