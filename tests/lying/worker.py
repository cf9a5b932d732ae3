# SPDX-License-Identifier: MIT
"""Scenarios: what one thread, or one task, does with one primitive; and its checks.

Each is written once, as a coroutine. On the blocking client no call of it suspends,
so a thread runs it to its end in one step.
"""

from __future__ import annotations

import inspect
import threading
import time

import interlock
import interlock.aio
from check import MS, side
from holds import Hold
from interlock import recipes

# Each verb, and the commands to the server whose replies it believes.
VERBS = {
    "lock.acquire": ["lock_acquire", "lock_refresh", "lock_cancel"],
    "lock.acquire granted": ["message:grant"],
    "lock.acquire woken": ["message:wake"],
    "lock.release": ["lock_release"],
    "lock.extend": ["lock_extend"],
    "lock.adopt": ["lock_extend"],
    "lock.break": ["lock_break"],
    "lock.inspect": ["lock_inspect"],
    "redisson.acquire": ["redisson_acquire"],
    "redisson.release": ["redisson_release"],
    "redisson.extend": ["redisson_extend"],
    "reader.acquire": ["rwlock_acquire"],
    "reader.release": ["rwlock_release"],
    "reader.extend": ["rwlock_extend"],
    "writer.acquire": ["lock_acquire"],
    "writer.release": ["lock_release"],
    "writer.extend": ["lock_extend"],
    "many.acquire": ["many_acquire"],
    "many.release": ["many_release"],
    "many.extend": ["many_extend"],
    "semaphore.acquire": ["semaphore_acquire"],
    "semaphore.release": ["semaphore_release"],
    "semaphore.extend": ["semaphore_extend"],
    "semaphore.set_limit": ["semaphore_limit"],
    "semaphore.inspect": ["semaphore_inspect"],
    "election.campaign": ["election_campaign"],
    "election.resign": ["election_resign"],
    "election.renew": ["election_renew"],
    "election.proclaim": ["election_proclaim"],
    "election.inspect": ["election_inspect"],
    "election.observe": ["election_observe"],
    "queue.push": ["queue_push"],
    "queue.push_many": ["queue_push"],
    "queue.reserve": ["queue_reserve"],
    "queue.reserve_many": ["queue_reserve"],
    "queue.pop": ["queue_pop"],
    "queue.size": ["queue_inspect"],
    "queue.inspect": ["queue_inspect"],
    "queue.peek": ["queue_peek"],
    "queue.purge": ["queue_purge"],
    "queue.requeue": ["queue_requeue"],
    "job.ack": ["job_ack"],
    "job.nack": ["job_settle:r", "job_settle:n"],
    "job.bury": ["job_settle:d"],
    "job.extend": ["job_extend"],
    "event.set": ["event_set"],
    "event.clear": ["event_clear"],
    "event.read": ["event_read"],
    "event.wait": ["event_wait"],
    "event.wait changed": ["message:change"],
    "register.get": ["register_get"],
    "register.set": ["register_set"],
    "register.cas": ["register_set"],
    "register.delete": ["register_delete"],
    "register.wait": ["register_wait"],
    "store.get": ["store_read"],
    "store.commit": ["store_commit"],
    "store.outcome": ["store_outcome"],
    "kv.get": ["kv_get"],
    "kv.put": ["kv_put"],
    "kv.delete": ["kv_put"],
    "kv.move": ["kv_move"],
    "group.join": ["group_join"],
    "group.members": ["group_read"],
    "member.update": ["group_update"],
    "member.leave": ["group_leave"],
    "latch.count_down": ["latch_count_down"],
    "latch.wait": ["latch_wait"],
    "latch.count": ["latch_read"],
    "latch.reset": ["latch_reset"],
    "barrier.wait": ["barrier_wait"],
    "barrier.waiting": ["barrier_read"],
    "barrier.reset": ["barrier_reset"],
    "signal.notify_one": ["signal_notify_one"],
    "signal.notify_all": ["signal_notify_all"],
    "signal.wait": ["signal_wait"],
    "signal.wait one": ["message:signal"],
    "signal.wait all": ["message:notify"],
    "signal.wait_any": ["signal_wait"],
    "signal.receive": ["message:pattern", "PSUBSCRIBE"],
    "signal.inspect": ["ZCARD", "HVALS", "signal_inspect"],
    "guard.set": ["guard_set"],
    "guard.get": ["guard_get"],
    "guard.remove": ["guard_remove"],
    "client.ping": ["PING"],
    "client.ls": ["SCAN"],
}

