# SPDX-License-Identifier: MIT
"""Stores on several servers: transactions over some of them, of which one dies."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import interlock
import pytest
import ring_servers
from cluster import PATIENCE, until
from quorum_nodes import Node, soon
from ring_servers import Network, Servers

sys.path.append(str(Path(__file__).resolve().parents[1] / "shared"))
sys.path.append(str(Path(__file__).resolve().parents[1] / "chaos"))

from server import Clock
from store_scenes import Bank, check_history

HOUR = 3600


@pytest.fixture
def servers() -> Iterator[Servers]:
    with ring_servers.running(settings=ring_servers.on_disk(3)) as own:
        yield own


@pytest.fixture
def client(servers: Servers) -> Iterator[interlock.Client]:
    with interlock.connect(servers.url()) as one:
        yield one


@pytest.fixture
def network(servers: Servers) -> Iterator[Network]:
    with ring_servers.between(servers) as one:
        yield one


def record(name: str, key: str) -> str:
    return f"ilk:store:key:{{{name}}}/{key}"


class Places:
    """Which server has a key, and which decides on a transaction."""

    def __init__(self, servers: Servers | Network):
        if isinstance(servers, Network):
            self.servers = servers.nodes
        else:
            self.servers = {f"127.0.0.1:{one.port}": one for one in servers.servers}
        self.ring = interlock.Ring(list(self.servers))

    def of(self, name: str, key: str) -> Node:
        return self.servers[self.ring.get(record(name, key))]

    def home(self, txid: str) -> Node:
        return self.servers[self.ring.get(txid)]

    def keys(self, name: str) -> list[str]:
        """One on each server."""
        found: dict[Node, str] = {}
        number = 0
        while len(found) < len(self.servers):
            found.setdefault(self.of(name, f"key{number}"), f"key{number}")
            number += 1
        return [found[server] for server in self.servers.values()]


def intents(servers: Servers) -> list[str]:
    """On the servers that can be reached."""
    return [
        key
        for server in servers.servers
        if server.process and server.process.poll() is None
        for key in server.redis().scan_iter("ilk:store:key:*", 1000)
        if server.redis().hexists(key, "intent")
    ]


def decisions(servers: Servers, name: str) -> list[str]:
    """That somebody still has to know."""
    return [
        field
        for server in servers.servers
        for field in server.redis().hkeys(f"ilk:store:{{{name}}}")
        if field.startswith("decided:")
    ]


# ---- one after another ------------------------------------------------------------


def test_keys_on_several_servers_change_together(
    servers: Servers, client: interlock.Client, name: str
) -> None:
    keys = Places(servers).keys(name)
    store = client.store(name)
    with store.transaction() as t:  # it reads nothing
        for key in keys:
            t[key] = b"1"
    with store.transaction() as t:
        for key in keys:
            t[key] = b"%d" % (int(t[key]) + 1)
        del t[keys[0]]
    with store.snapshot() as v:
        assert [v.get(key) for key in keys] == [None, b"2", b"2"]
    until(lambda: not intents(servers), what="the ends of all intents")
    until(lambda: not decisions(servers, name), what="decisions that are forgotten")


def test_a_conflict_on_one_server_writes_nothing_on_others(
    servers: Servers, client: interlock.Client, name: str
) -> None:
    keys = Places(servers).keys(name)
    store = client.store(name)
    for key in keys:
        with store.transaction() as t:
            t[key] = b"0"
    with pytest.raises(interlock.ConflictError), store.transaction() as early:
        early.get(keys[0])
        with store.transaction() as late:
            late[keys[2]] = late[keys[2]] + b"!"
        for key in keys:
            early[key] = b"early"
    with store.snapshot() as v:
        assert [v[key] for key in keys] == [b"0", b"0", b"0!"]
    until(lambda: not intents(servers), what="the ends of all intents")


def test_outcomes(servers: Servers, client: interlock.Client, name: str) -> None:
    keys = Places(servers).keys(name)
    store = client.store(name)
    several, single = store.transaction(), store.transaction()
    for key in keys:
        several[key] = b"1"
    several.commit()
    single[keys[1]] = b"2"
    single.commit()
    assert store.outcome(several.txid) == "committed"
    assert store.outcome(single.txid) == "committed"
    # A commit that has not come yet is refused from then on.
    made_up = "0" * 32 + "-" + str(int(time.time() * 1000))
    assert store.outcome(made_up) == "aborted"
    assert store.outcome(made_up) == "aborted"


def test_many_at_once_are_serializable(servers: Servers, name: str) -> None:
    check_history(servers.url(), name, count=40)


def test_threads_of_one_client_share_it(
    servers: Servers, client: interlock.Client, name: str
) -> None:
    keys = Places(servers).keys(name)
    store = client.store(name)

    def count(t: interlock.Transaction) -> None:
        for key in keys:
            t[key] = b"%d" % (int(t.get(key, b"0")) + 1)

    def work() -> None:
        for _ in range(20):
            store.run(count)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with store.snapshot() as v:
        assert [v[key] for key in keys] == [b"80"] * 3


# ---- coordinators that die --------------------------------------------------------


def leave_intents(
    places: Places, name: str, txid: str, keys: list[str], age: float
) -> None:
    """As a coordinator that has died after its first phase, so many seconds ago."""
    records = [record(name, key) for key in keys]
    text = "".join(f"{len(one)}:{one}" for one in records)
    written_at = time.time_ns() // 1000 - int(age * 1000000)
    for server in {places.of(name, key) for key in keys}:
        field = {f"intents:{txid}": f"{written_at} {text}"}
        server.redis().hset(f"ilk:store:{{{name}}}", mapping=field)
    for key in keys:
        leave_intent(places, name, key, txid, "lost")


def leave_intent(places: Places, name: str, key: str, txid: str, value: str) -> int:
    """The same, by a version that notes no keys."""
    at = time.time_ns() // 1000
    fields = {"intent": f"{at} {txid}", "intended": f"v{value}"}
    places.of(name, key).redis().hset(record(name, key), mapping=fields)
    return at


@pytest.mark.parametrize("is_committed", [False, True])
def test_an_intent_of_a_dead_coordinator_is_ended_by_whoever_meets_it(
    servers: Servers, client: interlock.Client, name: str, is_committed: bool
) -> None:
    places = Places(servers)
    keys = places.keys(name)
    store = client.store(name)
    with store.transaction() as t:
        for key in keys:
            t[key] = b"before"
    until(lambda: not intents(servers), what="the ends of all intents")
    txid = "a" * 32 + "-1234567890123"
    for key in keys[:2]:
        at = leave_intent(places, name, key, txid, "after")
    if is_committed:
        home = places.home(txid).redis()
        home.hset(f"ilk:store:{{{name}}}", f"decided:{txid}", at)
    after = b"after" if is_committed else b"before"

    began = time.monotonic()
    with store.snapshot() as v:
        assert v[keys[2]] == b"before"
        assert time.monotonic() - began < 1  # nothing is in its way
        assert [v[key] for key in keys[:2]] == [after] * 2
    assert intents(servers) == []
    with store.transaction() as t:  # a writer meets none any more
        for key in keys:
            t[key] = t[key] + b"!"
    with store.snapshot() as v:
        assert [v[key] for key in keys] == [after + b"!", after + b"!", b"before!"]


def test_a_writer_that_meets_an_intent_ends_it_as_well(
    servers: Servers, client: interlock.Client, name: str
) -> None:
    places = Places(servers)
    keys = places.keys(name)
    store = client.store(name)
    txid = f"{'b' * 32}-{time.time_ns() // 1000000}"
    leave_intent(places, name, keys[0], txid, "lost")
    with store.transaction() as t:
        for key in keys:
            t[key] = b"1"
    with store.snapshot() as v:
        assert [v[key] for key in keys] == [b"1"] * 3
    assert store.outcome(txid) == "aborted"


def calls(servers: Servers) -> int:
    """Of scripts, by clients of the library."""
    return sum(
        stats["calls"]
        for server in servers.servers
        for command, stats in server.redis().info("commandstats").items()
        if command in ("cmdstat_eval", "cmdstat_evalsha")
    )


def test_transactions_of_dead_coordinators_are_ended_one_at_a_time(
    servers: Servers, client: interlock.Client, name: str
) -> None:
    coordinators, each = 50, 20
    places = Places(servers)
    store = client.store(name)
    with store.transaction() as t:
        t["first"] = b"1"
    keys = [f"key{number}" for number in range(coordinators * each)]
    for number in range(coordinators):
        txid = f"{number:032x}-{time.time_ns() // 1000000}"
        mine = keys[number * each : (number + 1) * each]
        leave_intents(places, name, txid, mine, age=60)
    assert len(intents(servers)) == len(keys)

    def read_all() -> float:
        began = time.monotonic()
        with store.snapshot() as v:
            assert [key for key in keys if v.get(key)] == []
        return time.monotonic() - began

    before = calls(servers)
    taken = read_all()
    # Of each transaction a read that is repeated, its outcome, and its end at each server.
    assert calls(servers) - before <= len(keys) + coordinators * (2 + 3) + 10
    assert intents(servers) == []
    assert taken - read_all() < 5 * PATIENCE


def test_a_read_that_ends_a_commit_gets_its_value(
    servers: Servers, client: interlock.Client, name: str
) -> None:
    """And not the reply of the server that then forgets the decision."""
    places = Places(servers)
    keys = places.keys(name)
    with client.store(name).transaction() as t:
        for key in keys:
            t[key] = b"0"
    until(lambda: not intents(servers), what="the ends of all intents")
    for number in range(6):
        txid = f"{number:032x}-{time.time_ns() // 1000000}"
        leave_intents(places, name, txid, keys, age=60)
        home = places.home(txid).redis()
        at = time.time_ns() // 1000
        home.hset(f"ilk:store:{{{name}}}", f"decided:{txid}", at)
        with client.store(name).snapshot() as v:
            assert [v[key] for key in keys] == [b"lost"] * 3


def test_the_intents_of_a_killed_client_lead_to_all_its_keys(
    network: Network, servers: Servers, client: interlock.Client, name: str
) -> None:
    """Its decisions do not arrive; one read ends all that it has left."""
    places = Places(network)
    keys = [f"key{number}" for number in range(12)]
    code = """if True:
        import interlock, sys
        client = interlock.connect(sys.argv[1], reply_timeout=60)
        while True:
            t = client.store(sys.argv[2]).transaction()
            for key in sys.argv[3:]:
                t[key] = b"1"
            t.commit()
    """
    words = [sys.executable, "-c", code, network.url(), name, *keys]
    with subprocess.Popen(words) as killed:
        until(lambda: intents(servers), 60, "a transaction with intents")
        killed.kill()
    left = intents(servers)
    with interlock.connect(network.url()) as other, other.store(name).snapshot() as v:
        values = {v.get(key) for key in keys}
    assert len(values) == 1
    assert intents(servers) == [], f"{len(left)} of {len(places.servers)} servers"


def test_a_decision_of_a_killed_client_is_removed(
    servers: Servers, client: interlock.Client, name: str
) -> None:
    """Over two minutes later, with the first use of the store."""
    places = Places(servers)
    keys = places.keys(name)
    txid = f"{'c' * 32}-{time.time_ns() // 1000000}"
    records = [record(name, key) for key in keys]
    written_at = time.time_ns() // 1000 - 150 * 1000000
    packed = "".join(f"{len(one)}:{one}" for one in records)
    with client.store(name).transaction() as t:
        t[keys[0]] = b"0"
    home = places.home(txid).redis()
    home.hset(
        f"ilk:store:{{{name}}}",
        f"decided:{txid}",
        f"{written_at} {written_at} {packed}",
    )
    leave_intent(places, name, keys[1], txid, "left")
    with interlock.connect(servers.url()) as other, other.store(name).snapshot() as v:

        def is_removed() -> bool:
            v.get(keys[0])  # the first read after each server is connected looks
            return not decisions(servers, name)

        until(is_removed, what="a decision that is removed")
        assert intents(servers) == []
        assert other.store(name).outcome(txid) == "committed"
    with client.store(name).snapshot() as v:
        assert v[keys[1]] == b"left"


def test_the_sum_of_a_bank_holds_when_payers_are_killed(
    servers: Servers, name: str
) -> None:
    with Bank(servers.url(), name) as bank:
        bank.kill_payers(lambda condition, limit: until(condition, limit), turns=4)


def test_the_sum_of_a_bank_holds_when_servers_are_killed(
    servers: Servers, name: str
) -> None:
    with Bank(servers.url(), name) as bank:
        for turn in range(3):
            paid = [bank.paid(payer.pid) for payer in bank.payers]
            servers.servers[turn].kill()
            time.sleep(0.2)
            servers.servers[turn].start()
            for payer, before in zip(bank.payers, paid):
                until(
                    lambda payer=payer, before=before: (
                        payer.poll() is not None
                        or soon(lambda: bank.paid(payer.pid)) > before
                    ),
                    60,
                    "a payer that goes on",
                )
                assert payer.poll() is None
            assert soon(bank.total) == 60
        for payer in bank.payers:
            payer.kill()
            payer.wait()
        assert bank.total() == 60


# ---- servers that are missing -----------------------------------------------------


def test_a_missing_server_fails_what_needs_it_and_nothing_else(
    servers: Servers, client: interlock.Client, name: str
) -> None:
    places = Places(servers)
    keys = places.keys(name)
    store = client.store(name)
    with store.transaction() as t:
        for key in keys:
            t[key] = b"0"
    until(lambda: not intents(servers), what="the ends of all intents")
    places.of(name, keys[0]).kill()

    with store.transaction() as t:
        t[keys[1]] = t[keys[1]] + b"1"
    with interlock.connect(servers.url("&outage=200ms")) as other:
        for _ in range(4):  # each of the servers may be the one that decides
            is_missing = pytest.raises(interlock.NoQuorumError, match="cannot be reach")
            with is_missing, other.store(name).transaction() as t:
                t[keys[1]] = t[keys[1]] + b"2"
                t[keys[0]] = b"2"
    is_missing = pytest.raises(interlock.NoQuorumError, match="cannot be reached")
    with is_missing, store.transaction() as t:
        t.get(keys[0])
    places.of(name, keys[0]).start()

    def read() -> list[bytes]:
        with store.snapshot() as v:
            return [v[key] for key in keys]

    assert soon(read) == [b"0", b"01", b"0"]


def test_a_commit_over_several_servers_goes_on_when_one_is_back(
    network: Network, servers: Servers, name: str
) -> None:
    places = Places(network)
    keys = places.keys(name)
    with interlock.connect(network.url("&outage=30s")) as client:
        store = client.store(name)
        for back_after in (0.0, 0.3, 0.3, 0.3):
            with store.transaction() as t:
                for key in keys:
                    t[key] = b"%d" % (int(t.get(key, b"0")) + 1)
                network.fault(places.of(name, keys[0]), "refuse")
                threading.Timer(back_after, network.heal).start()
        with store.snapshot() as v:
            assert [v[key] for key in keys] == [b"4"] * 3
    until(lambda: not intents(servers), what="the ends of all intents")


def test_intents_of_a_commit_that_was_given_up_are_dropped(
    network: Network, servers: Servers, name: str
) -> None:
    """The client ends them itself: no request meets them."""
    places = Places(network)
    keys = places.keys(name)
    with interlock.connect(network.url("&outage=0"), reply_timeout=1.5) as client:
        transaction = client.store(name).transaction()
        transaction.get(keys[1])
        transaction.get(keys[2])
        for key in keys:
            transaction[key] = b"1"
        network.hold_replies(places.of(name, keys[0]))
        with pytest.raises(interlock.NoQuorumError):
            transaction.commit()
        network.heal()
        until(
            lambda: intents(servers) in ([], [record(name, keys[0])]),
            what="intents that are dropped",
        )


class LostReply:
    """A commit on one server, which is executed and whose reply is held back."""

    def __init__(self, network: Network, name: str, reply_timeout: float):
        places = Places(network)
        self.network = network
        self.key = places.keys(name)[0]
        self.server = places.of(name, self.key)
        self.client = interlock.connect(network.url(), reply_timeout=reply_timeout)
        self.store = self.client.store(name)
        self.transaction = self.store.transaction()
        assert self.transaction.get(self.key) is None  # the connections are made
        self.transaction[self.key] = b"1"
        network.hold_replies(self.server)
        self.thread = ThreadPoolExecutor(1)
        self.commit = self.thread.submit(self.transaction.commit)
        at = record(name, self.key)
        until(
            lambda: "versions" in self.server.redis().hgetall(at),
            what="a commit that was executed",
        )

    def __enter__(self) -> LostReply:
        return self

    def __exit__(self, *_: object) -> None:
        self.network.heal()
        self.thread.shutdown()
        self.client.close()


@pytest.mark.parametrize("fault", ["refused", "killed"])
def test_a_lost_reply_of_a_commit_on_one_server_is_no_word_that_it_was_not_made(
    network: Network, name: str, fault: str
) -> None:
    with LostReply(network, name, reply_timeout=1.5) as lost:
        if fault == "killed":
            lost.server.kill()
        network.fault(lost.server, "refuse")
        with pytest.raises(interlock.UnknownOutcomeError) as caught:
            lost.commit.result()
        network.heal()
        if fault == "killed":
            lost.server.start()
        txid = caught.value.txid
        assert soon(lambda: lost.store.outcome(txid)) == "committed"
        with lost.store.snapshot() as v:
            assert soon(lambda: v[lost.key]) == b"1"


def test_a_commit_whose_server_comes_back_in_time_is_found_to_be_made(
    network: Network, name: str
) -> None:
    with LostReply(network, name, reply_timeout=20) as lost:
        network.fault(lost.server, "refuse")
        time.sleep(0.5)  # copies of it that cannot be sent
        assert not lost.commit.done()
        network.heal()
        lost.commit.result()
        assert lost.store.outcome(lost.transaction.txid) == "committed"


def test_a_commit_that_was_never_sent_is_not_written(
    network: Network, name: str
) -> None:
    places = Places(network)
    key = places.keys(name)[0]
    with interlock.connect(network.url(), reply_timeout=1.5) as client:
        transaction = client.store(name).transaction()
        assert transaction.get(key) is None
        transaction[key] = b"1"
        network.fault(places.of(name, key), "refuse")
        with pytest.raises(interlock.NoQuorumError, match="cannot be reached"):
            transaction.commit()
        network.heal()
        with client.store(name).snapshot() as v:
            assert soon(lambda: v.get(key)) is None


def test_clocks_that_are_hours_apart(tmp_path: Path, name: str) -> None:
    clocks = [Clock(tmp_path / f"clock{number}") for number in range(3)]
    for clock, difference in zip(clocks, (0, 5 * HOUR, -3 * HOUR)):
        clock.step(difference)
    settings = [{"environment": clock.environment} for clock in clocks]
    with ring_servers.running(settings=settings) as servers:
        keys = Places(servers).keys(name)
        with interlock.connect(servers.url()) as client:
            store = client.store(name)
            for turn in range(5):
                with store.transaction() as t:
                    for key in keys[turn % 3 :] + keys[: turn % 3]:
                        t[key] = b"%d" % (int(t.get(key, b"0")) + 1)
            with store.snapshot() as v:
                assert [v[key] for key in keys] == [b"5"] * 3
        check_history(servers.url(), f"{name} history", count=15)


# ---- another list of servers ------------------------------------------------------


def test_other_servers_than_before_are_refused(
    servers: Servers, client: interlock.Client, name: str
) -> None:
    keys = Places(servers).keys(name)
    with client.store(name).transaction() as t:
        for key in keys:
            t[key] = b"1"
    for url in (
        servers.url(on=[0, 1]),
        f"redis://127.0.0.1:{servers.servers[0].port}",
    ):
        with (
            interlock.connect(url) as other,
            pytest.raises(interlock.DiffersError, match="several servers"),
            other.store(name).transaction() as t,
        ):
            t.get(keys[0])
    with (
        interlock.connect(servers.url(on=[2, 0, 1])) as other,  # the order is all one
        other.store(name).snapshot() as v,
    ):
        assert v[keys[0]] == b"1"


def test_a_store_of_one_server_is_refused(servers: Servers, name: str) -> None:
    for server in servers.servers:
        with (
            interlock.connect(f"redis://127.0.0.1:{server.port}") as one,
            one.store(name).transaction() as t,
        ):
            t["a"] = b"1"
    with (
        interlock.connect(servers.url()) as client,
        pytest.raises(interlock.DiffersError, match="this server alone"),
        client.store(name).transaction() as t,
    ):
        t.get("a")
