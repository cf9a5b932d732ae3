# SPDX-License-Identifier: MIT
"""RESP2 and RESP3: where a frame ends, and values for the checker's own reads."""

from __future__ import annotations

LINES = b"+-:,#(_"
BULKS = b"$=!"
LISTS = b"*~>"


def frame_end(data, start=0):
    """The index behind the frame that begins at start; None while it is incomplete."""
    left, at = 1, start
    while left:
        line = data.find(b"\r\n", at)
        if line < 0:
            return None
        kind = data[at]
        left -= 1
        if kind in LINES:
            at = line + 2
            continue
        count = int(data[at + 1 : line])
        at = line + 2
        if kind in BULKS:
            if count >= 0:
                at += count + 2
                if at > len(data):
                    return None
        elif kind in LISTS:
            left += max(count, 0)
        elif kind == ord("%"):
            left += 2 * count
        elif kind == ord("|"):
            left += 2 * count + 1
        else:
            raise ValueError(f"no frame begins with {bytes(data[at - 1 : line])!r}")
    return at


def strings(frame):
    """The elements of a flat array of bulk strings, such as a command or a message."""
    found, at = [], frame.index(b"\r\n") + 2
    while at < len(frame):
        line = frame.index(b"\r\n", at)
        if frame[at] != ord("$"):
            return found
        size = int(frame[at + 1 : line])
        found.append(bytes(frame[line + 2 : line + 2 + size]))
        at = line + 4 + size
    return found


def command(*words):
    """The bytes of a command."""
    raw = [w if isinstance(w, bytes) else str(w).encode() for w in words]
    out = [b"*%d\r\n" % len(raw)]
    out += [b"$%d\r\n%s\r\n" % (len(w), w) for w in raw]
    return b"".join(out)


class ReplyError(Exception):
    """An error reply of the server."""


def read_value(stream):
    """One RESP2 value of a binary stream, as plain Python; texts are bytes."""
    line = stream.readline()
    if not line:
        raise ConnectionError("the server closed the connection")
    kind, rest = line[:1], line[1:-2]
    if kind == b"+":
        return rest
    if kind == b"-":
        raise ReplyError(rest.decode())
    if kind == b":":
        return int(rest)
    if kind == b"$":
        return None if rest == b"-1" else stream.read(int(rest) + 2)[:-2]
    return [read_value(stream) for _ in range(int(rest))]
