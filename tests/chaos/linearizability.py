# SPDX-License-Identifier: MIT
"""Porcupine's verdict on histories: see porcupine/main.go.

It judges the made-up histories first: those that have no explanation must be
rejected, and the others accepted. Without Go nothing is judged.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from toolchain import find

HERE = Path(__file__).resolve().parent


class Checker:
    def __init__(self, command: tuple[str, ...]):
        self.command = command

    def judge(self, paths: Iterable[Path]) -> tuple[bool, list[str]]:
        """Whether all is linearizable; a line for each name."""
        argv = [*self.command, *map(str, sorted(paths))]
        done = subprocess.run(argv, capture_output=True, text=True)
        assert done.returncode in (0, 1), done.stderr
        return done.returncode == 0, done.stdout.splitlines()

    def controls(self) -> Iterator[str]:
        """Errors of its verdicts on the made-up histories."""
        for verdict, good in (("accepted", True), ("rejected", False)):
            paths = list((HERE / "histories" / verdict).glob("*.history"))
            assert paths, f"no histories that are to be {verdict}"
            for path in paths:
                if self.judge([path])[0] is not good:
                    yield f"{path.name} is not {verdict}"


def checker() -> tuple[Checker | None, str]:
    """The checker; or none, and why."""
    command, trouble = find("go", HERE / "porcupine")
    return (Checker(command) if command else None), trouble
