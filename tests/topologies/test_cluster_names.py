# SPDX-License-Identifier: MIT
"""Which names a cluster takes together, its messages, and its errors."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import cluster
import interlock
import interlock.aio
import pytest
from cluster import Background, Cluster, until
from ports import free_port


@pytest.fixture(scope="module")
def nodes() -> Iterator[Cluster]:
    with cluster.running(replicas=0) as one:
        yield one


@pytest.fixture
def client(nodes: Cluster) -> Iterator[interlock.Client]:
    with interlock.connect(nodes.url()) as one:
        yield one


def names_of_all_nodes(nodes: Cluster, word: str) -> list[str]:
    """One name for each node."""
    found: dict[int, str] = {}
    for number in range(1000):
        found.setdefault(
            nodes.owner(nodes.slot(f"{word}{number}")).port, f"{word}{number}"
        )
        if len(found) == len(nodes.nodes):
            return list(found.values())
    raise AssertionError("a node serves none of a thousand names")


# ---- names ----------------------------------------------------------------------


def test_names_without_a_slot_are_refused_with_the_reason(
    client: interlock.Client,
) -> None:
    for opened in (
        client.lock,
        client.event,
        client.signal,
        client.queue,
        client.election,
        client.inspect,
    ):
        with pytest.raises(
            interlock.UnsupportedError, match=r'"x}y" in one slot: a name with'
        ):
            opened("x}y")
    with pytest.raises(interlock.UnsupportedError, match="in one slot"):
        client.lock_many(["{a}1", "{}1"])
    with client.lock("{a}b}c") as lock:
        assert lock.held


def test_a_lost_hold_of_names_of_all_nodes_names_the_breaker(
    nodes: Cluster, client: interlock.Client
) -> None:
    names = names_of_all_nodes(nodes, "broken")
    many = client.lock_many(names, ttl=3)
    assert many.acquire(5)
    with interlock.connect(nodes.url()) as other:
        assert other.break_lock(names[1])
    assert not many.extend()
    by = f"broken by {socket.gethostname()}:{os.getpid()}"
    with pytest.raises(interlock.LostError, match=by):
        many.check()


def test_a_list_has_the_names_of_all_nodes(
    nodes: Cluster, client: interlock.Client
) -> None:
    names = names_of_all_nodes(nodes, "listed")
    locks = [client.lock(name) for name in names]
    for lock in locks:
        assert lock.acquire(5)
    assert set(client.ls("listed*")) == set(names)
    for lock in locks:
        assert lock.release()


# ---- signals of several slots ------------------------------------------------------


def waiting(client: interlock.Client, names: list[str], count: int = 1) -> None:
    """Until each name has so many waiters, long before their liveness ends."""
    for name in names:
        until(
            lambda name=name: client.inspect_signal(name) == count,
            seconds=4,
            what=f"{count} waiters for {name}",
        )


def test_a_wait_for_any_ends_with_a_signal_of_any_slot(
    nodes: Cluster, client: interlock.Client
) -> None:
    names = names_of_all_nodes(nodes, "any")
    with interlock.connect(nodes.url()) as other:
        signals = [other.signal(name) for name in names]
        for number, name in enumerate(names):
            wait = Background(lambda: interlock.wait_any(signals, 60))
            waiting(client, names)
            assert client.signal(name).notify_one(b"%d" % number) == 1
            assert wait.result() == (signals[number], b"%d" % number)
            waiting(client, names, 0)


def test_a_wait_for_any_that_times_out_leaves_all_slots(
    nodes: Cluster, client: interlock.Client
) -> None:
    names = names_of_all_nodes(nodes, "none")
    with interlock.connect(nodes.url()) as other:
        signals = [other.signal(name) for name in names]
        assert interlock.wait_any(signals, 0.05) is None
        assert interlock.wait_all(signals, 0.05) is None
        waiting(client, names, 0)


def test_a_wait_for_all_takes_one_signal_of_each_slot(
    nodes: Cluster, client: interlock.Client
) -> None:
    names = names_of_all_nodes(nodes, "all")
    with interlock.connect(nodes.url()) as other:
        signals = [other.signal(name) for name in names]
        wait = Background(lambda: interlock.wait_all(signals, 60))
        waiting(client, names)
        for number, name in enumerate(names):
            assert not wait.found
            assert client.signal(name).notify_one(b"%d" % number) == 1
            assert client.signal(name).notify_one(b"nobody") == 0
        assert wait.result() == {
            signal: b"%d" % number for number, signal in enumerate(signals)
        }


def test_an_awaited_wait_has_signals_of_several_slots(
    nodes: Cluster, client: interlock.Client
) -> None:
    names = names_of_all_nodes(nodes, "awaited")

    async def run() -> tuple[bytes | None, list[bytes]]:
        async with interlock.aio.connect(nodes.url()) as other:
            signals = [other.signal(name) for name in names]
            wait = asyncio.create_task(interlock.aio.wait_any(signals, 60))
            await asyncio.to_thread(waiting, client, names)
            await asyncio.to_thread(client.signal(names[1]).notify_all, b"x")
            one = await wait
            wait_all = asyncio.create_task(interlock.aio.wait_all(signals, 60))
            await asyncio.to_thread(waiting, client, names)
            for name in names:
                await asyncio.to_thread(client.signal(name).notify_all, b"y")
            found = await wait_all
            assert one is not None and found is not None
            return one[1], list(found.values())

    assert asyncio.run(run()) == (b"x", [b"y"] * 3)


def test_no_signal_is_lost_between_a_wait_for_any_and_the_next_waiter(
    nodes: Cluster, client: interlock.Client
) -> None:
    """Two signals at once, or one at the moment of the timeout: what the wait does not
    return goes to the waiter behind it."""
    names = names_of_all_nodes(nodes, "race")[:2]
    with (
        interlock.connect(nodes.url()) as other,
        interlock.connect(nodes.url()) as third,
    ):
        signals = [other.signal(name) for name in names]
        for number in range(30):
            ends_in_time = number % 2 == 0
            limit = 60 if ends_in_time else 0.02 + number / 1000
            first = Background(lambda limit=limit: interlock.wait_any(signals, limit))
            if ends_in_time:
                waiting(client, names)
            second = Background(lambda: third.signal(names[1]).wait(60))
            until(
                lambda want=1 + ends_in_time: client.inspect_signal(names[1]) >= want,
                what="a second waiter",
            )
            if ends_in_time:
                Background(lambda: client.signal(names[0]).notify_one(b"0")).result()
            assert client.signal(names[1]).notify_one(b"1") == 1
            found = first.result()
            if found is not None and found[1] == b"1":
                waiting(client, names[1:])
                assert client.signal(names[1]).notify_one(b"1") == 1
            assert second.result() == b"1", f"round {number}: {found}"
            waiting(client, names, 0)


def test_a_silent_slot_does_not_keep_a_signal_of_another_from_the_wait(
    nodes: Cluster, client: interlock.Client
) -> None:
    silent, *others = names_of_all_nodes(nodes, "quiet")
    node = nodes.owner(nodes.slot(silent))
    with interlock.connect(nodes.url()) as other:
        signals = [other.signal(name) for name in (silent, *others)]
        wait = Background(lambda: interlock.wait_any(signals, 60))
        waiting(client, [silent, *others])
        node.send_signal(signal.SIGSTOP)
        try:
            assert client.signal(others[0]).notify_one(b"x") == 1
            assert wait.result() == (signals[1], b"x")
        finally:
            node.send_signal(signal.SIGCONT)
        waiting(client, [silent, *others], 0)


# ---- queues of several slots -----------------------------------------------------


def waiting_in(client: interlock.Client, names: list[str], count: int = 1) -> None:
    """Until each queue has so many consumers, long before their liveness ends."""
    for name in names:
        until(
            lambda name=name: client.queue(name).inspect().waiting == count,
            seconds=4,
            what=f"{count} consumers of {name}",
        )


def test_queues_of_several_slots_are_taken_from_by_priority(
    nodes: Cluster, client: interlock.Client
) -> None:
    names = names_of_all_nodes(nodes, "priority")
    queues = client.queues(names)
    assert queues.pop(0) is None
    assert queues.reserve(0) is None
    for name in reversed(names):
        client.queue(name).push_many([b"%s 1" % name.encode(), b"%s 2" % name.encode()])
    for name in names:
        job = queues.reserve(0)
        assert job is not None and job.data == b"%s 1" % name.encode()
        job.ack()
        assert queues.pop(0) == b"%s 2" % name.encode()
    assert queues.pop(0) is None


def test_a_consumer_waits_in_all_slots(
    nodes: Cluster, client: interlock.Client
) -> None:
    names = names_of_all_nodes(nodes, "consumer")
    with interlock.connect(nodes.url()) as other:
        queues = other.queues(names)
        for name in names:
            wait = Background(lambda: queues.reserve(60))
            waiting_in(client, names)
            client.queue(name).push(name.encode())
            job = wait.result()
            assert job is not None and job.data == name.encode()
            waiting_in(client, names, 0)
            job.ack()
        assert queues.reserve(0.05) is None
        waiting_in(client, names, 0)
        for name in names:
            found = client.queue(name).inspect()
            assert (found.ready, found.taken) == (0, 0)


def test_messages_that_come_at_once_are_each_taken_once(
    nodes: Cluster, client: interlock.Client
) -> None:
    """Two consumers of all queues, and one message for each of two slots."""
    names = names_of_all_nodes(nodes, "once")
    with (
        interlock.connect(nodes.url()) as one,
        interlock.connect(nodes.url()) as two,
    ):
        for number in range(25):
            waits = [
                Background(lambda own=own: own.queues(names).reserve(60))
                for own in (one, two)
            ]
            waiting_in(client, names, 2)
            pushes = [
                Background(
                    lambda name=name, number=number: client.queue(name).push(
                        b"%s %d" % (name.encode(), number)
                    )
                )
                for name in names[number % 2 : number % 2 + 2]
            ]
            for push in pushes:
                push.result()
            jobs = [wait.result() for wait in waits]
            assert {job.data for job in jobs if job} == {
                b"%s %d" % (name.encode(), number)
                for name in names[number % 2 : number % 2 + 2]
            }
            for name in names:
                assert client.queue(name).inspect().ready == 0
            for job in jobs:
                assert job
                job.ack()
    for name in names:
        found = client.queue(name).inspect()
        assert (found.taken, found.returned) == (0, 0)


def reserve_or_none(queues: interlock.Queue, limit: float) -> interlock.Job | None:
    """The nodes may not have replied after some milliseconds: that is no message."""
    with contextlib.suppress(interlock.ConnectionError):
        return queues.reserve(limit)
    return None


def test_a_message_at_the_moment_of_the_timeout_stays_or_is_returned(
    nodes: Cluster, client: interlock.Client
) -> None:
    names = names_of_all_nodes(nodes, "late")
    with interlock.connect(nodes.url()) as other:
        queues = other.queues(names)
        for number in range(30):
            limit = 0.005 + number / 2000
            wait = Background(lambda limit=limit: reserve_or_none(queues, limit))
            time.sleep(limit)
            queue = client.queue(names[number % 3])
            queue.push(b"%d" % number)
            job = wait.result()
            if job is None:
                job = queue.reserve(5)
            assert job is not None and job.data == b"%d" % number
            job.ack()
            assert queue.inspect().taken == 0


def test_a_batch_settles_the_one_before_in_another_slot(
    nodes: Cluster, client: interlock.Client
) -> None:
    names = names_of_all_nodes(nodes, "batch")
    queues = client.queues(names)
    for name in names:
        client.queue(name).push_many([b"1", b"2"])
    done = None
    for name in names:
        batch = queues.reserve_many(2, done=done)
        assert batch is not None and [job.data for job in batch] == [b"1", b"2"]
        assert client.queue(name).inspect().taken == 2
        done = batch
    assert queues.reserve_many(2, done=done) is None
    for name in names:
        assert client.queue(name).inspect().taken == 0


def test_awaited_consumers_share_queues_of_several_slots(
    nodes: Cluster, client: interlock.Client
) -> None:
    names = names_of_all_nodes(nodes, "shared")

    async def run() -> set[bytes]:
        async with interlock.aio.connect(nodes.url()) as other:
            queues = other.queues(names)
            takes = [asyncio.create_task(queues.pop(60)) for _ in range(6)]
            await asyncio.to_thread(waiting_in, client, names, 6)
            for number in range(6):
                queue = client.queue(names[number % 3])
                await asyncio.to_thread(queue.push, b"%d" % number)
            return {found for found in await asyncio.gather(*takes) if found}

    assert asyncio.run(run()) == {b"%d" % number for number in range(6)}


def unread(server_port: int) -> list[int]:
    """The clients' ports of connections whose commands the server has not read."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    found = [line.split()[1:5] for line in lines]
    return [
        int(remote.rpartition(":")[2], 16)
        for local, remote, _, queues in found
        if int(local.rpartition(":")[2], 16) == server_port
        and int(queues.rpartition(":")[2], 16)
    ]


