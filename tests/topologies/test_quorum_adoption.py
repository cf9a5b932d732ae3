# SPDX-License-Identifier: MIT
"""Nodes of a quorum that have lost their registers, and are taken in again."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import interlock
import pytest
import quorum_nodes
from cluster import until
from quorum_nodes import Node, Quorum, soon
from test_quorum_status import CLI

sys.path.append(str(Path(__file__).resolve().parents[1] / "shared"))

from register_counter import Counter, check

ACCEPTOR = "ilk:quorum:acceptor"


@pytest.fixture
def nodes() -> Iterator[Quorum]:
    """Three nodes that keep registers, to take to pieces."""
    with quorum_nodes.running(settings=quorum_nodes.durable()) as own:
        own.declare_members()
        yield own


@pytest.fixture
def five() -> Iterator[Quorum]:
    with quorum_nodes.running(settings=quorum_nodes.durable(5)) as own:
        own.declare_members()
        yield own


def line(nodes: Quorum, node: Node, *words: str) -> list[str]:
    address = f"127.0.0.1:{node.port}"
    return [CLI, "quorum", "adopt", address, "--url", nodes.url(), *words]


def adopt(nodes: Quorum, node: Node, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `interlock quorum adopt`."""
    return subprocess.run(
        line(nodes, node, *words), capture_output=True, text=True, check=False
    )


def assert_adopted(nodes: Quorum, node: Node) -> int:
    """It is taken in; how many copies it got."""
    done = adopt(nodes, node, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["registers"], found["registers_error"]) == ("kept", "")
    return int(found["copied"])


def lose(node: Node) -> None:
    """Its data is wiped while it runs. A wiped node waits until it votes for locks."""
    node.redis().flushall()


def write(nodes: Quorum, name: str, count: int) -> None:
    with interlock.connect(nodes.url()) as client:
        soon(lambda: client.register(f"{name}.0").set(b"0"))
        for number in range(1, count):
            client.register(f"{name}.{number}").set(b"%d" % number)


def assert_written(nodes: Quorum, name: str, count: int) -> None:
    with interlock.connect(nodes.url()) as client:
        assert soon(client.register(f"{name}.0").get).value == b"0"
        for number in range(count):
            value = client.register(f"{name}.{number}").get().value
            assert value == b"%d" % number


def status(nodes: Quorum, what: str) -> list[str]:
    line = [CLI, "quorum", "status", "--json", "--url", nodes.url()]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    return [node[what] for node in json.loads(done.stdout)["nodes"]]


def registers(nodes: Quorum) -> list[str]:
    return status(nodes, "registers")


# ---- one node --------------------------------------------------------------------


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_wiped_node_takes_part_again(nodes: Quorum, name: str, lost: int) -> None:
    write(nodes, name, 20)
    lose(nodes.nodes[lost])
    assert registers(nodes)[lost] == "lost"

    assert assert_adopted(nodes, nodes.nodes[lost]) == 40  # from two others
    assert registers(nodes) == ["kept"] * 3
    nodes.nodes[lost - 1].kill()  # it is needed now
    assert_written(nodes, name, 20)
    write(nodes, name, 20)


def test_a_blank_server_takes_the_place_of_a_node(nodes: Quorum, name: str) -> None:
    write(nodes, name, 3)
    lost = nodes.nodes[1]
    lost.kill()
    lost.options = [*lost.options, "--appendfilename", "new.aof"]
    lost.start()

    assert_adopted(nodes, lost)
    nodes.nodes[0].kill()
    assert_written(nodes, name, 3)


def test_a_node_restored_from_a_backup_is_taken_in(nodes: Quorum, name: str) -> None:
    write(nodes, name, 3)
    node = nodes.nodes[2]
    key = f"ilk:quorum:register:{{{name}.0}}"
    old = node.redis().hgetall(key)
    with interlock.connect(nodes.url()) as client:
        newer = soon(lambda: client.register(f"{name}.0").set(b"newer"))
    node.redis().hset(key, mapping=old)
    node.redis().delete(ACCEPTOR)

    assert_adopted(nodes, node)
    nodes.nodes[0].kill()
    with interlock.connect(nodes.url()) as client:
        assert soon(client.register(f"{name}.0").get) == (b"newer", newer)


def test_a_client_goes_on_over_an_adoption(nodes: Quorum, name: str) -> None:
    with interlock.connect(nodes.url()) as client:
        register = client.register(name)
        version = soon(lambda: register.set(b"first"))
        with client.lock(name, ttl=2) as lock:
            lose(nodes.nodes[2])
            assert_adopted(nodes, nodes.nodes[2])

            assert register.get() == (b"first", version)
            lock.check()
        second = register.cas(version, b"second")
        assert second
        nodes.nodes[0].kill()
        assert soon(register.get) == (b"second", second)


# ---- nothing is lost -------------------------------------------------------------


def test_no_change_is_lost_while_each_node_is_lost_in_turn(
    nodes: Quorum, name: str
) -> None:
    counters = [Counter(nodes.url(), name) for _ in range(3)]
    for turn in range(6):
        node = nodes.nodes[turn % 3]
        for counter in counters:
            counter.await_change()
        lose(node)
        node.declare_member(3, nodes.longest_ms)
        for counter in counters:
            counter.await_change()
        assert_adopted(nodes, node)
    check(counters, nodes.url(), name)


