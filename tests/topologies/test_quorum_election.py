# SPDX-License-Identifier: MIT
"""Elections over independent servers, of which a minority may be missing."""

from __future__ import annotations

import asyncio
import collections
import threading

import interlock
import interlock.aio
import pytest
from cluster import PATIENCE, until
from quorum_nodes import LONGEST_MS, Quorum

TTL = LONGEST_MS / 1000


class Candidate:
    """A client of its own, and a thread that campaigns."""

    def __init__(self, nodes: Quorum, name: str, value: bytes):
        self.client = interlock.connect(nodes.url())
        self.election = self.client.election(name, value=value, ttl=TTL)
        self.won = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self) -> None:
        if self.election.campaign(60 * PATIENCE):
            self.won.set()

    def end(self) -> None:
        self.thread.join(60 * PATIENCE)
        assert self.election.resign()
        self.client.close()


def waiting(client: interlock.Client, name: str) -> int:
    return client.election(name).inspect().waiting


def test_a_majority_has_the_value_of_the_leader(kept: Quorum, name: str) -> None:
    with interlock.connect(kept.url()) as client, interlock.connect(kept.url()) as one:
        election, other = client.election(name, value=b"a", ttl=TTL), one.election(name)
        assert election.campaign(5)
        found = other.inspect()
        assert (found.value, found.term) == (b"a", election.term)
        assert election.proclaim(b"b")
        assert other.leader() == b"b"
        texts = [
            node.redis().hget(f"ilk:election:value:{{{name}}}", election.token)
            for node in kept.nodes
        ]
        assert collections.Counter(texts)[f"{election.term} 2 b"] >= 2
        assert election.resign()
        assert other.leader() is None


def test_a_leader_that_resigns_is_followed_in_order(kept: Quorum, name: str) -> None:
    with interlock.connect(kept.url()) as client:
        first = client.election(name, value=b"first", ttl=TTL)
        assert first.campaign(5)
        candidates = []
        for number in range(3):
            candidates.append(Candidate(kept, name, b"%d" % number))
            until(lambda n=number: waiting(client, name) == n + 1, what="a candidate")
        term = first.term
        assert first.resign()
        for number, one in enumerate(candidates):
            assert one.won.wait(30 * PATIENCE)
            assert one.election.term > term
            assert first.leader() == b"%d" % number
            term = one.election.term
            one.end()


def test_an_observer_sees_each_leader_once(kept: Quorum, name: str) -> None:
    with interlock.connect(kept.url()) as client, interlock.connect(kept.url()) as one:
        election = client.election(name, value=b"0", ttl=TTL)
        observer = one.election(name).observe()
        seen: list[bytes] = []

        def watch() -> None:
            for leadership in observer:
                seen.append(leadership.value)
                if leadership.value == b"end":
                    return

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        assert election.campaign(5)
        for number in range(1, 6):
            until(lambda n=number: len(seen) == n, what="the change is seen")
            assert election.proclaim(b"%d" % number)
        until(lambda: len(seen) == 6, what="the last number is seen")
        assert election.proclaim(b"end")
        thread.join(30 * PATIENCE)
        assert seen == [b"0", b"1", b"2", b"3", b"4", b"5", b"end"]
        assert election.resign()


def test_a_leader_goes_on_while_nodes_fail_in_turn(nodes: Quorum, name: str) -> None:
    with (
        interlock.connect(nodes.url()) as client,
        interlock.connect(nodes.url()) as one,
    ):
        election = client.election(name, value=b"here", ttl=TTL)
        assert election.campaign(5)
        term = election.term
        held = f"ilk:election:value:{{{name}}}"
        for number, how in enumerate(("kill", "freeze", "wipe")):
            victim = nodes.nodes[number]
            if how == "wipe":
                victim.redis().flushall()
            else:
                getattr(victim, how)()
            assert election.proclaim(b"%d" % number)
            assert one.election(name).leader() == b"%d" % number
            if how == "kill":
                victim.start()
            if how == "freeze":
                victim.thaw()
            until(victim.is_member, what="the node votes again")
            until(
                lambda victim=victim: victim.redis().hlen(held) == 2,
                what="the node has the value again",
            )
        assert election.held
        assert election.term == term
        assert one.election(name).inspect().term == term


