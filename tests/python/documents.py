# SPDX-License-Identifier: MIT
"""The well-known functions on redis-py, in steps: a peer, and a warning.

Each is a generator that stops wherever other processes may get in between: a
test decides who goes on when. ``run`` takes all steps at once, as a program
does that has nobody beside it.
"""

from __future__ import annotations

import json
import random
import time
import uuid

PICK_ONE = """
local channels = redis.call('PUBSUB', 'CHANNELS', ARGV[1] .. '*')
if #channels == 0 then
  return 0
end
local one = channels[math.floor(tonumber(ARGV[2])) % #channels + 1]
return redis.call('PUBLISH', one, ARGV[3])
"""


def run(steps):
    """Go through all steps; what the function returns."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def step(steps):
    """Go on to the next step, and stop there."""
    next(steps)


# -- the fair semaphore


def acquire_fair_semaphore(conn, semname, limit, timeout=10, clock=time.time):
    identifier, owners = str(uuid.uuid4()), semname + ":owner"
    now = clock()
    first = conn.pipeline(True)
    first.zremrangebyscore(semname, "-inf", now - timeout)
    first.zinterstore(owners, {owners: 1, semname: 0})
    first.incr(semname + ":counter")
    turn = first.execute()[-1]
    yield
    second = conn.pipeline(True)
    second.zadd(semname, {identifier: now})
    second.zadd(owners, {identifier: turn})
    second.zrank(owners, identifier)
    if second.execute()[-1] < limit:
        return identifier
    yield
    run(release_fair_semaphore(conn, semname, identifier))
    return None


def release_fair_semaphore(conn, semname, identifier):
    both = conn.pipeline(True)
    both.zrem(semname, identifier)
    both.zrem(semname + ":owner", identifier)
    return both.execute()[0]
    yield


def refresh_fair_semaphore(conn, semname, identifier, clock=time.time):
    if conn.zadd(semname, {identifier: clock()}):
        yield
        run(release_fair_semaphore(conn, semname, identifier))
        return False
    return True


def acquire_counting_semaphore(conn, semname, limit, clock=time.time):
    """The other form: insert, then count, then perhaps take it back."""
    identifier = str(uuid.uuid4())
    conn.zadd(semname + ":owner", {identifier: clock()})
    yield
    if conn.zcard(semname + ":owner") <= limit:
        return identifier
    yield
    conn.zrem(semname + ":owner", identifier)
    return None


# -- the master


class Candidate:
    """One process: the global of the document is its ``selector``."""

    def __init__(self, conn, key="master_selector", tenure=20):
        self.conn, self.key, self.tenure = conn, key, tenure
        self.selector = 0

    def master(self):
        seen = self.conn.incr(self.key)
        yield
        if seen == 1:
            self.selector = seen
        elif self.selector > 0:
            self.selector = 0 if self.selector > seen else seen
        if self.selector > 0:
            self.conn.expire(self.key, self.tenure)
        return self.selector > 0


# -- queues


def safe_fifo_pop(conn, q, cache):
    """With the arguments of LREM as they were meant: one copy of the value."""
    msg = conn.rpoplpush(q, cache)
    yield
    if msg is not None:
        conn.lrem(cache, 1, msg)
    return msg


def delayed_queue_pop(conn, queue_name, clock=time.time):
    tasks = conn.zrangebyscore(queue_name, 0, clock())
    yield
    if tasks:
        conn.zrem(queue_name, *tasks)
    return tasks


def worker_step(conn, queue, callbacks, timeout=30):
    """One turn of the worker's loop."""
    packed = conn.blpop([queue], timeout)
    yield
    if not packed:
        return None
    name, args = json.loads(packed[1])
    if name not in callbacks:
        return None
    return callbacks[name](*args)


# -- the lock's release of older tutorials


def release_lock(conn, lockname, identifier):
    mine = conn.get("lock:" + lockname) == identifier.encode()
    yield
    if mine:
        conn.delete("lock:" + lockname)
    return mine


# -- signals


def wait(conn, channel, timeout=30):
    ears = conn.pubsub()
    ears.subscribe(channel)
    ears.get_message(timeout=5)
    yield
    end = time.monotonic() + timeout
    heard = None
    while heard is None and time.monotonic() < end:
        msg = ears.get_message()
        if msg and msg["type"] == "message":
            heard = msg
        else:
            time.sleep(0.001)
    yield
    ears.close()
    return heard


def signal_single(conn, channel, data):
    number = str(int(random.random() * 65535))
    return conn.eval(PICK_ONE, 0, channel, number, str(data))