def cut(ports: list[int]) -> None:
    """End this process' connections from these ports."""
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            one = socket.socket(fileno=os.dup(int(name)))
            with contextlib.closing(one):
                if one.family == socket.AF_INET and one.getsockname()[1] in ports:
                    one.shutdown(socket.SHUT_RDWR)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/net/tcp")
def test_a_repeated_reserve_finds_the_message_of_its_first_copy(
    nodes: Cluster, client: interlock.Client
) -> None:
    """The reply of the second slot gets lost, and then the first one has a message."""
    names = names_of_all_nodes(nodes, "cut")[:2]
    first, second = (client.queue(name) for name in names)
    node = nodes.owner(nodes.slot(names[1]))
    with interlock.connect(nodes.url()) as other:
        queues = other.queues(names)
        assert queues.reserve(0) is None
        second.push(b"2")
        node.send_signal(signal.SIGSTOP)
        try:
            take = Background(lambda: queues.reserve(60))
            ports = until(lambda: unread(node.port), what="a command at the node")
            assert isinstance(ports, list)
            cut(ports)
            first.push(b"1")
        finally:
            node.send_signal(signal.SIGCONT)
        job = take.result()
        assert job is not None
        assert sum(queue.inspect().taken for queue in (first, second)) == 1
        assert job.ack()
        assert sum(queue.inspect().ready for queue in (first, second)) == 1


