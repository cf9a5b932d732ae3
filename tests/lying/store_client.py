# SPDX-License-Identifier: MIT
"""A program whose store lies: a process of its own, which has to live through it.

store_client.py URL WORKERS SEED: threads call each verb that the store offers, until a
line comes on standard input; then each verb has to work once. Standard output gets lines
of JSON: {"ready": true}, and at the end {"calls", "late", "wrong", "closing", "rss_mib"}.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import threading
import time
import traceback

import interlock

REPLY_S = 1.0
WITHOUT_S = 2.0  # a verb without a limit may take so long while the store is away
GRACE_S = 1.0
AGAIN_S = 60.0  # a store that lied works again within this time


class Calls:
    """How long each call took, beside its limit."""

    def __init__(self, patience):
        self.patience, self.count = patience, 0
        self.late, self.wrong = [], []
        self.begun = {}  # thread: (verb, began, limit)

    def bound(self, limit):
        return (limit + GRACE_S) * self.patience

    def __call__(self, verb, limit, function, *args, **more):
        began = time.monotonic()
        limit = max(limit or 0, WITHOUT_S)
        self.begun[threading.get_ident()] = (verb, began, limit)
        try:
            return function(*args, **more)
        finally:
            took = time.monotonic() - began
            self.count += 1
            if took > self.bound(limit):
                self.late.append(f"{verb} with {limit} s took {took:.1f} s")

    def hanging(self):
        now = time.monotonic()
        return [
            f"{verb} with {limit} s has not returned for {now - began:.0f} s"
            for verb, began, limit in list(self.begun.values())
            if now - began > 5 * self.bound(limit)
        ]


# ---- the verbs -------------------------------------------------------------------


def hold(call, kind, handle, limit):
    if call(f"{kind}.acquire", limit, handle.acquire, limit):
        call(f"{kind}.extend", None, handle.extend, 2)
        call(f"{kind}.release", None, handle.release)


def lock(call, client, name, limit):
    hold(call, "lock", client.lock(name, ttl=2), limit)
    call("inspect", None, client.inspect, name)
    call("break", None, client.break_lock, name)


def readers(call, client, name, limit):
    pair = client.rwlock(name, ttl=2)
    hold(call, "reader", pair.read, limit)
    hold(call, "writer", pair.write, limit)


def semaphore(call, client, name, limit):
    handle = client.semaphore(name, 3, ttl=2)
    hold(call, "semaphore", handle, limit)
    call("set_limit", None, handle.set_limit, 4)
    call("set_limit", None, handle.set_limit, 3)


def election(call, client, name, limit):
    handle = client.election(name, value=b"one", ttl=2)
    if call("campaign", limit, handle.campaign, limit):
        call("proclaim", None, handle.proclaim, b"two")
        call("resign", None, handle.resign)


def register(call, client, name, limit):
    handle = client.register(name)
    call("register.set", None, handle.set, b"x" * 100)
    version = call("register.get", None, handle.get).version
    call("register.wait", limit, handle.wait, version, timeout=limit)
    call("register.cas", None, handle.cas, version, b"y")


def group(call, client, name, limit):
    handle = client.group(name)
    member = call("join", None, handle.join, f"m{random.random()}", b"d", ttl=5)
    call("members", None, handle.members)
    call("update", None, member.update, b"e")
    call("leave", None, member.leave)


VERBS = {
    "lock": lock,
    "rwlock": readers,
    "semaphore": semaphore,
    "election": election,
    "register": register,
    "group": group,
}


def offered(client):
    return [verbs for kind, verbs in VERBS.items() if client.offers(kind)]


def at_work(call, client, seed, stops):
    rng, todo = random.Random(seed), offered(client)
    while not stops.is_set():
        verbs = rng.choice(todo)
        name = f"{verbs.__name__}-{rng.randrange(3)}"
        try:
            verbs(call, client, name, rng.choice([0, 0.05, 0.2, 0.5]))
        except interlock.Error:
            time.sleep(rng.random() * 0.02)
        except Exception:
            call.wrong.append(traceback.format_exc())
            return


def works_again(call, client):
    """Each verb once, on a name of its own, when the store is honest."""
    until = time.monotonic() + AGAIN_S * call.patience
    for verbs in offered(client):
        while True:
            try:
                verbs(call, client, f"{verbs.__name__}-own", 5)
                break
            except interlock.Error as error:
                if time.monotonic() > until:
                    call.wrong.append(f"{verbs.__name__} still fails: {error!r}")
                    break
                time.sleep(0.1)


def await_line(call):
    """Until a line comes on standard input; a call that hangs ends the process."""
    heard = threading.Event()
    threading.Thread(
        target=lambda: (sys.stdin.readline(), heard.set()), daemon=True
    ).start()
    while not heard.wait(0.5):
        for one in call.hanging():
            print(json.dumps({"hangs": one}), flush=True)
            sys.exit(3)


def open_client(url):
    """A client that is opened while the store lies may need some attempts."""
    for _attempt in range(200):
        try:
            return interlock.connect(
                url, connect_timeout=REPLY_S, reply_timeout=REPLY_S, lazy=True
            )
        except interlock.Error:
            time.sleep(0.05)
    raise SystemExit(4)


def main(url, workers, seed, patience):
    call, stops = Calls(patience), threading.Event()
    client = open_client(url)
    threads = [
        threading.Thread(target=at_work, args=(call, client, f"{seed} {i}", stops))
        for i in range(workers)
    ]
    for one in threads:
        one.start()
    print(json.dumps({"ready": True}), flush=True)
    await_line(call)
    stops.set()
    for one in threads:
        one.join()
    works_again(call, client)
    began = time.monotonic()
    client.close()
    closing = time.monotonic() - began
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    report = {"calls": call.count, "late": call.late, "wrong": call.wrong}
    report.update(closing=closing, rss_mib=used)
    print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], float(sys.argv[4]))
