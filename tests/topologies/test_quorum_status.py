# SPDX-License-Identifier: MIT
"""The state of a quorum's nodes, from clients and from the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import interlock
from cluster import until
from crowd import Waiter
from interlock import NodeStats
from quorum_nodes import LONGEST_MS, Quorum

sys.path.append(str(Path(__file__).resolve().parents[1] / "chaos"))

from server import Clock

TTL = LONGEST_MS / 1000
ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("ILK_BUILD") or ROOT / "build" / "release")
CLI = os.environ.get("ILK_CLI") or str(BUILD / "bin" / "interlock")


def states(client: interlock.Client) -> list[str]:
    return [node.state for node in client.stats().nodes]


def reaches(client: interlock.Client, *wanted: str) -> tuple[NodeStats, ...]:
    until(lambda: states(client) == list(wanted), what=f"the states {wanted}")
    return client.stats().nodes


def command(nodes: Quorum, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `interlock quorum status`."""
    line = [CLI, "quorum", "status", "--url", nodes.url(), *words]
    return subprocess.run(line, capture_output=True, text=True, check=False)


# ---- the client -----------------------------------------------------------------


def test_nodes_that_vote(nodes: Quorum, name: str) -> None:
    with interlock.connect(nodes.url()) as client:
        found = reaches(client, "voting", "voting", "voting")
        addresses = [f"127.0.0.1:{node.port}" for node in nodes.nodes]
        assert [node.address for node in found] == addresses
        for node in found:
            assert node.round_trip is not None
            assert node.mean_round_trip is not None
            assert node.clock_offset is not None
            assert abs(node.clock_offset) <= node.round_trip / 2 + 0.01
            assert (node.connects, node.wait, node.error) == (1, 0, "")
            assert (node.granted, node.confirmed) == (0, 0)
        with client.lock(name, ttl=TTL) as lock:
            held = client.stats().nodes
            assert sum(node.granted for node in held) >= 2
            lock.extend(TTL)
            assert sum(node.confirmed for node in client.stats().nodes) >= 2
            assert sum(node.commands for node in held) > sum(
                node.commands for node in found
            )
        until(
            lambda: all(node.in_flight == 0 for node in client.stats().nodes),
            what="all replies",
        )


def test_votes_that_come_by_message_are_counted(nodes: Quorum, name: str) -> None:
    with interlock.connect(nodes.url()) as client:
        lock = client.lock(name, ttl=TTL)
        assert lock.acquire(5)
        waiter = Waiter(nodes, name, TTL)
        until(lambda: client.inspect(name).waiting == 1, what="a waiter")
        stats = waiter.client.stats
        before = sum(node.granted for node in stats().nodes)
        assert lock.release()
        assert waiter.acquired.wait(60)
        assert sum(node.granted for node in stats().nodes) >= before + 2
        waiter.end()


def test_a_node_that_comes_back_without_its_data_waits(nodes: Quorum) -> None:
    with interlock.connect(nodes.url()) as client:
        reaches(client, "voting", "voting", "voting")
        nodes.nodes[1].kill()
        reaches(client, "voting", "failed", "voting")
        until(lambda: "refused" in client.stats().nodes[1].error, what="the reason")
        nodes.nodes[2].kill()
        reaches(client, "voting", "failed", "failed")
        nodes.nodes[1].start()
        found = reaches(client, "voting", "waiting", "failed")[1]
        assert 0 <= found.wait <= TTL * 1.01 + 0.002
        until(lambda: client.stats().nodes[1].wait == 0, what="the longest lease")
        reaches(client, "voting", "waiting", "failed")  # it needs a majority of others

        nodes.nodes[2].start()
        reaches(client, "voting", "voting", "voting")
        assert client.stats().nodes[1].connects >= 2


def test_a_node_that_is_frozen_has_a_command_in_flight(
    nodes: Quorum, name: str
) -> None:
    with interlock.connect(nodes.url("&reply_timeout_ms=60000")) as client:
        reaches(client, "voting", "voting", "voting")
        nodes.nodes[2].freeze()
        with client.lock(name, ttl=TTL):
            until(
                lambda: client.stats().nodes[2].in_flight > 0,
                what="a command without a reply",
            )
        nodes.nodes[2].thaw()
        until(
            lambda: client.stats().nodes[2].in_flight == 0,
            what="replies to all commands",
        )


def test_a_node_that_was_wiped_refuses(nodes: Quorum, name: str) -> None:
    with interlock.connect(nodes.url()) as client:
        reaches(client, "voting", "voting", "voting")
        nodes.nodes[0].redis().flushall()
        with client.lock(name, ttl=TTL):
            until(lambda: client.stats().nodes[0].refused > 0, what="a refusal")


