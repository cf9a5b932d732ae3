# SPDX-License-Identifier: MIT
"""The process of store_client.py, and what it must not do, whatever its store sends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from support import patience

HERE = os.path.dirname(os.path.abspath(__file__))
FACTOR = patience(1.0)
MOST_MIB = 256.0  # an interpreter with the library has 40, a reply at most 8
CLOSES_S = 1.0
READY_S = 60.0


class Host:
    """A client at work until finish() returns what was wrong."""

    def __init__(self, url: str, workers: int, seed: object):
        self.report: dict[str, Any] = {}
        program = os.path.join(HERE, "store_client.py")
        self.process = subprocess.Popen(
            [sys.executable, program, url, str(workers), str(seed), str(FACTOR)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout
        self.process.stdout.readline()

    def is_alive(self) -> bool:
        return self.process.poll() is None

    def rss_mib(self) -> float:
        try:
            with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as found:
                return int(found.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
        except (OSError, IndexError):
            return 0.0

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def finish(self, seconds: float = 90.0) -> list[str]:
        """The store is honest now: each verb works again, and close ends in time."""
        try:
            out, errors = self.process.communicate("go on\n", seconds * FACTOR)
        except subprocess.TimeoutExpired:
            self.kill()
            return [f"it did not end within {seconds * FACTOR:.0f} s"]
        if self.process.returncode:
            return [f"it ended with {self.process.returncode}: {out} {errors[-2000:]}"]
        self.report = report = json.loads(out.splitlines()[-1])
        wrong = [*report["late"], *report["wrong"]]
        if report["closing"] > CLOSES_S * FACTOR:
            wrong.append(f"close took {report['closing']:.1f} s")
        if report["rss_mib"] > MOST_MIB:
            wrong.append(f"it had {report['rss_mib']:.0f} MiB")
        return wrong
