# SPDX-License-Identifier: MIT
"""A cluster changes while locks are held, waited for and handed over."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import cluster
import interlock
import pytest
from cluster import Background, Cluster, Node, until
from crowd import Waiter, crowd, two_on
from ports import free_port


@pytest.fixture(scope="module")
def nodes() -> Iterator[Cluster]:
    with cluster.running() as one:
        yield one


@pytest.fixture
def client(nodes: Cluster) -> Iterator[interlock.Client]:
    with interlock.connect(nodes.url()) as one:
        yield one


def name_at(nodes: Cluster, node: Node, word: str) -> str:
    """A name that this node serves."""
    return next(
        name
        for name in (f"{word}{number}" for number in range(10000))
        if nodes.owner(nodes.slot(name)) is node
    )


# ---- resharding -----------------------------------------------------------------


def test_a_slot_moves_while_its_lock_is_held_and_waited_for(
    nodes: Cluster, client: interlock.Client
) -> None:
    source, target = nodes.primaries()[:2]
    name = name_at(nodes, source, "moving")
    slot = nodes.slot(name)

    with two_on(nodes, client, name) as (lock, _):
        nodes.begin_migration(slot, source, target)
        assert lock.extend(20)  # both keys are at the source
        assert nodes.migrate_keys(slot, source, target) >= 4
        assert lock.extend(20)  # ASK
        assert nodes.owner(slot) is source
        nodes.end_migration(slot, target)
        assert lock.extend(20)  # MOVED
    assert nodes.owner(slot) is target


def test_a_release_in_the_middle_of_a_move_waits_for_its_end(
    nodes: Cluster, client: interlock.Client
) -> None:
    source, target = nodes.primaries()[:2]
    name = name_at(nodes, source, "middle")
    slot = nodes.slot(name)
    lock = client.lock(name, ttl=20)
    released = threading.Event()

    assert lock.acquire(5)
    waiter = Waiter(nodes, name)
    until(lambda: client.inspect(name).waiting == 1, what="a waiter")
    nodes.begin_migration(slot, source, target)
    nodes.migrate_keys(slot, source, target)
    fence = lock.fence
    thread = threading.Thread(
        target=lambda: (lock.release(), released.set()), daemon=True
    )
    thread.start()
    assert not released.wait(0.5)  # TRYAGAIN: some of its keys exist nowhere
    nodes.end_migration(slot, target)
    assert released.wait(60)
    assert waiter.acquired.wait(60)
    assert waiter.lock.fence > fence
    waiter.end()


def test_slots_move_under_load(nodes: Cluster) -> None:
    source, target = nodes.primaries()[:2]
    names = [
        name_at(nodes, node, f"load{number}-")
        for number, node in enumerate(nodes.primaries())
    ]

    with crowd(nodes, names) as one:
        nodes.reshard(source, target, 400)
        one.all_advance()
        nodes.reshard(target, source, 400)


# ---- failover -------------------------------------------------------------------


def test_a_replica_takes_over_by_order(
    nodes: Cluster, client: interlock.Client
) -> None:
    primary = nodes.primaries()[0]
    name = name_at(nodes, primary, "order")

    with (
        crowd(nodes, [name + "{x}", name]),
        two_on(nodes, client, name + "-held") as (lock, _),
    ):
        replica = nodes.replica_of(primary)
        nodes.fail_over(replica)
        assert lock.extend(20)
    nodes.settle()


def test_calls_over_several_slots_go_on_when_a_replica_takes_over(
    nodes: Cluster, client: interlock.Client
) -> None:
    primary = nodes.primaries()[1]
    names = [
        name_at(nodes, node, f"several{number}-")
        for number, node in enumerate(nodes.primaries())
    ]
    many = client.lock_many(names, ttl=60)
    with interlock.connect(nodes.url()) as other:
        assert many.acquire(5)
        late = other.lock_many(names, ttl=60)
        lock = Background(lambda: late.acquire(90))
        signals = [other.signal(name) for name in names]
        news = Background(lambda: interlock.wait_any(signals, 90))
        take = Background(lambda: other.queues(names).reserve(90, lease=60))
        until(lambda: client.inspect(min(names)).waiting == 1, what="a waiter")
        until(lambda: client.inspect_signal(names[1]) == 1, what="a listener")
        until(lambda: client.queue(names[1]).inspect().waiting == 1, what="a consumer")

        nodes.fail_over(nodes.replica_of(primary))

        assert many.extend(60) and not lock.found
        assert client.signal(names[1]).notify_one(b"x") == 1
        assert news.result() == (signals[1], b"x")
        client.queue(names[1]).push(b"y")
        job = take.result()
        assert job is not None and job.data == b"y" and job.ack()
        fence = many.fence
        assert many.release()
        assert lock.result() and late.fence > fence
        assert late.release()
    nodes.settle()


def test_many_locks_wait_for_a_slot_that_moves(
    nodes: Cluster, client: interlock.Client
) -> None:
    source, target = nodes.primaries()[:2]
    moved, kept = name_at(nodes, source, "moved"), name_at(nodes, target, "kept")
    slot = nodes.slot(moved)
    many = client.lock_many([moved, kept], ttl=60)

    assert many.acquire(5)
    nodes.begin_migration(slot, source, target)
    nodes.migrate_keys(slot, source, target)
    release = Background(many.release)
    release.thread.join(0.3)
    assert not release.found  # TRYAGAIN: some of its keys exist nowhere
    nodes.end_migration(slot, target)
    assert release.result()
    assert many.acquire(5) and many.release()


def test_a_waiter_without_a_subscription_at_the_new_primary_is_granted(
    nodes: Cluster, client: interlock.Client
) -> None:
    """The script counts no receiver there, but the message may reach it through another node."""
    program = "import interlock, sys; one = interlock.connect(sys.argv[1]).lock(sys.argv[2]); print(one.acquire(90))"
    liveness, tries = 6, 0
    while True:
        tries += 1
        primary = nodes.primaries()[0]
        name = name_at(nodes, primary, f"unheard{tries}-")
        replica = nodes.replica_of(primary)
        lock = client.lock(name, ttl=30)
        assert lock.acquire(5)
        command = [sys.executable, "-c", program, nodes.url(), name]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as waiter:
            until(lambda name=name: client.inspect(name).waiting == 1, what="a waiter")
            waiter.send_signal(signal.SIGSTOP)
            begun = time.monotonic()
            nodes.fail_over(replica)
            assert lock.release()
            state = client.inspect(name).state
            took = time.monotonic() - begun
            waiter.send_signal(signal.SIGCONT)
            assert waiter.communicate(timeout=100)[0] == "True\n"
        nodes.settle()
        if took < liveness / 2:
            break
        assert tries < 10, "failovers take too long"
    assert state == "held"


def test_a_primary_is_killed(nodes: Cluster, client: interlock.Client) -> None:
    primary = nodes.primaries()[0]
    name = name_at(nodes, primary, "killed")
    other = name_at(nodes, nodes.primaries()[1], "living")
    replica = nodes.replica_of(primary)

    with (
        two_on(nodes, client, name) as (lock, _),
        two_on(nodes, client, other) as (living, _),
    ):
        nodes.replicate(primary, name)
        primary.kill()
        assert living.extend(20)  # the others go on
        until(replica.is_primary, 60, "the replica's promotion")
        until(lambda: lock.extend(20), 60, "the lock at the new primary")
    primary.start()
    nodes.settle()


def test_a_primary_stands_still(nodes: Cluster, client: interlock.Client) -> None:
    primary = nodes.primaries()[0]
    name = name_at(nodes, primary, "frozen")
    replica = nodes.replica_of(primary)
    waiter_name = name + "-late"

    with two_on(nodes, client, name) as (lock, _):
        nodes.replicate(primary, name)
        primary.send_signal(signal.SIGSTOP)
        try:
            until(replica.is_primary, 60, "the replica's promotion")
            until(lambda: lock.extend(20), 60, "the lock at the new primary")
            with client.lock(waiter_name):
                pass
        finally:
            primary.send_signal(signal.SIGCONT)
    nodes.settle()


# ---- nodes ----------------------------------------------------------------------


def test_a_node_joins(nodes: Cluster, client: interlock.Client) -> None:
    source = nodes.primaries()[0]
    name = name_at(nodes, source, "joined")
    slot = nodes.slot(name)

    with two_on(nodes, client, name) as (lock, _):
        joined = nodes.add_node()
        nodes.begin_migration(slot, source, joined)
        nodes.migrate_keys(slot, source, joined)
        nodes.end_migration(slot, joined)
        assert lock.extend(20)
    nodes.settle()


def test_wrong_seeds_come_first(nodes: Cluster) -> None:
    living = nodes.primaries()[0]

    for wrong in (
        "127.0.0.1:1",
        "no-such-host.invalid:6379",
        f"127.0.0.1:{free_port()}",
    ):
        with (
            interlock.connect(f"redis+cluster://{wrong},{living.url_host}") as client,
            client.lock("seeded") as lock,
        ):
            assert lock.held
    with pytest.raises(interlock.ConnectionError, match="Connection refused"):
        interlock.connect(f"redis+cluster://127.0.0.1:1,127.0.0.1:{free_port()}")


def test_the_order_of_a_primary_that_died_is_kept(nodes: Cluster) -> None:
    """Waiters get the lock in the order in which they came, across a failover."""
    primary = nodes.primaries()[0]
    name = name_at(nodes, primary, "queue")
    replica = nodes.replica_of(primary)

    with interlock.connect(nodes.url()) as client:
        lock = client.lock(name, ttl=30)
        assert lock.acquire(5)
        waiters = []
        for count in range(1, 4):
            waiters.append(Waiter(nodes, name))
            until(
                lambda count=count: client.inspect(name).waiting == count,
                what="the next waiter",
            )
        nodes.fail_over(replica)
        assert lock.release()
        for number, waiter in enumerate(waiters):
            assert waiter.acquired.wait(60)
            assert not any(one.acquired.is_set() for one in waiters[number + 1 :])
            waiter.end()
    nodes.settle()
