# SPDX-License-Identifier: MIT
"""Certificates and passwords change while locks are held and waited for, over TLS.

docs/connections.md says what holds then.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import time
from collections.abc import Iterator

import interlock
import pytest
from cluster import PATIENCE, Cluster, until
from crowd import Waiter, two_on
from quorum_network import View
from server_programs import has_tls
from tls_places import PLACES, USER, Place

TTL = 3.0  # renewed after a third of it
SHORT_TTL = 1.8  # to be lost

pytestmark = pytest.mark.skipif(
    not has_tls(), reason="the server was built without TLS"
)


@pytest.fixture(scope="module", params=PLACES)
def running(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    with PLACES[request.param](tmp_path_factory.mktemp("tls")) as place:
        yield place


@pytest.fixture
def place(running: Place) -> Iterator[Place]:
    yield running
    running.restore()


def await_renewal(client: interlock.Client) -> None:
    before = client.stats().renewals
    until(lambda: client.stats().renewals > before, what="a renewal")


def extend(lock: interlock.Lock) -> bool:
    """A quorum says at once that a majority is not connected at the moment."""
    try:
        return lock.extend(TTL)
    except interlock.NoQuorumError as error:
        assert "-:0" not in str(error)  # a node of no address
    return False


@contextlib.contextmanager
def held_and_waited_for(
    place: Place, name: str
) -> Iterator[tuple[interlock.Client, interlock.Lock, Waiter]]:
    with interlock.connect(place.url()) as client:
        lock = client.lock(name, ttl=SHORT_TTL)
        assert lock.acquire(5)
        waiter = Waiter(View(place.url()), name, SHORT_TTL)
        until(lambda: client.inspect(name).waiting == 1, what="a waiter")
        yield client, lock, waiter


def await_end_of_lease(
    place: Place, client: interlock.Client, lock: interlock.Lock
) -> None:
    """Cut the connections, after which the servers and the clients do not agree."""
    news = client.notifications()
    since, remaining = time.monotonic(), lock.remaining()
    place.end_connections()
    notification = news.get(SHORT_TTL + 5 * PATIENCE)
    assert notification and notification.kind == "lock_lost"
    assert notification.lock is lock
    ended = time.monotonic() + 0.01  # the library counts whole milliseconds
    assert ended >= since + remaining > since


# ---- certificates ----------------------------------------------------------------


def test_certificates_are_replaced_while_locks_are_held(
    place: Place, name: str
) -> None:
    """By the same authority, and by one that the clients' file has got as well."""
    certificates = place.certificates
    url = place.url()
    with (
        interlock.connect(url) as client,
        two_on(View(url), client, name, TTL) as (lock, waiter),
    ):
        for authority in (certificates.old, certificates.new):
            certificates.trust(certificates.old, authority)
            place.renew(authority)
            place.end_connections()
            until(lambda: extend(lock), TTL, "an extension")
        await_renewal(client)
        assert lock.held and not waiter.acquired.is_set()
        with pytest.raises(interlock.Error, match="certificate"):
            interlock.connect(place.url(ca=certificates.old.file))
        certificates.trust(certificates.new)
        place.end_connections()
        until(lambda: extend(lock), TTL, "an extension")


def test_a_certificate_that_is_refused_costs_the_hold_by_its_lease_only(
    place: Place, name: str
) -> None:
    certificates = place.certificates
    with held_and_waited_for(place, name) as (client, lock, waiter):
        certificates.issue(certificates.new)
        place.use()
        await_end_of_lease(place, client, lock)
        with pytest.raises(interlock.Error, match="certificate"):
            client.lock(name + ":2", ttl=TTL).acquire(0)
        assert not waiter.acquired.is_set() and not waiter.error
        place.renew(certificates.old)
        assert waiter.acquired.wait(30 * PATIENCE)  # the wait went on
        assert waiter.lock.fence > lock.fence
        waiter.end()


# ---- passwords -------------------------------------------------------------------


def test_a_password_is_changed_while_locks_are_held(place: Place, name: str) -> None:
    """Connections that are open go on; a new one is refused."""
    old = place.url("1")
    with (
        interlock.connect(old) as client,
        two_on(View(old), client, name, TTL) as (lock, _),
    ):
        await_renewal(client)  # by now the background thread is connected
        place.call("ACL", "SETUSER", USER, ">2")
        with interlock.connect(place.url("2")) as late:
            assert not late.lock(name, ttl=TTL).acquire(0)
        place.call("ACL", "SETUSER", USER, "<1")
        await_renewal(client)
        assert lock.extend(TTL)
        with pytest.raises(interlock.AuthError, match="(?i)password"):
            interlock.connect(old)


