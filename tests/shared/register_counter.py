# SPDX-License-Identifier: MIT
"""Clients that count a register up, and the proof that no change was lost or made
twice."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import interlock
from cluster import until


class Counter:
    """Counts a register up by cas in a thread, on a client of its own, and notes what
    it gets as a reply."""

    def __init__(self, url: str, name: str):
        self.client = interlock.connect(url)
        self.register = self.client.register(name)
        self.done: list[int] = []  # versions
        self.unknown = 0
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self) -> None:
        while not self.ends.is_set():
            try:
                value, version = self.register.get()
                count = b"%d" % (int(value or b"0") + 1)
                newer = self.register.cas(version, count)
            except interlock.UnknownOutcomeError:
                self.unknown += 1
            except (interlock.ConnectionError, interlock.NoQuorumError):
                pass
            else:
                self.done += [newer] if newer else []

    def await_change(self) -> None:
        known = len(self.done)
        until(lambda: len(self.done) > known, 30, "a change")

    def end(self) -> None:
        self.ends.set()
        self.thread.join(60)
        self.client.close()
        assert not self.thread.is_alive()


def check(counters: Sequence[Counter], url: str, name: str) -> None:
    """End them. The register has counted each change, and none twice."""
    for counter in counters:
        counter.end()
    done = sorted(version for one in counters for version in one.done)
    with interlock.connect(url) as client:
        count = int(client.register(name).get().value or b"0")
    assert len(done) == len(set(done))
    assert len(done) <= count <= len(done) + sum(one.unknown for one in counters)