# These have blocking functions only.
RECIPES = {
    "recipes.fifo_push": ["recipes_push"],
    "recipes.fifo_pop": ["recipes_pop"],
    "recipes.safe_fifo_pop": ["recipes_park", "recipes_unpark"],
    "recipes.safe_fifo_restore": ["recipes_restore"],
    "recipes.master": ["recipes_master"],
    "recipes.acquire_fair_semaphore": ["recipes_permit"],
    "recipes.refresh_fair_semaphore": ["recipes_permit_renew"],
    "recipes.release_fair_semaphore": ["recipes_permit_back"],
    "recipes.delayed_queue_push": ["recipes_delay"],
    "recipes.delayed_queue_pop": ["recipes_due"],
    "recipes.signal_broadcast": ["recipes_publish"],
    "recipes.signal_single": ["recipes_single"],
    "consumer.pop": ["recipes_reserve", "BLMOVE"],
    "consumer.done": ["recipes_settle"],
    "consumer.leave": ["recipes_recover"],
}

# What no verb calls by itself.
CONNECTING = ["HELLO", "AUTH", "SETNAME", "ID", "SELECT", "LIST", "KILL", "SUBSCRIBE"]


class Refused(Exception):
    """A call raised an error of the library: allowed while the proxy lies."""


class World:
    """What all workers of a round share."""

    def __init__(self, truth, violations, calls, ledger, history, prefix):
        self.truth, self.violations, self.calls = truth, violations, calls
        self.ledger, self.history, self.prefix = ledger, history, prefix
        self.stop = threading.Event()
        self.mutex = threading.Lock()
        self.counter = 0
        # What was ever given to an event, signal, election, guard, register, member.
        self.values = {}
        self.made_on = {}  # register and version to the change that was made on it
        self.heard_once = {}
        self.latches = {}  # name to [sure, begun] counts
        self.sums = {}  # the same of stores, in transactions
        self.arrivals = {}  # barrier to its calls: [from, to]
        self.queues = set()
        self.lists = set()

    def number(self):
        with self.mutex:
            self.counter += 1
            return self.counter

    def value(self, name):
        """A value that nobody gave before."""
        made = b"%s %d" % (name.encode(), self.number())
        with self.mutex:
            self.values.setdefault(name, set()).add(made)
        return made

    def given(self, name, value):
        with self.mutex:
            return value in self.values.get(name, ())


class Worker:
    """One thread or task of a client, with the names that it shares with others."""

    def __init__(self, world, client, label, rng, spread):
        self.world, self.client, self.label, self.rng = world, client, label, rng
        self.truth, self.spread = world.truth, spread
        self.aio = isinstance(client, interlock.aio.Client)
        self.guard = interlock.aio.guard if self.aio else interlock.guard
        self.alone = False  # use names of its own: nobody is in the way

    def shared(self, kind):
        if self.alone:
            return self.private(kind)
        return f"{self.world.prefix}-{kind}-{self.rng.randrange(self.spread)}"

    def private(self, kind):
        return f"{self.world.prefix}-{kind}-own{self.world.number()}"

    def wrong(self, what):
        self.world.violations.add(f"{self.label}: {what}")

    async def do(self, verb, function, *args, **more):
        """Call; count how it ended; Refused when it raised one of our errors."""
        assert verb in VERBS or verb in RECIPES, verb
        key, result = self.world.calls.begin(verb), "ended"
        try:
            value = function(*args, **more)
            if inspect.isawaitable(value):
                value = await value
            result = "none" if value is None or value is False else "ok"
            return value
        except interlock.Error as error:
            result = error.status
            raise Refused(f"{verb}: {error!r}") from None
        except Exception as error:
            result = type(error).__name__
            raise
        finally:
            self.world.calls.end(key, verb, result)

    def timeout(self):
        return self.rng.choice([0, 0.02, 0.1, 0.3, 0.6])


# ---- holds: lock, reader, writer, many, redisson, semaphore, election ---------


