# SPDX-License-Identifier: MIT
"""Replicated values on several servers, of which some are away, wiped or replaced."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import interlock
import pytest
import ring_servers
from cluster import Background, until
from quorum_nodes import Node, soon
from ring_servers import Servers

DAY_US = 86400 * 1000000


@pytest.fixture
def servers() -> Iterator[Servers]:
    with ring_servers.running(settings=ring_servers.on_disk(3)) as own:
        yield own


@pytest.fixture
def client(servers: Servers) -> Iterator[interlock.Client]:
    with interlock.connect(servers.url()) as one:
        yield one


def record(name: str, key: str) -> str:
    return f"ilk:kv:{{{name}}}/{key}"


def versions(servers: Servers, name: str, key: str) -> list[int]:
    """On each server, 0 where it has none."""
    found = servers.records(record(name, key))
    return [int(one.get("version", 0)) for one in found]


def values(node: Node, name: str) -> set[str]:
    return {
        key
        for key in node.redis().scan_iter(f"ilk:kv:{{{name}}}/*", 1000)
        if node.redis().hexists(key, "value")
    }


def move(url: str) -> interlock.KVProgress:
    with interlock.connect(url) as mover:
        return list(mover.kv_move())[-1]


# ---- a minority ------------------------------------------------------------------


def test_a_value_is_on_its_servers(servers: Servers, name: str) -> None:
    with ring_servers.running(5) as five, interlock.connect(five.url()) as client:
        kv = client.kv(name)
        for number in range(20):
            version = kv.put(f"key{number}", b"x\0y")
            until(
                lambda key=f"key{number}", version=version: (
                    versions(five, name, key).count(version) == 3
                ),
                what="three copies",
            )
            assert versions(five, name, f"key{number}").count(0) == 2
        shares = [len(values(server, name)) for server in five.servers]
        assert sum(shares) == 60
        assert min(shares) > 2
        assert kv.get("key7") == (b"x\0y", max(versions(five, name, "key7")))
        assert kv.get("none") is None


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_each_minority_may_be_missing(
    servers: Servers, client: interlock.Client, name: str, missing: int
) -> None:
    kv = client.kv(name)
    first = kv.put("a", b"first")
    servers.servers[missing].kill()

    assert kv.get("a") == (b"first", first)
    second = kv.put("a", b"second")
    assert second > first
    with interlock.connect(servers.url()) as other:
        assert other.kv(name).get("a") == (b"second", second)
        assert other.kv(name).delete("a") > second
    assert kv.get("a") is None


def test_a_frozen_server_delays_no_put(
    servers: Servers, client: interlock.Client, name: str
) -> None:
    kv = client.kv(name)
    kv.put("a", b"0")
    servers.servers[1].freeze()
    began = time.monotonic()
    kv.put("a", b"1")
    assert kv.get("a")[0] == b"1"
    assert time.monotonic() - began < 2
    servers.servers[1].thaw()


def test_a_missed_write_is_repaired_by_a_get(
    servers: Servers, client: interlock.Client, name: str
) -> None:
    kv = client.kv(name)
    kv.put("a", b"0")
    servers.servers[2].kill()
    version = kv.put("a", b"1")
    servers.servers[2].start()

    def is_repaired() -> bool:
        assert kv.get("a") == (b"1", version)
        return versions(servers, name, "a") == [version] * 3

    until(is_repaired, what="a third copy")


def test_too_few_servers_are_an_error_that_says_where_it_may_be(
    servers: Servers, client: interlock.Client, name: str
) -> None:
    kv = client.kv(name)
    kv.put("a", b"0")
    servers.servers[0].kill()
    servers.servers[1].kill()
    with pytest.raises(interlock.NoQuorumError, match="copies could be read, and 2"):
        kv.put("a", b"1")
    with pytest.raises(interlock.NoQuorumError, match="1 of 3 copies"):
        kv.get("a")
    with pytest.raises(interlock.NoQuorumError) as caught:
        kv.put("a", b"2", fast=True)
    assert "on 1 of 3 servers, and must be on 2; it may be on 1" in str(caught.value)
    for server in servers.servers[:2]:
        server.start()
    # It is on one server, and a get may find it there or not; then it stays.
    found = soon(lambda: kv.get("a"))
    assert found[0] in (b"0", b"2")
    assert kv.get("a") == found


def test_one_copy_is_no_answer_for_the_next_get(
    servers: Servers, client: interlock.Client, name: str
) -> None:
    """A value that is on one server only is on two before it is returned."""
    kv = client.kv(name)
    old = kv.put("a", b"old")
    newer = {"version": old + 10, "token": "t", "value": "new"}
    servers.servers[0].redis().hset(record(name, "a"), mapping=newer)
    servers.servers[2].kill()
    assert kv.get("a") == (b"new", old + 10)
    servers.servers[2].start()
    assert versions(servers, name, "a")[:2] == [old + 10] * 2


def test_a_value_that_cannot_be_put_on_enough_servers_is_not_returned(
    servers: Servers, client: interlock.Client, name: str
) -> None:
    kv = client.kv(name)
    old = kv.put("a", b"old")
    newer = {"version": old + 10, "token": "t", "value": "new"}
    servers.servers[0].redis().hset(record(name, "a"), mapping=newer)
    servers.servers[2].kill()
    servers.servers[1].redis().config_set("maxmemory", 1)
    with pytest.raises(interlock.NoQuorumError, match="on 1 of 3 servers.*OOM"):
        kv.get("a")
    servers.servers[1].redis().config_set("maxmemory", 0)
    assert kv.get("a") == (b"new", old + 10)


def test_a_broken_record_is_an_error_of_its_server(
    servers: Servers, client: interlock.Client, name: str
) -> None:
    kv = client.kv(name)
    servers.servers[0].redis().set(record(name, "a"), "x")
    version = kv.put("a", b"1")  # two others have it
    assert kv.get("a") == (b"1", version)
    servers.servers[1].redis().set(record(name, "a"), "x")
    with pytest.raises(interlock.NoQuorumError, match="WRONGTYPE"):
        kv.get("a")


# ---- versions --------------------------------------------------------------------


def test_a_put_rises_above_a_clock_that_is_ahead(
    servers: Servers, client: interlock.Client, name: str
) -> None:
    kv = client.kv(name)
    ahead = time.time_ns() // 1000 + 3600 * 1000000
    for server in servers.servers:
        mapping = {"version": ahead, "token": "t", "value": "from the future"}
        server.redis().hset(record(name, "a"), mapping=mapping)
    assert kv.put("a", b"now") > ahead
    assert kv.get("a")[0] == b"now"


def test_a_fast_put_may_lose_to_a_clock_that_is_ahead(
    servers: Servers, client: interlock.Client, name: str
) -> None:
    kv = client.kv(name)
    kv.put("b", b"", fast=True)
    ahead = time.time_ns() // 1000 + 3600 * 1000000
    for server in servers.servers:
        mapping = {"version": ahead, "token": "t", "value": "from the future"}
        server.redis().hset(record(name, "a"), mapping=mapping)
    assert kv.put("a", b"now", fast=True) < ahead
    assert kv.get("a") == (b"from the future", ahead)
    # The client has seen that version now.
    assert kv.put("a", b"now") > ahead


def test_puts_at_once_end_alike_on_all_servers(
    servers: Servers, client: interlock.Client, name: str
) -> None:
    last: dict[int, int] = {}

    def work(number: int) -> None:
        with interlock.connect(servers.url()) as own:
            for turn in range(30):
                last[number] = own.kv(name).put("a", f"{number} {turn}")

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    found = client.kv(name).get("a")
    assert found[1] == max(last.values())
    until(lambda: versions(servers, name, "a") == [found[1]] * 3, what="three copies")


# ---- servers that start ----------------------------------------------------------


def mark(node: Node, version: int) -> None:
    """As the first client that uses the ring."""
    mapping = {"seen": version, "name": f"{node.port:016}"}
    node.redis().hset("ilk:kv:node", mapping=mapping)


def test_a_first_mark_that_is_under_way_is_awaited(servers: Servers, name: str) -> None:
    """It reaches the servers one after the other, and one without it is not wiped."""
    version = time.time_ns() // 1000
    mark(servers.servers[0], version)
    with interlock.connect(servers.url()) as client:
        putting = Background(lambda: client.kv(name).put("a", b"1"))
        asked = servers.servers[1].redis()
        until(lambda: asked.hexists("ilk:kv:node", "name"), what="a question")
        assert not putting.found
        for server in servers.servers[1:]:
            mark(server, version)
        assert putting.result() > version


def test_a_first_mark_that_does_not_come_was_lost(servers: Servers, name: str) -> None:
    mark(servers.servers[0], time.time_ns() // 1000)
    with (
        interlock.connect(servers.url()) as client,
        pytest.raises(interlock.NoQuorumError, match="1 of 3 copies.*wiped"),
    ):
        client.kv(name).put("a", b"1")


def test_a_new_ring_waits_for_a_server_that_is_late(
    servers: Servers, name: str
) -> None:
    """The first put would leave it without a mark."""
    late = servers.servers[2]
    late.freeze()
    began = time.monotonic()
    with interlock.connect(servers.url()) as client:
        putting = Background(lambda: client.kv(name).put("a", b"1"))
        time.sleep(0.4)  # it waits for 1 s, and a put takes some milliseconds
        late.thaw()
        version = putting.result()
        if time.monotonic() - began < 1:
            until(lambda: versions(servers, name, "a") == [version] * 3, what="copies")
            assert state(client, 2) == "voting"


def has_mark(node: Node) -> bool:
    return bool(node.redis().hexists("ilk:kv:node", "seen"))


def test_a_new_ring_marks_all_that_are_there_when_one_does_not_come(name: str) -> None:
    """Also those that the first value does not go to: they would count as wiped."""
    with ring_servers.running(5) as servers:
        *there, away = servers.servers
        away.freeze()
        with interlock.connect(servers.url()) as client:
            version = client.kv(name).put("a", b"1")
        until(lambda: all(has_mark(one) for one in there), what="four marks")
        away.thaw()
        with interlock.connect(servers.url()) as client:
            assert client.kv(name).get("a") == (b"1", version)
            assert [state(client, number) for number in range(4)] == ["voting"] * 4


def test_a_silent_server_does_not_keep_others_in_doubt(
    servers: Servers, name: str
) -> None:
    first, second, silent = servers.servers
    mark(first, time.time_ns() // 1000)
    with interlock.connect(servers.url()) as client:
        until(lambda: second.redis().hexists("ilk:kv:node", "name"), what="a look")
        silent.freeze()
        putting = Background(lambda: client.kv(name).put("a", b"1"))
        mark(second, time.time_ns() // 1000)
        assert putting.result()
        silent.thaw()


def test_a_server_that_loads_its_data_is_away_until_it_has(name: str) -> None:
    with (
        ring_servers.running(settings=ring_servers.slow_to_load(3)) as servers,
        interlock.connect(servers.url()) as client,
    ):
        kv = client.kv(name)
        version = kv.put("a", b"1")
        slow = servers.servers[1]
        until(lambda: versions(servers, name, "a") == [version] * 3, what="copies")
        slow.redis().mset({f"k{number}": "x" * 1024 for number in range(500)})
        slow.redis().save()
        slow.kill()
        slow.begin()
        is_loading = until(
            lambda: slow.redis().info("persistence")["loading"], what="loading"
        )
        assert is_loading == 1
        assert kv.get("a") == (b"1", version)  # the other two have it

        until(
            lambda: "loading" in client.stats().nodes[1].error, what="a reason for it"
        )
        newer = kv.put("a", b"2")
        until(lambda: slow.redis().ping(), what="the end of loading")
        # It takes part at once, and not with the next look at all marks.
        began = time.monotonic()
        servers.servers[0].kill()
        assert soon(lambda: kv.get("a")) == (b"2", newer)
        assert time.monotonic() - began < 10


# ---- deletes ---------------------------------------------------------------------


def test_a_delete_keeps_its_version_until_all_servers_have_it(
    servers: Servers, client: interlock.Client, name: str
) -> None:
    kv = client.kv(name)
    kv.put("a", b"1")
    kv.delete("a")

    def expiries() -> list[int]:
        return [one.redis().ttl(record(name, "a")) for one in servers.servers]

    until(lambda: min(expiries()) > 6 * 86400, what="versions that will end")

    kv.put("a", b"2")
    assert expiries() == [-1] * 3
    servers.servers[1].kill()
    deleted = kv.delete("a")
    servers.servers[1].start()
    assert expiries() == [-1] * 3
    assert servers.servers[1].redis().hget(record(name, "a"), "value") == "2"

    def is_deleted() -> bool:
        assert kv.get("a") is None
        return versions(servers, name, "a") == [deleted] * 3

    until(is_deleted, what="the server that has missed it")
    move(servers.url())
    assert min(expiries()) > 6 * 86400


# ---- servers that have missed something for good ----------------------------------


def state(client: interlock.Client, number: int) -> str:
    return client.stats().nodes[number].state


def test_a_server_that_was_wiped_counts_after_a_move(
    servers: Servers, client: interlock.Client, name: str
) -> None:
    kv = client.kv(name)
    version = kv.put("a", b"1")
    wiped = servers.servers[1]
    until(lambda: min(versions(servers, name, "a")) == version, what="three copies")
    wiped.redis().flushall()
    wiped.kill()
    wiped.start()
    until(lambda: kv.get("a") and state(client, 1) == "waiting", what="its return")

    servers.servers[0].freeze()
    with pytest.raises(interlock.NoQuorumError, match="1 of 3 copies"):
        kv.get("b")
    servers.servers[0].thaw()
    assert soon(lambda: kv.get("a")) == (b"1", version)

    assert move(servers.url()).done
    until(lambda: kv.get("a") and versions(servers, name, "a") == [version] * 3)
    with interlock.connect(servers.url()) as other:
        assert other.kv(name).get("a") == (b"1", version)
        assert state(other, 1) == "voting"


def test_a_server_that_was_away_for_long_brings_nothing_back(
    servers: Servers, client: interlock.Client, name: str
) -> None:
    kv = client.kv(name)
    kv.put("a", b"1")
    kept = kv.put("b", b"kept")
    away = servers.servers[2]
    until(lambda: len(values(away, name)) == 2, what="its copies")
    old = time.time_ns() // 1000 - 8 * DAY_US
    away.redis().hset("ilk:kv:node", "seen", old)
    away.redis().hset(record(name, "a"), "version", old - DAY_US)
    for server in servers.servers[:2]:  # it was deleted so long ago that nobody knows
        server.redis().delete(record(name, "a"))

    with interlock.connect(servers.url()) as other:
        assert other.kv(name).get("a") is None
        assert state(other, 2) == "waiting"
        assert other.kv(name).get("b") == (b"kept", kept)
        moved = list(other.kv_move())[-1]
        assert moved.removed == 1
        assert other.kv(name).get("a") is None
    assert values(away, name) == {record(name, "b")}
    with interlock.connect(servers.url()) as other:
        other.kv(name).get("b")
        assert state(other, 2) == "voting"


def test_servers_that_nobody_has_used_for_long_all_count(
    servers: Servers, client: interlock.Client, name: str
) -> None:
    version = client.kv(name).put("a", b"1")
    until(lambda: min(versions(servers, name, "a")) == version, what="three copies")
    old = time.time_ns() // 1000 - 30 * DAY_US
    for server in servers.servers:
        server.redis().hset("ilk:kv:node", "seen", old)
    with interlock.connect(servers.url()) as other:
        assert other.kv(name).get("a") == (b"1", version)
        assert {state(other, number) for number in range(3)} == {"voting"}


# ---- another ring ----------------------------------------------------------------


def fill(client: interlock.Client, name: str, count: int) -> None:
    kv = client.kv(name)
    for number in range(count):
        kv.put(f"key{number}", f"value{number}")


def assert_read(client: interlock.Client, name: str, count: int) -> None:
    kv = client.kv(name)
    for number in range(count):
        assert kv.get(f"key{number}")[0] == f"value{number}".encode(), number


def assert_filled(url: str, name: str, count: int) -> None:
    with interlock.connect(url) as client:
        assert_read(client, name, count)


def share(servers: Servers, number: int, name: str, count: int) -> int:
    """How many of the keys have a copy on this server."""
    hosts = servers.hosts(range(len(servers.servers))).split(",")
    ring = interlock.Ring(hosts)
    keys = (record(name, f"key{key}") for key in range(count))
    return sum(hosts[number] in ring.get_n(key, 3) for key in keys)


@pytest.mark.parametrize("is_read_first", [False, True])
def test_a_server_is_added(name: str, is_read_first: bool) -> None:
    with ring_servers.running(4) as four:
        old, new = four.url(on=[0, 1, 2]), four.url()
        with interlock.connect(old) as client:
            fill(client, name, 200)
        if is_read_first:  # which repairs the new copies
            with interlock.connect(new) as client:
                assert_read(client, name, 200)
                copies = share(four, 3, name, 200)
                until(
                    lambda: len(values(four.servers[3], name)) == copies, what="copies"
                )
        moved = move(new)
        assert moved.looked >= 600
        assert 50 < moved.removed == len(values(four.servers[3], name)) < 250
        assert moved.copied == (0 if is_read_first else moved.removed)
        assert sum(len(values(server, name)) for server in four.servers) == 600
        assert_filled(new, name, 200)
        assert move(new).copied == 0
        with interlock.connect(new) as client:
            client.kv(name).get("key0")
            assert state(client, 3) == "voting"


def test_a_server_leaves(name: str) -> None:
    with ring_servers.running(4) as four:
        old, new = four.url(), four.url(on=[0, 1, 2], former=[3])
        with interlock.connect(old) as client:
            fill(client, name, 200)
            move(new)  # while programs still use the old one
            client.kv(name).put("late", b"x")
        move(new)
        assert values(four.servers[3], name) == set()
        four.servers[3].kill()
        assert_filled(four.url(on=[0, 1, 2]), name, 200)
        with interlock.connect(four.url(on=[0, 1, 2])) as client:
            assert client.kv(name).get("late")[0] == b"x"


def test_a_move_goes_on_where_it_was(name: str) -> None:
    with ring_servers.running(4) as four:
        with interlock.connect(four.url(on=[0, 1, 2])) as client:
            fill(client, name, 300)
        steps = []
        with interlock.connect(four.url()) as mover:
            for step in mover.kv_move():
                steps.append(step)
                if len(steps) == 3:
                    break
        assert not steps[-1].done
        four.servers[1].freeze()
        with (
            interlock.connect(four.url() + "&reply_timeout_ms=1000") as mover,
            pytest.raises(interlock.NoQuorumError, match="cannot be reached"),
        ):
            list(mover.kv_move(steps[-1]))
        four.servers[1].thaw()
        with interlock.connect(four.url()) as mover:
            rest = soon(lambda: list(mover.kv_move(steps[-1])))
        assert rest[-1].done
        assert rest[-1].looked >= 900
        assert sum(len(values(server, name)) for server in four.servers) == 900


def test_gets_and_puts_go_on_while_values_move(name: str) -> None:
    with ring_servers.running(4) as four:
        with interlock.connect(four.url(on=[0, 1, 2])) as client:
            fill(client, name, 100)
        over = threading.Event()
        counts = [0] * 10

        def work() -> None:
            with interlock.connect(four.url()) as own:
                kv = own.kv(name)
                while not over.is_set():
                    for number in range(10):
                        found = kv.get(f"counter{number}")
                        assert (int(found[0]) if found else 0) == counts[number]
                        kv.put(f"counter{number}", f"{counts[number] + 1}")
                        counts[number] += 1

        worker = threading.Thread(target=work)
        worker.start()
        for _ in range(3):
            move(four.url())
        over.set()
        worker.join()
        assert min(counts) > 0
        with interlock.connect(four.url()) as client:
            found = [client.kv(name).get(f"counter{n}")[0] for n in range(10)]
        assert [int(value) for value in found] == counts


# ---- what is refused -------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("redis://a,b?ring&copies=3", "at most all servers"),
        ("redis://a,b,c?ring&write=4", "all of its copies"),
        ("redis://a,b,c?ring&copies=2&read=3", "all of its copies"),
        ("redis://a?ring", "at least 2"),
        ("redis://a,b,a?ring", "named twice"),
        ("redis://a,b?ring&former=b", "named twice"),
        ("redis://a,b?ring&copies=0", "from 1 to 16"),
        ("redis://a,b?ring&read=x", "from 1 to 16"),
        ("redis://a,b?ring&listen=c", "listen"),
        ("redis://a,b", r"\?ring"),
    ],
)
def test_urls_that_make_no_sense(url: str, why: str) -> None:
    with pytest.raises(interlock.InvalidError, match=why):
        interlock.connect(url)


def test_kinds_that_a_ring_does_not_keep(client: interlock.Client, name: str) -> None:
    assert client.offers("kv")
    assert not client.offers("lock")
    with pytest.raises(interlock.UnsupportedError, match="the ring offers no lock"):
        client.lock(name)


def test_no_server_at_all() -> None:
    with contextlib.ExitStack() as opened:
        servers = opened.enter_context(ring_servers.running(2))
        url = servers.url()
        servers.stop()
        with pytest.raises(interlock.NoQuorumError, match="refused"):
            interlock.connect(url)


def test_two_addresses_of_one_server_are_no_two(servers: Servers, name: str) -> None:
    port = servers.servers[0].port
    with (
        interlock.connect(f"redis://127.0.0.1:{port},localhost:{port}?ring") as client,
        pytest.raises(interlock.NoQuorumError, match="it is the same server"),
    ):
        client.kv(name).put("a", b"1")
