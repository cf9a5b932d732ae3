# SPDX-License-Identifier: MIT
"""A process lives through all that a ZooKeeper server may send: it does not end, hang,
or grow, every call ends within its limit and a second, and so does close."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
for place in (TESTS / "shared", TESTS / "python", Path(__file__).parent):
    sys.path.append(str(place))

import zookeeper_lies as lies  # noqa: E402
from fake_zookeeper import FakeZooKeeper  # noqa: E402
from store_host import Host  # noqa: E402

FAULTS = 20  # of one kind, for one client
LASTS_S = 3.0


class Liar(FakeZooKeeper):
    """Each `gap`th frame that a lie is for is spoilt, until there were FAULTS of them."""

    def __init__(self, lie: lies.Lie, of_sessions: bool, gap: int):
        super().__init__(self.lie_about)
        self.told = self.frames = 0
        self.lie, self.of_sessions, self.gap = lie, of_sessions, gap
        self.most = FAULTS

    def lie_about(self, what: str, frame: bytes) -> Iterator[bytes | None]:
        if what == "session" and self.of_sessions:
            spoilt = self.told < self.most
        else:
            spoilt = self.told < self.most and not self.of_sessions
            spoilt = spoilt and what not in ("session", "login")
            self.frames += spoilt
            spoilt = spoilt and self.frames % self.gap == 0
        if not spoilt:
            yield frame
            return
        self.told += 1
        for part in self.lie(what, frame):
            yield part
            if self.told >= self.most + 1:  # it is honest again: no endless lie
                yield None

    def becomes_honest(self) -> None:
        self.most = -1
        with self.mutex:
            for one in self.connections:
                one.close()


def lived_through(lie: lies.Lie, of_sessions: bool, gap: int = 3) -> list[str]:
    with Liar(lie, of_sessions, gap) as server:
        host = Host(server.url("session_timeout_ms=2000"), 4, lie.__name__)
        until, grown = time.monotonic() + LASTS_S, 0.0
        while time.monotonic() < until and host.is_alive() and server.told < FAULTS:
            if of_sessions:  # which are opened anew, then
                with server.mutex:
                    for one in server.connections:
                        one.close()
            time.sleep(0.1)
            grown = max(grown, host.rss_mib())
        assert server.told, "it never lied"
        server.becomes_honest()
        wrong = host.finish()
        print(lie.__name__, server.told, f"{grown:.0f} MiB", host.report)
    return wrong


@pytest.mark.parametrize(
    "lie", [*lies.OF_ALL, *lies.OF_REPLIES], ids=lambda lie: lie.__name__
)
def test_no_reply_ends_hangs_or_bloats_the_process(lie: lies.Lie) -> None:
    assert not lived_through(lie, of_sessions=False)


@pytest.mark.parametrize(
    "lie", [*lies.OF_ALL, *lies.OF_SESSIONS], ids=lambda lie: lie.__name__
)
def test_no_session_ends_hangs_or_bloats_the_process(lie: lies.Lie) -> None:
    assert not lived_through(lie, of_sessions=True)
