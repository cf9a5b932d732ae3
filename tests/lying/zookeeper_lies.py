# SPDX-License-Identifier: MIT
"""Lies of a ZooKeeper server: what is sent instead of a frame.

The head of a reply has 16 bytes: xid, zxid and code; its record follows. Each lie is a
function of the name of the request and the frame, which begins with its length.
"""

from __future__ import annotations

import random
import struct
import time
from collections.abc import Callable, Iterator

from fake_zookeeper import FakeZooKeeper

Parts = "list[bytes | None]"
Lie = Callable[[str, bytes], "list[bytes | None] | Iterator[bytes | None]"]

HUGE, HEAD = 0x7FFFFFFF, 20  # the length is counted here
FRAME_MOST = 8 * 1024 * 1024


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def patched(frame: bytes, at: int, form: str, value: int) -> bytes:
    data = struct.pack(form, value)
    return frame[:at] + data + frame[at + len(data) :]


def event(kind: int, path: bytes, length: int | None = None) -> bytes:
    size = struct.pack(">i", len(path) if length is None else length)
    return framed(struct.pack(">iqiii", -1, -1, 0, kind, 3) + size + path)


# ---- one lie for each fault ------------------------------------------------------


def event_with_a_huge_path(what: str, frame: bytes) -> Parts:
    return [event(3, b"/t", HUGE), frame]


def event_without_a_path(what: str, frame: bytes) -> Parts:
    return [event(3, b"", -1), frame]


def event_of_no_kind(what: str, frame: bytes) -> Parts:
    return [event(77, b"/t"), frame]


def events_that_nobody_asked_for(what: str, frame: bytes) -> Parts:
    return [event(kind, b"/t/a%d" % kind) * 200 for kind in (1, 2, 3, 4)] + [frame]


def body_of_ones(what: str, frame: bytes) -> Parts:
    return [frame[:HEAD] + b"\xff" * (len(frame) - HEAD)]


def frame_of_ones(what: str, frame: bytes) -> Parts:
    return [frame[:4] + b"\xff" * (len(frame) - 4)]


def record_that_is_missing(what: str, frame: bytes) -> Parts:
    return [framed(frame[4:HEAD])]


def record_that_ends_early(what: str, frame: bytes) -> Parts:
    return [framed(frame[4 : max(HEAD, len(frame) - 7)])]


def huge_length_within(what: str, frame: bytes) -> Parts:
    return [patched(frame, HEAD, ">i", 0x7FFFFF00) if len(frame) > HEAD + 4 else frame]


def negative_length_within(what: str, frame: bytes) -> Parts:
    return [patched(frame, HEAD, ">i", -2) if len(frame) > HEAD + 4 else frame]


def children_without_end(what: str, frame: bytes) -> Parts:
    return [patched(frame, HEAD, ">i", 0x7FFFFFF0) if what == "children" else frame]


def children_in_millions(what: str, frame: bytes) -> Parts:
    """All that fits into one frame."""
    if what != "children":
        return [frame]
    count = (FRAME_MOST - 64) // 5
    names = b"\0\0\0\1a" * count
    return [framed(frame[4:HEAD] + struct.pack(">i", count) + names)]


def children_with_strange_names(what: str, frame: bytes) -> Parts:
    if what != "children":
        return [frame]
    names = [b"", b"/", b"../x", b"a\0b", b"\xff" * 40, b"-lock-99999999999"]
    names += [b"_c_x-lock-", b"-permits-9223372036854775808-lease-0000000001"]
    name = random.choice(names)
    return [framed(frame[4:HEAD] + struct.pack(">i", 1) + framed(name))]


def frame_of_no_bytes(what: str, frame: bytes) -> Parts:
    return [b"\0\0\0\0", frame]


def frame_of_less_than_none(what: str, frame: bytes) -> Parts:
    return [b"\xff\xff\xff\xff", frame]


def frame_of_two_gigabytes(what: str, frame: bytes) -> Iterator[bytes | None]:
    yield struct.pack(">i", HUGE)
    for _ in range(2048):
        yield b"x" * 2**20