class Holding:
    """A hold of one worker: how it is checked, and told apart from others."""

    def __init__(self, worker, verb, handle, names, truth, units=1, capacity=1):
        self.worker, self.verb, self.handle = worker, verb, handle
        self.names, self.read = names, truth
        who = f"{worker.label} {verb} {worker.world.number()}"
        self.holds = [Hold(name, who, units, capacity) for name in names]

    def confirm(self):
        """Whether it was sure and was so still when the server had been read."""
        handle = self.handle
        if handle.remaining() <= 0:
            return False
        began, token, fence = time.monotonic(), handle.token, handle.fence
        found = [self.read(name, token) for name in self.names]
        now = time.monotonic()
        if handle.remaining() <= 0:
            return False
        for hold, name, (there, _) in zip(self.holds, self.names, found):
            hold.begins, hold.ends = hold.begins or began, now
            says = f"{self.verb}: sure of {name} under {token}, fence {fence}"
            if there is None:
                self.worker.wrong(f"false holder: {says}, and the server is not")
            elif -there < fence if there < 0 else there != fence:
                self.worker.wrong(f"false fence: {says}, the server's is {there}")
        return True

    def confirm_lease(self):
        """After an extend: the server's lease is no shorter than ours."""
        began, left = time.monotonic(), self.handle.remaining()
        found = [self.read(name, self.handle.token) for name in self.names]
        now = time.monotonic()
        if left <= 0 or self.handle.remaining() <= 0:
            return
        for name, (there, theirs) in zip(self.names, found):
            if there is None:
                self.worker.wrong(f"false holder after {self.verb}.extend: {name}")
            elif now + theirs * MS < began + left:
                self.worker.wrong(
                    f"{self.verb}.extend: {name} sure for {left}, server {theirs} ms"
                )

    def leaves(self):
        """It is about to be released: it was sure until here."""
        self.confirm()
        self.worker.world.history.extend(self.holds)

    def is_gone(self, token):
        for name in self.names:
            if self.read(name, token)[0] is not None:
                self.worker.wrong(f"{self.verb} released {name}, the server has it")


async def hold(w, verb, handle, names, truth, units=1, capacity=1):
    """Acquire, confirm, extend, confirm, release."""
    holding = Holding(w, verb, handle, names, truth, units, capacity)
    if not await w.do(f"{verb}.acquire", handle.acquire, w.timeout()):
        return
    await used(w, holding, f"{verb}.extend", f"{verb}.release")


async def used(w, holding, extend, release):
    handle = holding.handle
    sure = holding.confirm()
    if sure and w.rng.random() < 0.5:
        give_up = handle.renew if extend == "election.renew" else handle.extend
        if await w.do(extend, give_up, w.rng.choice([0.8, 1.5, 3])):
            holding.confirm_lease()
    holding.leaves()
    token = handle.token
    back = handle.resign if release == "election.resign" else handle.release
    if await w.do(release, back):
        holding.is_gone(token)


def options(w):
    return {"ttl": w.rng.choice([1.0, 1.5, 2.5]), "renew": w.rng.random() < 0.6}


async def lock(w):
    name = w.shared("lock")
    handle = w.client.lock(name, fair=w.rng.random() < 0.8, **options(w))
    await hold(w, "lock", handle, [name], w.truth.lock)


async def lock_adopt(w):
    name = w.shared("lock")
    giver, taker = (w.client.lock(name, ttl=1.5) for _ in range(2))
    if not await w.do("lock.acquire", giver.acquire, w.timeout()):
        return
    try:
        token = giver.detach()
    except interlock.Error:
        return
    if await w.do("lock.adopt", taker.adopt, token):
        holding = Holding(w, "lock", taker, [name], w.truth.lock)
        await used(w, holding, "lock.extend", "lock.release")


async def lock_break(w):
    name = w.private("broken")
    handle = w.client.lock(name, ttl=1.5)
    if not await w.do("lock.acquire", handle.acquire, 0):
        return
    token = handle.token
    broken = await w.do("lock.break", w.client.break_lock, name)
    if broken and w.truth.lock(name, token)[0] is not None:
        w.wrong(f"{name} is broken, and the server has it")
    await w.do("lock.release", handle.release)


async def lock_inspect(w):
    name = w.shared("lock")
    info = await w.do("lock.inspect", w.client.inspect, name)
    if info.state not in ("free", "held"):
        w.wrong(f"{name} is {info.state}")


async def redisson(w):
    name = w.shared("redisson")
    handle = w.client.lock(name, layout="redisson", **options(w))
    await hold(w, "redisson", handle, [name], w.truth.redisson)


async def reader(w):
    name = w.shared("rwlock")
    handle = w.client.rwlock(name, **options(w)).read
    await hold(w, "reader", handle, [name], w.truth.reader, 1, 1000)


async def writer(w):
    name = w.shared("rwlock")
    handle = w.client.rwlock(name, **options(w)).write
    await hold(w, "writer", handle, [name], w.truth.lock, 1000, 1000)


async def many(w):
    names = sorted({w.shared("many"), w.shared("many"), w.private("many")})
    handle = w.client.lock_many(names, **options(w))
    await hold(w, "many", handle, names, w.truth.lock)


async def semaphore(w):
    name, permits = w.shared("semaphore"), w.rng.choice([1, 1, 2])
    handle = w.client.semaphore(name, 3, permits=permits, **options(w))
    await hold(w, "semaphore", handle, [name], w.truth.semaphore, permits, 3)


