# SPDX-License-Identifier: MIT
"""A quorum whose network fails, and what becomes of its clients' processes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import interlock
import interlock.aio
import pytest
import quorum_network
import quorum_nodes
from certificates import Certificates
from cluster import PATIENCE, until
from crowd import Waiter, crowd, two_on
from quorum_network import Network, View
from server_programs import SERVER, find_second, has_tls
from support import in_child

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("ILK_BUILD") or ROOT / "build" / "release")
LONGEST_MS = 20000
TTL = 2.4  # renewed after a third of it
LONG_TTL = 15.0
HASTY = "&reply_timeout_ms=1500"
BOTH = {"up": True, "down": True}

FAULTS = {
    "replies do not arrive": ("dead", {"up": False, "down": True}),
    "requests do not arrive": ("dead", {"up": True, "down": False}),
    "slow": ("delay", {"seconds": 0.2}),
    "torn connections": ("tear", {"bytes": 8000}),
}


@pytest.fixture(scope="module")
def lines() -> Iterator[Network]:
    """Three nodes of two kinds of server, and a network for three clients."""
    settings = [{"program": one} for one in (SERVER, find_second())]
    settings.append(settings[0])
    with quorum_nodes.running(longest_ms=LONGEST_MS, settings=settings) as nodes:
        nodes.declare_members()
        with quorum_network.between(nodes, "abc") as lines:
            yield lines


@pytest.fixture
def network(lines: Network) -> Iterator[Network]:
    yield lines
    lines.heal()


def has_quorum(client: interlock.Client, name: str) -> bool:
    probe = client.lock(f"{name}:{time.monotonic_ns()}", ttl=1)
    try:
        return probe.acquire(0) and probe.release()
    except (interlock.NoQuorumError, interlock.UnknownOutcomeError):
        return False


def await_renewals(client: interlock.Client, count: int) -> None:
    before = client.stats().renewals
    until(lambda: client.stats().renewals >= before + count, what="renewals")


def cut_majority(network: Network, clients: str = "ab") -> None:
    for node in (0, 1):
        network.fault(node, clients, "dead", **BOTH)


# ---- a minority ------------------------------------------------------------------


@pytest.mark.parametrize("fault", FAULTS)
def test_a_node_behind_a_bad_network_stops_nobody(
    network: Network, name: str, fault: str
) -> None:
    do, what = FAULTS[fault]
    if do == "tear":
        what = {**what, "seed": random.randrange(1 << 32)}
        print("seed", what["seed"])
    with interlock.connect(network.url("a", HASTY)) as client:
        with two_on(network.view("b", HASTY), client, name, TTL) as (lock, waiter):
            network.fault(1, "abc", do, **what)
            await_renewals(client, 2)
            assert lock.held
            assert not waiter.acquired.is_set()
            for number in range(5):
                with client.lock(f"{name}:{number}", ttl=TTL) as other:
                    assert other.held
        began = time.monotonic()
        with interlock.connect(network.url("c", HASTY)) as another:
            assert time.monotonic() - began < 1.5 * PATIENCE
            assert another.lock(name, ttl=TTL).acquire(5)
        network.heal()
        with client.lock(name, ttl=TTL):
            until(lambda: all(network.nodes.tokens(name)), what="all three votes")


@pytest.mark.parametrize("count", [3, 5])
def test_clients_that_reach_different_majorities(
    lines: Network, name: str, count: int
) -> None:
    """Each pair of majorities has a node in common, which grants to one at a time."""
    with contextlib.ExitStack() as opened:
        network = lines
        if count != 3:
            nodes = opened.enter_context(
                quorum_nodes.running(count, longest_ms=LONGEST_MS)
            )
            nodes.declare_members()
            network = opened.enter_context(quorum_network.between(nodes, "abc"))
        opened.callback(network.heal)
        missed = count // 2
        with crowd(network.view("abc", HASTY), [name], ttl=2) as clients:
            for turn in range(2):
                for node in range(missed):
                    network.fault((turn + node) % count, "a", "dead", **BOTH)
                    network.fault((turn - 1 - node) % count, "b", "refuse")
                clients.all_clients_advance(5)
                network.heal()


def test_a_network_that_fails_at_random(network: Network, name: str) -> None:
    """Faults of all kinds between any node and any client."""
    seed = int(os.environ.get("ILK_TEST_SEED", random.randrange(1 << 32)))
    print("ILK_TEST_SEED", seed)
    rng = random.Random(seed)
    kinds = [("dead", {"up": up, "down": not up}) for up in (False, True)]
    kinds += [("dead", BOTH), ("delay", {"seconds": 0.1}), ("refuse", {})]
    kinds += [("tear", {"bytes": 4000, "seed": seed}), ("late", {}), ("cut", {})]
    with crowd(network.view("abc", HASTY), [name, name + ":2"], ttl=1) as clients:
        for _ in range(40):
            do, what = rng.choice(kinds)
            seconds = rng.uniform(0.05, 1.5)
            network.fault(
                rng.randrange(3), rng.choice("abc"), do, **what, **{"for": seconds}
            )
            time.sleep(rng.expovariate(1 / 0.1))
        network.heal()
        clients.all_clients_advance()


# ---- a majority ------------------------------------------------------------------


def test_a_hold_and_a_wait_outlast_a_majority_that_is_back_in_time(
    network: Network, name: str
) -> None:
    with interlock.connect(network.url("a", HASTY)) as client:
        news = client.notifications()
        with two_on(network.view("b", HASTY), client, name, LONG_TTL) as (lock, waiter):
            fence = lock.fence
            cut_majority(network)
            with pytest.raises(interlock.NoQuorumError):
                lock.extend(LONG_TTL)
            assert lock.held
            assert not has_quorum(client, name)
            network.heal()
            until(lambda: has_quorum(client, name), what="a majority")
            assert lock.extend(LONG_TTL)
            assert lock.fence == fence
            assert not waiter.acquired.is_set()
        assert news.get(0) is None


def test_a_hold_is_lost_when_the_majority_is_back_too_late(
    network: Network, name: str
) -> None:
    with interlock.connect(network.url("a", HASTY)) as client:
        lock, news = client.lock(name, ttl=TTL), client.notifications()
        assert lock.acquire(5)
        waiter = Waiter(network.view("b", HASTY), name, TTL)
        until(lambda: client.inspect(name).waiting == 1, what="a waiter")
        cut_majority(network)
        notification = news.get(TTL + 5 * PATIENCE)
        assert notification and notification.kind == "lock_lost"
        assert not lock.held
        assert not waiter.acquired.is_set()
        network.heal()
        assert waiter.acquired.wait(30 * PATIENCE)
        assert waiter.lock.fence > lock.fence
        assert not lock.release()
        waiter.end()


def test_a_hold_without_renewal_is_unknown_without_a_majority(
    network: Network, name: str
) -> None:
    with interlock.connect(network.url("a", HASTY)) as client:
        lock = client.lock(name, ttl=1, renew=False)
        assert lock.acquire(5)
        cut_majority(network)
        until(lambda: not lock.held, what="the end of the lease")
        with pytest.raises((interlock.NoQuorumError, interlock.LostError)):
            lock.check()
        network.heal()
        until(lambda: has_quorum(client, name), what="a majority")
        with pytest.raises(interlock.LostError):
            lock.check()


def test_a_wait_keeps_its_deadline_without_a_majority(
    network: Network, name: str
) -> None:
    with interlock.connect(network.url("a", HASTY)) as client:
        assert client.lock(name, ttl=LONG_TTL).acquire(5)
        with interlock.connect(network.url("b", HASTY)) as other:
            ends = []

            def wait() -> None:
                began = time.monotonic()
                # Which of them says how far its last question came.
                with contextlib.suppress(
                    interlock.NoQuorumError, interlock.ConnectionError
                ):
                    assert not other.lock(name, ttl=TTL).acquire(2)
                ends.append(time.monotonic() - began)

            thread = threading.Thread(target=wait)
            thread.start()
            until(lambda: client.inspect(name).waiting == 1, what="a waiter")
            cut_majority(network)
            thread.join(60)
            assert 1.9 < ends[0] < 2 + 2 * PATIENCE
            network.heal()
            until(lambda: client.inspect(name).waiting == 0, what="an empty queue")


def test_a_wait_that_has_its_place_outlasts_a_majority_with_noquorum_fail(
    network: Network, name: str
) -> None:
    """The option is for an acquire that finds too few nodes, as its first may here."""
    others = network.view("b", HASTY + "&noquorum=fail")
    with interlock.connect(network.url("a", HASTY)) as client:
        lock = client.lock(name, ttl=LONG_TTL)
        assert lock.acquire(5)
        waiters = [Waiter(others, name, LONG_TTL)]

        def has_its_place() -> bool:
            if waiters[-1].error:
                waiters[-1].client.close()
                waiters.append(Waiter(others, name, LONG_TTL))
            return client.inspect(name).waiting == 1

        until(has_its_place, what="a waiter")
        cut_majority(network)
        until(lambda: not has_quorum(client, name), what="no majority")
        until(lambda: not has_quorum(waiters[-1].client, name), what="none for both")
        network.heal()
        until(lambda: has_quorum(client, name), what="a majority")
        assert not waiters[-1].acquired.is_set()
        assert lock.release()
        assert waiters[-1].acquired.wait(30 * PATIENCE)
        waiters[-1].end()


def test_a_wait_goes_on_when_a_majority_has_lost_its_data(name: str) -> None:
    with quorum_nodes.running() as nodes, interlock.connect(nodes.url()) as client:
        nodes.declare_members()
        lock = client.lock(name, ttl=TTL / 2)
        assert lock.acquire(5)
        waiter = Waiter(nodes, name, TTL / 2)
        until(lambda: client.inspect(name).waiting == 1, what="a waiter")
        for node in nodes.nodes[:2]:
            node.kill()
        until(lambda: not lock.held, what="the end of the hold")
        assert not waiter.acquired.is_set()
        for node in nodes.nodes[:2]:
            node.start()
        assert waiter.acquired.wait(30 * PATIENCE)
        assert waiter.lock.fence > lock.fence
        waiter.end()


# ---- what a network does to a hold -------------------------------------------------


def test_an_extension_without_replies_may_have_shortened_the_lease(
    network: Network, name: str
) -> None:
    with (
        interlock.connect(network.url("a", HASTY)) as client,
        interlock.connect(network.url("b", HASTY)) as two,
    ):
        lock = client.lock(name, ttl=LONG_TTL, renew=False)
        other = two.lock(name, ttl=LONG_TTL)
        assert lock.acquire(5)
        for node in (0, 1):
            network.fault(node, "a", "dead", up=False, down=True)
        with pytest.raises((interlock.NoQuorumError, interlock.UnknownOutcomeError)):
            lock.extend(0.5)
        assert other.acquire(LONG_TTL - 5)
        assert not lock.held


def test_a_holder_gets_its_node_back_from_a_waiter(name: str) -> None:
    """Never more than one node is away, and one restart does not end the hold."""
    with (
        quorum_nodes.running() as nodes,
        quorum_network.between(nodes, "ab") as network,
        interlock.connect(network.url("a", HASTY)) as client,
    ):
        nodes.declare_members()
        lock = client.lock(name, ttl=2)
        assert lock.acquire(5)
        waiter = Waiter(network.view("b", HASTY), name, 2)
        until(lambda: client.inspect(name).waiting == 1, what="a waiter")
        first = nodes.nodes[0]
        network.fault(0, "a", "refuse")
        first.kill()
        first.start()
        until(
            lambda: first.redis().get(name) not in (None, lock.token),
            what="the waiter has its vote",
        )
        assert lock.held
        network.heal()
        try:
            until(lambda: first.redis().get(name) == lock.token, 4 / PATIENCE)
        finally:
            lock.release()
            assert waiter.acquired.wait(30 * PATIENCE)
            waiter.end()


# ---- one server under two names ----------------------------------------------------


def test_a_twin_that_is_reached_later_is_found(network: Network, name: str) -> None:
    """Two of three hosts are one server: its second vote is never counted."""
    network.fault(0, "a", "refuse")
    ports = [node.port for node in network.nodes.nodes]
    twin = network.ports[0]["tcp-a"]
    url = network.nodes.url(HASTY, [ports[0], twin, ports[1]])
    with interlock.connect(url) as client:
        assert client.lock(name, ttl=TTL).acquire(5)
        network.heal()
        until(lambda: not has_quorum(client, name), what="the twin is found")
        with pytest.raises(interlock.NoQuorumError, match="are one server"):
            client.lock(name + ":2", ttl=TTL).acquire(1)


def test_servers_that_are_named_twice_are_refused() -> None:
    """Of five hosts, two servers are four."""
    with quorum_nodes.running() as nodes:
        ports = [node.port for node in nodes.nodes]
        hosts = [
            f"{host}:{port}" for port in ports for host in ("127.0.0.1", "localhost")
        ]
        with pytest.raises(interlock.NoQuorumError, match="are one server"):
            interlock.connect(f"redis://{','.join(hosts[:5])}?quorum")


# ---- processes -------------------------------------------------------------------

HOLDER = """
import interlock, os, sys
client = interlock.connect(sys.argv[1])
lock = client.lock(sys.argv[2], ttl=float(sys.argv[3]))
news = client.notifications()
assert lock.acquire(60)
if len(sys.argv) > 4 and os.fork() == 0:
    sys.stdin.read()
    os._exit(0)
