# SPDX-License-Identifier: MIT
"""A Python side of the queue: worker_queue.py KIND URL; it reads lines.

    push BATCH MESSAGES     put them in, BATCH in a call where that is possible
    take BATCH MESSAGES     take and acknowledge them

Messages have 200 bytes. A framework, which runs a function for each
message, is timed from its first message to its last, without its start.
"""

from __future__ import annotations

import contextlib
import json
import sys
import threading
import time
import warnings
from collections.abc import Callable

import openers

BODY = openers.BODY
TEXT = BODY.decode()
LEASE = 60.0


class Seen:
    """Counts what a framework delivers, and says when that is all."""

    def __init__(self) -> None:
        self.count = self.wanted = 0
        self.began = self.ended = 0.0
        self.lock = threading.Lock()
        self.enough: Callable[[], object] = lambda: None

    def want(self, messages: int, enough: Callable[[], object]) -> None:
        self.count, self.wanted, self.enough = 0, messages, enough

    def note(self) -> None:
        with self.lock:
            self.count += 1
            count = self.count
        if count == 1:
            self.began = time.monotonic()
        if count == self.wanted:
            self.ended = time.monotonic()
            self.enough()

    def seconds(self) -> float:
        if self.count < self.wanted:
            raise SystemExit(f"bench: {self.count} messages of {self.wanted} came")
        return self.ended - self.began


seen = Seen()


def work(_text: str) -> None:
    """The function of a message, for peers whose messages name one."""
    seen.note()


class Ours:
    def __init__(self, url: str) -> None:
        import interlock

        self.queue = interlock.connect(url).queue("bench")

    def push(self, batch: int, messages: int) -> None:
        for _ in range(messages // batch):
            if batch == 1:
                self.queue.push(BODY)
            else:
                self.queue.push_many([BODY] * batch)

    def take(self, batch: int, messages: int) -> None:
        taken, before = 0, None
        while taken < messages:
            before = self.queue.reserve_many(batch, 5, LEASE, done=before)
            taken += len(before)
        before.ack()


class Lists:
    """A list, and another one of what is being worked on."""

    def __init__(self, url: str) -> None:
        self.redis = openers.connection(url)

    def push(self, batch: int, messages: int) -> None:
        for _ in range(messages // batch):
            self.redis.lpush("ready", *[BODY] * batch)

    def take(self, batch: int, messages: int) -> None:
        before: list[bytes] = []
        for _ in range(messages // batch + 1):
            pipe = self.redis.pipeline(transaction=False)
            for body in before:
                pipe.lrem("taken", 1, body)
            for _ in range(batch):
                pipe.lmove("ready", "taken", "RIGHT", "LEFT")
            before = [body for body in pipe.execute()[len(before) :] if body]


class Streams:
    """A stream with one group; what is acknowledged is deleted."""

    def __init__(self, url: str) -> None:
        self.redis = openers.connection(url)

    def push(self, batch: int, messages: int) -> None:
        import redis

        with contextlib.suppress(redis.ResponseError):  # it is there
            self.redis.xgroup_create("stream", "group", "0", mkstream=True)
        for _ in range(messages // batch):
            pipe = self.redis.pipeline(transaction=False)
            for _ in range(batch):
                pipe.xadd("stream", {"body": BODY})
            pipe.execute()

    def take(self, batch: int, messages: int) -> None:
        before: list[bytes] = []
        for _ in range(messages // batch + 1):
            pipe = self.redis.pipeline(transaction=False)
            if before:
                pipe.xack("stream", "group", *before)
                pipe.xdel("stream", *before)
            pipe.xreadgroup("group", "me", {"stream": ">"}, count=batch)
            before = list(identifiers(pipe.execute()[-1]))


def identifiers(found: object) -> object:
    """Of XREADGROUP's answer, which differs between RESP2 and RESP3."""
    streams = found.values() if isinstance(found, dict) else [s[1] for s in found or []]
    for entries in streams:
        for entry in entries:
            yield from [e[0] for e in entry] if isinstance(entry, list) else [entry[0]]


class Rq:
    def __init__(self, url: str) -> None:
        import rq

        self.redis = openers.connection(url)
        self.queue = rq.Queue("bench", connection=self.redis)
        self.worker = rq.SimpleWorker

    def push(self, batch: int, messages: int) -> None:
        for _ in range(messages):
            self.queue.enqueue("worker_queue.work", TEXT, result_ttl=0)

    def take(self, batch: int, messages: int) -> float:
        import worker_queue  # the module that RQ imports is not __main__

        theirs = worker_queue.seen
        theirs.want(messages, lambda: None)
        worker = self.worker([self.queue], connection=self.redis)
        worker.work(burst=True, logging_level="ERROR")
        return theirs.seconds()


class Dramatiq:
    def __init__(self, url: str) -> None:
        import dramatiq
        from dramatiq.brokers.redis import RedisBroker

        self.broker = RedisBroker(url=url)
        self.actor = dramatiq.actor(work, broker=self.broker)
        self.worker = dramatiq.Worker

    def push(self, batch: int, messages: int) -> None:
        for _ in range(messages):
            self.actor.send(TEXT)

    def take(self, batch: int, messages: int) -> float:
        enough = threading.Event()
        seen.want(messages, enough.set)
        worker = self.worker(self.broker)
        worker.start()
        enough.wait(50)
        worker.stop()
        return seen.seconds()


class Celery:
    def __init__(self, url: str) -> None:
        import celery

        self.app = celery.Celery("bench", broker=url)
        self.app.conf.task_ignore_result = True
        self.app.conf.worker_redirect_stdouts = False
        self.task = self.app.task(work, name="work")

    def push(self, batch: int, messages: int) -> None:
        for _ in range(messages):
            self.task.delay(TEXT)

    def take(self, batch: int, messages: int) -> float:
        from celery.worker import state

        def enough() -> None:
            state.should_stop = 0

        state.should_stop = None
        seen.want(messages, enough)
        worker = self.app.Worker(
            pool="solo", loglevel="ERROR", without_gossip=True,
            without_mingle=True, without_heartbeat=True, quiet=True,
        )  # fmt: skip
        with contextlib.suppress(SystemExit):
            worker.start()
        return seen.seconds()


KINDS = {
    "interlock": Ours, "lists": Lists, "streams": Streams, "rq": Rq,
    "dramatiq": Dramatiq, "celery": Celery,
}  # fmt: skip


def main(kind: str, url: str) -> None:
    warnings.simplefilter("ignore")  # of what the peers stand on
    side = KINDS[kind](url)
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        verb, *words = line.split()
        batch, messages = map(int, words)
        cpu, began = time.process_time(), time.monotonic()
        spent = getattr(side, verb)(batch, messages)
        spent = spent or time.monotonic() - began
        cpu = time.process_time() - cpu
        answer = {
            "messages": messages,
            "per_s": messages / spent,
            "cpu_us": cpu / messages * 1e6,
        }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