def test_a_password_that_is_refused_costs_the_hold_by_its_lease_only(
    place: Place, name: str
) -> None:
    with held_and_waited_for(place, name) as (client, lock, waiter):
        place.call("ACL", "SETUSER", USER, "resetpass", ">2")
        await_end_of_lease(place, client, lock)
        with pytest.raises(place.refusal, match="(?i)password"):
            client.lock(name + ":2", ttl=TTL).acquire(0)
        assert not waiter.acquired.is_set()
        if place.refusal is interlock.AuthError:
            until(lambda: waiter.error, what="the end of the wait")
            assert isinstance(waiter.error, interlock.AuthError)
            waiter.client.close()
            place.call("ACL", "SETUSER", USER, ">1")
            waiter = Waiter(View(place.url()), name, SHORT_TTL)
        else:
            assert not waiter.error
            place.call("ACL", "SETUSER", USER, ">1")
        assert waiter.acquired.wait(30 * PATIENCE)
        assert waiter.lock.fence > lock.fence
        waiter.end()


# ---- a cluster -------------------------------------------------------------------


@pytest.fixture
def nodes(place: Place) -> Cluster:
    assert place.nodes
    return place.nodes


def names_at(nodes: Cluster, word: str) -> list[str]:
    """A name for each node, which serves it."""
    found: dict[int, str] = {}
    for number in itertools.count():
        name = f"{word}-{number}"
        found.setdefault(nodes.owner(nodes.slot(name)).port, name)
        if len(found) == len(nodes.nodes):
            return [found[node.port] for node in nodes.nodes]
    raise AssertionError


only_cluster = pytest.mark.parametrize("running", ["cluster"], indirect=True)


@only_cluster
def test_a_cluster_over_tls(place: Place, nodes: Cluster, name: str) -> None:
    """A lock of each node is held and handed over, one of them while its slot moves."""
    source, target = nodes.nodes[:2]
    names = names_at(nodes, name)
    slot = nodes.slot(names[0])
    view = View(place.url())
    with interlock.connect(place.url()) as client:
        with two_on(view, client, names[0]) as (lock, _):
            nodes.begin_migration(slot, source, target)
            assert nodes.migrate_keys(slot, source, target) >= 4
            assert lock.extend(20)  # ASK
            nodes.end_migration(slot, target)
            assert lock.extend(20)  # MOVED
        for other in names[1:]:
            with two_on(view, client, other):
                pass
    refusal = "tls handshake failed: the server's certificate: self.signed"
    with pytest.raises(interlock.ConnectionError, match=refusal):
        interlock.connect(place.url(ca=place.certificates.new.file))


@only_cluster
def test_the_certificate_of_a_node_is_for_the_name_by_which_it_is_reached(
    place: Place, nodes: Cluster, name: str
) -> None:
    """The client opens at the first node, which names the second one."""
    first, second = nodes.nodes[:2]
    here, there = names_at(nodes, name)[:2]
    hosts = ",".join(node.url_host for node in nodes.nodes)
    url = place.url().replace(hosts, first.url_host)
    certificates = place.certificates
    certificates.issue(certificates.old, "localhost", "DNS:localhost")
    place.has_changed = True
    second.redis().config_set(*certificates.words("localhost"))
    refusal = f"{second.url_host}: tls .* certificate: IP address mismatch"
    with interlock.connect(url) as client, client.lock(here) as lock:
        with pytest.raises(interlock.ConnectionError, match=refusal):
            client.lock(there).acquire(0)
        assert lock.extend(20)
    with (
        named(nodes, "localhost"),
        interlock.connect(url) as client,
        two_on(View(url), client, there) as (lock, _),
    ):
        assert lock.extend(20)


@contextlib.contextmanager
def named(nodes: Cluster, host: str) -> Iterator[None]:
    """Nodes name each other to clients by this name instead of their addresses."""
    for node in nodes.nodes:
        node.redis().config_set("cluster-announce-hostname", host)
        node.redis().config_set("cluster-preferred-endpoint-type", "hostname")
    for node in nodes.nodes:
        slots = functools.partial(node.redis().execute_command, "CLUSTER SLOTS")
        until(
            lambda slots=slots: all(str(part[2][0]) == host for part in slots()),
            what="the names of all nodes",
        )
    yield
    for node in nodes.nodes:
        node.redis().config_set("cluster-preferred-endpoint-type", "ip")
