# SPDX-License-Identifier: MIT
"""Clients die, stop and fork while they hold and wait."""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections.abc import Callable
from pathlib import Path

import interlock
import interlock.aio
from cluster import PATIENCE, Background, until
from crowd import Waiter
from member import Member
from store import BRIEF_S, Store
from support import in_child
from waiting import await_waiters

TTL = 3.0
LONG_TTL = 20.0

Join = Callable[[str], Member]


def test_a_killed_holder_is_followed_when_its_lease_ends(
    brief: Store, join: Join, name: str
) -> None:
    holder = join(brief.url())
    fence = holder.ask("acquire", name, TTL, 5)
    assert fence
    with interlock.connect(brief.url()) as client:
        lock = client.lock(name, ttl=TTL)
        assert not lock.acquire(0)
        holder.kill()
        killed = time.monotonic()

        assert lock.acquire(60 * PATIENCE)

        took = time.monotonic() - killed
        # A third of the lease had passed at most when it was renewed last.
        assert took > TTL * 2 / 3 - 0.2
        assert took < max(TTL, BRIEF_S) + brief.slack_s + PATIENCE
        assert lock.fence > fence
        assert lock.release()


def test_a_holder_that_was_frozen_for_too_long_knows_it(
    brief: Store, join: Join, name: str
) -> None:
    holder = join(brief.url())
    fence = holder.ask("acquire", name, TTL, 5)
    holder.freeze()
    with interlock.connect(brief.url()) as client:
        lock = client.lock(name, ttl=LONG_TTL)
        assert lock.acquire(60 * PATIENCE)
        assert lock.fence > fence

        holder.thaw()

        assert holder.ask("held") is False
        assert holder.ask("lost", 5 * PATIENCE) == "lock_lost"
        assert holder.ask("release") in (False, "ILK_ELOST", "ILK_ENOTOWNER")
        assert lock.extend(LONG_TTL)
        assert lock.release()
    again = holder.ask("acquire", name, TTL, 30)
    assert isinstance(again, int) and again > lock.fence


def test_a_killed_waiter_leaves_the_queue(brief: Store, join: Join, name: str) -> None:
    with interlock.connect(brief.url()) as client:
        lock = client.lock(name, ttl=LONG_TTL)
        assert lock.acquire(5)
        waiter = join(brief.url())
        waiter.begin("acquire", name, TTL, 60)
        await_waiters(brief, client, name, 1)
        following = Waiter(brief, name, LONG_TTL)
        await_waiters(brief, client, name, 2)

        waiter.kill()

        assert lock.release()
        assert following.acquired.wait(60 * PATIENCE)
        following.end()


def test_a_waiter_that_was_frozen_waits_on(brief: Store, join: Join, name: str) -> None:
    """The store has forgotten it by then; it joins the queue again."""
    with interlock.connect(brief.url()) as client:
        lock = client.lock(name, ttl=LONG_TTL)
        assert lock.acquire(5)
        waiter = join(brief.url())
        answer = waiter.later("acquire", name, TTL, 120)
        await_waiters(brief, client, name, 1)
        waiter.freeze()
        time.sleep(max(TTL, BRIEF_S) + brief.slack_s + 1)
        waiter.thaw()
        assert not answer.came.wait(1)
        assert lock.held
        fence = lock.fence

        assert lock.release()

        assert answer.came.wait(60 * PATIENCE)
        assert isinstance(answer.value, int) and answer.value > fence
        assert waiter.ask("held") is True
        assert waiter.ask("release") is True


def test_a_killed_leader_is_followed_and_an_observer_sees_it(
    brief: Store, join: Join, name: str
) -> None:
    leader = join(brief.url())
    term = leader.ask("campaign", name, TTL, "first")
    with (
        interlock.connect(brief.url()) as client,
        interlock.connect(brief.url()) as eye,
    ):
        seen = eye.election(name).observe()
        found = seen.get(10 * PATIENCE)
        assert found and found.value == b"first"
        candidate = client.election(name, ttl=LONG_TTL, value=b"second")
        assert not candidate.campaign(0)

        leader.kill()

        assert candidate.campaign(60 * PATIENCE)
        assert candidate.term > term
        found = seen.get(10 * PATIENCE)
        assert found and found.value == b"second"
        assert candidate.proclaim(b"third")
        found = seen.get(10 * PATIENCE)
        assert found and found.value == b"third"
        assert candidate.resign()


