# SPDX-License-Identifier: MIT
"""A quorum whose nodes and clients disagree about the time of day."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import interlock
import pytest
import quorum_network
import quorum_nodes
from cluster import PATIENCE, until
from crowd import crowd, two_on
from quorum_network import Network
from quorum_nodes import LONGEST_MS, soon

sys.path.append(str(Path(__file__).resolve().parents[1] / "chaos"))

from server import Clock

TTL = LONGEST_MS / 1000
LONG_TTL = 20
HOUR = 3600.0
DIFFERENCES = (0.0, 5 * HOUR, -3 * HOUR)


class Clocked:
    """Three nodes, each with a clock that can be set."""

    def __init__(
        self,
        home: Path,
        opened: contextlib.ExitStack,
        differences: Sequence[float] = (0.0, 0.0, 0.0),
        longest_ms: int = LONGEST_MS,
    ):
        self.clocks = [Clock(home / f"clock{node}") for node in range(3)]
        for clock, difference in zip(self.clocks, differences):
            clock.step(difference)
        settings = [{"environment": clock.environment} for clock in self.clocks]
        self.quorum = opened.enter_context(
            quorum_nodes.running(longest_ms=longest_ms, settings=settings)
        )
        self.nodes = self.quorum.nodes

    def url(self) -> str:
        return self.quorum.url()

    def times(self) -> list[int]:
        return [node.redis().time()[0] for node in self.nodes]


@pytest.fixture
def apart(tmp_path: Path) -> Iterator[Clocked]:
    with contextlib.ExitStack() as opened:
        one = Clocked(tmp_path, opened, DIFFERENCES)
        first, ahead, behind = one.times()
        assert ahead - first > 4 * HOUR
        assert first - behind > 2 * HOUR
        one.quorum.declare_members()
        yield one


@pytest.fixture
def together(tmp_path: Path) -> Iterator[tuple[Clocked, Network]]:
    with contextlib.ExitStack() as opened:
        one = Clocked(tmp_path, opened, longest_ms=LONG_TTL * 1000)
        one.quorum.declare_members()
        yield one, opened.enter_context(quorum_network.between(one.quorum, "ab"))


# ---- hours apart -----------------------------------------------------------------


def test_locks_are_renewed_and_handed_over(apart: Clocked, name: str) -> None:
    with (
        interlock.connect(apart.url()) as client,
        two_on(apart, client, name, TTL) as (lock, waiter),
    ):
        assert not waiter.acquired.wait(1.5 * TTL)
        assert lock.held
        assert 0 < lock.remaining() <= TTL


def test_a_hold_that_is_not_renewed_ends_at_its_time(apart: Clocked, name: str) -> None:
    with interlock.connect(apart.url()) as client:
        lock = client.lock(name, ttl=0.5, renew=False)
        assert lock.acquire(5)
        with interlock.connect(apart.url()) as other:
            next_lock = other.lock(name, ttl=TTL)
            assert next_lock.acquire(30 * PATIENCE)
            assert not lock.held
            assert next_lock.fence > lock.fence


@pytest.mark.parametrize("odd", [1, 2], ids=["ahead", "behind"])
def test_fences_rise_when_the_odd_node_restarts(
    apart: Clocked, name: str, odd: int
) -> None:
    """Also while it is away: its fences are the greatest, or the least."""
    node = apart.nodes[odd]
    fence = 0
    with interlock.connect(apart.url()) as client:

        def take(times: int) -> None:
            nonlocal fence
            for _ in range(times):
                with client.lock(name, ttl=TTL) as lock:
                    assert lock.fence > fence
                    fence = lock.fence

        take(3)
        node.kill()
        take(3)
        node.start()
        take(3)
        until(node.is_member, what="the node votes again")
        take(3)
        node.kill()
        apart.clocks[odd].step(-2 * DIFFERENCES[odd])
        node.start()
        until(node.is_member, what="the node votes again")
        apart.nodes[0].kill()
        take(3)


def test_a_node_is_taken_in_whose_clock_is_before_its_start(
    apart: Clocked, name: str
) -> None:
    with interlock.connect(apart.url()) as client:
        node = apart.nodes[0]
        apart.clocks[0].step(-HOUR)
        assert int(node.redis().info("server")["uptime_in_seconds"]) < 0
        node.redis().flushall()
        assert client.lock(name, ttl=TTL).acquire(5)
        until(node.is_member, what="the node votes again")


def test_versions_of_a_register_rise_whichever_node_is_away(
    apart: Clocked, name: str
) -> None:
    """The clock that takes part is another one each time, by hours."""
    with interlock.connect(apart.quorum.url("&fsync=trust")) as client:
        register = client.register(name)
        versions = [soon(lambda: register.set(b"first"))]
        for _ in range(2):
            for node, clock in zip(apart.nodes, apart.clocks, strict=True):
                node.freeze()
                versions.append(register.set(b"x"))
                assert register.cas(versions[-2], b"old") is None
                versions.append(register.cas(versions[-1], b"y") or 0)
                assert register.get() == (b"y", versions[-1])
                node.thaw()
                clock.step(-HOUR)

    assert versions == sorted(set(versions))


def test_crowds_are_served_while_clocks_are_set(apart: Clocked, name: str) -> None:
    """A vote that ends early is one of three: the others outlast it."""
    with crowd(apart, [name, name + ":2"], ttl=TTL) as clients:
        for clock in apart.clocks:
            for hours in (1, -7, 4):
                clock.step(hours * HOUR)
                clients.all_advance()


STAMPED = """
import interlock, sys
with interlock.connect(sys.argv[1]) as client:
    for turn in range(20):
        with client.lock(sys.argv[2], ttl=2) as lock:
            print(lock.fence, flush=True)
