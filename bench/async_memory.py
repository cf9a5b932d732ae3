# SPDX-License-Identifier: MIT
"""The memory of ten thousand waits of one client."""

from __future__ import annotations

import argparse
import sys

from harness import ANY, OUT, Report, Server
from sides import ask_once, fresh

WAITS = 10_000


def measure(server: Server, report: Report, given: argparse.Namespace) -> None:
    print(f"\n-- {WAITS:,} waits for one lock in one process")
    worker = [sys.executable, OUT.parents[1] / "bench" / "worker_async.py"]
    found = {
        "c": ask_once([OUT / "started", server.url], ANY, "waits", fresh("w"), WAITS),
        "python": ask_once(
            [*worker, "interlock", server.url], ANY, "waits", fresh("w"), WAITS
        ),
    }
    report.raw["memory"] = found
    millions = WAITS / 1e6
    report.row("C: memory of all", found["c"]["bytes"] * millions, "MB", "<= 10")
    waiting = found["c"]["bytes"] - found["c"]["idle_bytes"]
    report.row("C: memory beyond that of idle handles", waiting * millions, "MB")
    report.row("Python: memory of all", found["python"]["bytes"] * millions, "MB")
    beyond = found["python"]["bytes"] - found["python"]["task_bytes"]
    what = "Python: memory beyond that of idle tasks"
    report.row(what, beyond * millions, "MB", "<= 10")
