# SPDX-License-Identifier: MIT
"""Many processes that start at the same moment on a machine without time for them."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator

import interlock
from control_store import Control

CROWD = 500
SPINNERS = 2  # for each processor


def spin() -> None:
    while True:
        pass


@contextlib.contextmanager
def busy_processors() -> Iterator[None]:
    """Each processor has other processes to run all the time."""
    count = len(os.sched_getaffinity(0))
    spinners = [
        multiprocessing.Process(target=spin, daemon=True)
        for _ in range(SPINNERS * count)
    ]
    for one in spinners:
        one.start()
    try:
        yield
    finally:
        for one in spinners:
            one.kill()
            one.join()


def take_a_turn(url: str, start: int, report: int) -> None:
    """A process of the crowd: "" or its error goes to `report`."""
    os.read(start, 1)  # all of them begin when it is closed
    said = ""
    try:
        with interlock.connect(url) as client, client.lock("herd", ttl=60):
            pass
    except BaseException as error:
        said = repr(error).replace("\n", " ")[:300]
    os.write(report, f"{os.getpid()} {said}\n".encode())


def start_together(url: str) -> list[str]:
    """The errors of a crowd that connects, gets one lock in turn, and ends."""
    start, begin = os.pipe()
    found, report = os.pipe()
    crowd = []
    for _ in range(CROWD):
        pid = os.fork()
        if pid == 0:
            os.close(begin)
            os.close(found)
            try:
                take_a_turn(url, start, report)
            finally:
                os._exit(0)
        crowd.append(pid)
    os.close(start)
    os.close(report)
    os.close(begin)
    with os.fdopen(found) as lines:
        said = dict(line.rstrip("\n").split(" ", 1) for line in lines)
    for pid in crowd:
        os.waitpid(pid, 0)
    return [said.get(str(pid), "ended without a word") for pid in crowd]


def test_a_crowd_that_starts_together_gets_the_lock():
    with Control() as store, busy_processors():
        began = time.monotonic()
        errors = [one for one in start_together(store.url()) if one]
        took = time.monotonic() - began

    print(f"{CROWD} processes, {took:.1f} s, {len(errors)} errors", file=sys.stderr)
    assert not errors, f"{len(errors)} of {CROWD}, such as {sorted(set(errors))[:5]}"
