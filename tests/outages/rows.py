# SPDX-License-Identifier: MIT
"""Each verb as Python has it: how it is prepared, called, and how its wait is ended.

Written once, for the blocking client and for that of interlock.aio, whose results are
awaited if they can be.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import os
from collections.abc import Callable
from typing import Any

import interlock
from interlock import aio, guard

LEASE_S = float(os.environ.get("OUTAGE_LEASE_S", "60"))


@dataclasses.dataclass
class Scene:
    """The client whose call it is, another one, and a name for the call alone."""

    client: Any
    other: Any
    name: str

    @property
    def module(self) -> Any:
        return interlock if isinstance(self.client, interlock.Client) else aio


async def value(of: Any) -> Any:
    return await of if inspect.isawaitable(of) else of


@dataclasses.dataclass
class Row:
    """`make` prepares what the call works on, `block` lets a call that waits begin to
    wait, and `serve` ends the wait of a call, with what `block` returned."""

    call: Callable[[Any, float | None], Any]
    make: Callable[[Scene], Any]
    block: Callable[[Scene], Any] | None = None
    serve: Callable[[Scene, Any], Any] | None = None


ROWS: dict[str, Row] = {}


def row(verb: str, *rest: Any) -> None:
    ROWS[verb] = Row(*rest)


# ---- holds -----------------------------------------------------------------------


def lock(s: Scene) -> Any:
    return s.client.lock(s.name, ttl=LEASE_S)


def many(s: Scene) -> Any:
    return s.client.lock_many([s.name + ":1", s.name + ":2"], ttl=LEASE_S)


def semaphore(s: Scene) -> Any:
    return s.client.semaphore(s.name, 1, ttl=LEASE_S)


def election(s: Scene) -> Any:
    return s.client.election(s.name, ttl=LEASE_S, value=b"me")


def swapped(s: Scene) -> Scene:
    return Scene(s.other, s.client, s.name)


async def acquired(handle: Any) -> Any:
    assert await value(handle.acquire(timeout=20))
    return handle


def held(new: Callable[[Scene], Any]) -> Callable[[Scene], Any]:
    return lambda s: acquired(new(s))


def held_elsewhere(new: Callable[[Scene], Any]) -> Callable[[Scene], Any]:
    return lambda s: acquired(new(swapped(s)))


async def release(_: Scene, holder: Any) -> None:
    """What a server without its data has lost is released as well."""
    if holder is not None and holder.held:
        await value(holder.release())


async def heir(s: Scene, new: Callable[[Scene], Any]) -> Any:
    donor = await acquired(new(swapped(s)))
    return new(s), donor.detach()


for noun, new in (("lock", lock), ("lock_many", many), ("semaphore", semaphore)):
    row(
        f"ilk_{noun}_acquire",
        lambda h, t: h.acquire(t),
        new,
        held_elsewhere(new),
        release,
    )
    row(f"ilk_{noun}_release", lambda h, t: h.release(), held(new))
    row(f"ilk_{noun}_extend", lambda h, t: h.extend(LEASE_S), held(new))
    row(f"ilk_{noun}_check", lambda h, t: h.check(), held(new))
    if noun != "lock_many":
        row(
            f"ilk_{noun}_acquire_ttl",
            lambda h, t: h.acquire(t, ttl=LEASE_S),
            new,
            held_elsewhere(new),
            release,
        )
        row(f"ilk_{noun}_detach", lambda h, t: h.detach(), held(new))
        row(
            f"ilk_{noun}_adopt",
            lambda h, t: h[0].adopt(h[1]),
            lambda s, new=new: heir(s, new),
        )


async def named(s: Scene, new: Callable[[Scene], Any]) -> tuple[Any, str]:
    """A client, and a name that another one holds."""
    await acquired(new(swapped(s)))
    return s.client, s.name


row(
    "ilk_lock_break", lambda h, t: h[0].break_lock(h[1]), lambda s: named(s, lock)
)  # fmt: skip
row("ilk_inspect_kind", lambda h, t: h[0].inspect(h[1]), lambda s: named(s, lock))
row(
    "ilk_semaphore_inspect",
    lambda h, t: h[0].inspect_semaphore(h[1]),
    lambda s: named(s, semaphore),
)
row(
    "ilk_semaphore_set_limit",
    lambda h, t: h.set_limit(2),
    held(semaphore),
)


async def leads(handle: Any) -> Any:
    assert await value(handle.campaign(20))
    return handle


async def resign(_: Scene, leader: Any) -> None:
    if leader is not None and leader.is_leader:
        await value(leader.resign())


def led(s: Scene) -> Any:
    return leads(election(s))


def led_elsewhere(s: Scene) -> Any:
    return leads(election(swapped(s)))


async def named_election(s: Scene) -> Any:
    await led_elsewhere(s)
    return s.client, s.name


leaders: list[Any] = []  # of elections that are observed


async def campaign_elsewhere(s: Scene, _: Any) -> None:
    leaders.append(election(swapped(s)))
    await value(leaders[-1].campaign(5))


row(
    "ilk_election_campaign", lambda h, t: h.campaign(t), election, led_elsewhere, resign
)
row("ilk_election_resign", lambda h, t: h.resign(), led)
row("ilk_election_renew", lambda h, t: h.renew(LEASE_S), led)
row("ilk_election_check", lambda h, t: h.check(), led)
row("ilk_election_proclaim", lambda h, t: h.proclaim(b"x"), led)
row("ilk_election_break", lambda h, t: h[0].break_election(h[1]), named_election)
row("ilk_election_leader", lambda h, t: h.inspect(), election)
row(
    "ilk_observer_next",
    lambda h, t: h.get(t),
    lambda s: election(s).observe(),
    lambda s: None,
    campaign_elsewhere,
)

# ---- small states ----------------------------------------------------------------

NOTHING = lambda s: None  # noqa: E731

for verb, call in {
    "set": lambda h, t: h.set(b"x"),
    "clear": lambda h, t: h.clear(),
    "read": lambda h, t: h.read(),
}.items():
    row(f"ilk_event_{verb}", call, lambda s: s.client.event(s.name))
for verb, call in {
    "wait": lambda h, t: h.wait(t),
    "wait_change": lambda h, t: h.wait_change(0, t),
}.items():
    row(
        f"ilk_event_{verb}",
        call,
        lambda s: s.client.event(s.name),
        NOTHING,
        lambda s, _: s.other.event(s.name).set(),
    )

for verb, call in {
    "count_down": lambda h, t: h.count_down(),
    "count": lambda h, t: h.count(),
    "reset": lambda h, t: h.reset(),
}.items():
    row(f"ilk_latch_{verb}", call, lambda s: s.client.latch(s.name, 2))
row(
    "ilk_latch_wait",
    lambda h, t: h.wait(t),
    lambda s: s.client.latch(s.name, 1),
    NOTHING,
    lambda s, _: s.other.latch(s.name, 1).count_down(),
)
row(
    "ilk_latch_inspect",
    lambda h, t: h[0].inspect_latch(h[1]),
    lambda s: (s.client, s.name),
)


async def meet(s: Scene, _: Any) -> None:
    """The party that it waits for comes for a moment."""
    with contextlib.suppress(interlock.TimeoutError, interlock.BrokenError):
        await value(s.other.barrier(s.name, 2).wait(2))


for verb, call in {
    "waiting": lambda h, t: h.waiting(),
    "reset": lambda h, t: h.reset(),
}.items():
    row(f"ilk_barrier_{verb}", call, lambda s: s.client.barrier(s.name, 2))
row(
    "ilk_barrier_wait",
    lambda h, t: h.wait(t),
    lambda s: s.client.barrier(s.name, 2),
    NOTHING,
    meet,
)
row(
    "ilk_barrier_inspect",
    lambda h, t: h[0].inspect_barrier(h[1]),
    lambda s: (s.client, s.name),
)


# ---- groups, registers, values ---------------------------------------------------


async def watching(s: Scene) -> Any:
    watch = s.client.group(s.name).watch()
    await value(watch.get(20))
    return watch


async def joined(s: Scene) -> Any:
    return await value(s.client.group(s.name).join("me", ttl=LEASE_S))


async def join_elsewhere(s: Scene, _: Any) -> None:
    with contextlib.suppress(interlock.HeldError):
        await value(s.other.group(s.name).join("you", ttl=LEASE_S))


row("ilk_group_members", lambda h, t: h.members(), lambda s: s.client.group(s.name))
row("ilk_group_watch", lambda h, t: h.get(t), watching, NOTHING, join_elsewhere)
row(
    "ilk_member_join",
    lambda h, t: h.join("me", ttl=LEASE_S),
    lambda s: s.client.group(s.name),
)
row("ilk_member_update", lambda h, t: h.update(b"x"), joined)
row("ilk_member_leave", lambda h, t: h.leave(), joined)

for verb, call in {
    "get": lambda h, t: h.get(),
    "set": lambda h, t: h.set(b"x"),
    "cas": lambda h, t: h.cas(0, b"x"),
    "delete": lambda h, t: h.delete(),
}.items():
    row(f"ilk_register_{verb}", call, lambda s: s.client.register(s.name))
row(
    "ilk_register_wait",
    lambda h, t: h.wait(0, t),
    lambda s: s.client.register(s.name),
    NOTHING,
    lambda s, _: s.other.register(s.name).set(b"x"),
)

for verb, call in {
    "get": lambda h, t: h.get("k"),
    "put": lambda h, t: h.put("k", b"x"),
    "delete": lambda h, t: h.delete("k"),
}.items():
    row(f"ilk_kv_{verb}", call, lambda s: s.client.kv(s.name))


async def move(client: Any) -> None:
    steps = client.kv_move()
    if hasattr(steps, "__anext__"):
        await steps.__anext__()
    else:
        next(steps)


row("ilk_kv_move", lambda h, t: move(h), lambda s: s.client)


def writing(s: Scene) -> Any:
    transaction = s.client.store(s.name).transaction()
    transaction["k"] = b"x"
    return transaction


async def outcome_of(s: Scene) -> Any:
    transaction = writing(s)
    await value(transaction.commit())
    return s.client.store(s.name), transaction.txid


row(
    "ilk_txn_get",
    lambda h, t: h.get("k"),
    lambda s: s.client.store(s.name).transaction(),
)
row("ilk_txn_commit", lambda h, t: h.commit(), writing)
row("ilk_store_outcome", lambda h, t: h[0].outcome(h[1]), outcome_of)


def guarded(s: Scene) -> Any:
    return (guard if s.module is interlock else aio.guard), s.client, s.name


row(
    "ilk_guard_set",
    lambda h, t: h[0].set(h[1], h[2], b"x", 1),
    guarded,
)
row(
    "ilk_guard_get",
    lambda h, t: h[0].get(h[1], h[2]),
    guarded,
)
row(
    "ilk_guard_remove",
    lambda h, t: h[0].remove(h[1], h[2]),
    guarded,
)


# ---- queues ----------------------------------------------------------------------


async def filled(s: Scene) -> Any:
    queue = s.client.queue(s.name)
    await value(queue.push(b"x"))
    return queue


async def reserved(s: Scene) -> Any:
    job = await value((await filled(s)).reserve(timeout=20, lease=LEASE_S))
    assert job
    return job


async def reserved_many(s: Scene) -> Any:
    queue = await filled(s)
    return await value(queue.reserve_many(2, timeout=20, lease=LEASE_S))


for verb, call in {
    "ack": lambda h, t: h.ack(),
    "nack": lambda h, t: h.nack(),
    "bury": lambda h, t: h.bury("why"),
    "extend": lambda h, t: h.extend(LEASE_S),
}.items():
    row(f"ilk_job_{verb}", call, reserved)
row("ilk_batch_ack", lambda h, t: h.ack(), reserved_many)
for verb, call in {
    "push": lambda h, t: h.push(b"x"),
    "push_many": lambda h, t: h.push_many([b"x", b"y"]),
    "size": lambda h, t: h.size(),
    "peek": lambda h, t: h.peek(),
    "purge": lambda h, t: h.purge(),
    "requeue": lambda h, t: h.requeue(),
    "inspect": lambda h, t: h.inspect(),
}.items():
    row(f"ilk_queue_{verb}", call, filled)
for verb, call in {
    "pop": lambda h, t: h.pop(t),
    "reserve": lambda h, t: h.reserve(t, lease=LEASE_S),
    "reserve_many": lambda h, t: h.reserve_many(2, t, lease=LEASE_S),
}.items():
    row(
        f"ilk_queue_{verb}",
        call,
        lambda s: s.client.queue(s.name),
        NOTHING,
        lambda s, _: s.other.queue(s.name).push(b"x"),
    )

# ---- signals, and all else -------------------------------------------------------


def two(s: Scene) -> Any:
    return s.module, [s.client.signal(s.name), s.client.signal(s.name + ":2")]


async def signal_both(s: Scene, _: Any) -> None:
    await value(s.other.signal(s.name).notify_all(b"x"))
    await value(s.other.signal(s.name + ":2").notify_all(b"x"))


for verb, call in {
    "listen": lambda h, t: h.listen(),
    "notify_one": lambda h, t: h.notify_one(b"x"),
    "notify_all": lambda h, t: h.notify_all(b"x"),
}.items():
    row(f"ilk_signal_{verb}", call, lambda s: s.client.signal(s.name))
row(
    "ilk_signal_wait",
    lambda h, t: h.wait(t),
    lambda s: s.client.signal(s.name),
    NOTHING,
    lambda s, _: s.other.signal(s.name).notify_all(b"x"),
)
row(
    "ilk_signal_wait_any",
    lambda h, t: h[0].wait_any(h[1], t),
    two,
    NOTHING,
    signal_both,
)
row(
    "ilk_signal_wait_all",
    lambda h, t: h[0].wait_all(h[1], t),
    two,
    NOTHING,
    signal_both,
)
row(
    "ilk_signal_inspect",
    lambda h, t: h[0].inspect_signal(h[1]),
    lambda s: (s.client, s.name),
)
row("ilk_client_ping", lambda h, t: h.ping(t), lambda s: s.client)
row("ilk_list_open_kinds", lambda h, t: h.ls("test*"), lambda s: s.client)
