# SPDX-License-Identifier: MIT
"""A Python side, ours or a peer's: worker_side.py KIND URL [LIMIT].

It reads lines and answers them, see README.md; openers.py has the kinds. Each
line has a connection of its own, or what the peer's client makes of that.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable

import openers

PAIRS_AT_ONCE = 16  # between two looks at the clock


def in_threads(count: int, body: Callable[[int], None]) -> None:
    threads = [threading.Thread(target=body, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def repeat(calls: list[openers.Pair], seconds: float) -> dict:
    """Each pair of calls by a thread of its own, one after the other."""
    for first, second in calls:  # connect and load scripts first
        first()
        second()
    times: list[list[int]] = [[] for _ in calls]
    began = time.monotonic()
    ends = began + seconds
    cpu = time.process_time()

    def body(number: int) -> None:
        first, second = calls[number]
        while not times[number] or time.monotonic() < ends:
            for _ in range(PAIRS_AT_ONCE):
                asked = time.monotonic_ns()
                first()
                second()
                times[number].append(time.monotonic_ns() - asked)

    in_threads(len(calls), body)
    took = time.monotonic() - began
    every = sorted(ns for own in times for ns in own)
    return {
        "pairs": len(every),
        "per_s": len(every) / took,
        "p50_us": every[len(every) // 2] / 1000,
        "p99_us": every[(len(every) - 1) * 99 // 100] / 1000,
        "cpu_us": (time.process_time() - cpu) / len(every) * 1e6,
    }


def pairs(make: openers.Make, name: str, threads: str, seconds: str) -> object:
    calls = [make(f"{name}-{number}") for number in range(int(threads))]
    return repeat(calls, float(seconds))


def acquires(make: openers.Make, name: str, seconds: str) -> object:
    """Pairs by one thread, of which acquires are timed."""
    acquire, release = make(name)
    times: list[int] = []

    def timed() -> None:
        asked = time.monotonic_ns()
        acquire()
        times.append(time.monotonic_ns() - asked)

    found = repeat([(timed, release)], float(seconds))
    del times[0]  # it has connected
    times.sort()
    found["p50_us"] = times[len(times) // 2] / 1000
    found["p99_us"] = times[(len(times) - 1) * 99 // 100] / 1000
    return found


def crowd(make: openers.Make, name: str, waiters: str, hold_us: str) -> object:
    calls = [make(name) for _ in range(int(waiters))]
    own = [make(f"{name}-{number}") for number in range(len(calls))]
    inside = int(hold_us) / 1e6
    logs: list[list[int]] = [[] for _ in calls]
    together, times = threading.Barrier(len(calls)), []

    def stand() -> None:
        answer("standing")
        times.extend(map(float, sys.stdin.readline().split()[1:]))

    standing = threading.Barrier(len(calls), stand)

    def body(number: int) -> None:
        (acquire, release), log = calls[number], logs[number]
        together.wait()
        for call in own[number]:  # so that each has a connection
            call()
        standing.wait()
        starts, ends = times
        begin = int(starts * 1e9)
        time.sleep(max(0.0, starts - time.monotonic()))
        while not log or time.monotonic() < ends:
            asked = time.monotonic_ns()
            acquire()
            entered = time.monotonic_ns()
            if inside:
                time.sleep(inside)
            release()
            log += (asked - begin, entered - begin)

    in_threads(len(calls), body)
    return logs


def hold(make: openers.Make, name: str, ttl_ms: str) -> object:
    held.append(make(name, int(ttl_ms) / 1000))
    held[-1][0]()
    return "held"


def next_one(make: openers.Make, name: str, ttl_ms: str) -> object:
    acquire, release = make(name, int(ttl_ms) / 1000)
    answer("waiting")
    acquire()
    entered = time.monotonic_ns()
    release()
    return entered


VERBS = {
    "pairs": pairs,
    "acquires": acquires,
    "crowd": crowd,
    "hold": hold,
    "next": next_one,
}
held: list[openers.Pair] = []  # what is held until this process is killed


def answer(what: object) -> None:
    print(json.dumps(what), flush=True)


def main(kind: str, url: str, limit: str = "") -> None:
    answer("ready")
    for line in sys.stdin:
        verb, *words = line.split()
        if limit:
            opened = openers.semaphores(kind, url, int(limit))
        else:
            opened = openers.locks(kind, url)
        answer(VERBS[verb](opened, *words))


if __name__ == "__main__":
    main(*sys.argv[1:])
