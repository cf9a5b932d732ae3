# SPDX-License-Identifier: MIT
"""Runs examples/stores/move.py: processes that move from one store to the next."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[2] / "examples" / "stores" / "move.py"
PATIENCE = 60


class Mover:
    """One process, and the lines that it prints."""

    def __init__(self, stores: Path, counter: Path):
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", str(PROGRAM), str(stores), str(counter)],
            env=dict(os.environ, PYTHONUNBUFFERED="1"),
            stdout=subprocess.PIPE,
            text=True,
        )
        self.lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))

    def line(self) -> str:
        return self.lines.get(timeout=PATIENCE)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout
        self.process.stdout.close()


def count_while_moving(
    home: Path, lists: Sequence[Sequence[str]], count: int = 3
) -> tuple[int, int]:
    """Move several processes from list to list; how often they counted, and the
    counter."""
    stores, counter = home / "stores", home / "count"
    written = home / "stores.new"

    def move_to(urls: Sequence[str]) -> None:
        written.write_text(" ".join(urls))
        written.replace(stores)

    move_to(lists[0])
    movers = [Mover(stores, counter) for _ in range(count)]
    try:
        for urls in lists:
            move_to(urls)
            for one in movers:
                assert one.line() == " ".join(urls)
        move_to([])
        turns = [int(one.line().removeprefix("turns ")) for one in movers]
        statuses = [one.process.wait(PATIENCE) for one in movers]
    finally:
        for one in movers:
            one.end()
    assert statuses == [0] * count
    return sum(turns), int(counter.read_text())