async def semaphore_limit(w):
    name = w.private("limited")
    handle = w.client.semaphore(name, 2, ttl=1.5)
    if not await w.do("semaphore.acquire", handle.acquire, 0):
        return
    limit = w.rng.randrange(3, 9)
    await w.do("semaphore.set_limit", handle.set_limit, limit)
    there = w.truth.call("HGET", side("semaphore:fence", name), "limit")
    if there is not None and int(there) != limit:
        w.wrong(f"{name} has the limit {there}, set to {limit}")
    info = await w.do("semaphore.inspect", w.client.inspect_semaphore, name)
    if info.limit not in (0, limit):
        w.wrong(f"inspect shows the limit {info.limit}, set to {limit}")
    await w.do("semaphore.release", handle.release)


async def election(w):
    name = w.shared("election")
    first = w.world.value(name)
    handle = w.client.election(name, value=first, **options(w))
    if not await w.do("election.campaign", handle.campaign, w.timeout()):
        return
    holding = Holding(w, "election", handle, [name], w.truth.election)
    if holding.confirm():
        value = w.world.value(name)
        if await w.do("election.proclaim", handle.proclaim, value):
            key = side("election:value", name)
            there = w.truth.call("HGET", key, handle.token)
            if handle.remaining() > 0 and there != value:
                w.wrong(f"{name} proclaimed {value}, the server has {there}")
    await used(w, holding, "election.renew", "election.resign")


async def observe(w):
    name = w.shared("election")
    handle = w.client.election(name)
    observer = handle.observe()
    for _ in range(2):
        found = await w.do("election.observe", observer.get, w.timeout())
        if found and found.value is not None and not w.world.given(name, found.value):
            w.wrong(f"observed {found}, which nobody proclaimed")
    found = await w.do("election.inspect", handle.inspect)
    if found.value is not None and not w.world.given(name, found.value):
        w.wrong(f"inspect shows {found}, which nobody proclaimed")


# ---- queues ---------------------------------------------------------------------


async def push(w):
    name = w.shared("queue")
    w.world.queues.add(name)
    queue, ledger = w.client.queue(name, max_attempts=None), w.world.ledger
    if w.rng.random() < 0.7:
        payload = ledger.new(name)
        delay = w.rng.choice([0, 0, 0, 0.05])
        once = w.rng.choice([None, f"once {payload}"])
        await w.do("queue.push", queue.push, payload, delay=delay, once=once)
        ledger.was_pushed(payload)
    else:
        payloads = [ledger.new(name) for _ in range(3)]
        await w.do("queue.push_many", queue.push_many, payloads)
        for payload in payloads:
            ledger.was_pushed(payload)


async def reserve(w):
    name, ledger = w.shared("queue"), w.world.ledger
    queue = w.client.queue(name, max_attempts=None, renew=w.rng.random() < 0.3)
    asked_at = time.monotonic()
    job = await w.do("queue.reserve", queue.reserve, w.timeout(), w.rng.choice([1, 2]))
    if job is not None:
        ledger.delivered(job.data, asked_at, "reserve")
        if w.rng.random() < 0.1:
            data, job = job.data, queue.adopt(job.token)
            await acknowledged(w, "job.ack", job.ack, data)
        else:
            await end_job(w, name, job)


async def reserve_many(w):
    name = w.shared("queue")
    queue = w.client.queue(name, max_attempts=None)
    asked_at = time.monotonic()
    batch = await w.do("queue.reserve_many", queue.reserve_many, 4, w.timeout(), 2)
    for job in list(batch or ()):
        w.world.ledger.delivered(job.data, asked_at, "reserve_many")
    for job in list(batch or ()):
        await end_job(w, name, job)


async def acknowledged(w, verb, function, data):
    """Whether it is done for sure. Without an answer it may be."""
    try:
        done = await w.do(verb, function)
    except Refused:
        w.world.ledger.may_be_gone(data)
        raise
    if done:
        w.world.ledger.is_gone(data, verb)
    return done


async def end_job(w, name, job):
    """Confirm that it is ours, then end it in one of the ways."""
    if not confirm_job(w, name, job):
        return
    way = w.rng.choice(["ack", "ack", "ack", "nack", "bury", "extend", "leave"])
    if way == "extend":
        if await w.do("job.extend", job.extend, 1.5):
            began, left = time.monotonic(), job.remaining()
            there, theirs = w.truth.job(name, job.token)
            short = not there or time.monotonic() + theirs * MS < began + left
            if job.remaining() > 0 and left > 0 and short:
                w.wrong(f"job.extend: sure for {left}, the server {theirs} ms")
        way = "ack"
    if way == "ack":
        token = job.token
        done = await acknowledged(w, "job.ack", job.ack, job.data)
        if done and w.truth.job(name, token)[0]:
            w.wrong(f"{job.data!r} is acknowledged, and in flight")
    elif way == "nack":
        await w.do("job.nack", job.nack, w.rng.choice([0, 0.05]))
    elif way == "bury":
        await w.do("job.bury", job.bury, "no")