# ---- one lock over names of several slots ----------------------------------------


def by_slot(nodes: Cluster, word: str) -> list[str]:
    """One name for each node, in the order in which a call takes them."""
    return sorted(names_of_all_nodes(nodes, word), key=nodes.slot)


def assert_all_become_free(client: interlock.Client, names: list[str]) -> None:
    """Long before a lease of a minute ends."""
    for name in names:
        until(
            lambda name=name: client.inspect(name).state == "free",
            seconds=20,
            what=f"{name} is free",
        )


def test_many_locks_are_held_in_several_slots(
    nodes: Cluster, client: interlock.Client
) -> None:
    names = [*by_slot(nodes, "many"), "{many}1", "{many}2"]
    for name in names:
        with client.lock(name):
            pass
    greatest = max(client.inspect(name).fence for name in names)
    many = client.lock_many(names, ttl=60)
    assert many.acquire(0)
    assert many.fence > greatest
    for name in names:
        found = client.inspect(name)
        assert (found.state, found.holder) == ("held", many.token)
        assert found.fence == many.fence
    assert many.extend(30)
    many.check()
    assert 0 < many.remaining() <= 30
    assert many.release() and not many.held
    for name in names:
        with client.lock(name) as lock:
            assert lock.fence > many.fence


@pytest.mark.parametrize("which", [0, 1, 2])
def test_many_locks_are_held_all_or_none(
    nodes: Cluster, client: interlock.Client, which: int
) -> None:
    names = by_slot(nodes, f"none{which}-")
    others = [name for name in names if name != names[which]]
    many = client.lock_many(names, ttl=60)
    with interlock.connect(nodes.url()) as other:
        with other.lock(names[which], ttl=60):
            assert not many.acquire(0)
            assert not many.held
            assert {client.inspect(name).state for name in others} == {"free"}
            assert not many.acquire(0.1)
            assert_all_become_free(client, others)
            wait = Background(lambda: many.acquire(60))
            until(lambda: other.inspect(names[which]).waiting == 1, what="a waiter")
            assert not wait.found
        assert wait.result() and many.held
        for name in names:
            assert client.inspect(name).fence == many.fence
        many.check()
        assert many.release()
    assert_all_become_free(client, names)