def test_an_observer_waits_for_the_first_candidate_without_polling(
    store: Store, client: interlock.Client, other: interlock.Client, name: str
) -> None:
    seen = Background(lambda: client.election(name).observe().get(60))
    until(lambda: client.stats().waiting == 1, what="an observer that waits")
    time.sleep(1.5)
    assert client.stats().waits <= 3  # it asks again when the store watches

    leader = other.election(name, ttl=LONG_TTL, value=b"first")
    assert leader.campaign(10 * PATIENCE)

    found = seen.result()
    assert found and found.value == b"first"
    assert leader.resign()


# ---- order ------------------------------------------------------------------------


def test_waiters_of_several_clients_get_the_lock_in_the_order_of_their_arrival(
    store: Store, client: interlock.Client, name: str
) -> None:
    lock = client.lock(name, ttl=LONG_TTL)
    assert lock.acquire(5)
    waiters = []
    for number in range(4):
        waiters.append(Waiter(store, name, LONG_TTL))
        await_waiters(store, client, name, number + 1)
    fence = lock.fence
    assert lock.release()
    for number, waiter in enumerate(waiters):
        assert waiter.acquired.wait(30 * PATIENCE)
        assert not any(one.acquired.is_set() for one in waiters[number + 1 :])
        assert waiter.lock.fence > fence
        fence = waiter.lock.fence
        waiter.end()


# ---- fork -------------------------------------------------------------------------


def test_a_forked_child_has_a_client_of_its_own_and_no_hold(
    store: Store, client: interlock.Client, name: str
) -> None:
    with client.lock(name, ttl=TTL) as lock:
        parent = client.id
        assert in_child(lambda: lock.held) == "False"
        assert in_child(lock.release) == "ForkedError"
        assert in_child(lambda: client.lock(name).acquire(0)) == "False"
        text = in_child(lambda: (client.ping(), client.id))
        assert text.startswith("(True, ") and parent not in text
        own = client.lock(f"{name}-child")
        assert in_child(lambda: (own.acquire(5), own.release())) == "(True, True)"
        time.sleep(TTL + 1)  # the parent's renewals go on
        lock.check()
        assert lock.held


def test_a_child_that_ends_leaves_the_parents_wait_alone(
    store: Store, client: interlock.Client, other: interlock.Client, name: str
) -> None:
    lock = client.lock(name, ttl=LONG_TTL)
    assert lock.acquire(5)
    waiting = other.lock(name, ttl=LONG_TTL)
    came = Background(lambda: waiting.acquire(60 * PATIENCE))
    await_waiters(store, client, name, 1)

    assert in_child(lambda: other.lock(name).acquire(0)) == "False"

    assert not came.found
    assert lock.release()
    assert came.result()
    assert waiting.release()


# ---- many -------------------------------------------------------------------------

MANY = 1000


def sockets() -> int:
    """The connections over TCP of this process."""
    mine = set()
    for entry in Path("/proc/self/fd").iterdir():
        try:
            mine.add(os.readlink(entry))
        except OSError:
            continue
    count = 0
    for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]:
        inode, state = line.split()[9], line.split()[3]
        count += state == "01" and f"socket:[{inode}]" in mine
    return count


def test_a_thousand_waits_for_one_name_have_as_many_connections_as_ten(
    store: Store, client: interlock.Client, name: str
) -> None:
    holder = client.lock(name, ttl=LONG_TTL)
    assert holder.acquire(5)
    fences: list[int] = []
    inside = 0

    async def wait_once(aio: interlock.aio.Client) -> None:
        nonlocal inside
        lock = aio.lock(name, ttl=LONG_TTL)
        assert await lock.acquire(100 * PATIENCE)
        inside += 1
        assert inside == 1
        fences.append(lock.fence)
        inside -= 1
        assert await lock.release()

    async def await_waiting(aio: interlock.aio.Client, count: int) -> None:
        deadline = time.monotonic() + 60 * PATIENCE
        while (await aio.inspect(name)).waiting != count:
            assert time.monotonic() < deadline, await aio.inspect(name)
            await asyncio.sleep(0.05)

    async def run() -> None:
        # An inspection is executed behind a thousand requests of the same name.
        async with interlock.aio.connect(store.url(), reply_timeout=60) as aio:
            tasks = [asyncio.create_task(wait_once(aio)) for _ in range(10)]
            await await_waiting(aio, 10)
            few = sockets()
            tasks += [asyncio.create_task(wait_once(aio)) for _ in range(MANY - 10)]
            await await_waiting(aio, MANY)
            assert sockets() == few
            assert holder.release()
            await asyncio.gather(*tasks)

    asyncio.run(run())
    assert len(fences) == MANY
    assert all(before < after for before, after in itertools.pairwise(fences))
