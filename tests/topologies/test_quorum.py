# SPDX-License-Identifier: MIT
"""Locks over independent servers, of which a minority may be missing."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator

import interlock
import interlock.aio
import pytest
import quorum_nodes
from cluster import PATIENCE, until
from crowd import Waiter, crowd, two_on
from quorum_nodes import LONGEST_MS, Quorum
from redlock_steps import Redlock

TTL = LONGEST_MS / 1000


@pytest.fixture
def client(kept: Quorum) -> Iterator[interlock.Client]:
    with interlock.connect(kept.url()) as one:
        yield one


# ---- the URL --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("redis://a?quorum", "3 to 9 hosts"),
        ("redis://a,b?quorum", "3 to 9 hosts"),
        ("redis://" + ",".join("abcdefghij") + "?quorum", "over 9 hosts"),
        ("redis://a,b,c", "a quorum with \\?quorum"),
        ("redis://a,b,c?quorum&noquorum=perhaps", "noquorum must be wait or fail"),
        ("redis://a,b,c?quorum&longest_lease_ms=0", "longest_lease_ms must be"),
        ("redis://a,b,c?quorum&listen=d", "listen is not for the quorum"),
        ("redis://a,b,c?quorum&copies=2", '"copies" is unknown'),
        ("redis://a,b:0,c?quorum", "port must be"),
        ("redis://a,b,c/x?quorum", "the database must be"),
    ],
)
def test_a_url_that_makes_no_sense_is_refused(url: str, text: str) -> None:
    with pytest.raises(interlock.InvalidError, match=text):
        interlock.connect(url)


def test_one_server_under_two_names_is_refused(kept: Quorum) -> None:
    first, second, _ = kept.nodes
    with pytest.raises(interlock.NoQuorumError, match="are one server"):
        interlock.connect(
            f"redis://127.0.0.1:{first.port},localhost:{first.port},"
            f"127.0.0.1:{second.port}?quorum&longest_lease_ms={LONGEST_MS}"
        )


def test_another_number_of_nodes_is_refused(kept: Quorum) -> None:
    with quorum_nodes.running(1) as more:
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in kept.nodes + more.nodes)
        with pytest.raises(
            interlock.NoQuorumError, match="others use it in a quorum of 3"
        ):
            interlock.connect(f"redis://{hosts}?quorum&longest_lease_ms={LONGEST_MS}")


def test_too_few_servers_are_said_at_once() -> None:
    with quorum_nodes.running() as nodes:
        for node in nodes.nodes[:2]:
            node.kill()
        with pytest.raises(
            interlock.NoQuorumError, match="of 3 nodes vote, and 2 must"
        ):
            interlock.connect(nodes.url())


# ---- locks ----------------------------------------------------------------------


def test_a_majority_has_the_token(
    kept: Quorum, client: interlock.Client, name: str
) -> None:
    with client.lock(name, ttl=TTL) as lock:
        assert lock.held
        assert 0 < lock.remaining() <= TTL
        state = client.inspect(name)
        assert (state.state, state.fence) == ("held", lock.fence)
        tokens = kept.tokens(name)
        assert any(token and tokens.count(token) >= 2 for token in tokens)
    until(lambda: kept.tokens(name) == [None] * 3, what="all votes back")
    assert client.inspect(name).state == "free"


def test_one_holds_and_another_does_not(
    kept: Quorum, client: interlock.Client, name: str
) -> None:
    with interlock.connect(kept.url()) as other:
        mine, theirs = client.lock(name, ttl=TTL), other.lock(name, ttl=TTL)
        for _ in range(20):
            assert mine.acquire(0)
            assert not theirs.acquire(0)
            fence = mine.fence
            assert mine.release()
            assert theirs.acquire(5)
            assert theirs.fence > fence
            assert theirs.release()


def test_a_release_hands_over_in_order(
    kept: Quorum, client: interlock.Client, name: str
) -> None:
    lock = client.lock(name, ttl=TTL)
    waiters = []
    assert lock.acquire(5)
    for number in range(4):
        waiters.append(Waiter(kept, name, ttl=TTL))
        until(
            lambda number=number: client.inspect(name).waiting == number + 1,
            what="one more waiter",
        )
    fence = lock.fence
    assert lock.release()
    for waiter in waiters:
        assert waiter.acquired.wait(30 * PATIENCE)
        assert waiter.lock.fence > fence
        fence = waiter.lock.fence
        waiter.end()


def test_a_renewed_hold_outlasts_its_lease(
    kept: Quorum, client: interlock.Client, name: str
) -> None:
    with two_on(kept, client, name, ttl=TTL) as (lock, waiter):
        assert not waiter.acquired.wait(2.5 * TTL)
        assert lock.held


def test_a_hold_that_is_not_renewed_ends_and_the_next_is_served(
    kept: Quorum, client: interlock.Client, name: str
) -> None:
    lock = client.lock(name, ttl=0.5, renew=False)
    assert lock.acquire(5)
    waiter = Waiter(kept, name, ttl=TTL)
    assert waiter.acquired.wait(30 * PATIENCE)
    assert not lock.held
    assert waiter.lock.fence > lock.fence
    waiter.end()


def test_a_wait_that_ends_leaves_nothing(
    kept: Quorum, client: interlock.Client, name: str
) -> None:
    with interlock.connect(kept.url()) as other:
        assert client.lock(name, ttl=TTL).acquire(5)
        assert not other.lock(name, ttl=TTL).acquire(0.3)
        until(lambda: client.inspect(name).waiting == 0, what="an empty queue")


# ---- a client that is closed -----------------------------------------------------


def close_in_time(client: interlock.Client) -> None:
    began = time.monotonic()
    client.close()
    assert time.monotonic() - began < 1 + 2 * PATIENCE


def test_a_closed_client_gives_back_what_it_renews(
    kept: Quorum, client: interlock.Client, name: str
) -> None:
    other = interlock.connect(kept.url())
    names = [f"{name} {number}" for number in range(20)]
    for one in names:
        assert other.lock(one, ttl=TTL).acquire(5)
    assert other.election(name, ttl=TTL).campaign(5)
    detached = other.lock(f"{name} detached", ttl=TTL)
    assert detached.acquire(5)
    token = detached.detach()
    close_in_time(other)
    assert kept.tokens(f"{name} detached") == [token] * 3
    began = time.monotonic()
    for one in names:
        assert kept.tokens(one) == [None] * 3
    assert client.election(name, ttl=TTL).campaign(TTL / 2)
    assert time.monotonic() - began < TTL / 2 * PATIENCE


@pytest.mark.parametrize("frozen", [1, 2])
def test_silent_nodes_delay_a_close_by_a_second_at_most(
    nodes: Quorum, name: str, frozen: int
) -> None:
    other = interlock.connect(nodes.url())
    assert other.lock(name, ttl=TTL).acquire(5)
    for node in nodes.nodes[:frozen]:
        node.freeze()
    close_in_time(other)
    for node in nodes.nodes[frozen:]:
        assert node.redis().get(name) is None
    for node in nodes.nodes[:frozen]:
        node.thaw()


def test_an_explicit_extension(client: interlock.Client, name: str) -> None:
    lock = client.lock(name, ttl=1, renew=False)
    assert lock.acquire(5)
    assert lock.extend(TTL)
    assert 1 < lock.remaining() <= TTL
    assert lock.release()
    with pytest.raises(interlock.NotOwnedError):
        lock.extend(1)


def test_a_hold_moves_to_another_client(
    kept: Quorum, client: interlock.Client, name: str
) -> None:
    with interlock.connect(kept.url()) as other:
        lock = client.lock(name, ttl=TTL, renew=False)
        assert lock.acquire(5)
        fence = lock.fence
        adopted = other.lock(name, ttl=TTL)
        adopted.adopt(lock.detach())
        assert adopted.held
        assert adopted.fence == fence
        assert not client.lock(name, ttl=TTL).acquire(0)
        assert adopted.extend(TTL)
        assert adopted.release()
        assert client.lock(name, ttl=TTL).acquire(5)


def test_a_hold_is_broken(kept: Quorum, client: interlock.Client, name: str) -> None:
    with interlock.connect(kept.url()) as other:
        lock, news = client.lock(name, ttl=TTL), client.notifications()
        assert lock.acquire(5)
        other.break_lock(name)
        assert other.lock(name, ttl=TTL).acquire(5)
        notification = news.get(10 * PATIENCE)
        assert notification and notification.kind == "lock_lost"
        assert notification.lock is lock
        assert not lock.held


def test_longer_leases_than_the_longest_are_refused(
    client: interlock.Client, name: str
) -> None:
    with pytest.raises(interlock.InvalidError, match=f"longest.* {LONGEST_MS} ms"):
        client.lock(name, ttl=TTL + 1).acquire(0)
    lock = client.lock(name, ttl=TTL)
    assert lock.acquire(5)
    with pytest.raises(interlock.InvalidError, match="longest"):
        lock.extend(TTL + 1)


def test_kinds_that_a_quorum_does_not_keep_are_refused(
    client: interlock.Client, name: str
) -> None:
    for opened in (
        lambda: client.semaphore(name, 2),
        lambda: client.queue(name),
        lambda: client.signal(name),
        lambda: client.lock_many([name, name + "2"]),
    ):
        with pytest.raises(interlock.UnsupportedError, match="the quorum"):
            opened()
    with pytest.raises(interlock.UnsupportedError, match="barge"):
        client.lock(name, ttl=TTL, fair=False).acquire(0)


def test_a_name_with_another_type_is_said(
    kept: Quorum, client: interlock.Client, name: str
) -> None:
    for node in kept.nodes:
        node.redis().rpush(name, "x")
    with pytest.raises(interlock.WrongTypeError):
        client.lock(name, ttl=TTL).acquire(0)
    with pytest.raises(interlock.WrongTypeError):
        client.lock(name, ttl=TTL).acquire(1)


def test_tasks(kept: Quorum, name: str) -> None:
    async def work() -> list[int]:
        fences = []
        async with interlock.aio.connect(kept.url()) as client:

            async def hold() -> None:
                async with client.lock(name, ttl=TTL) as lock:
                    fences.append(lock.fence)

            await asyncio.gather(*(hold() for _ in range(20)))
        return fences

    fences = asyncio.run(work())
    assert len(fences) == 20
    assert fences == sorted(fences)


def test_many_waiters_share_their_clients_connections(
    kept: Quorum, client: interlock.Client, name: str
) -> None:
    lock = client.lock(name, ttl=TTL)
    assert lock.acquire(5)
    with interlock.connect(kept.url()) as other:
        held = []

        def wait() -> None:
            with other.lock(name, ttl=TTL) as one:
                held.append(one.fence)

        threads = [threading.Thread(target=wait, daemon=True) for _ in range(50)]
        for thread in threads:
            thread.start()
        until(lambda: client.inspect(name).waiting == 50, what="50 waiters")
        ours = [
            row
            for row in kept.nodes[0].redis().client_list()
            if row["name"].startswith("interlock-quorum-")
        ]
        assert len(ours) <= 2 * 3  # of the fixture, of `client` and of `other`
        assert lock.release()
        for thread in threads:
            thread.join(60 * PATIENCE)
            assert not thread.is_alive()
    assert held == sorted(held)
    assert len(held) == 50


# ---- other clients on the same nodes ----------------------------------------------


def test_redlocks_hold_excludes_ours(
    kept: Quorum, client: interlock.Client, name: str
) -> None:
    theirs, mine = Redlock(kept, name, TTL), client.lock(name, ttl=TTL)
    assert theirs.acquire()
    assert not mine.acquire(0)
    began = time.monotonic()
    threading.Timer(0.3, theirs.release).start()
    assert mine.acquire(10 * PATIENCE)
    assert time.monotonic() - began < 1.5 * PATIENCE  # it polls for foreign holders
    assert not theirs.acquire()
    assert mine.release()
    until(theirs.acquire, what="the lock that was released")


# ---- faults ---------------------------------------------------------------------


@pytest.mark.parametrize("how", ["kill", "freeze", "wipe"])
def test_a_minority_does_not_matter(nodes: Quorum, name: str, how: str) -> None:
    victim = nodes.nodes[1]
    with interlock.connect(nodes.url("&reply_timeout_ms=1000")) as client:
        with two_on(nodes, client, name, ttl=TTL) as (lock, _):
            if how == "wipe":
                victim.redis().flushall()
            else:
                getattr(victim, how)()
            assert lock.extend(TTL)
            assert not client.lock(name, ttl=TTL).acquire(0)
        for number in range(5):
            with client.lock(f"{name}:{number}", ttl=TTL) as other:
                assert other.held
        if how == "kill":
            victim.start()
        if how == "freeze":
            victim.thaw()
        until(victim.is_member, what="the node votes again")


def test_a_node_that_comes_back_is_taken_again(nodes: Quorum, name: str) -> None:
    """One restart after another does not end a hold."""
    with interlock.connect(nodes.url()) as client:
        lock = client.lock(name, ttl=TTL)
        assert lock.acquire(5)
        fence = lock.fence
        for node in nodes.nodes:
            node.kill()
            node.start()
            until(lambda node=node: node.redis().get(name), what="the vote again")
            assert lock.held
        assert lock.fence == fence
        assert not client.lock(name, ttl=TTL).acquire(0)
        assert lock.release()


def test_a_restarted_node_does_not_vote_before_the_longest_lease(
    nodes: Quorum, name: str
) -> None:
    """Its vote is forgotten, and a second holder would be one node away."""
    _, second, third = nodes.nodes
    with interlock.connect(nodes.url()) as one, interlock.connect(nodes.url()) as two:
        third.freeze()
        lock = one.lock(name, ttl=TTL, renew=False)
        assert lock.acquire(5)  # at the first and the second
        third.thaw()
        second.kill()
        second.start()
        theirs = two.lock(name, ttl=TTL)
        assert theirs.acquire(10 * PATIENCE)
        assert not lock.held
        assert theirs.fence > lock.fence


def test_nodes_that_are_emptied_one_after_another_have_no_second_holder(
    name: str,
) -> None:
    """A client that has seen no node before them finds all without data."""
    longest_ms = 6000
    with (
        quorum_nodes.running(longest_ms=longest_ms) as nodes,
        interlock.connect(nodes.url()) as one,
        interlock.connect(nodes.url("&outage=0")) as two,
    ):
        nodes.settle()
        until(
            lambda: all(
                node.redis().info("server")["uptime_in_seconds"] * 1000 > longest_ms
                for node in nodes.nodes
            ),
            what="servers that have run for longer than any lease",
        )
        lock = one.lock(name, ttl=longest_ms / 1000, renew=False)
        assert lock.acquire(5)
        for node in nodes.nodes[:2]:
            node.redis().flushall()
            until(lambda node=node: is_late(two, name, node), what="a late node")
        nodes.nodes[2].redis().flushall()
        with interlock.connect(nodes.url("&outage=30s")) as third:
            theirs = third.lock(name, ttl=1)
            assert theirs.acquire(20 * PATIENCE)
            assert not lock.held


def is_late(client: interlock.Client, name: str, node: quorum_nodes.Node) -> bool:
    """Somebody who asks it for its vote has seen it as a member before."""
    with contextlib.suppress(interlock.NoQuorumError):
        probe = client.lock(f"{name}:probe", ttl=1)
        if probe.acquire(0):
            probe.release()
    return node.redis().hget("ilk:quorum:node", "late") == "1"


def test_fences_rise_whatever_the_clocks_and_the_losses(
    nodes: Quorum, name: str
) -> None:
    with interlock.connect(nodes.url()) as client:
        fence = 0
        for turn in range(6):
            lock = client.lock(name, ttl=TTL)
            assert lock.acquire(20 * PATIENCE)
            assert lock.fence > fence
            fence = lock.fence
            assert lock.release()
            node = nodes.nodes[turn % 3]
            if turn % 2:
                node.redis().flushall()
            else:
                node.kill()
                node.start()
            until(lambda node=node: votes(client, name, node), what="a vote")


def votes(client: interlock.Client, name: str, node: quorum_nodes.Node) -> bool:
    """A wipe is found by whoever asks the node for its vote."""
    with client.lock(name + ":probe", ttl=TTL):
        return node.is_member()


@pytest.mark.parametrize("timeout", [0, 1])
def test_without_a_majority_there_is_no_lock(
    nodes: Quorum, name: str, timeout: float
) -> None:
    with interlock.connect(nodes.url()) as client:
        for node in nodes.nodes[:2]:
            node.kill()
        until(lambda: fails(client, name), what="the loss is known")
        began = time.monotonic()
        with pytest.raises(
            interlock.NoQuorumError, match=r"1 of 3 nodes vote, and 2 must; 127.0.0.1:"
        ):
            client.lock(name, ttl=TTL).acquire(timeout)
        assert time.monotonic() - began >= timeout
        assert time.monotonic() - began < timeout + 1 * PATIENCE


def fails(client: interlock.Client, name: str) -> bool:
    try:
        client.lock(name + ":probe", ttl=TTL).acquire(0)
    except interlock.NoQuorumError:
        return True
    return False


def test_noquorum_fail_does_not_wait(nodes: Quorum, name: str) -> None:
    with interlock.connect(nodes.url("&noquorum=fail")) as client:
        for node in nodes.nodes[:2]:
            node.kill()
        until(lambda: fails(client, name), what="the loss is known")
        began = time.monotonic()
        with pytest.raises(interlock.NoQuorumError):
            client.lock(name, ttl=TTL).acquire(30)
        assert time.monotonic() - began < 3 * PATIENCE


def test_a_wait_goes_on_when_the_majority_is_back(nodes: Quorum, name: str) -> None:
    with interlock.connect(nodes.url()) as client:
        # A renewal that a thawed node finds before its key ends would keep the hold.
        lock = client.lock(name, ttl=TTL, renew=False)
        assert lock.acquire(5)
        waiter = Waiter(nodes, name, TTL)
        until(lambda: client.inspect(name).waiting == 1, what="a waiter")
        for node in nodes.nodes[1:]:
            node.freeze()
        until(lambda: not lock.held, what="the hold is over")
        assert not waiter.acquired.is_set()
        for node in nodes.nodes[1:]:
            node.thaw()
        assert waiter.acquired.wait(30 * PATIENCE)
        assert waiter.lock.fence > lock.fence
        waiter.end()


def test_nobody_is_left_out_while_nodes_fail_in_turn(nodes: Quorum, name: str) -> None:
    with crowd(nodes, [f"{name}:{n}" for n in range(3)], ttl=TTL) as all_of_them:
        for how in ("kill", "freeze", "wipe") * 2:
            victim = nodes.nodes[["kill", "freeze", "wipe"].index(how)]
            if how == "wipe":
                victim.redis().flushall()
            else:
                getattr(victim, how)()
            all_of_them.all_advance()
            if how == "kill":
                victim.start()
            if how == "freeze":
                victim.thaw()
            until(victim.is_member, what="the node votes again")


def test_an_idle_client_costs_nothing(kept: Quorum, client: interlock.Client) -> None:
    def commands() -> int:
        return sum(
            int(node.redis().info("stats")["total_commands_processed"])
            for node in kept.nodes
        )

    before, asked = commands(), 0
    for _ in range(3):
        time.sleep(0.3)
        asked += 3
    assert commands() - before <= asked + 3 * 2 + 3


def test_a_first_start_waits_as_long_as_the_longest_lease(name: str) -> None:
    with quorum_nodes.running() as nodes:
        began = time.monotonic()
        with interlock.connect(nodes.url("&noquorum=fail")) as client:
            with pytest.raises(
                interlock.NoQuorumError,
                match=r"was started or wiped, and votes in \d+ s, when",
            ):
                client.lock(name, ttl=TTL).acquire(10)
            until(lambda: not fails(client, name), what="members")
        assert time.monotonic() - began > TTL - 1  # servers count whole seconds
        with interlock.connect(nodes.url()) as client:  # at once from then on
            assert client.lock(name, ttl=TTL).acquire(0)


def test_broken_connections_cost_no_error(kept: Quorum, name: str) -> None:
    with interlock.connect(kept.url()) as client:
        for turn in range(10):
            lock = client.lock(f"{name}:{turn}", ttl=TTL)
            assert lock.acquire(0)
            for node in kept.nodes:
                node.redis().execute_command("CLIENT", "KILL", "TYPE", "normal")
                node.redis().execute_command("CLIENT", "KILL", "TYPE", "pubsub")
            assert lock.extend(TTL)
            assert lock.release()


def test_a_password_is_for_all_nodes(name: str) -> None:
    with quorum_nodes.running(password="secret") as nodes:
        with interlock.connect(nodes.url()) as client:
            until(lambda: not fails(client, name), what="members")
            with client.lock(name, ttl=TTL) as lock:
                assert lock.held
        with pytest.raises(interlock.AuthError) as refused:
            interlock.connect(nodes.url().replace("secret", "wrong"))
        assert "wrong" not in str(refused.value)


def test_four_nodes_bear_the_loss_of_one(name: str) -> None:
    with quorum_nodes.running(4) as nodes, interlock.connect(nodes.url()) as client:
        nodes.settle()
        with crowd(nodes, [f"{name}:{n}" for n in range(2)], ttl=TTL) as all_of_them:
            nodes.nodes[0].kill()
            all_of_them.all_advance()
            nodes.nodes[1].kill()
            until(lambda: fails(client, name), what="the loss is known")
            nodes.nodes[0].start()
            nodes.nodes[1].start()


def test_a_right_that_is_missing_is_named(kept: Quorum) -> None:
    rights = ("on", ">secret", "~*", "&*", "+@all", "-info")
    for node in kept.nodes:
        node.redis().execute_command("ACL", "SETUSER", "limited", *rights)
    url = kept.url().replace("redis://", "redis://limited:secret@")
    refusal = "can't run this command|no permissions to run the 'info' command"
    with pytest.raises(interlock.AuthError, match=refusal):
        interlock.connect(url)