print(lock.fence, flush=True)
sys.stdin.readline()
print(news.get(60).kind, lock.held, lock.release(), flush=True)
"""


@contextlib.contextmanager
def holder(url: str, name: str, ttl: float, *words: str) -> Iterator[subprocess.Popen]:
    """A process that holds, and prints its fence; a line ends it."""
    one = subprocess.Popen(
        [sys.executable, "-c", HOLDER, url, name, str(ttl), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with one:
        try:
            yield one
        finally:
            one.send_signal(signal.SIGCONT)
            one.kill()


def read_line(process: subprocess.Popen) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def test_a_client_that_was_frozen_learns_the_loss(network: Network, name: str) -> None:
    with (
        holder(network.nodes.url(), name, 2) as frozen,
        interlock.connect(network.nodes.url()) as client,
    ):
        fence = int(read_line(frozen))
        frozen.send_signal(signal.SIGSTOP)
        with client.lock(name, ttl=TTL) as lock:
            assert lock.fence > fence
            frozen.send_signal(signal.SIGCONT)
            print("go on", file=frozen.stdin, flush=True)
            assert read_line(frozen) == "lock_lost False False"
            assert lock.held


def test_a_forked_child_does_not_keep_its_dead_parents_hold(
    network: Network, name: str
) -> None:
    with (
        holder(network.nodes.url(), name, 2, "fork") as parent,
        interlock.connect(network.nodes.url()) as client,
    ):
        fence = int(read_line(parent))
        assert not client.lock(name, ttl=TTL).acquire(0)
        parent.kill()
        with client.lock(name, ttl=TTL) as lock:
            assert lock.fence > fence


def test_a_hold_is_not_the_forked_childs(network: Network, name: str) -> None:
    with (
        interlock.connect(network.nodes.url()) as client,
        two_on(network.nodes, client, name, TTL) as (lock, waiter),
    ):
        assert in_child(lambda: lock.held) == "False"
        assert in_child(lock.release) == "ForkedError"
        assert in_child(lambda: lock.extend(TTL)) == "ForkedError"
        assert in_child(lambda: client.lock(name, ttl=TTL).acquire(0)) == "False"
        assert in_child(lambda: waiter.lock.acquire(0)) == "ForkedError"
        assert in_child(client.close) == "None"

        def work() -> bool:
            with client.lock(name + ":child", ttl=TTL) as own:
                return own.held

        assert in_child(work) == "True"
        await_renewals(client, 1)
        assert lock.held


# ---- connections -----------------------------------------------------------------


def connections(node: quorum_nodes.Node) -> int:
    return sum(
        row["name"].startswith("interlock-quorum-")
        for row in node.redis().client_list()
    )


def is_within(now: list[int], before: list[int]) -> bool:
    """Connections of clients that were closed may end late."""
    return all(some <= others for some, others in zip(now, before))


def test_a_thousand_waits_have_the_connections_of_one(
    lines: Network, name: str
) -> None:
    nodes = lines.nodes
    count = 1000

    async def work() -> None:
        fences: list[int] = []
        async with interlock.aio.connect(nodes.url()) as client:

            async def hold() -> None:
                async with client.lock(name, ttl=LONG_TTL) as lock:
                    fences.append(lock.fence)

            first = client.lock(name, ttl=LONG_TTL)
            assert await first.acquire(5)
            one = asyncio.create_task(hold())
            while (await client.inspect(name)).waiting < 1:
                await asyncio.sleep(0.02)
            before = [connections(node) for node in nodes.nodes]
            tasks = [one, *(asyncio.create_task(hold()) for _ in range(count - 1))]
            while (await client.inspect(name)).waiting < count:
                await asyncio.sleep(0.1)
            assert is_within([connections(node) for node in nodes.nodes], before)
            assert await first.release()
            await asyncio.gather(*tasks)
            assert is_within([connections(node) for node in nodes.nodes], before)
        assert len(fences) == count
        assert fences == sorted(fences)

    asyncio.run(work())


# ---- passwords and TLS -------------------------------------------------------------


def set_password(node: quorum_nodes.Node, password: str) -> None:
    """Of new connections; those that there are stay logged in."""
    node.redis().config_set("requirepass", password)
    node.password = password


def end_connections(node: quorum_nodes.Node) -> None:
    for kind in ("normal", "pubsub"):
        node.redis().execute_command("CLIENT", "KILL", "TYPE", kind)


def test_a_password_is_changed_while_a_lock_is_held(name: str) -> None:
    with quorum_nodes.running(longest_ms=LONGEST_MS, password="first") as nodes:
        nodes.declare_members()
        old = nodes.url(HASTY)
        with interlock.connect(old) as client:
            news = client.notifications()
            lock = client.lock(name, ttl=TTL)
            assert lock.acquire(5)
            for node in nodes.nodes:
                set_password(node, "second")
            assert lock.extend(TTL)  # by connections from before
            end_connections(nodes.nodes[0])
            for _ in range(3):
                assert lock.extend(TTL)
                assert not client.lock(name, ttl=TTL).acquire(0)
            with pytest.raises(interlock.AuthError):
                interlock.connect(old)
            for node in nodes.nodes[1:]:
                end_connections(node)
            until(lambda: not has_quorum(client, name), what="no majority")
            with pytest.raises(interlock.NoQuorumError, match="(?i)password"):
                client.lock(name + ":2", ttl=TTL).acquire(0)
            notification = news.get(TTL + 5 * PATIENCE)
            assert notification and notification.kind == "lock_lost"
            for node in nodes.nodes:
                set_password(node, "first")
            until(lambda: has_quorum(client, name), what="a majority")
            with client.lock(name, ttl=TTL) as again:
                assert again.fence > lock.fence


def test_a_user_is_changed_at_one_node_after_another(name: str) -> None:
    rights = ("~*", "&*", "+@all")
    with quorum_nodes.running(longest_ms=LONGEST_MS) as nodes:
        nodes.declare_members()
        for node in nodes.nodes:
            node.redis().execute_command("ACL", "SETUSER", "u", "on", ">1", *rights)
        url = nodes.url(HASTY).replace("redis://", "redis://u:1@")
        with (
            interlock.connect(url) as client,
            two_on(View(url), client, name, TTL) as (lock, waiter),
        ):
            for node in nodes.nodes:
                before = connections(node)
                node.redis().execute_command("ACL", "DELUSER", "u")
                until(lambda node=node: connections(node) == 0, what="their end")
                await_renewals(client, 1)
                assert lock.held
                node.redis().execute_command("ACL", "SETUSER", "u", "on", ">1", *rights)
                until(
                    lambda node=node, before=before: connections(node) == before,
                    what="new connections",
                )
            assert not waiter.acquired.is_set()


@pytest.mark.skipif(not has_tls(), reason="the server was built without TLS")
def test_all_of_it_over_tls(name: str, tmp_path: Path) -> None:
    certificates = Certificates(tmp_path)
    with quorum_nodes.running(certificates=certificates) as nodes:
        nodes.declare_members()
        with pytest.raises(interlock.NoQuorumError, match="tls handshake failed"):
            interlock.connect(nodes.url())
        url = nodes.url(f"&ca={certificates.trusted}")
        with interlock.connect(url) as client:
            with two_on(View(url), client, name, TTL / 2) as (lock, _):
                nodes.nodes[1].kill()
                await_renewals(client, 1)
                assert lock.held
                nodes.nodes[1].start()
            until(nodes.nodes[1].is_member, what="the node votes again")


# ---- Lua -------------------------------------------------------------------------

PROGRAM = """
local interlock = require "interlock"
local url, name = arg[1], arg[2]
local one, two = assert(interlock.connect(url)), assert(interlock.connect(url))
local lock, other = one:lock(name, { ttl_ms = 3000 }), two:lock(name, { ttl_ms = 3000 })
assert(lock:acquire(5000))
assert(not other:acquire(0))
local notifications = assert(two:notifications())
local op = assert(other:acquire_start(60000))
assert(not other:acquire(0))
while one:inspect(name).waiting == 0 do
  notifications:next()
end
assert(not op.done)
assert(lock:release())
while not op.done do
  notifications:next()
end
assert(op:result())
assert(other.held and other.fence > lock.fence)
assert(other:release())
io.write("done")
"""


@pytest.mark.parametrize("lua", ["lua5.1", "lua5.4", "luajit"])
def test_a_lock_in_lua(lines: Network, name: str, lua: str, tmp_path: Path) -> None:
    if not shutil.which(lua):
        pytest.skip(f"{lua} is missing")
    program = tmp_path / "program.lua"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [lua, str(program), lines.nodes.url(), name],
        capture_output=True,
        text=True,
        timeout=60 * PATIENCE,
        env={
            **os.environ,
            "LUA_PATH": f"{ROOT}/lua/?.lua;{ROOT}/lua/?/init.lua;;",
            "LUA_CPATH": f"{BUILD}/lua/{lua}/?.so;;",
        },
        check=False,
    )
    assert done.stdout == "done", done.stderr
