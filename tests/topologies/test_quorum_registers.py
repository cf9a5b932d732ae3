# SPDX-License-Identifier: MIT
"""Registers over independent servers, of which a minority may be missing, cut off or
wiped, and which must keep what they have promised."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence

import interlock
import pytest
import quorum_network
import quorum_nodes
from cluster import PATIENCE, until
from quorum_nodes import Node, Quorum, soon
from register_counter import Counter, check


@pytest.fixture
def nodes() -> Iterator[Quorum]:
    """Three nodes that keep registers, to take to pieces."""
    with quorum_nodes.running(settings=quorum_nodes.durable()) as own:
        own.declare_members()
        yield own


@pytest.fixture
def client(nodes: Quorum) -> Iterator[interlock.Client]:
    with interlock.connect(nodes.url()) as one:
        yield one


def accepted(node: Node, name: str) -> int:
    """The version that this node has accepted."""
    return int(node.redis().hget(f"ilk:quorum:register:{{{name}}}", "version") or 0)


def is_refused(register: interlock.Register, text: str) -> bool:
    """A node may have yet to say why."""
    with pytest.raises(interlock.NoQuorumError) as caught:
        register.get()
    return text in str(caught.value)


def assert_refused(nodes: Quorum, name: str, text: str) -> None:
    with interlock.connect(nodes.url()) as other:
        register = other.register(name)
        until(lambda: is_refused(register, text), 30, text)
        with pytest.raises(interlock.NoQuorumError):
            register.set(b"x")


# ---- a minority ------------------------------------------------------------------


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_each_minority_may_be_missing(
    nodes: Quorum, client: interlock.Client, name: str, missing: int
) -> None:
    register = client.register(name)
    first = soon(lambda: register.set(b"first"))
    nodes.nodes[missing].kill()

    assert register.get() == (b"first", first)
    second = register.cas(first, b"second") or 0
    assert second > first
    with interlock.connect(nodes.url()) as other:
        assert soon(other.register(name).get) == (b"second", second)
        assert other.register(name).delete(second)
    assert register.get().value is None
    assert register.get().version > second


def test_a_frozen_node_delays_nothing(
    nodes: Quorum, client: interlock.Client, name: str
) -> None:
    register = client.register(name)
    soon(lambda: register.set(b"0"))
    nodes.nodes[1].freeze()
    began = time.monotonic()
    for turn in range(20):
        register.change(lambda old: b"%d" % (int(old or b"0") + 1))
        assert register.get().value == b"%d" % (turn + 1)

    assert time.monotonic() - began < 2 * PATIENCE


def test_a_node_that_was_away_is_brought_up_to_date(
    nodes: Quorum, client: interlock.Client, name: str
) -> None:
    register = client.register(name)
    soon(lambda: register.set(b"old"))
    nodes.nodes[0].kill()
    newer = register.set(b"new")
    nodes.nodes[0].start()
    nodes.nodes[1].kill()  # the majority of now has one node with the value

    with interlock.connect(nodes.url()) as other:
        assert soon(other.register(name).get) == (b"new", newer)
        assert accepted(nodes.nodes[0], name) == newer


def test_a_value_outlasts_the_kill_of_all_nodes(nodes: Quorum, name: str) -> None:
    with interlock.connect(nodes.url()) as client:
        version = soon(lambda: client.register(name).set(b"kept"))
    for node in nodes.nodes:
        node.kill()
    for node in nodes.nodes:
        node.start()

    with interlock.connect(nodes.url()) as client:
        assert soon(client.register(name).get) == (b"kept", version)


def wait_for(
    register: interlock.Register,
    known: int,
    found: list[interlock.RegisterState | None],
) -> None:
    found.append(register.wait(known, timeout=60))


def await_waiter(client: interlock.Client) -> None:
    until(lambda: client.stats().waiting == 1, 10, "a waiter")


def test_a_waiter_is_woken_with_a_node_away(
    nodes: Quorum, client: interlock.Client, name: str
) -> None:
    register = client.register(name)
    version = soon(lambda: register.set(b"old"))
    for away in nodes.nodes:
        with interlock.connect(nodes.url()) as other:
            found: list[interlock.RegisterState | None] = []
            theirs = other.register(name)
            thread = threading.Thread(target=wait_for, args=(theirs, version, found))
            thread.start()
            await_waiter(other)
            time.sleep(0.2)  # it is in the lists of the nodes
            away.freeze()
            began = time.monotonic()
            version = register.set(b"new")
            thread.join(60)
            took = time.monotonic() - began
            away.thaw()

        assert found == [(b"new", version)]
        assert took < 1.5 * PATIENCE  # not by the refresh


# ---- nodes that forget ----------------------------------------------------------


def test_a_wiped_node_is_refused_and_the_others_go_on(
    nodes: Quorum, client: interlock.Client, name: str
) -> None:
    register = client.register(name)
    version = soon(lambda: register.set(b"kept"))
    nodes.nodes[2].redis().flushall()

    assert register.get() == (b"kept", version)
    newer = register.set(b"newer")
    assert accepted(nodes.nodes[2], name) == 0
    nodes.nodes[0].kill()
    assert_refused(nodes, name, "it has lost the registers that it kept")
    nodes.nodes[0].start()
    with interlock.connect(nodes.url()) as other:
        assert soon(other.register(name).get) == (b"newer", newer)


def test_a_restart_without_the_file_is_a_loss(nodes: Quorum, name: str) -> None:
    with interlock.connect(nodes.url()) as client:
        version = soon(lambda: client.register(name).set(b"kept"))
    lost = nodes.nodes[1]
    lost.kill()
    lost.options = [*lost.options, "--appendfilename", "other.aof"]
    lost.start()

    with interlock.connect(nodes.url()) as client:
        assert soon(client.register(name).get) == (b"kept", version)
    nodes.nodes[0].kill()
    assert_refused(nodes, name, "it has lost the registers")


def test_nodes_of_another_quorum_do_not_count(nodes: Quorum, name: str) -> None:
    with quorum_nodes.running(settings=quorum_nodes.durable()) as others:
        others.declare_members()
        for one in (nodes, others):
            with interlock.connect(one.url()) as client:
                soon(lambda: client.register(name).set(b"x"))
        mixed = nodes.url(
            ports=[others.nodes[0].port, *(n.port for n in nodes.nodes[:2])]
        )
        with interlock.connect(mixed) as client:
            register = client.register(name)
            soon(lambda: register.set(b"y"))
            assert register.get().value == b"y"
        with interlock.connect(others.url()) as client:
            assert client.register(name).get().value == b"x"
        nodes.nodes[0].kill()
        with interlock.connect(mixed) as client:
            register = client.register(name)
            until(lambda: is_refused(register, "of another quorum"), 30)


def test_a_quorum_of_another_number_of_nodes_is_another_one(
    nodes: Quorum, name: str
) -> None:
    with interlock.connect(nodes.url()) as client:
        soon(lambda: client.register(name).set(b"x"))
    with quorum_nodes.running(2, settings=quorum_nodes.durable(2)) as more:
        five = [*nodes.nodes, *more.nodes]
        for node in five:
            node.redis().delete("ilk:quorum:node")  # else their number is refused
            node.declare_member(len(five), nodes.longest_ms)
        url = nodes.url(ports=[node.port for node in five])
        with (
            interlock.connect(url) as client,
            pytest.raises(interlock.NoQuorumError, match="0 of 5 nodes keep"),
        ):
            client.register(name).get()


def test_registers_begin_when_all_nodes_are_there(name: str) -> None:
    with quorum_nodes.running(settings=quorum_nodes.durable()) as nodes:
        nodes.declare_members()
        nodes.nodes[0].kill()
        assert_refused(nodes, name, "registers begin when all nodes take part")
        nodes.nodes[0].start()
        with interlock.connect(nodes.url()) as client:
            assert soon(lambda: client.register(name).set(b"x")) > 0


def test_many_clients_begin_at_once(name: str) -> None:
    with quorum_nodes.running(settings=quorum_nodes.durable()) as nodes:
        nodes.declare_members()
        counters = [Counter(nodes.url(), name) for _ in range(8)]
        for counter in counters:
            counter.await_change()
        check(counters, nodes.url(), name)
        ids = {node.redis().get("ilk:quorum:acceptor") for node in nodes.nodes}

    assert len(ids) == 1


# ---- nodes that could forget ----------------------------------------------------


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ([], "registers need appendonly yes"),
        (["--appendonly", "yes"], "registers need appendfsync always"),
        (
            ["--appendonly", "yes", "--appendfsync", "always"],
            "registers need aof-load-truncated no",
        ),
        (
            [
                *quorum_nodes.durable(1)[0]["options"],
                "--no-appendfsync-on-rewrite",
                "yes",
            ],
            "registers need no-appendfsync-on-rewrite no",
        ),
        (
            [
                *quorum_nodes.durable(1)[0]["options"],
                "--maxmemory-policy",
                "allkeys-lru",
            ],
            "registers need maxmemory-policy noeviction",
        ),
    ],
)
def test_a_server_that_may_lose_a_promise_is_refused(
    name: str, options: Sequence[str], text: str
) -> None:
    settings = [
        {"options": [*options, "--dbfilename", f"{number}.rdb"]} for number in range(3)
    ]
    for number, setting in enumerate(settings):
        setting["options"] += ["--appendfilename", f"{number}.aof"]
    with quorum_nodes.running(settings=settings) as nodes:
        nodes.declare_members()
        assert_refused(nodes, name, text)
        with interlock.connect(nodes.url("&fsync=trust")) as client:
            version = soon(lambda: client.register(name).set(b"x"))
            assert soon(client.register(name).get) == (b"x", version)
        with interlock.connect(nodes.url()) as client, client.lock(name, ttl=1):
            pass  # a lock needs none of it


def test_the_url_says_check_or_trust() -> None:
    with pytest.raises(interlock.InvalidError, match="fsync must be check or trust"):
        interlock.connect("redis://a,b,c?quorum&fsync=always")


def test_a_user_that_may_not_read_the_settings_is_refused(
    nodes: Quorum, name: str
) -> None:
    for node in nodes.nodes:
        node.redis().execute_command(
            "ACL", "SETUSER", "some", "on", ">pw", "~*", "&*", "+@all", "-config"
        )
    url = nodes.url().replace("redis://", "redis://some:pw@")
    with interlock.connect(url) as client:
        register = client.register(name)
        until(lambda: is_refused(register, "+config|get"), 30)
    with interlock.connect(url + "&fsync=trust") as client:
        assert soon(lambda: client.register(name).set(b"x")) > 0


# ---- nothing is lost ------------------------------------------------------------


def test_no_change_is_lost_while_nodes_are_killed_in_turn(
    nodes: Quorum, name: str
) -> None:
    counters = [Counter(nodes.url(), name) for _ in range(3)]
    for turn in range(6):
        node = nodes.nodes[turn % 3]
        for counter in counters:
            counter.await_change()
        node.kill()
        for counter in counters:
            counter.await_change()
        node.start()
    check(counters, nodes.url(), name)


def test_no_change_is_lost_or_made_twice_when_replies_are_lost(
    nodes: Quorum, name: str
) -> None:
    with quorum_network.between(nodes, "ab") as network:
        for node in range(3):
            network.fault(node, "ab", "delay", seconds=0.01)
        counters = [Counter(network.url(one), name) for one in "ab"]
        for turn in range(16):
            counters[turn % 2].await_change()
            time.sleep(0.003 * turn)  # in each of its steps
            for node in {turn % 3, turn * 7 % 3}:
                if turn % 4 < 2:
                    network.fault(node, "ab"[turn % 2], "cut")
                else:
                    network.fault(node, "ab"[turn % 2], "late", **{"for": 0.3})
        network.heal()
        check(counters, nodes.url(), name)