def test_an_adoption_that_was_killed_is_repeated(nodes: Quorum, name: str) -> None:
    write(nodes, name, 1)
    some = nodes.nodes[0].redis().hgetall(f"ilk:quorum:register:{{{name}.0}}")
    for node in nodes.nodes:
        pipe = node.redis().pipeline()
        for number in range(1, 3000):
            pipe.hset(f"ilk:quorum:register:{{{name}.{number}}}", mapping=some)
        pipe.execute()
    lost = nodes.nodes[1]
    lose(lost)
    for _ in range(3):
        first = subprocess.Popen(line(nodes, lost), stdout=subprocess.DEVNULL)
        until(lambda: lost.redis().dbsize() > 100, 30, "some copies")
        first.kill()
        first.wait()
        lost.redis().flushall()

    assert assert_adopted(nodes, lost) == 6000
    assert lost.redis().dbsize() >= 3000


def test_two_may_take_in_a_node_at_once(nodes: Quorum, name: str) -> None:
    write(nodes, name, 200)
    lose(nodes.nodes[2])
    both = [
        subprocess.Popen(line(nodes, nodes.nodes[2]), stdout=subprocess.DEVNULL)
        for _ in range(2)
    ]

    assert [one.wait(60) for one in both] == [0, 0]
    assert registers(nodes) == ["kept"] * 3
    nodes.nodes[0].kill()
    assert_written(nodes, name, 200)


def test_two_of_five_are_taken_in_while_one_is_away(five: Quorum, name: str) -> None:
    write(five, name, 5)
    nodes = five.nodes
    for node in nodes[:2]:
        lose(node)
    assert registers(five)[:2] == ["lost"] * 2
    assert_adopted(five, nodes[0])
    until(lambda: status(five, "state") == ["voting"] * 5, 30, "votes of all nodes")
    nodes[4].kill()
    assert_adopted(five, nodes[1])  # from 0, 2 and 3
    with soon(lambda: interlock.connect(five.url())) as client:
        newer = soon(lambda: client.register(f"{name}.4").set(b"newer"))
    nodes[4].start()
    until(lambda: registers(five) == ["kept"] * 5, 30, "the one that was away")
    for node in nodes[2:4]:
        node.kill()
    with soon(lambda: interlock.connect(five.url())) as client:
        assert soon(client.register(f"{name}.4").get) == (b"newer", newer)
        assert client.register(f"{name}.0").get().value == b"0"


# ---- refusals --------------------------------------------------------------------


def refusal(done: subprocess.CompletedProcess[str], status: int) -> str:
    assert (done.returncode, done.stdout) == (status, "")
    return done.stderr


def test_a_node_that_keeps_its_registers_is_left_alone(
    nodes: Quorum, name: str
) -> None:
    write(nodes, name, 1)
    known = nodes.nodes[0].redis().get(ACCEPTOR)

    assert assert_adopted(nodes, nodes.nodes[0]) == 0
    assert {node.redis().get(ACCEPTOR) for node in nodes.nodes} == {known}


def test_a_quorum_without_registers_has_lost_none(nodes: Quorum) -> None:
    said = refusal(adopt(nodes, nodes.nodes[0]), 1)

    assert "no node of this quorum keeps registers" in said
    assert [node.redis().get(ACCEPTOR) for node in nodes.nodes] == [None] * 3
    assert registers(nodes) == ["none"] * 3


def test_too_few_others_are_waited_for(nodes: Quorum, name: str) -> None:
    write(nodes, name, 1)
    lose(nodes.nodes[2])
    nodes.nodes[0].kill()
    said = refusal(adopt(nodes, nodes.nodes[2], "--timeout", "2s"), 69)
    assert "2 of the other nodes must keep registers, and be reached" in said

    waiting = subprocess.Popen(line(nodes, nodes.nodes[2]), stdout=subprocess.DEVNULL)
    nodes.nodes[0].start()
    assert waiting.wait(60) == 0
    assert_written(nodes, name, 1)


def test_a_node_that_cannot_be_reached_is_waited_for(nodes: Quorum, name: str) -> None:
    write(nodes, name, 1)
    nodes.nodes[2].kill()

    assert "not taken in" in refusal(
        adopt(nodes, nodes.nodes[2], "--timeout", "1s"), 69
    )


def test_a_node_that_may_forget_is_refused(nodes: Quorum, name: str) -> None:
    write(nodes, name, 1)
    lose(nodes.nodes[2])
    nodes.nodes[2].redis().config_set("appendfsync", "everysec")

    said = refusal(adopt(nodes, nodes.nodes[2]), 1)
    assert "registers need appendfsync always" in said


def test_a_node_of_another_quorum_is_refused(nodes: Quorum, name: str) -> None:
    write(nodes, name, 1)
    lose(nodes.nodes[2])
    list_ = f"00000001:{'a' * 16}-{'b' * 16}-{'c' * 16}"
    nodes.nodes[2].redis().set(ACCEPTOR, f"ready {list_}")

    said = refusal(adopt(nodes, nodes.nodes[2]), 1)
    assert "it keeps the registers of another quorum" in said
