# SPDX-License-Identifier: MIT
"""Python's waits for signals, see worker.py and c/signal.c."""

from __future__ import annotations

import json
import statistics
import sys
import threading
import time
from typing import Callable

PAUSE = 0.003
ran: list[float] = []


def giver(kind: str, url: str, name: str) -> Callable[[], object]:
    """Signal all who wait for this name."""
    if kind == "interlock":
        import interlock

        signal = interlock.connect(url).signal(name)
        return lambda: signal.notify_all(b"x")
    import redis

    connection = redis.Redis.from_url(url, socket_timeout=None)
    return lambda: connection.publish(name, b"x")


def listener(kind: str, url: str, name: str) -> Callable[[], Callable[[], object]]:
    """The answer makes a wait, in the thread that is to wait."""
    if kind == "interlock":
        import interlock

        client = interlock.connect(url)
        return lambda: client.signal(name).wait
    import redis

    connection = redis.Redis.from_url(url, socket_timeout=None, max_connections=100_000)

    def make() -> Callable[[], object]:
        pubsub = connection.pubsub(ignore_subscribe_messages=True)
        pubsub.subscribe(name)
        messages = pubsub.listen()
        return lambda: next(messages)

    return make


def start(kind: str, url: str, name: str, waiters: int) -> None:
    make = listener(kind, url, name)

    def body() -> None:
        wait = make()
        while True:
            message = wait()
            if message is not None:
                ran.append(time.monotonic())

    threading.stack_size(256 * 1024)
    for _ in range(waiters):
        threading.Thread(target=body, daemon=True).start()
    print("ready", flush=True)


def until(count: int) -> None:
    while len(ran) < count:
        time.sleep(0.0005)


def broadcast(kind: str, url: str, name: str, waiters: str) -> object:
    """For each line read, signal all; how soon the half and all of them ran."""
    count = int(waiters)
    give = giver(kind, url, name)
    start(kind, url, name, count)
    for _ in sys.stdin:
        ran.clear()
        began = time.monotonic()
        give()
        until(count)
        times = sorted((at - began) * 1e6 for at in ran)
        found = {"half_us": times[count // 2], "all_us": times[-1]}
        print(json.dumps(found), flush=True)
    return None


def latency(kind: str, url: str, name: str, signals: str) -> object:
    """For each line read, so many signals to one waiter; us until it ran."""
    give = giver(kind, url, name)
    start(kind, url, name, 1)
    for _ in sys.stdin:
        times = []
        for _ in range(int(signals)):
            time.sleep(PAUSE)
            ran.clear()
            began = time.monotonic()
            give()
            until(1)
            times.append((ran[0] - began) * 1e6)
        cuts = statistics.quantiles(times, n=100)
        print(json.dumps({"p50_us": cuts[49], "p99_us": cuts[98]}), flush=True)
    return None