def test_a_leader_that_dies_is_followed_and_observers_see_it(
    nodes: Quorum, name: str
) -> None:
    with interlock.connect(nodes.url()) as client:
        election = client.election(name, value=b"old", ttl=TTL, renew=False)
        assert election.campaign(5)
        observer = client.election(name).observe()
        assert observer.get(5 * PATIENCE).value == b"old"
        heir = Candidate(nodes, name, b"new")
        assert heir.won.wait(30 * PATIENCE)
        assert observer.get(10 * PATIENCE).value == b"new"
        assert not election.held
        assert heir.election.term > election.term
        heir.end()


def test_an_observer_of_vacancies_sees_a_resignation(kept: Quorum, name: str) -> None:
    with interlock.connect(kept.url()) as client, interlock.connect(kept.url()) as one:
        election = client.election(name, value=b"a", ttl=TTL)
        assert election.campaign(5)
        observer = one.election(name).observe(vacant=True)
        assert observer.get(5 * PATIENCE).value == b"a"
        assert election.resign()
        assert observer.get(5 * PATIENCE).value is None
        assert election.campaign(5)
        assert observer.get(5 * PATIENCE).value == b"a"


def test_a_proclamation_without_a_majority_is_an_error(
    nodes: Quorum, name: str
) -> None:
    with interlock.connect(nodes.url("&noquorum=fail")) as client:
        election = client.election(name, value=b"a", ttl=TTL)
        assert election.campaign(5)
        for node in nodes.nodes[:2]:
            node.kill()
        with pytest.raises((interlock.NoQuorumError, interlock.LostError)):
            election.proclaim(b"b")


def test_an_operator_ends_a_term(kept: Quorum, name: str) -> None:
    with interlock.connect(kept.url()) as client, interlock.connect(kept.url()) as one:
        election = client.election(name, value=b"a", ttl=TTL)
        assert election.campaign(5)
        heir = Candidate(kept, name, b"b")
        until(lambda: waiting(client, name) == 1, what="a candidate")
        assert one.break_election(name)
        assert heir.won.wait(30 * PATIENCE)
        until(lambda: not election.held, what="the former leader finds out")
        heir.end()


def test_an_identity_is_refused(kept: Quorum, name: str) -> None:
    with interlock.connect(kept.url()) as client:
        election = client.election(name, identity="node-1", ttl=TTL)
        with pytest.raises(interlock.UnsupportedError, match="identity"):
            election.campaign(5)


def test_tasks_campaign_and_observe(kept: Quorum, name: str) -> None:
    async def act() -> list[bytes]:
        seen: list[bytes] = []
        async with (
            interlock.aio.connect(kept.url()) as client,
            interlock.aio.connect(kept.url()) as other,
        ):
            one = client.election(name, value=b"one", ttl=TTL)
            two = other.election(name, value=b"two", ttl=TTL)
            observer = client.election(name).observe()
            assert await one.campaign(5)
            seen.append((await observer.get(5 * PATIENCE)).value)
            second = asyncio.create_task(two.campaign(30 * PATIENCE))
            assert await one.proclaim(b"more")
            seen.append((await observer.get(5 * PATIENCE)).value)
            assert await one.resign()
            assert await second
            seen.append((await observer.get(5 * PATIENCE)).value)
            assert await two.resign()
        return seen

    assert asyncio.run(act()) == [b"one", b"more", b"two"]


def test_one_of_a_crowd_leads_at_a_time(kept: Quorum, name: str) -> None:
    terms: list[int] = []
    leading = threading.Lock()

    def run() -> None:
        with interlock.connect(kept.url()) as client:
            election = client.election(name, ttl=TTL)
            for _ in range(10):
                assert election.campaign(60 * PATIENCE)
                assert leading.acquire(blocking=False)
                terms.append(election.term)
                leading.release()
                assert election.resign()

    threads = [threading.Thread(target=run, daemon=True) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100 * PATIENCE)
    assert len(terms) == 50
    assert terms == sorted(set(terms))
