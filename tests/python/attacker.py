# SPDX-License-Identifier: MIT
"""A user with a few rights and a connection of its own, and whom it attacks."""

from __future__ import annotations

import itertools
import socket
import threading

import interlock
from support import read_reply, wait_until


class Attacker:
    """A user with these rights, on a raw connection of its own."""

    numbers = itertools.count(1)

    def __init__(self, server, *rights):
        user = f"attacker{next(self.numbers)}"
        server.call("ACL", "SETUSER", user, "reset", "on", ">pw", *rights)
        self.conn = socket.socket(socket.AF_UNIX)
        self.conn.connect(server.socket)
        self.replies = self.conn.makefile("rb")
        self.call("AUTH", user, "pw")

    def call(self, *words):
        return self.calls([words])[0]

    def calls(self, commands):
        """Many commands in one write; the replies."""
        self.conn.sendall(b"".join(encode(words) for words in commands))
        return [read_reply(self.replies) for _ in commands]

    def close(self):
        self.replies.close()
        self.conn.close()


def encode(words):
    raw = [w if isinstance(w, bytes) else str(w).encode() for w in words]
    out = b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in raw)
    return b"*%d\r\n" % len(raw) + out


def inbox_of(client):
    return f"ilk:inbox:{client.id}"


def entries_of(server, kind, name):
    """Those of a wait queue, as soon as there is one."""
    key = f"ilk:{kind}:wait:{{{name}}}"
    wait_until(lambda: server.call("ZCARD", key))
    return [entry.decode().split(" ") for entry in server.call("ZRANGE", key, 0, -1)]


def waiting_lock(client, name):
    """A thread that waits for the lock; it returns what acquire did."""
    got, lock = [], client.lock(name, ttl=3)

    def run():
        try:
            got.append(lock.acquire(timeout=120))
        except interlock.Error as error:
            got.append(error)

    before = client.stats().waiting
    thread = threading.Thread(target=run)
    thread.start()
    wait_until(lambda: client.stats().waiting == before + 1)
    return lock, thread, got