def frame_that_stalls(what: str, frame: bytes) -> Parts:
    return [frame[: len(frame) // 2]]


def frame_that_drips(what: str, frame: bytes) -> Iterator[bytes | None]:
    for at in range(len(frame)):
        yield frame[at : at + 1]
        time.sleep(0.05)


def silence(what: str, frame: bytes) -> Parts:
    return []


def end_of_the_connection(what: str, frame: bytes) -> Parts:
    return [None]


def reply_to_no_request(what: str, frame: bytes) -> Parts:
    return [frame, patched(frame, 4, ">i", 1 << 20)]


def reply_that_comes_twice(what: str, frame: bytes) -> Parts:
    return [frame, frame]


def reply_to_another_request(what: str, frame: bytes) -> Parts:
    (number,) = struct.unpack_from(">i", frame, 4)
    return [patched(frame, 4, ">i", (number + 1) & 0x7FFFFFFF)]


def reply_to_a_ping(what: str, frame: bytes) -> Parts:
    return [framed(struct.pack(">iqi", -2, 1, 0)), frame]


def reply_to_a_login(what: str, frame: bytes) -> Parts:
    return [framed(struct.pack(">iqi", -4, 1, -115)), frame]


def zxid_that_goes_back(what: str, frame: bytes) -> Parts:
    return [patched(frame, 8, ">q", random.choice([1, HUGE << 31]))]


def code_that_nobody_knows(what: str, frame: bytes) -> Parts:
    return [
        framed(patched(frame, 16, ">i", random.choice([7, -30, -199, -5000]))[4:HEAD])
    ]


def session_of_somebody_else(what: str, frame: bytes) -> Parts:
    return [patched(frame, 12, ">q", random.randrange(1, 1 << 62))]


def session_for_ever(what: str, frame: bytes) -> Parts:
    return [patched(frame, 8, ">i", HUGE)]


def session_of_a_millisecond(what: str, frame: bytes) -> Parts:
    return [patched(frame, 8, ">i", 1)]


def session_with_a_huge_password(what: str, frame: bytes) -> Parts:
    return [patched(frame, 20, ">i", HUGE)]


def session_with_a_short_password(what: str, frame: bytes) -> Parts:
    return [framed(frame[4:20] + framed(b"short"))]


def session_that_is_over(what: str, frame: bytes) -> Parts:
    return [framed(struct.pack(">iiq", 0, 0, 0) + framed(bytes(16)))]


# ---- which frames they are for ---------------------------------------------------

OF_SESSIONS = [
    session_of_somebody_else,
    session_for_ever,
    session_of_a_millisecond,
    session_with_a_huge_password,
    session_with_a_short_password,
    session_that_is_over,
]
OF_ALL = [
    body_of_ones,
    frame_of_ones,
    record_that_is_missing,
    record_that_ends_early,
    frame_of_no_bytes,
    frame_of_less_than_none,
    frame_of_two_gigabytes,
    frame_that_stalls,
    frame_that_drips,
    silence,
    end_of_the_connection,
    reply_that_comes_twice,
]
OF_REPLIES = [
    event_with_a_huge_path,
    event_without_a_path,
    event_of_no_kind,
    events_that_nobody_asked_for,
    huge_length_within,
    negative_length_within,
    children_without_end,
    children_in_millions,
    children_with_strange_names,
    reply_to_no_request,
    reply_to_another_request,
    reply_to_a_ping,
    reply_to_a_login,
    zxid_that_goes_back,
    code_that_nobody_knows,
]


def lies_about(what: str) -> list[Lie]:
    if what == "session":
        return [*OF_ALL, *OF_SESSIONS]
    return OF_ALL if what == "event" else [*OF_ALL, *OF_REPLIES]


def flipped(rng: random.Random) -> Lie:
    """Some bytes behind the length are others."""

    def lie(what: str, frame: bytes) -> Parts:
        out = bytearray(frame)
        for _ in range(rng.randint(1, 4)):
            out[rng.randrange(4, len(out))] = rng.choice([0, 1, 127, 128, 255])
        return [bytes(out)]

    return lie


# ---- servers for stores.py -------------------------------------------------------


class Server(FakeZooKeeper):
    """Honest at first; then it tells a lie about some of its frames."""

    HONEST = 8  # frames, so that there are sessions and nodes
    CHANCE = 0.08

    def __init__(self, rng: random.Random):
        super().__init__(self.spoilt)
        self.rng, self.faults, self.sent = rng, 0, 0

    def lie(self, what: str) -> Lie:
        kinds = [flipped(self.rng), *lies_about(what)]
        return kinds[0] if self.rng.random() < 0.5 else self.rng.choice(kinds)

    def spoilt(self, what: str, frame: bytes) -> Iterator[bytes | None]:
        self.sent += 1
        if self.sent <= self.HONEST or self.rng.random() >= self.CHANCE:
            yield frame
            return
        self.faults += 1
        yield from self.lie(what)(what, frame)


def with_one(lie: Lie) -> Callable[[random.Random], Server]:
    """A server that tells this lie alone, and often."""

    class OneLie(Server):
        CHANCE = 0.3

        def lie(self, what: str) -> Lie:
            return lie if lie in lies_about(what) else lambda what, frame: [frame]

    OneLie.__name__ = getattr(lie, "__name__", "lie")
    return OneLie


SERVERS: list[Callable[[random.Random], Server]] = [
    Server,
    *map(with_one, dict.fromkeys([*OF_ALL, *OF_REPLIES, *OF_SESSIONS])),
]
