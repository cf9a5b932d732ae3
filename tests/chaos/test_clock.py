# SPDX-License-Identifier: MIT
"""The clock that is set has an effect: no other test would notice if it had none."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))

from server import Clock

HOUR = 3600.0
PROGRAM = """
import sys, time
for _ in sys.stdin:
    print(time.time(), time.monotonic(), flush=True)
"""


def test_a_process_sees_its_clock_step_and_others_do_not(tmp_path: Path) -> None:
    clock = Clock(tmp_path / "clock")
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **clock.environment},
    ) as process:
        assert process.stdin and process.stdout
        for step in (5 * HOUR, -7 * HOUR):
            clock.step(step)
            print(file=process.stdin, flush=True)
            now, monotonic = map(float, process.stdout.readline().split())
            assert abs(now - time.time() - clock.offset) < HOUR
            assert abs(monotonic - time.monotonic()) < HOUR
        process.stdin.close()