def confirm_job(w, name, job):
    if job.remaining() <= 0:
        return False
    there, _ = w.truth.job(name, job.token)
    if job.remaining() > 0 and not there:
        w.wrong(f"{job.data!r} is ours under {job.token}, the server has no such job")
    return True


async def pop(w):
    name, ledger = w.shared("queue"), w.world.ledger
    queue, asked_at = w.client.queue(name, max_attempts=None), time.monotonic()
    try:
        data = await w.do("queue.pop", queue.pop, w.timeout())
    except Refused:
        ledger.may_be_lost(name)
        raise
    if data is not None:
        ledger.delivered(data, asked_at, "pop")
        ledger.is_gone(data, "pop")


async def pop_alone(w):
    """A pop that returns a message has taken no other one with it."""
    name = w.private("popped")
    queue = w.client.queue(name)
    await w.do("queue.push_many", queue.push_many, [b"one", b"two", b"three"])
    data = await w.do("queue.pop", queue.pop, w.timeout())
    left = w.truth.call("LLEN", side("queue:ready", name))
    if data is not None and (data, left) != (b"one", 2):
        w.wrong(f"a pop of three messages returned {data!r} and left {left}")


async def look(w):
    name = w.shared("queue")
    queue = w.client.queue(name, max_attempts=None)
    if await w.do("queue.size", queue.size) < 0:
        w.wrong(f"{name} has a size below 0")
    await w.do("queue.inspect", queue.inspect)
    for job in await w.do("queue.peek", queue.peek, "ready"):
        if job.data not in w.world.ledger.begun:
            w.wrong(f"peek shows {job.data!r}, which nobody pushed")
    await w.do("queue.requeue", queue.requeue)


async def purge(w):
    name = w.private("purged")
    queue = w.client.queue(name)
    for _ in range(2):
        await w.do("queue.push", queue.push, b"x")
    await w.do("queue.purge", queue.purge)
    left = w.truth.call("LLEN", side("queue:ready", name))
    if left:
        w.wrong(f"{left} messages are left behind a purge of {name}")


async def requeue(w):
    name = w.private("requeued")
    queue = w.client.queue(name)
    await w.do("queue.push", queue.push, b"x")
    # A reply that comes when the lease is over returns the message, and a try that is
    # repeated before that finds nothing: so the lease is a long one.
    job = await w.do("queue.reserve", queue.reserve, 0, 60)
    if job is None:
        w.wrong(f"{name} is empty behind a push")
        return
    if await w.do("job.bury", job.bury, "no"):
        await w.do("queue.requeue", queue.requeue)
        if not w.truth.call("LLEN", side("queue:ready", name)):
            w.wrong(f"{name} is empty behind a requeue")


# ---- states ---------------------------------------------------------------------


async def event(w):
    name = w.shared("event")
    handle, key = w.client.event(name), side("event", name)
    what = w.rng.choice(["set", "clear", "read", "wait", "wait", "change"])
    if what == "set":
        generation = await w.do("event.set", handle.set, w.world.value(name))
    elif what == "clear":
        generation = await w.do("event.clear", handle.clear)
    elif what == "wait":
        await w.do("event.wait", handle.wait, w.timeout())
        generation = handle.generation
    elif what == "change":
        state = await w.do("event.read", handle.read)
        state = await w.do(
            "event.wait", handle.wait_change, state.generation, w.timeout()
        )
        generation = state.generation if state else 0
    else:
        state = await w.do("event.read", handle.read)
        generation = state.generation
        if state.data and not w.world.given(name, state.data):
            w.wrong(f"{name} is set with {state.data!r}, which nobody gave")
    there = int(w.truth.call("HGET", key, "generation") or 0)
    if generation and generation > there:
        w.wrong(f"{name} is at {there}, event.{what} saw {generation}")


async def register(w):
    name = w.shared("register")
    handle, value = w.client.register(name), w.world.value(name)
    what = w.rng.choice(["get", "set", "cas", "cas", "delete", "wait"])
    if what == "set":
        version = await w.do("register.set", handle.set, value)
    elif what == "delete":
        await w.do("register.delete", handle.delete)
        return
    else:
        state = await w.do("register.get", handle.get)
        if what == "wait":
            known, wait = state.version, w.timeout()
            state = await w.do("register.wait", handle.wait, known, wait) or state
        if state.value is not None and not w.world.given(name, state.value):
            w.wrong(f"{name} has {state.value!r}, which nobody gave")
        version = state.version
        if what == "cas":
            version = await w.do("register.cas", handle.cas, state.version, value)
            confirm_cas(w, name, state.version, version)
    there = int(w.truth.call("HGET", side("register", name), "version") or 0)
    if version and version > there:
        w.wrong(f"{name} is at {there}, register.{what} saw {version}")


