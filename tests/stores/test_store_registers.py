# SPDX-License-Identifier: MIT
"""Registers in stores that keep them: races, waits, lost replies, restarts."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import interlock
import pytest
from cluster import PATIENCE, until
from etcd_store import Etcd
from register_counter import Counter, check
from store import Store
from store_network import between

DOWN = {"up": False, "down": True}  # replies are lost


@pytest.fixture(autouse=True)
def keeps_registers(kind: type[Store]) -> None:
    if "register" not in kind.offers:
        pytest.skip(f"{kind.scheme} offers no registers")


class Waiting:
    """A wait for another version in a thread, on a client of its own."""

    def __init__(self, url: str, name: str, known: int):
        self.client = interlock.connect(url)
        self.found: interlock.RegisterState | None = None
        register = self.client.register(name)
        self.thread = threading.Thread(
            target=lambda: self.note(register.wait(known, timeout=60))
        )
        self.thread.start()
        until(lambda: self.client.stats().waiting == 1, 10, "a waiter")

    def note(self, found: interlock.RegisterState | None) -> None:
        self.found = found

    def end(self) -> interlock.RegisterState | None:
        self.thread.join(60)
        self.client.close()
        assert not self.thread.is_alive()
        return self.found


def count_up(client: interlock.Client, name: str, times: int) -> None:
    register = client.register(name)
    for _ in range(times):
        register.change(lambda old: b"%d" % (int(old or b"0") + 1))


def test_clients_that_count_lose_nothing(
    client: interlock.Client, other: interlock.Client, name: str
) -> None:
    threads = [
        threading.Thread(target=count_up, args=(one, name, 25))
        for one in (client, client, other, other)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert client.register(name).get().value == b"100"


@pytest.mark.parametrize("verb", ["set", "cas", "delete"])
def test_each_change_wakes_who_waits_at_another_client(
    store: Store, client: interlock.Client, name: str, verb: str
) -> None:
    register = client.register(name)
    version = register.set(b"old")
    waiting = Waiting(store.url(), name, version)
    time.sleep(0.3)  # it waits at the store, too

    began = time.monotonic()
    if verb == "set":
        register.set(b"new")
    elif verb == "cas":
        register.cas(version, b"new")
    else:
        register.delete(version)

    assert waiting.end() == register.get()
    assert time.monotonic() - began < 1.5 * PATIENCE  # not by the refresh


def test_no_change_is_missed_while_the_watch_begins(
    store: Store, client: interlock.Client, name: str
) -> None:
    register = client.register(name)
    for delay in range(20):
        version = register.set(b"old")
        waiting = Waiting(store.url(), name, version)
        time.sleep(delay * 0.002)
        newer = register.set(b"new")
        began = time.monotonic()
        assert waiting.end() == (b"new", newer)
        assert time.monotonic() - began < 1.5 * PATIENCE


def test_versions_rise_over_a_delete(client: interlock.Client, name: str) -> None:
    register = client.register(name)
    seen = [register.set(b"a")]
    assert register.delete()
    assert register.delete() is False
    seen.append(register.get().version)
    assert register.cas(seen[0], b"b") is None
    assert register.cas(0, b"b") is None
    seen.append(register.cas(seen[1], b"b") or 0)

    assert seen == sorted(set(seen))


def test_a_large_value_and_any_name_come_through(client: interlock.Client) -> None:
    value = bytes(range(256)) * 256
    register = client.register(b"a/b\0\xff{x}")
    version = register.set(value)

    assert register.get() == (value, version)
    assert client.register(b"a/b").get().value is None
    register.delete()


def test_a_wait_and_a_value_outlast_a_restart(own: Store, name: str) -> None:
    with interlock.connect(own.url()) as client:
        register = client.register(name)
        version = register.set(b"old")
        waiting = Waiting(own.url(), name, version)
        time.sleep(0.3)
        own.restart()

        assert until(lambda: is_there(register, version), 20, "the value")
        newer = register.set(b"new")

        assert newer > version
        assert waiting.end() == (b"new", newer)


def test_a_change_while_the_watch_was_interrupted_is_seen(
    store: Store, client: interlock.Client, name: str
) -> None:
    register = client.register(name)
    version = register.set(b"old")
    with between(store) as network:
        waiting = Waiting(network.url("a"), name, version)
        time.sleep(0.3)
        network.fault("a", "refuse")
        newer = register.set(b"new")
        time.sleep(0.5)
        began = time.monotonic()
        network.heal()

        assert waiting.end() == (b"new", newer)
        assert time.monotonic() - began < 20 * PATIENCE


def is_there(register: interlock.Register, version: int) -> bool:
    try:
        return register.get().version == version
    except (interlock.ConnectionError, interlock.NoQuorumError):
        return False


@pytest.fixture
def watcher(other: interlock.Client, name: str) -> Iterator[interlock.Register]:
    yield other.register(name)


@pytest.mark.parametrize("others", [1, 30])
@pytest.mark.parametrize("verb", ["set", "cas", "delete"])
def test_a_change_whose_reply_was_lost_is_made_once(
    store: Store, watcher: interlock.Register, name: str, verb: str, others: int
) -> None:
    if store.scheme == "zookeeper":
        pytest.skip("it reads before it writes: see the next test")
    with between(store) as network, interlock.connect(network.url("a")) as client:
        register = client.register(name)
        register.set(b"old")
        assert register.delete()  # the client has all leases that it needs then
        known = register.set(b"old")
        network.fault("a", "dead", **DOWN)
        ended: list[Any] = []

        def change() -> None:
            try:
                if verb == "set":
                    ended.append(register.set(b"mine"))
                elif verb == "cas":
                    ended.append(register.cas(known, b"mine"))
                else:
                    ended.append(register.delete(known))
            except interlock.Error as error:
                ended.append(error)

        thread = threading.Thread(target=change)
        thread.start()
        until(lambda: watcher.get().version > known, 10, "the change")
        first = watcher.get().version
        for _ in range(others):
            theirs = watcher.set(b"theirs")  # what must not be overwritten
        network.fault("a", "cut")
        network.heal()
        thread.join(60)

        is_forgotten = others > 21 and store.scheme == "mysql"
        if is_forgotten:
            assert isinstance(ended[0], interlock.UnknownOutcomeError)
        else:
            assert ended[0] == (True if verb == "delete" else first)
        if not (is_forgotten and verb == "set"):  # which may write twice then
            assert watcher.get() == (b"theirs", theirs)


def test_no_change_is_lost_or_made_twice_when_replies_are_lost(
    store: Store, name: str
) -> None:
    with between(store) as network:
        network.fault("ab", "delay", seconds=0.01)
        counters = [Counter(network.url(one), name) for one in "ab"]
        for turn in range(16):
            one, counter = "ab"[turn % 2], counters[turn % 2]
            counter.await_change()
            time.sleep(0.003 * turn)  # in each of its steps
            if turn % 4 < 2:
                network.fault(one, "cut")
            else:
                network.fault(one, "late", **{"for": 0.3})
        network.heal()
        check(counters, store.url(), name)


# ---- etcd's own keys --------------------------------------------------------------

only_etcd = pytest.mark.parametrize("kind", ["etcd"], indirect=True, scope="session")


@only_etcd
def test_etcdctl_sees_the_value_and_leases_behind_what_ends(
    store: Store, client: interlock.Client, name: str
) -> None:
    assert isinstance(store, Etcd)
    register = client.register(name)
    register.set(b"100")
    key = f"ilk:register:{{{name}}}"

    assert store.ctl("get", "--print-value-only", key).strip() == "v100"
    once = store.keys(f"ilk:register:once:{{{name}}}/")
    assert len(once) == 1

    assert register.delete()
    assert store.ctl("get", "--print-value-only", key).strip() == "d"
    assert len(store.keys(f"ilk:register:once:{{{name}}}/")) == 2
    for one in (*once, key):
        shown = store.ctl("get", "--write-out=json", one)
        assert '"lease":' in shown


@only_etcd
def test_a_value_that_etcdctl_wrote_is_no_registers(
    store: Store, client: interlock.Client, name: str
) -> None:
    assert isinstance(store, Etcd)
    store.ctl("put", f"ilk:register:{{{name}}}", "strange")
    register = client.register(name)

    with pytest.raises(interlock.WrongTypeError):
        register.get()
    assert register.set(b"x") > 0  # which writes whatever is there


@only_etcd
def test_a_lease_that_was_revoked_is_begun_again(
    store: Store, client: interlock.Client, name: str
) -> None:
    assert isinstance(store, Etcd)
    register = client.register(name)
    register.set(b"a")
    for lease in store.ctl("lease", "list").split()[3:]:
        store.ctl("lease", "revoke", lease)

    assert register.set(b"b") > 0
    assert register.delete()
