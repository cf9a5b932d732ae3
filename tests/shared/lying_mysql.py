# SPDX-License-Identifier: MIT
"""Lies of a database server, each a class: what it sends, and from when on."""

from __future__ import annotations

import itertools
import random
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from fake_mysql import (
    AUTOCOMMIT,
    MORE_RESULTS,
    NULL,
    SCRAMBLE,
    FakeMySql,
    Gone,
    Session,
    definition,
    eof,
    error,
    length,
    ok,
    result,
    text,
)

CHUNK = 64 * 1024
FULL = 0xFFFFFF
PAUSE_S = 0.02
STATE_CHANGED = 0x4000  # in a status: what has changed follows
SYSTEM_VARIABLE = 0
SERVER_REDIRECT = 4196  # an error of MariaDB


Server = FakeMySql


def for_ever(frame: bytes) -> Iterator[bytes]:
    return itertools.repeat(frame)


class Liar(FakeMySql):
    """From the first UPDATE on, each statement gets a lie."""

    is_lying = True

    def is_spared(self, statement: str) -> bool:
        return not any(one.startswith("UPDATE ") for one in self.statements)

    def reply(self, session: Session, statement: str) -> None:
        if not self.is_lying or self.is_spared(statement):
            super().reply(session, statement)
        else:
            self.faults += 1
            self.lie(session, statement)

    def lie(self, session: Session, statement: str) -> None:
        raise NotImplementedError

    def flood(self, session: Session, bodies: Iterator[bytes]) -> None:
        """Frames until the client goes away."""
        out = bytearray()
        for body in bodies:
            out += session.frame(body)
            if len(out) >= CHUNK:
                session.write(bytes(out))
                out.clear()
        session.write(bytes(out))


class NamesAnotherServer(FakeMySql):
    """As MariaDB's `redirect_url` does it: when the client has logged in."""

    def __init__(self) -> None:
        super().__init__()
        self.other = socket.create_server(("127.0.0.1", 0))
        self.other.setblocking(False)

    @property
    def other_address(self) -> str:
        return f"127.0.0.1:{self.other.getsockname()[1]}"

    def was_followed(self) -> bool:
        try:
            self.other.accept()[0].close()
        except BlockingIOError:
            return False
        return True

    def accept_login(self, session: Session) -> None:
        change = text("redirect_url") + text(f"mariadb://{self.other_address}")
        news = bytes([SYSTEM_VARIABLE]) + text(change)
        session.send(ok(0, 0, AUTOCOMMIT | STATE_CHANGED) + text("") + text(news))


class SendsElsewhere(NamesAnotherServer):
    """In place of the login's end, as a proxy may do it."""

    def accept_login(self, session: Session) -> None:
        session.send(error(SERVER_REDIRECT, f"|gone|{self.other_address}"))


class RowsWithoutEnd(Liar):
    def lie(self, session: Session, statement: str) -> None:
        session.send(length(1), definition("a"), eof())
        self.flood(session, for_ever(text("b" * 1000)))


class DefinitionsWithoutEnd(Liar):
    def lie(self, session: Session, statement: str) -> None:
        session.send(length(1))
        self.flood(session, for_ever(definition("a")))


class ColumnsWithoutNumber(Liar):
    def lie(self, session: Session, statement: str) -> None:
        session.send(b"\xfe" + struct.pack("<Q", 1 << 40))
        self.flood(session, for_ever(definition("a")))