async def store(w):
    """Every transaction that has committed is in the sum; see finish_stores()."""
    name = w.shared("store")
    with w.world.mutex:
        counts = w.world.sums.setdefault(name, [0, 0])
        counts[1] += 1
    handle = w.client.store(name)
    transaction = handle.transaction()
    found = await w.do("store.get", transaction.get, b"n")
    transaction[b"n"] = b"%d" % (int(found or b"0") + 1)
    await w.do("store.commit", transaction.commit)
    with w.world.mutex:
        counts[0] += 1
    outcome = await w.do("store.outcome", handle.outcome, transaction.txid)
    if outcome != "committed":
        w.wrong(f"a transaction of {name} has committed, and is {outcome}")


def finish_stores(world):
    for name, (sure, begun) in world.sums.items():
        key = side("store:key", name) + "/n"
        versions = (world.truth.call("HGET", key, "versions") or b"").split()
        last = world.truth.call("HGET", key, versions[-1]) if versions else b"v0"
        if not sure <= int(last[1:]) <= begun:
            world.violations.add(
                f"{name}: {last[1:]} were added, {sure} returned, {begun} begun"
            )


def confirm_cas(w, name, known, version):
    """Nobody else made a change on the same version."""
    if version is None:
        return
    with w.world.mutex:
        other = w.world.made_on.setdefault((name, known), version)
    if other != version:
        w.wrong(f"{name}: {version} and {other} were both made on {known}")


async def kv(w):
    name, fast = w.shared("kv"), w.rng.random() < 0.5
    handle, value = w.client.kv(name), w.world.value(name)
    what = w.rng.choice(["get", "put", "put", "delete"])
    if what == "put":
        version = await w.do("kv.put", handle.put, "k", value, fast=fast)
    elif what == "delete":
        version = await w.do("kv.delete", handle.delete, "k", fast=fast)
    else:
        entry = await w.do("kv.get", handle.get, "k")
        version = entry.version if entry else 0
        if entry and not w.world.given(name, entry.value):
            w.wrong(f"{name} has {entry.value!r}, which nobody gave")
    there = int(w.truth.call("HGET", side("kv", name) + "/k", "version") or 0)
    if version > there:
        w.wrong(f"{name} is at {there}, kv.{what} saw {version}")


async def kv_alone(w):
    """What nobody else writes is as it was written."""
    handle = w.client.kv(w.private("kv"))
    version = await w.do("kv.put", handle.put, "k", b"v")
    found = await w.do("kv.get", handle.get, "k")
    if found != (b"v", version):
        w.wrong(f"{handle.name} has {found}, and was put as version {version}")
    gone = await w.do("kv.delete", handle.delete, "k")
    found = await w.do("kv.get", handle.get, "k")
    if gone <= version or found is not None:
        w.wrong(f"{handle.name} has {found}, and was deleted as version {gone}")


async def kv_move(w):
    steps = w.client.kv_move()
    step = steps.__anext__ if w.aio else steps.__next__
    progress = await w.do("kv.move", step)
    if not progress.done or progress.looked:
        w.wrong(f"a single server was looked through: {progress}")


async def group(w):
    name = w.shared("group")
    one, id = w.client.group(name), f"{w.label}-{w.world.number()}"
    member = await w.do("group.join", one.join, id, w.world.value(name), 10)
    try:
        confirm_member(w, name, member)
        if w.rng.random() < 0.5:
            await w.do("member.update", member.update, w.world.value(name))
            confirm_member(w, name, member)
        for other, data in (await w.do("group.members", one.members)).items():
            if not w.world.given(name, data):
                w.wrong(f"{name} has {other!r} with {data!r}, which nobody gave")
    finally:
        left = await w.do("member.leave", member.leave)
    if left and w.truth.call("ZSCORE", side("group", name), id):
        w.wrong(f"{id} left {name}, and the server has it")


def confirm_member(w, name, member):
    """While it is sure, the server has it under its token."""
    if not member.held:
        return
    found = w.truth.call("HGET", side("group:data", name), member.id) or b""
    if member.held and not found.startswith(b"1 %s " % member.token.encode()):
        w.wrong(f"{member.id} is sure to be in {name}, where the server has {found!r}")


async def latch(w):
    """Every count of a shared latch is made once; see finish_latches()."""
    name = w.shared("latch")
    with w.world.mutex:
        counts = w.world.latches.setdefault(name, [0, 0])
        n = w.rng.choice([1, 2])
        counts[1] += n
    handle = w.client.latch(name, 10**6)
    await w.do("latch.count_down", handle.count_down, n)
    with w.world.mutex:
        counts[0] += n