def test_callers_with_many_locks_do_not_block_each_other(
    nodes: Cluster, client: interlock.Client
) -> None:
    """Waiting, and with single locks among them."""
    names = by_slot(nodes, "crowd")
    inside: list[int] = []
    fences: list[int] = []

    def run(index: int, wanted: list[str]) -> bool:
        with interlock.connect(nodes.url()) as own:
            many = own.lock_many(wanted, ttl=30)
            for _ in range(12):
                assert many.acquire(100)
                inside.append(index)
                assert inside == [index]
                fences.append(many.fence)
                inside.clear()
                assert many.release()
        return True

    def disturb() -> bool:
        with interlock.connect(nodes.url()) as own:
            for number in range(60):
                with own.lock(names[number % 3], ttl=30):
                    pass
        return True

    calls = [
        Background(lambda: run(0, names)),
        Background(lambda: run(1, names[::-1])),
        Background(lambda: run(2, names[1:] + names[:1])),
        Background(disturb),
    ]
    for call in calls:
        assert call.result()
    assert fences == sorted(set(fences))
    assert_all_become_free(client, names)


def test_of_those_who_try_at_once_one_succeeds(nodes: Cluster) -> None:
    names = by_slot(nodes, "tries")
    with contextlib.ExitStack() as stack:
        clients = [
            stack.enter_context(interlock.connect(nodes.url())) for _ in range(3)
        ]
        locks = [one.lock_many(names, ttl=60) for one in clients]
        for _ in range(20):
            together = threading.Barrier(len(locks))

            def attempt(
                lock: interlock.LockMany, together: threading.Barrier = together
            ) -> bool:
                together.wait()
                return lock.acquire(0)

            tries = [Background(lambda lock=lock: attempt(lock)) for lock in locks]
            assert sum(one.result() for one in tries) == 1
            for lock in locks:
                if lock.held:
                    assert lock.release()