class RowOfManyFrames(Liar):
    """Each of 16 MiB - 1, which says that another one follows."""

    def lie(self, session: Session, statement: str) -> None:
        session.send(length(1), definition("a"), eof())
        while True:
            session.write(b"\xff\xff\xff" + bytes([session.number & 255]))
            session.number += 1
            for _ in range(FULL // CHUNK):
                session.write(b"x" * CHUNK)
            session.write(b"x" * (FULL % CHUNK))


class LongError(Liar):
    def lie(self, session: Session, statement: str) -> None:
        session.send(error(1064, "why " * (1 << 20)))


class ResultsWithoutEnd(Liar):
    def lie(self, session: Session, statement: str) -> None:
        self.flood(session, for_ever(ok(1, 1, MORE_RESULTS)))


class ProgressWithoutEnd(Liar):
    def lie(self, session: Session, statement: str) -> None:
        report = b"\xff\xff\xff\x01\x01\x02\0\0\0\x04work"
        self.flood(session, for_ever(report))


class SurplusResults(Liar):
    def lie(self, session: Session, statement: str) -> None:
        session.send(ok(1, 1), ok(1, 1), *result(["a"], [[1]]))


class ColumnWithoutNumbers(Liar):
    """The library would read the last field of the definition at NULL."""

    def lie(self, session: Session, statement: str) -> None:
        texts = b"".join(text(one) for one in ("def", "", "", "", "a", "a"))
        session.send(length(1), texts + b"\xfb" + bytes(12), eof(), text(1), eof())


class ColumnCutShort(Liar):
    def lie(self, session: Session, statement: str) -> None:
        session.send(length(1), text("def") + text("") + b"\xfb\xfb", eof(), text(1))


class RowCutShort(Liar):
    def lie(self, session: Session, statement: str) -> None:
        frames = result(["a", "b"], [[NULL, 1]])
        frames[-2] = text(1) + b"\xfd\xff\xff\xff"
        session.send(*frames)


class WantsAFile(Liar):
    def lie(self, session: Session, statement: str) -> None:
        session.send(b"\xfb/etc/hostname")
        self.received.append(session.receive())


class Trickles(Liar):
    """A result byte by byte, which has no end."""

    def lie(self, session: Session, statement: str) -> None:
        session.send(length(1), definition("a"), eof())
        for byte in itertools.cycle(session.frame(text("b"))):
            session.write(bytes([byte]))
            time.sleep(PAUSE_S)


class Silent(Liar):
    def lie(self, session: Session, statement: str) -> None:
        session.receive()


class Closes(Liar):
    def lie(self, session: Session, statement: str) -> None:
        raise Gone


class WritesNothing(Liar):
    """The row is there and free, and no statement changes it."""

    def lie(self, session: Session, statement: str) -> None:
        if statement.startswith(("UPDATE ", "INSERT ")):
            session.send(ok(0))
        elif statement.startswith("SELECT IF(token=''"):
            session.send(*result(["left"], [[-1]]))
        else:
            session.send(*self.answer(session, statement))


class KeepsNoRow(WritesNothing):
    """Rows are inserted, and not there."""

    def lie(self, session: Session, statement: str) -> None:
        if statement.startswith("SELECT ") and " FROM " in statement:
            session.send(*result(["a"], []))
        else:
            super().lie(session, statement)


class TimeOfNone(Liar):
    """Its clock has the least number that there is."""

    def is_spared(self, statement: str) -> bool:
        return "SELECT CONNECTION_ID()" not in statement

    def lie(self, session: Session, statement: str) -> None:
        session.send(*result(["id", "lock", "now"], [[session.id, 1, -(1 << 63)]]))


class GreetsWithoutEnd(FakeMySql):
    def log_in(self, session: Session) -> None:
        while True:
            session.write(b"\xff\xff\xff\x00\x0a" + b"5" * FULL)


class GreetsByByte(FakeMySql):
    def log_in(self, session: Session) -> None:
        for byte in itertools.cycle(session.frame(self.greeting(session) * 40)):
            session.write(bytes([byte]))
            time.sleep(PAUSE_S)


class GreetsNot(FakeMySql):
    def log_in(self, session: Session) -> None:
        session.receive()


class LoginWithoutEnd(Liar):
    """Frames of a way to log in, which never say whether it was enough."""

    def accept_login(self, session: Session) -> None:
        self.flood(session, for_ever(b"\x01more"))


class SwitchesWithoutEnd(Liar):
    def accept_login(self, session: Session) -> None:
        while True:
            session.send(b"\xfe" + self.plugin + b"\0" + SCRAMBLE + b"\0")
            self.received.append(session.receive())


class WantsThePassword(FakeMySql):
    """Asks for a way to log in that encrypts the password with the server's key, and
    decrypts it."""

    asked_in_greeting = True

    def __init__(self, home: Path):
        super().__init__()
        self.key = home / "key.pem"
        self.password = ""
        openssl("genrsa", "-out", str(self.key), "2048")
        self.public = openssl("rsa", "-in", str(self.key), "-pubout")
        if self.asked_in_greeting:
            self.plugin = self.asks

    asks = b"caching_sha2_password"
    wants_all, wants_key = b"\x01\x04", b"\x02"

    def accept_login(self, session: Session) -> None:
        if not self.asked_in_greeting:
            session.send(b"\xfe" + self.asks + b"\0" + SCRAMBLE + b"\0")
            self.received.append(session.receive())
        if self.asks == b"caching_sha2_password":
            session.send(self.wants_all)
            self.received.append(session.receive())
        session.send(b"\x01" + self.public)
        cipher = session.receive()
        self.received.append(cipher)
        padding = "rsa_padding_mode:oaep"
        decrypt = ("pkeyutl", "-decrypt", "-inkey", str(self.key), "-pkeyopt", padding)
        mixed = openssl(*decrypt, data=cipher)
        plain = bytes(a ^ b for a, b in zip(mixed, itertools.cycle(SCRAMBLE + b"\0")))
        self.password = plain.rstrip(b"\0").decode("latin-1")
        session.send(ok())


class SwitchesToThePassword(WantsThePassword):
    asked_in_greeting = False


class SwitchesToSha256(SwitchesToThePassword):
    asks = b"sha256_password"


class Spoils(FakeMySql):
    """The packets of an honest server, each spoilt by chance."""

    CHANCE = 0.08

    def __init__(self, rng: random.Random):
        super().__init__()
        self.rng = rng

    def accept_login(self, session: Session) -> None:
        self.send_spoilt(session, [ok()])

    def reply(self, session: Session, statement: str) -> None:
        self.send_spoilt(session, self.answer(session, statement))

    def send_spoilt(self, session: Session, bodies: list[bytes]) -> None:
        frames = [session.frame(one) for one in bodies]
        if self.rng.random() < self.CHANCE:
            self.faults += 1
            self.rng.choice(self.KINDS)(self, frames)
        session.write(b"".join(frames))

    def flip(self, frames: list[bytes]) -> None:
        one = self.rng.randrange(len(frames))
        spoilt = bytearray(frames[one])
        for _ in range(self.rng.randint(1, 3)):
            spoilt[self.rng.randrange(len(spoilt))] = self.rng.choice(EDGES)
        frames[one] = bytes(spoilt)

    def drop(self, frames: list[bytes]) -> None:
        del frames[self.rng.randrange(len(frames))]

    def repeat(self, frames: list[bytes]) -> None:
        one = self.rng.randrange(len(frames))
        frames[one] *= self.rng.choice([2, 5, 10000])

    def swap(self, frames: list[bytes]) -> None:
        self.rng.shuffle(frames)

    def cut(self, frames: list[bytes]) -> None:
        one = self.rng.randrange(len(frames))
        frames[one:] = [frames[one][: self.rng.randrange(len(frames[one]))]]

    def lengthen(self, frames: list[bytes]) -> None:
        frames[-1] = (
            self.rng.choice([b"\xff\xff\xff", b"\x40\x42\x0f"]) + frames[-1][3:]
        )
        frames.append(self.rng.randbytes(100000))

    def replace(self, frames: list[bytes]) -> None:
        frames[:] = [self.rng.randbytes(self.rng.choice([1, 4, 60, 5000]))]

    KINDS = (flip, flip, flip, drop, repeat, swap, cut, lengthen, replace)


EDGES = (0, 1, 4, 8, 0x7F, 0x80, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF)


def without_chance(lie: type[FakeMySql]) -> Callable[[random.Random], FakeMySql]:
    return lambda rng: lie()


def openssl(*words: str, data: bytes = b"") -> bytes:
    done = subprocess.run(
        ["openssl", *words], input=data, capture_output=True, check=True
    )
    return done.stdout


LIES: tuple[type[FakeMySql], ...] = (
    RowsWithoutEnd,
    DefinitionsWithoutEnd,
    ColumnsWithoutNumber,
    RowOfManyFrames,
    LongError,
    ResultsWithoutEnd,
    ProgressWithoutEnd,
    SurplusResults,
    ColumnWithoutNumbers,
    ColumnCutShort,
    RowCutShort,
    WantsAFile,
    Trickles,
    Silent,
    Closes,
    WritesNothing,
    KeepsNoRow,
    TimeOfNone,
    GreetsWithoutEnd,
    GreetsByByte,
    GreetsNot,
    LoginWithoutEnd,
    SwitchesWithoutEnd,
)
