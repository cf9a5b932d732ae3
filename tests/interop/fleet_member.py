# SPDX-License-Identifier: MIT
"""One process of a mixed fleet: fleet_member.py KIND ROLE URL NAME [NUMBER].

KIND is `ours` or `theirs`: interlock.recipes, or the well-known functions on
redis-py. It prints its calls and their results, a line each.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from pathlib import Path

import redis
from interlock import recipes

sys.path.insert(0, str(Path(__file__).parents[1] / "python"))

import documents
from documents import run

KIND, ROLE, URL, NAME = sys.argv[1:5]
NUMBER = int(sys.argv[5]) if len(sys.argv) > 5 else 0
OURS = KIND == "ours"
LIMIT, TENURE = 3, 1

conn = redis.from_url(URL, socket_timeout=None)


def say(*words):
    print(*words, flush=True)


class Inside:
    """How many are in a place, as the server counts them."""

    def __init__(self, *places):
        self.keys = [f"{NAME}:{place}" for place in places]

    def __enter__(self):
        return [conn.incr(key) for key in self.keys]

    def __exit__(self, *exc):
        for key in self.keys:
            conn.decr(key)


def lead():
    """Lead now and then, and let a tenure pass by after it."""
    mine = (
        recipes.bind(URL, master=NAME, tenure=TENURE)
        if OURS
        else documents.Candidate(conn, NAME, TENURE)
    )
    while True:
        if mine.master() if OURS else run(mine.master()):
            with Inside("leaders") as (count,):
                say(count)
                time.sleep(0.01)
            if random.random() < 0.2:
                mine.local_selector = mine.selector = 0
                time.sleep(1.5 * TENURE)
        time.sleep(random.uniform(0.01, 0.03))


def hold():
    """Take permits, under the lock when NUMBER is 1."""
    while True:
        if NUMBER and OURS:
            permit = recipes.acquire_semaphore_with_lock(URL, NAME, LIMIT)
        elif NUMBER:
            permit = under_lock()
        elif OURS:
            permit = recipes.acquire_fair_semaphore(URL, NAME, LIMIT)
        else:
            permit = run(documents.acquire_fair_semaphore(conn, NAME, LIMIT))
        if not permit:
            time.sleep(0.001)
            continue
        with Inside(KIND, "all") as (same, everybody):
            say(same, everybody)
            time.sleep(0.001)
        if OURS:
            recipes.release_fair_semaphore(URL, NAME, permit)
        else:
            run(documents.release_fair_semaphore(conn, NAME, permit))


def under_lock():
    """Theirs: the lock, and the permit under it."""
    key, me = f"lock:{NAME}", os.urandom(8).hex()
    if not conn.set(key, me, nx=True, px=10000):
        return None
    try:
        return run(documents.acquire_fair_semaphore(conn, NAME, LIMIT))
    finally:
        run(documents.release_lock(conn, NAME, me))


def push():
    """NUMBER messages for each kind of queue."""
    r = recipes.bind(URL)
    for number in range(NUMBER):
        text = f"{os.getpid()}-{number}"
        job = json.dumps(["work", [text]])
        if OURS:
            r.fifo_push(f"{NAME}:fifo", text)
            r.safe_fifo_push(f"{NAME}:safe", text)
            recipes.fifo_queue_push(URL, f"{NAME}:jobs", job)
            recipes.delayed_queue_push(URL, f"{NAME}:later", text, 0.05)
        else:
            conn.lpush(f"{NAME}:fifo", text)
            conn.lpush(f"{NAME}:safe", text)
            conn.rpush(f"{NAME}:jobs", job)
            conn.zadd(f"{NAME}:later", {text: time.time() + 0.05})


def pop():
    """Calls of any kind but those of jobs."""
    r, cache = recipes.bind(URL), f"{NAME}:cache:{os.getpid()}"
    while True:
        if OURS:
            got = [
                ("fifo", r.fifo_pop(f"{NAME}:fifo")),
                ("safe", r.safe_fifo_pop(f"{NAME}:safe", cache)),
                *(
                    ("later", t)
                    for t in recipes.delayed_queue_pop(URL, f"{NAME}:later")
                ),
            ]
        else:
            got = [
                ("fifo", conn.rpop(f"{NAME}:fifo")),
                ("safe", run(documents.safe_fifo_pop(conn, f"{NAME}:safe", cache))),
            ]
        for where, text in got:
            if text is not None:
                say(where, text.decode())


def work():
    """Jobs, for ever."""

    def done(text):
        say("jobs", text)

    queue, calls = f"{NAME}:jobs", {"work": done}
    if OURS:
        recipes.worker_watch_queue(URL, queue, calls)
    while True:
        run(documents.worker_step(conn, queue, calls))


def wait():
    """Signals to one, for ever."""
    r = recipes.bind(URL)
    for number in range(10**9):
        identity = f"{os.getpid()}.{number}"
        if OURS:
            heard = r.wait_single(NAME, identity)
        else:
            heard = run(documents.wait(conn, NAME + identity))
        if heard:
            say(heard["data"].decode())


{"lead": lead, "hold": hold, "push": push, "pop": pop, "work": work, "wait": wait}[
    ROLE
]()
