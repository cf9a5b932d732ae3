# SPDX-License-Identifier: MIT
"""A sentinel or a node that lies names an address, at which the client would log in."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

import interlock
import pytest

SECRET = "sesame"
ELSEWHERE = "127.0.0.2"


class Listener:
    """Replies to each command, and keeps what it was sent."""

    def __init__(self, host: str) -> None:
        self.socket = socket.create_server((host, 0))
        self.port = self.socket.getsockname()[1]
        self.received = b""
        self.names: tuple[str, int] = (host, self.port)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.socket.accept()
                threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError), client:
            stream = client.makefile("rb")
            while head := stream.readline():
                words = []
                for _ in range(int(head[1:])):
                    size = int(stream.readline()[1:])
                    words.append(stream.read(size + 2)[:-2])
                self.received += b" ".join(words) + b"\n"
                client.sendall(self.reply(words))

    def reply(self, words: list[bytes]) -> bytes:
        host, port = (str(one).encode() for one in self.names)
        if words[0] == b"HELLO":
            return b"-ERR unknown command 'HELLO'\r\n"
        if words[:2] == [b"CLIENT", b"ID"]:
            return b":7\r\n"
        if words[0] == b"SENTINEL":
            return b"*2\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n" % (
                *(len(host), host),
                *(len(port), port),
            )
        if words[0] == b"CLUSTER":
            node = b"*2\r\n$%d\r\n%s\r\n:%s\r\n" % (len(host), host, port)
            return b"*1\r\n*3\r\n:0\r\n:16383\r\n" + node
        if words[0] == b"ROLE":
            return b"*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"
        return b"+OK\r\n"


@pytest.fixture
def liar() -> Iterator[Listener]:
    made = Listener("127.0.0.1")
    yield made
    made.socket.close()


@pytest.fixture
def thief() -> Iterator[Listener]:
    made = Listener(ELSEWHERE)
    yield made
    made.socket.close()


URLS = {
    "sentinel": "redis+sentinel://:{secret}@127.0.0.1:{port}/mymaster?label=x{more}",
    "cluster": "redis+cluster://:{secret}@127.0.0.1:{port}?label=x{more}",
}


def use(kind: str, port: int, more: str) -> str:
    """The error of a call that gets no lock, for no address here is a real server's."""
    url = URLS[kind].format(secret=SECRET, port=port, more=more)
    with (
        pytest.raises(interlock.Error) as caught,
        interlock.connect(url, connect_timeout=1, reply_timeout=1) as client,
    ):
        client.lock("orders").acquire(timeout=1)
    return str(caught.value)


@pytest.mark.parametrize("kind", URLS)
def test_a_password_goes_where_a_server_says(
    kind: str, liar: Listener, thief: Listener
) -> None:
    liar.names = thief.names

    use(kind, liar.port, "")

    assert SECRET.encode() in thief.received


@pytest.mark.parametrize("kind", URLS)
def test_but_not_where_hosts_does_not_allow_it(
    kind: str, liar: Listener, thief: Listener, caplog: pytest.LogCaptureFixture
) -> None:
    liar.names = thief.names

    text = use(kind, liar.port, "&hosts=127.0.0.1,10.*")

    refusal = f"{ELSEWHERE}:{thief.port} matches no pattern of hosts=127.0.0.1,10.*"
    assert refusal in text + caplog.text
    assert not thief.received