def test_many_locks_are_renewed_in_all_slots_until_one_name_is_lost(
    nodes: Cluster, client: interlock.Client
) -> None:
    names = by_slot(nodes, "renewed")
    ttl = 1.5 * cluster.PATIENCE
    many = client.lock_many(names, ttl=ttl)
    assert many.acquire(0)
    end = time.monotonic() + 1.5 * ttl
    until(lambda: time.monotonic() > end, what="more than a lease")
    assert many.held
    assert {client.inspect(name).holder for name in names} == {many.token}
    assert client.break_lock(names[1])
    until(lambda: not many.held, what="the loss")
    assert not many.release()
    assert_all_become_free(client, names)


def is_down(nodes: Cluster, but: cluster.Node) -> bool:
    states = [
        one.redis().execute_command("CLUSTER INFO")["cluster_state"]
        for one in nodes.nodes
        if one is not but
    ]
    return states == ["fail"] * len(states)


@pytest.mark.parametrize("count", [1, 3])
def test_a_silent_slot_makes_the_try_fail_and_nothing_held(
    nodes: Cluster, client: interlock.Client, count: int
) -> None:
    """The cluster is down as well, until some seconds after the node is back. The client
    makes no other call, with which it would read that its withdrawal was refused."""
    names = by_slot(nodes, "silence")[-count:]
    node = nodes.owner(nodes.slot(names[-1]))
    with interlock.connect(nodes.url(query="?reply_timeout_ms=2000")) as other:
        lock = (
            other.lock(names[0], ttl=60)
            if count == 1
            else other.lock_many(names, ttl=60)
        )
        assert lock.acquire(0) and lock.release()
        node.send_signal(signal.SIGSTOP)
        try:
            with contextlib.suppress(interlock.ConnectionError):
                assert not lock.acquire(0)
            assert not lock.held
            until(lambda: is_down(nodes, but=node), what="a cluster that is down")
        finally:
            node.send_signal(signal.SIGCONT)
        assert_all_become_free(client, names)
    nodes.settle()


def test_awaited_many_locks_are_held_in_several_slots(
    nodes: Cluster, client: interlock.Client
) -> None:
    names = by_slot(nodes, "tasks")

    async def run() -> None:
        async with interlock.aio.connect(nodes.url()) as other:
            async with other.lock_many(names, ttl=60) as many:
                states = [client.inspect(name).state for name in names]
                assert states == ["held"] * 3
                second = other.lock_many(names, ttl=60)
                assert not await second.acquire(0.05)
                wait = asyncio.create_task(second.acquire(60))
                await asyncio.to_thread(
                    until, lambda: client.inspect(min(names)).waiting == 1
                )
                assert await many.extend(30)
            assert await wait
            assert await second.release()

    asyncio.run(run())
    assert_all_become_free(client, names)


# ---- messages -------------------------------------------------------------------


