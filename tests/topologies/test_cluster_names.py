# SPDX-License-Identifier: MIT
"""Which names a cluster takes together, its messages, and its errors."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import cluster
import interlock
import pytest
from cluster import Cluster, until


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


def test_many_locks_need_one_hash_tag(nodes: Cluster, client: interlock.Client) -> None:
    many = client.lock_many(names_of_all_nodes(nodes, "many"))
    with pytest.raises(
        interlock.UnsupportedError,
        match="several slots of the cluster; give the names one hash tag",
    ):
        many.acquire(0)
    assert not many.held
    with client.lock_many(["{many}1", "{many}2"]) as tagged:
        assert tagged.held
        assert client.inspect("{many}2").state == "held"


def test_several_signals_and_queues_need_one_hash_tag(
    nodes: Cluster, client: interlock.Client
) -> None:
    signals = [client.signal(name) for name in names_of_all_nodes(nodes, "several")]
    with pytest.raises(
        interlock.UnsupportedError, match="signal_wait: the keys are in several slots"
    ):
        interlock.wait_any(signals, 1)
    with pytest.raises(
        interlock.UnsupportedError, match="queue_reserve: the keys are in several slots"
    ):
        client.queues(names_of_all_nodes(nodes, "several")).pop(0)
    tagged = client.queues(["{several}1", "{several}2"])
    client.queue("{several}2").push(b"x")
    assert tagged.pop(5) == b"x"


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
            listener.listen()
            signals[number % 3].notify_all(b"%d" % number)
            assert listener.receive(30) == (names[number % 3].encode(), b"%d" % number)


def test_a_silent_node_does_not_keep_a_pattern_from_being_heard(
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
    port = cluster.free_port()
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