def finish_latches(world):
    for name, (sure, begun) in world.latches.items():
        left = int(world.truth.call("HGET", side("latch", name), "left") or 10**6)
        if not sure <= 10**6 - left <= begun:
            world.violations.add(
                f"{name}: {10**6 - left} counts, {sure} returned, {begun} begun"
            )


async def small_latch(w):
    name = w.private("latch")
    handle = w.client.latch(name, 2)
    for expected in (1, 0):
        left = await w.do("latch.count_down", handle.count_down)
        if left != expected:
            w.wrong(f"{name} has {left} left, expected {expected}")
    if await w.do("latch.wait", handle.wait, 0.5) is not True and w.alone:
        w.wrong(f"the wait for {name}, which is open, ran out of time")
    await w.do("latch.reset", handle.reset)
    if await w.do("latch.count", handle.count) != 2:
        w.wrong(f"{name} is not at 2 behind its reset")
    if await w.do("latch.wait", handle.wait, 0.02):
        w.wrong(f"the wait for {name}, which is not open, returned")


async def barrier(w):
    """Who passes has met another, whose call overlaps or failed: that one's place is
    given up without an answer, and may be counted for a while."""
    name = w.shared("barrier")
    handle = w.client.barrier(name, 1 if w.alone else 2)
    mine = [time.monotonic(), float("inf")]
    with w.world.mutex:
        w.world.arrivals.setdefault(name, []).append(mine)
    await w.do("barrier.wait", handle.wait, w.timeout() + 0.05)
    mine[1] = time.monotonic()
    with w.world.mutex:
        others = [call for call in w.world.arrivals[name] if call is not mine]
    if not w.alone and not any(one[0] < mine[1] and one[1] > mine[0] for one in others):
        w.wrong(f"a wait at {name} for two parties returned alone")


async def barrier_look(w):
    name = w.shared("barrier")
    handle = w.client.barrier(name, 2)
    waiting = await w.do("barrier.waiting", handle.waiting)
    if not 0 <= waiting <= 2:
        w.wrong(f"{waiting} wait at {name} for two parties")
    if w.rng.random() < 0.3:
        await w.do("barrier.reset", handle.reset)


# ---- signals, guard, client -----------------------------------------------------


async def notify(w):
    name = w.shared("signal")
    handle, value = w.client.signal(name), w.world.value(name)
    if w.rng.random() < 0.6:
        with w.world.mutex:
            w.world.heard_once[value] = 0
        await w.do("signal.notify_one", handle.notify_one, value)
    else:
        await w.do("signal.notify_all", handle.notify_all, value)
    await w.do("signal.inspect", w.client.inspect_signal, name)


def heard(w, name, value):
    if not w.world.given(name, value):
        w.wrong(f"the signal {value!r} of {name} was given by nobody")
    with w.world.mutex:
        if value in w.world.heard_once:
            w.world.heard_once[value] += 1
            if w.world.heard_once[value] > 1:
                w.wrong(f"{value!r}, given to one, reached two")


async def wait_signal(w):
    name = w.shared("signal")
    value = await w.do("signal.wait", w.client.signal(name).wait, w.timeout())
    if value is not None:
        heard(w, name, value)


async def wait_any(w):
    names = sorted({w.shared("signal"), w.shared("signal"), w.private("signal")})
    signals = [w.client.signal(name) for name in names]
    module = interlock.aio.signal if w.aio else interlock.signal
    found = await w.do("signal.wait_any", module.wait_any, signals, w.timeout())
    if found is not None:
        heard(w, names[signals.index(found[0])], found[1])


async def wait_pattern(w):
    handle = w.client.signal(pattern=f"{w.world.prefix}-signal-*")
    found = await w.do("signal.receive", handle.receive, w.timeout())
    if found is not None and not w.world.given(found[0].decode(), found[1]):
        w.wrong(f"the signal {found} was given by nobody")


async def guard(w):
    name, module, client = w.shared("guard"), w.guard, w.client
    fence = w.world.number()
    value = b"%s %d" % (name.encode(), fence)
    with w.world.mutex:
        w.world.values.setdefault(name, set()).add(value)
    await w.do("guard.set", module.set, client, name, value, fence)
    there = int(w.truth.call("GET", side("guard", name)) or 0)
    if there < fence:
        w.wrong(f"guard.set of {name} under {fence}, the server has {there}")
    found = await w.do("guard.get", module.get, client, name, w.world.number())
    if found.value is not None and not w.world.given(name, found.value):
        w.wrong(f"guard.get of {name} found {found}")


async def guard_remove(w):
    name, module = w.private("guarded"), w.guard
    await w.do("guard.set", module.set, w.client, name, b"v", 7)
    await w.do("guard.remove", module.remove, w.client, name)
    if w.truth.call("EXISTS", name):
        w.wrong(f"{name} is there behind its removal")


