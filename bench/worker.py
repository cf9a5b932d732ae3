# SPDX-License-Identifier: MIT
"""The Python sides of the benchmarks: worker.py TASK KIND URL ARGUMENT...

Each prints one line of JSON. KIND is interlock or a peer, see openers.py.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import sys
import threading
import time

import openers
from worker_election import candidates, lead
from worker_ring import lookups, on_points, owners
from worker_side import repeat
from worker_signal import broadcast, latency


def messages(kind: str, url: str, threads: str, seconds: str) -> object:
    """Push and pop, all threads on one queue."""
    calls = openers.queues(kind, url)
    return repeat([calls] * int(threads), float(seconds))


def handover(kind: str, url: str, name: str, rounds: str) -> object:
    """From one process' release to the next one's hold, see c/handover.c."""
    to_child, to_parent = os.pipe(), os.pipe()
    if os.fork() == 0:
        os.close(to_child[1])
        acquire, release = openers.locks(kind, url)(name)
        while os.read(to_child[0], 1):
            acquire()
            entered = time.monotonic_ns()
            release()
            os.write(to_parent[1], entered.to_bytes(8, "big"))
        os._exit(0)
    acquire, release = openers.locks(kind, url)(name)
    before, after = [], []
    for _ in range(int(rounds)):
        acquire()
        os.write(to_child[1], b"x")
        # A poller's next look falls anywhere in its period of 100 ms.
        time.sleep(random.uniform(0.002, 0.005 if kind == "interlock" else 0.105))
        called = time.monotonic_ns()
        release()
        returned = time.monotonic_ns()
        entered = int.from_bytes(os.read(to_parent[0], 8), "big")
        before.append((entered - called) / 1000)
        after.append((entered - returned) / 1000)
    os.close(to_child[1])
    os.wait()
    return {
        "before_us": statistics.median(before),
        "after_us": statistics.median(after),
    }


def arrive(kind: str, url: str, name: str) -> object:
    """For each line read, a waiter of that number; [number, entered ns] each."""
    make = openers.locks(kind, url)
    entered: list[tuple[int, int]] = []
    threads = []

    def body(number: int) -> None:
        acquire, release = make(name)
        acquire()
        entered.append((number, time.monotonic_ns()))
        release()

    for line in sys.stdin:
        threads.append(threading.Thread(target=body, args=(int(line),)))
        threads[-1].start()
    for thread in threads:
        thread.join()
    return entered


TASKS = {
    task.__name__: task
    for task in (
        messages,
        handover,
        arrive,
        candidates,
        lead,
        broadcast,
        latency,
        lookups,
        on_points,
        owners,
    )
}

if __name__ == "__main__":
    print(json.dumps(TASKS[sys.argv[1]](*sys.argv[2:])))
