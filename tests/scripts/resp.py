# SPDX-License-Identifier: MIT
"""RESP2 over a unix socket, so that tests see replies as they are sent."""

import socket


class ReplyError(Exception):
    """An error reply; its text is the message."""


def command(*parts):
    """A command as it is sent."""
    out = [b"*%d\r\n" % len(parts)]
    for part in map(to_bytes, parts):
        out.append(b"$%d\r\n%s\r\n" % (len(part), part))
    return b"".join(out)


def read_reply(stream):
    """The next reply: int, bytes, None, list; an error is returned."""
    line = stream.readline()
    if not line.endswith(b"\r\n"):
        raise ConnectionError("the server closed the connection")
    kind, rest = line[:1], line[1:-2]
    if kind == b":":
        return int(rest)
    if kind == b"+":
        return rest
    if kind == b"-":
        return ReplyError(rest.decode("utf-8", "replace"))
    if kind == b"$":
        return None if rest == b"-1" else stream.read(int(rest) + 2)[:-2]
    if kind == b"*":
        return None if rest == b"-1" else [read_reply(stream) for _ in range(int(rest))]
    raise ConnectionError(f"not RESP2: {line!r}")


class Connection:
    """One connection: commands out, raw replies in."""

    def __init__(self, path, timeout=10.0):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(timeout)
        self.socket.connect(path)
        self.stream = self.socket.makefile("rb")

    def close(self):
        self.stream.close()
        self.socket.close()

    def send(self, *parts):
        self.socket.sendall(command(*parts))

    def read(self):
        """The next reply; an error is returned."""
        return read_reply(self.stream)

    def __call__(self, *parts):
        """Send a command and return its reply; an error reply is raised."""
        self.send(*parts)
        reply = self.read()
        if isinstance(reply, ReplyError):
            raise reply
        return reply


class Inbox:
    """The messages that were published to one channel."""

    def __init__(self, path, channel):
        self.connection = Connection(path)
        self.connection("SUBSCRIBE", channel)

    def take(self):
        """All messages so far, oldest first; a PING marks the end."""
        self.connection.send("PING")
        messages = []
        while (reply := self.connection.read())[0] != b"pong":
            messages.append(reply[2])
        return messages

    def close(self):
        self.connection.close()


def to_bytes(value):
    return value if isinstance(value, bytes) else str(value).encode()