def test_each_message_comes_once(nodes: Cluster, client: interlock.Client) -> None:
    names = names_of_all_nodes(nodes, "news")
    with interlock.connect(nodes.url()) as other:
        listener = other.signal(pattern="news*")
        for number in range(6):
            for name in names:
                listener.listen()
                client.signal(name).notify_all(b"%d" % (number // 2))
                assert listener.receive(30) == (name.encode(), b"%d" % (number // 2))
        listener.listen()
        assert listener.receive(0.3) is None


def test_a_pattern_that_is_listened_to_misses_nothing(
    nodes: Cluster, client: interlock.Client
) -> None:
    """The listener is a new client, which is connected to no node's messages."""
    names = names_of_all_nodes(nodes, "early")
    signals = [client.signal(name) for name in names]
    for one in signals:
        one.notify_all(b"nobody")
    for number in range(30):
        with interlock.connect(nodes.url()) as other:
            listener = other.signal(pattern="early*")
            early, received = True, None
            # Nodes pass the signals before this one on when they get to it, and one that
            # is received ends the subscription.
            while early:
                listener.listen()
                signals[number % 3].notify_all(b"%d" % number)
                received = listener.receive(30)
                early = received is not None and int(received[1]) < number
            assert received == (names[number % 3].encode(), b"%d" % number)


def test_a_silent_node_does_not_keep_a_pattern_from_its_messages(
    nodes: Cluster, client: interlock.Client
) -> None:
    silent, *others = names_of_all_nodes(nodes, "silent")
    node = nodes.owner(nodes.slot(silent))
    with interlock.connect(nodes.url()) as other:
        listener = other.signal(pattern="silent*")
        assert other.inspect(silent).state == "free"
        node.send_signal(signal.SIGSTOP)
        try:
            listener.listen()
            client.signal(others[0]).notify_all(b"heard")
            assert listener.receive(30) == (others[0].encode(), b"heard")
        finally:
            node.send_signal(signal.SIGCONT)


def wait_for(nodes: Cluster, name: str, found: list[bytes | None]) -> None:
    with interlock.connect(nodes.url()) as one:
        found.append(one.signal(name).wait(60))


def test_a_signal_reaches_one_waiter_wherever_it_is_subscribed(
    nodes: Cluster, client: interlock.Client
) -> None:
    for name in names_of_all_nodes(nodes, "one"):
        found: list[bytes | None] = []
        thread = threading.Thread(
            target=wait_for, args=(nodes, name, found), daemon=True
        )
        thread.start()
        until(lambda name=name: client.inspect_signal(name), what="a waiter")
        assert client.signal(name).notify_one(b"x")
        thread.join(60)
        assert found == [b"x"]
        assert client.inspect_signal(name) == 0


def test_the_waiter_of_a_killed_process_is_passed_over(
    nodes: Cluster, client: interlock.Client
) -> None:
    """Its liveness ends; until then it may be granted the lock for some seconds."""
    name = "dead-waiter"
    lock = client.lock(name, ttl=30)
    assert lock.acquire(5)
    program = f"import interlock; interlock.connect({nodes.url()!r}).lock({name!r}).acquire(60)"
    process = subprocess.Popen([sys.executable, "-c", program])
    until(lambda: client.inspect(name).waiting == 1, what="a waiter")
    process.send_signal(signal.SIGKILL)
    process.wait()
    begun = time.monotonic()
    assert lock.release()
    with interlock.connect(nodes.url()) as other:
        assert other.lock(name).acquire(60 * cluster.PATIENCE)
    assert time.monotonic() - begun < 12 * cluster.PATIENCE


# ---- processes and errors -------------------------------------------------------


def test_a_forked_child_has_connections_of_its_own(
    nodes: Cluster, client: interlock.Client
) -> None:
    with client.lock("forked") as lock:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                with interlock.connect(nodes.url()) as own:
                    status = 0 if not own.lock("forked").acquire(0) else 2
                if client.lock("child").acquire(5):
                    status += 0
                else:
                    status = 3
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        assert lock.held and lock.extend(10)


def test_a_server_that_is_no_cluster_is_named(nodes: Cluster, tmp_path: object) -> None:
    port = free_port()
    assert cluster.SERVER
    one = subprocess.Popen(
        [cluster.SERVER, "--port", str(port), "--save", ""], stdout=subprocess.DEVNULL
    )
    try:
        until(lambda: cluster.redis.Redis(port=port).ping(), what="a server")
        with pytest.raises(interlock.ConnectionError, match="cluster support disabled"):
            interlock.connect(f"redis+cluster://127.0.0.1:{port}")
    finally:
        one.kill()
        one.wait()
    with (
        pytest.raises(interlock.ClusterError, match=r"redis\+cluster://"),
        interlock.connect(f"redis://{nodes.nodes[0].url_host}") as single,
    ):
        for name in names_of_all_nodes(nodes, "single"):
            single.lock(name).acquire(0)


def test_a_wrong_password_is_said(nodes: Cluster) -> None:
    with pytest.raises(interlock.Error) as caught:
        interlock.connect(nodes.url().replace("://", "://someone:secret@"))
    assert caught.value.status == "ILK_EAUTH"
    assert "secret" not in str(caught.value)
