# SPDX-License-Identifier: MIT
"""The scenario that one thread, or one task, of a Python process runs repeatedly.

Each scenario is written once, as a coroutine. On the blocking client no call of it
suspends, so a thread runs it to its end in one step.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import interlock.aio
import interlock.aio.guard
import interlock.guard
from history import Writer, now_ns

LIMIT = 3  # permits of a semaphore
READERS = 1000
EVENTS = 0.5  # an event of its own for each so many seconds
LEASES = [0.2, 0.2, 0.2, 0.6, 1.5]
MEETINGS = [0.1, 0.5, 1]  # seconds to wait for a signal, or at a barrier
WAITS: list[float | None] = [0, 0, 0.1, 0.1, 0.5, 2, None]


EMPTY = {"listen", "put"}  # verbs that return nothing


class Failed(Exception):
    """A call raised an error of the library: allowed while there are faults."""


class Actor:
    """One thread or task, with its random numbers and its place in the history."""

    def __init__(self, name: str, writer: Writer, client: Any, rng: random.Random):
        self.name, self.writer, self.client, self.rng = name, writer, client, rng
        self.count = 0  # of operations
        self.aio = isinstance(client, interlock.aio.Client)
        stretch = float(os.environ.get("CHAOS_STRETCH", "1"))
        self.leases = [seconds * stretch for seconds in LEASES]

    async def sleep(self, seconds: float) -> None:
        await in_time(self, seconds)

    async def do(
        self, verb: str, what: str, call: Callable[[], Any], **args: object
    ) -> tuple[str, Any]:
        """Call, with a line before and one after; the operation and its value."""
        (op,), value = await self.do_all(verb, [(what, args)], call)
        return op, value

    async def do_all(
        self,
        verb: str,
        about: Iterable[tuple[str, Mapping[str, object]]],
        call: Callable[[], Any],
    ) -> tuple[list[str], Any]:
        """One call about several names: an operation for each, and the value."""
        ops = []
        for what, args in about:
            self.count += 1
            ops.append(f"{self.name}.{self.count}")
            self.writer.line("b", ops[-1], verb, *what.split(":"), **args)
        try:
            value = call()
            if inspect.isawaitable(value):
                value = await value
        except interlock.Error as error:
            self.all_ended(ops, error.status)
            raise Failed from None
        if verb not in EMPTY and (value is None or value is False):
            self.all_ended(ops, "no")
            return ops, None
        return ops, value

    def all_ended(self, ops: Iterable[str], result: str, **found: object) -> None:
        for op in ops:
            self.writer.line("e", op, result, **found)

    def ended(self, op: str, **found: object) -> None:
        self.writer.line("e", op, "ok", **found)

    def claim(self, op: str, handle: Any) -> None:
        """Write until when the handle says that it is sure."""
        now = now_ns()
        left = handle.remaining()
        if left > 0:
            self.writer.line("s", op, until=now + int(left * 1e9))


async def in_time(actor: Actor, seconds: float) -> None:
    if actor.aio:
        import asyncio

        await asyncio.sleep(seconds)
    else:
        time.sleep(seconds)


def some(actor: Actor, kind: str, count: int = 2) -> str:
    return f"{kind}{actor.rng.randrange(count)}"


def options(actor: Actor) -> dict[str, Any]:
    return {"ttl": actor.rng.choice(actor.leases), "renew": actor.rng.random() < 0.6}


async def hold(
    a: Actor, what: str, handle: Any, take: Any, give: Any, extend: Any, **args: object
) -> None:
    """Acquire, stay for a while, and release; sometimes far too late."""
    wait = a.rng.choice(WAITS)
    op, took = await a.do("acquire", what, lambda: take(wait), wait=wait, **args)
    if not took:
        return
    a.ended(op, fence=handle.fence, token=handle.token)
    a.claim(op, handle)
    stay, ttl = a.rng.random(), float(str(args["ttl"]))
    late = stay < 0.01
    await a.sleep(1.3 * ttl if late else 0 if stay < 0.5 else stay * 0.005)
    a.claim(op, handle)
    changes = what.startswith("lock:") and (late or a.rng.random() < 0.3)
    if changes and may_use(a.client, "guard"):
        with contextlib.suppress(Failed):
            await change(a, what.replace("lock", "guard"), handle.fence)
    if a.rng.random() < (0.7 if late else 0.3):
        # Without an answer it is released as well: else it would be renewed.
        with contextlib.suppress(Failed):
            again, done = await a.do(
                "extend", what, lambda: extend(a.rng.choice(a.leases)), hold=op
            )
            if done:
                a.ended(again)
                a.claim(op, handle)
                await a.sleep(0.01 if late else 0)
                a.claim(op, handle)
    again, done = await a.do("release", what, give, hold=op)
    if done:
        a.ended(again)


async def change(a: Actor, what: str, fence: int) -> None:
    """Read a guarded value under a fence and write another."""
    await look(a, what, fence)
    module = interlock.aio.guard if a.aio else interlock.guard
    data, name = f"{a.name}.{a.count + 1}", what.split(":")[1]
    call = functools.partial(module.set, a.client, name, data, fence)
    op, _ = await a.do("put", what, call, fence=fence, data=data)
    a.ended(op)


async def look(a: Actor, what: str, fence: int) -> None:
    module = interlock.aio.guard if a.aio else interlock.guard
    call = functools.partial(module.get, a.client, what.split(":")[1], fence)
    op, found = await a.do("get", what, call, fence=fence)
    a.ended(op, data=(found.value or b"").decode(), seen=found.fence)


async def guard(a: Actor) -> None:
    await look(a, f"guard:{some(a, 'guard', 4)}", 0)


async def lock(a: Actor) -> None:
    name, more = some(a, "lock", 4), options(a)
    one = a.client.lock(name, **more)
    take, give = one.acquire, one.release
    await hold(a, f"lock:{name}", one, take, give, one.extend, **more)


async def lock_many(a: Actor) -> None:
    """Several locks at once, for each of which it is one hold."""
    names = [f"lock:lock{number}" for number in a.rng.sample(range(4), 2)]
    more, wait = options(a), a.rng.choice(WAITS)
    one = a.client.lock_many([name.split(":")[1] for name in names], **more)
    args = {**more, "wait": wait}
    ops, took = await a.do_all(
        "acquire", [(name, args) for name in names], lambda: one.acquire(wait)
    )
    if not took:
        return
    a.all_ended(ops, "ok", fence=one.fence, token=one.token)
    for seconds in (0, 1.3 * more["ttl"] if a.rng.random() < 0.05 else 0.002):
        await a.sleep(seconds)
        for op in ops:
            a.claim(op, one)
    held = [(name, {"hold": op}) for name, op in zip(names, ops)]
    if a.rng.random() < 0.3:
        # Without an answer it is released as well: else it would be renewed.
        with contextlib.suppress(Failed):
            extend = functools.partial(one.extend, options(a)["ttl"])
            again, done = await a.do_all("extend", held, extend)
            if done:
                a.all_ended(again, "ok")
                for op in ops:
                    a.claim(op, one)
    again, done = await a.do_all("release", held, one.release)
    if done:
        a.all_ended(again, "ok")


async def rw(a: Actor) -> None:
    name, more, writes = some(a, "rw"), options(a), a.rng.random() < 0.4
    both = a.client.rwlock(name, **more)
    one = both.write if writes else both.read
    more.update(units=READERS if writes else 1, capacity=READERS)
    await hold(a, f"rw:{name}", one, one.acquire, one.release, one.extend, **more)


async def semaphore(a: Actor) -> None:
    name, more, units = some(a, "sem", 1), options(a), a.rng.choice([1, 1, 2])
    one = a.client.semaphore(name, LIMIT, permits=units, **more)
    more.update(units=units, capacity=LIMIT)
    take, give = one.acquire, one.release
    await hold(a, f"semaphore:{name}", one, take, give, one.extend, **more)


async def election(a: Actor) -> None:
    name, more = some(a, "elect", 1), options(a)
    one = a.client.election(name, **more)
    take, give = one.campaign, one.resign
    await hold(a, f"election:{name}", one, take, give, one.renew, **more)


async def push(a: Actor) -> None:
    name = some(a, "queue")
    data = f"{a.name}.{a.count + 1}"
    queue = a.client.queue(name, max_attempts=None)
    op, _ = await a.do("push", f"queue:{name}", lambda: queue.push(data), data=data)
    a.ended(op)


async def consume(a: Actor) -> None:
    name, lease = some(a, "queue"), a.rng.choice(a.leases)
    queue, wait = a.client.queue(name, max_attempts=None), a.rng.choice([0, 0.1, 0.5])
    what = f"queue:{name}"
    op, job = await a.do(
        "reserve", what, lambda: queue.reserve(wait, lease), wait=wait, lease=lease
    )
    if job is None:
        return
    a.ended(op, data=job.data.decode(), attempts=job.attempts)
    a.claim(op, job)
    if a.rng.random() < 0.02:
        await a.sleep(1.3 * lease)
    way = a.rng.random()
    if way < 0.05:
        return  # forgotten: it comes back when the lease ends
    a.claim(op, job)
    verb, call = ("nack", job.nack) if way < 0.1 else ("ack", job.ack)
    again, done = await a.do(verb, what, call, hold=op)
    if done:
        a.ended(again)


async def event(a: Actor) -> None:
    number = int(time.clock_gettime(time.CLOCK_MONOTONIC) / EVENTS)
    if a.rng.random() < 0.4:
        one = a.client.event(f"event{number}")
        op, _ = await a.do("set", f"event:event{number}", one.set)
    else:
        one, wait = (
            a.client.event(f"event{number + 1}"),
            a.rng.choice([0.1, 0.1, 0.2, None]),
        )
        what = f"event:event{number + 1}"
        op, came = await a.do("wait", what, lambda: one.wait(wait), wait=wait)
        if not came:
            return
    a.ended(op)


async def signal(a: Actor) -> None:
    name = some(a, "signal")
    one, what = a.client.signal(name), f"signal:{name}"
    if a.rng.random() < 0.4:
        data = f"{a.name}.{a.count + 1}"
        op, reached = await a.do("notify", what, lambda: one.notify_one(data.encode()))
        a.ended(op, reached=reached)
        return
    wait = a.rng.choice(MEETINGS)
    first, _ = await a.do("listen", what, one.listen)
    a.ended(first)
    ms = int(wait * 1000)
    op, came = await a.do("wait", what, lambda: one.wait(wait), hold=first, ms=ms)
    if came is not None:
        a.ended(op, data=came.decode())


async def register(a: Actor) -> None:
    name = some(a, "register")
    one, what = a.client.register(name), f"register:{name}"
    op, (old, known) = await a.do("get", what, one.get)
    a.ended(op, version=known, value=(old or b"-").decode())
    for _ in range(a.rng.randrange(6)):
        value = f"{a.name}.{a.count + 1}"
        call = functools.partial(one.cas, known, value.encode())
        op, newer = await a.do("cas", what, call, known=known, value=value)
        if not newer:
            return
        a.ended(op, version=newer)
        known = newer


async def barrier(a: Actor) -> None:
    """The name says how many parties there are."""
    parties = a.rng.choice([2, 3])
    one, wait = a.client.barrier(f"barrier{parties}", parties), a.rng.choice(MEETINGS)
    what = f"barrier:barrier{parties}"
    op, index = await a.do(
        "wait", what, lambda: one.wait(wait), wait=wait, parties=parties
    )
    a.ended(op, index=index)


Scenario = Callable[[Actor], Awaitable[None]]
SCENARIOS: list[Scenario] = [lock, lock, lock, rw, rw, semaphore, election]
SCENARIOS += [push, push, push, consume, consume, consume, event]
SCENARIOS += [guard, signal, signal, barrier, lock_many, register]
OFFERS: dict[Scenario, str] = {rw: "rwlock", push: "queue", consume: "queue"}


def offered(client: Any) -> list[Scenario]:
    """Those that need nothing but what the store behind the client keeps."""
    return [one for one in SCENARIOS if may_use(client, OFFERS.get(one, one.__name__))]


def may_use(client: Any, what: str) -> bool:
    """CHAOS_USES names what is used; without it, all that is offered."""
    uses = os.environ.get("CHAOS_USES")
    return client.offers(what) and (uses is None or what in uses.split())