async def look_round(w):
    if await w.do("client.ping", w.client.ping) is not True:
        w.wrong("a ping returned something else than True")
    for name in await w.do("client.ls", w.client.ls, f"{w.world.prefix}-lock-*"):
        if not name.startswith(f"{w.world.prefix}-lock-"):
            w.wrong(f"ls shows {name!r}")


# ---- recipes --------------------------------------------------------------------


async def recipes_fifo(w):
    name, ledger = w.shared("list"), w.world.ledger
    w.world.lists.add(name)
    bound = recipes.bind(w.client)
    payload = ledger.new(name)
    await w.do("recipes.fifo_push", bound.fifo_push, name, payload)
    ledger.was_pushed(payload)
    asked_at = time.monotonic()
    try:
        found = await w.do("recipes.fifo_pop", bound.fifo_pop, name)
    except Refused:
        ledger.may_be_lost(name)
        raise
    if found is not None:
        ledger.delivered(found, asked_at, "fifo_pop")
        ledger.is_gone(found, "fifo_pop")


async def recipes_safe(w):
    name = w.private("safe")
    cache, bound = name + "-cache", recipes.bind(w.client)
    await w.do("recipes.fifo_push", bound.safe_fifo_push, name, b"one")
    try:
        await w.do("recipes.safe_fifo_pop", bound.safe_fifo_pop, name, cache)
    except Refused:
        await w.do("recipes.safe_fifo_restore", bound.safe_fifo_restore, name, cache)
        raise
    await w.do("recipes.safe_fifo_restore", bound.safe_fifo_restore, name, cache)
    if w.truth.call("LLEN", name):
        w.wrong(f"{name} has a message behind its pop")


async def recipes_master(w):
    bound = recipes.bind(w.client, master=w.shared("master"), tenure=1)
    await w.do("recipes.master", bound.master)


async def recipes_permits(w):
    name = w.private("permits")
    one = await w.do(
        "recipes.acquire_fair_semaphore",
        recipes.acquire_fair_semaphore,
        *(w.client, name, 1, 5),
    )
    if one is None:
        w.wrong(f"{name} has no free permit, and nobody took one")
        return
    if not w.truth.call("ZSCORE", name, one):
        w.wrong(f"{name}: sure of a permit that the server does not have")
    refresh, release = recipes.refresh_fair_semaphore, recipes.release_fair_semaphore
    await w.do("recipes.refresh_fair_semaphore", refresh, w.client, name, one)
    back = await w.do("recipes.release_fair_semaphore", release, w.client, name, one)
    if back and w.truth.call("ZSCORE", name, one):
        w.wrong(f"{name}: the permit is there behind its release")


async def recipes_delayed(w):
    name = w.private("delayed")
    push, take = recipes.delayed_queue_push, recipes.delayed_queue_pop
    await w.do("recipes.delayed_queue_push", push, w.client, name, "t", 0)
    await w.do("recipes.delayed_queue_pop", take, w.client, name)


async def recipes_signal(w):
    name, bound = w.shared("channel"), recipes.bind(w.client)
    await w.do("recipes.signal_broadcast", bound.signal_broadcast, name, "all")
    await w.do("recipes.signal_single", bound.signal_single, name, "one")


async def consumer(w):
    name, ledger = w.shared("consumed"), w.world.ledger
    w.world.lists.add(name)
    payload = ledger.new(name)
    bound = recipes.bind(w.client)
    await w.do("recipes.fifo_push", bound.fifo_push, name, payload)
    ledger.was_pushed(payload)
    handle = recipes.Consumer(w.client, [name])
    asked_at = time.monotonic()
    found = await w.do("consumer.pop", handle.pop, w.timeout())
    if found is not None:
        ledger.delivered(found[1], asked_at, "consumer")
        await acknowledged(w, "consumer.done", handle.done, found[1])
    await w.do("consumer.leave", handle.leave)


SCENARIOS = [
    *(lock, lock, lock_adopt, lock_break, lock_inspect, redisson, reader, writer),
    *(many, semaphore, semaphore, semaphore_limit, election, election, observe),
    *(push, push, push, reserve, reserve, reserve_many, pop, pop_alone),
    *(look, purge, requeue),
    *(
        event,
        event,
        register,
        register,
        store,
        store,
        kv,
        kv,
        kv_alone,
        kv_move,
        group,
        group,
        latch,
        small_latch,
        barrier,
        barrier,
        barrier_look,
    ),
    *(notify, notify, wait_signal, wait_signal, wait_any, wait_pattern),
    *(guard, guard_remove, look_round),
]
RECIPES_SCENARIOS = [
    *(recipes_fifo, recipes_safe, recipes_master, recipes_permits),
    *(recipes_delayed, recipes_signal, consumer),
]
