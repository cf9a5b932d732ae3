# SPDX-License-Identifier: MIT
"""The command while its server cannot be reached: all of its verbs share an outage."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cells import EARLY_S, PATIENCE
from control_store import Control
from store_kinds import BUILD

LIMIT_S = 2
SLACK_S = 1.0 * PATIENCE
COMMAND = Path(BUILD) / "bin" / "interlock"

# The words of a call with a limit, but for the limit, which stands for LIMIT.
LIMITED = [
    "lock a --wait LIMIT -- true",
    "lock a --shared --wait LIMIT -- true",
    "semaphore b --limit 1 --wait LIMIT -- true",
    "elect c --wait LIMIT -- true",
    "wait d --timeout LIMIT",
    "event wait e --timeout LIMIT",
    "register wait f 0 --timeout LIMIT",
    "queue pop g --timeout LIMIT",
    "queue reserve g --timeout LIMIT",
]
AT_ONCE = [
    *(words.replace("LIMIT", "0") for words in LIMITED[:4]),
    *("signal d", "event set e", "event show e", "register get f", "queue push g x"),
    *("queue show g", "kv get h k", "group ls i", "inspect a", "break a", "ls"),
]


class Run:
    """One call of the command."""

    def __init__(self, url: str, words: str):
        self.words = words
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            [COMMAND, "--url", url, *words.split()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self) -> float:
        """Seconds that it took, to within a poll."""
        self.said = self.process.communicate(timeout=60)[1]
        return time.monotonic() - self.began


@pytest.fixture
def server() -> Iterator[Control]:
    with Control() as running:
        yield running


def test_the_command_ends_with_the_outage_at_its_limit(server):
    server.kill()
    runs = [
        Run(server.url(), words.replace("LIMIT", f"{LIMIT_S}s")) for words in LIMITED
    ]
    runs += [Run(server.url(), words) for words in AT_ONCE]

    wrong = []
    for run in sorted(
        runs, key=lambda run: "s -- " in run.words or "timeout" in run.words
    ):
        took = run.end()
        is_limited = f"{LIMIT_S}s" in run.words
        least, most = (LIMIT_S - EARLY_S, LIMIT_S) if is_limited else (0, 0)
        if (
            run.process.returncode != 69
            or "refused" not in run.said
            or (is_limited and "unreachable for" not in run.said)
            or not least <= took <= most + SLACK_S
        ):
            wrong.append(f"{run.words}: {run.process.returncode} {took:.1f} {run.said}")

    assert not wrong, "\n".join(wrong)


def test_the_command_gets_its_lock_when_the_server_comes_back_in_time(server):
    server.kill()
    holds = [words for words in LIMITED if words.endswith("true")]
    runs = [Run(server.url(), words.replace("LIMIT", "60s")) for words in holds]
    time.sleep(0.5)  # they have tried more than once
    server.start()

    for run in runs:
        run.end()

        assert (run.process.returncode, run.words) == (0, run.words), run.said
