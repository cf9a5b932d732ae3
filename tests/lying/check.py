# SPDX-License-Identifier: MIT
"""What is checked: the truth in the server, sure holders, messages, calls."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from collections import Counter, defaultdict

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "shared"))

from holds import crowds
from resp import command, read_value

MS = 0.001


class Violations:
    """What broke a rule; any thread adds."""

    def __init__(self):
        self.found = []

    def add(self, what):
        self.found.append(what)

    def __bool__(self):
        return bool(self.found)


def side(kind, name):
    """A side key, as libcore/src/redis/keys.h makes it."""
    return f"ilk:{kind}:{{{name}}}"


class Truth:
    """Reads the server directly, past the proxy; one connection for each thread."""

    def __init__(self, path, password, db):
        self.path, self.password, self.db = path, password, db
        self.own = threading.local()

    def call(self, *words, db=None):
        if not hasattr(self.own, "stream"):
            self.own.conn = socket.socket(socket.AF_UNIX)
            self.own.conn.connect(self.path)
            self.own.stream = self.own.conn.makefile("rb")
            self.send("AUTH", self.password)
            self.send("SELECT", self.db)
        if db is None:
            return self.send(*words)
        self.send("SELECT", db)
        value = self.send(*words)
        self.send("SELECT", self.db)
        return value

    def send(self, *words):
        self.own.conn.sendall(command(*words))
        return read_value(self.own.stream)

    def read(self, script, keys, *args):
        return self.call("EVAL", script, len(keys), *keys, *args)

    # Each answers (the fence that the server has for this token or None, ms left).

    def lock(self, name, token):
        value, left, owner, fence = self.read(
            "return {redis.call('GET', KEYS[1]) or '', redis.call('PTTL', KEYS[1]),"
            " redis.call('HGET', KEYS[2], 'token') or '',"
            " tonumber(redis.call('HGET', KEYS[2], 'fence') or 0)}",
            [name, side("lock:fence", name)],
        )
        return (
            (fence if owner == token.encode() else 0, left)
            if (value == token.encode())
            else (None, left)
        )

    def redisson(self, name, token):
        held, left, owner, fence = self.read(
            "return {redis.call('HEXISTS', KEYS[1], ARGV[1]),"
            " redis.call('PTTL', KEYS[1]),"
            " redis.call('HGET', KEYS[2], 'token') or '',"
            " tonumber(redis.call('HGET', KEYS[2], 'fence') or 0)}",
            [name, side("lock:fence", name)],
            token,
        )
        return (fence if owner == token.encode() else 0, left) if held else (None, 0)

    def reader(self, name, token):
        """The record is that of the last reader: the fence is its or a smaller one."""
        ends, now, owner, fence = self.read(
            "local t = redis.call('TIME')"
            " return {tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or 0),"
            " t[1] * 1000 + math.floor(t[2] / 1000),"
            " redis.call('HGET', KEYS[2], 'token') or '',"
            " tonumber(redis.call('HGET', KEYS[2], 'fence') or 0)}",
            [side("lock:readers", name), side("lock:fence", name)],
            token,
        )
        if not ends or ends <= now:
            return None, 0
        return (fence if owner == token.encode() else -fence), ends - now

    def semaphore(self, name, token):
        ends, now, fence = self.read(
            "local t = redis.call('TIME')"
            " return {tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1] .. ' 1') or"
            " redis.call('ZSCORE', KEYS[1], ARGV[1] .. ' 0') or 0),"
            " t[1] * 1000 + math.floor(t[2] / 1000),"
            " tonumber(string.match(redis.call('HGET', KEYS[2], '+' .. ARGV[1])"
            " or '0', '^%d+'))}",
            [side("semaphore", name), side("semaphore:fence", name)],
            token,
        )
        return (fence, ends - now) if ends > now else (None, 0)

    def election(self, name, token):
        value, left, owner, fence = self.read(
            "return {redis.call('GET', KEYS[1]) or '', redis.call('PTTL', KEYS[1]),"
            " redis.call('HGET', KEYS[2], 'token') or '',"
            " tonumber(redis.call('HGET', KEYS[2], 'fence') or 0)}",
            [side("election", name), side("election:fence", name)],
        )
        if value != token.encode():
            return None, 0
        return (fence if owner == token.encode() else 0), left

    def job(self, name, token):
        """Whether <token>:<place>:<count> is in flight, and the ms left."""
        delivery, place, _ = token.split(":")
        there, ends, now = self.read(
            "local t = redis.call('TIME')"
            " return {redis.call('HEXISTS', KEYS[1], ARGV[1]),"
            " math.floor(tonumber(redis.call('ZSCORE', KEYS[2], ARGV[2]) or 0) / 512),"
            " t[1] * 1000 + math.floor(t[2] / 1000)}",
            [side("queue:flight", name), side("queue:leases", name)],
            f"{delivery}:{place}",
            delivery,
        )
        return bool(there) and ends >= now, ends - now


def overlaps(history):
    """Sentences, one for each moment at which more was held than there is."""
    return [f"at once: {holds}" for holds in crowds(history)]


class Calls:
    """The calls under way, with their ages; and counts of results by verb."""

    def __init__(self):
        self.under_way = {}
        self.results = defaultdict(Counter)
        self.mutex = threading.Lock()

    def begin(self, verb):
        key = object()
        self.under_way[key] = (verb, time.monotonic())
        return key

    def end(self, key, verb, result):
        self.under_way.pop(key)
        with self.mutex:
            self.results[verb][result] += 1

    def oldest(self):
        """(verb, seconds) of the call that has taken longest until now."""
        now = time.monotonic()
        calls = [(now - at, verb) for verb, at in list(self.under_way.values())]
        age, verb = max(calls, default=(0.0, ""))
        return verb, age


class Ledger:
    """What became of each message of the queues; its payload is unique."""

    def __init__(self, violations):
        self.violations = violations
        self.mutex = threading.Lock()
        self.begun, self.pushed, self.gone = {}, {}, {}
        self.in_doubt = set()  # their acknowledgement had no answer
        self.losses = {}  # pops without an answer, by queue: each may have taken one
        self.count = 0

    def new(self, queue):
        """A payload for a push that begins now."""
        with self.mutex:
            self.count += 1
            payload = b"%s message %d" % (queue.encode(), self.count)
            self.begun[payload] = queue
            return payload

    def was_pushed(self, payload):
        with self.mutex:
            self.pushed[payload] = self.begun[payload]

    def is_gone(self, payload, why):
        """Acknowledged, or popped: it may not be delivered from now on."""
        with self.mutex:
            self.gone[payload] = (why, time.monotonic())

    def delivered(self, payload, asked_at, how):
        """A call that began at asked_at delivered it."""
        with self.mutex:
            gone = self.gone.get(payload)
            if payload not in self.begun:
                self.violations.add(f"{how} delivered {payload!r}, which nobody pushed")
            elif gone and gone[1] < asked_at:
                self.violations.add(
                    f"{how} delivered {payload!r} again after {gone[0]}"
                )

    def may_be_gone(self, payload):
        with self.mutex:
            self.in_doubt.add(payload)

    def may_be_lost(self, queue):
        with self.mutex:
            self.losses[queue] = self.losses.get(queue, 0) + 1

    def settle(self, left):
        """Compare with what a direct client found when all had ended."""
        missing = defaultdict(list)
        for payload, queue in self.pushed.items():
            if not any(payload in those for those in (left, self.gone, self.in_doubt)):
                missing[queue].append(payload)
        for payload in left:
            if payload in self.gone:
                why = self.gone[payload][0]
                self.violations.add(f"{payload!r} is in the queue after {why}")
        for queue, payloads in missing.items():
            most = self.losses.get(queue, 0)
            if len(payloads) > most:
                self.violations.add(
                    f"{queue} has lost {payloads}, {most} of them may be lost"
                )