"""


def test_clients_clocks_hours_apart(apart: Clocked, name: str, tmp_path: Path) -> None:
    """Places in the queues have the stamps of clients' clocks."""
    programs = []
    with contextlib.ExitStack() as opened:
        for number, difference in enumerate(DIFFERENCES):
            clock = Clock(tmp_path / f"client{number}")
            clock.step(difference)
            program = subprocess.Popen(
                [sys.executable, "-c", STAMPED, apart.url(), name],
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, **clock.environment},
            )
            programs.append(opened.enter_context(program))
            opened.callback(program.kill)
        fences: set[int] = set()
        for program in programs:
            output, _ = program.communicate(timeout=60 * PATIENCE)
            own = [int(line) for line in output.split()]
            assert own == sorted(own)
            assert len(own) == 20
            fences |= set(own)
        assert len(fences) == 60


# ---- outside of what can hold ------------------------------------------------------


def is_lost(lock: interlock.Lock) -> bool:
    """Without a majority nothing is known of the hold."""
    try:
        return not lock.extend(LONG_TTL)
    except interlock.NoQuorumError:
        return False


def two_holders(
    together: tuple[Clocked, Network], name: str, spoil_second: str
) -> None:
    """One has the votes of two nodes, of which the second gives its vote once more."""
    nodes, network = together
    second = nodes.nodes[1]
    network.fault(2, "a", "refuse")
    with (
        interlock.connect(network.url("a")) as one,
        interlock.connect(network.url("b")) as two,
    ):
        lock, other = (
            one.lock(name, ttl=LONG_TTL, renew=False),
            two.lock(name, ttl=LONG_TTL),
        )
        assert lock.acquire(5)
        token = nodes.quorum.tokens(name)[0]
        assert nodes.quorum.tokens(name) == [token, token, None]
        if spoil_second == "clock":
            nodes.clocks[1].step(HOUR)
        else:
            second.redis().delete(name)
        until(lambda: other.acquire(0), what="a second holder")
        tokens = nodes.quorum.tokens(name)
        assert tokens[0] == token
        assert tokens[1] == tokens[2] != token
        assert lock.held and other.held
        assert other.fence > lock.fence
        network.heal()
        until(lambda: is_lost(lock), what="the loss is known")
        assert not lock.held
        assert other.held
        assert other.extend(LONG_TTL)


@pytest.mark.parametrize("fault", ["clock", "deleted key"])
def test_a_vote_that_is_given_twice_makes_two_holders_with_fences_in_order(
    together: tuple[Clocked, Network], name: str, fault: str
) -> None:
    two_holders(together, name, fault)


@pytest.mark.parametrize("fault", ["clock", "deleted key"])
def test_one_vote_of_three_that_is_given_twice_makes_no_second_holder(
    together: tuple[Clocked, Network], name: str, fault: str
) -> None:
    nodes, network = together
    with (
        interlock.connect(network.url("a")) as one,
        interlock.connect(network.url("b")) as two,
    ):
        lock, other = one.lock(name, ttl=LONG_TTL), two.lock(name, ttl=LONG_TTL)
        assert lock.acquire(5)
        until(lambda: all(nodes.quorum.tokens(name)), what="three votes")
        if fault == "clock":
            nodes.clocks[1].step(HOUR)
        else:
            nodes.nodes[1].redis().delete(name)
        assert not other.acquire(0)
        assert lock.extend(LONG_TTL)