def test_a_clock_that_is_an_hour_ahead(nodes: Quorum, tmp_path: Path) -> None:
    clock = Clock(tmp_path / "clock")
    clock.step(3600)
    nodes.nodes[1].kill()
    nodes.nodes[1].environment |= clock.environment
    nodes.nodes[1].start()
    with interlock.connect(nodes.url()) as client:
        found = reaches(client, "voting", "voting", "voting")
        for node, ahead in zip(found, (0, 3600, 0)):
            assert node.round_trip is not None
            assert node.clock_offset is not None
            assert abs(node.clock_offset - ahead) <= node.round_trip / 2 + 0.01


# ---- the command ----------------------------------------------------------------


def lines_of(nodes: Quorum, *wanted: str) -> tuple[int, str, list[str]]:
    """Repeat the command until the nodes have these states: status, errors, lines."""
    found: list[subprocess.CompletedProcess[str]] = []

    def is_as_wanted() -> bool:
        found.append(command(nodes))
        lines = found[-1].stdout.splitlines()[1:]
        return [line.split()[1] for line in lines] == list(wanted)

    until(is_as_wanted, what=f"the states {wanted}")
    return found[-1].returncode, found[-1].stderr, found[-1].stdout.splitlines()


def test_the_command_prints_a_line_for_each_node(nodes: Quorum) -> None:
    status, errors, lines = lines_of(nodes, "voting", "voting", "voting")

    assert (status, errors) == (0, "")
    heads = ["NODE", "STATE", "ROUND-TRIP", "CLOCK", "REGISTERS", "WHY"]
    assert lines[0].split() == heads
    for node, line in zip(nodes.nodes, lines[1:]):
        assert line.split()[0] == f"127.0.0.1:{node.port}"
        assert line.endswith("  none       -")


def test_the_command_succeeds_while_a_majority_votes(nodes: Quorum) -> None:
    nodes.nodes[0].kill()
    status, errors, lines = lines_of(nodes, "failed", "voting", "voting")

    assert (status, errors) == (0, "")
    assert "Connection refused" in lines[1]


def test_the_command_without_a_majority_is_69(nodes: Quorum) -> None:
    nodes.nodes[0].kill()
    nodes.nodes[2].redis().flushall()
    status, errors, lines = lines_of(nodes, "failed", "voting", "waiting")

    assert (status, errors) == (69, "interlock: 1 of 3 nodes vote, and 2 must\n")
    assert "may vote in" in lines[3] or "needs the other nodes" in lines[3]
    until(
        lambda: "needs the other nodes" in command(nodes).stdout,
        what="the longest lease",
    )


def test_the_command_in_json(nodes: Quorum) -> None:
    nodes.nodes[1].freeze()
    lines_of(nodes, "voting", "failed", "voting")
    done = command(nodes, "--json")
    nodes.nodes[1].thaw()

    found = json.loads(done.stdout)
    assert found["kind"] == "quorum"
    assert found["voting"] == sum(node["state"] == "voting" for node in found["nodes"])
    frozen = found["nodes"][1]
    assert frozen["state"] == "failed"
    assert (frozen["round_trip_us"], frozen["clock_offset_us"]) == (None, None)
    assert "no answer" in frozen["error"]


# ---- names ----------------------------------------------------------------------


def listed(nodes: Quorum, *words: str) -> list[dict[str, object]]:
    """The JSON that `interlock ls` prints."""
    line = [CLI, "ls", "--json", "--url", nodes.url(), *words]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_ls_shows_holds_without_one_of_the_nodes(nodes: Quorum, name: str) -> None:
    with interlock.connect(nodes.url()) as client:
        leader = client.election(name, ttl=TTL)
        assert leader.campaign(10)
        with client.lock(name, ttl=TTL) as lock:
            # A leader is shown when all nodes that may be missing have its renewal.
            until(lambda: all(node.confirmed > 1 for node in client.stats().nodes))
            for frozen in (False, True):
                if frozen:
                    nodes.nodes[0].freeze()
                found = listed(nodes, name)
                kinds = [(one["kind"], one["state"]) for one in found]
                assert kinds == [("lock", "held"), ("election", "led")]
                assert found[0]["fence"] == lock.fence
                assert found[1]["fence"] == leader.term
                assert str(found[0]["holder"]).endswith(f":{os.getpid()}")
            nodes.nodes[0].thaw()
        assert client.ls(f"{name}*") == [name]


def test_ls_without_a_majority_is_no_empty_list(nodes: Quorum) -> None:
    for node in nodes.nodes[:2]:
        node.kill()
    line = [CLI, "ls", "--url", nodes.url("&outage=0")]

    done = subprocess.run(line, capture_output=True, text=True, check=False)

    assert done.returncode == 69
    assert "must" in done.stderr or "reached" in done.stderr
