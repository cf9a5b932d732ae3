# SPDX-License-Identifier: MIT
"""The stores' own clients on the same names: etcdctl, kazoo, statements of SQL. Peers
in Go and Java are in tests/interop."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import interlock
import pytest
from cluster import PATIENCE, Background, until
from etcd_store import Etcd
from mysql_store import DATABASE, MySql
from store import Store
from support import patience
from zookeeper_store import CHROOT, ZooKeeper

TTL = 20.0
ENVIRONMENT = {**os.environ, "ETCDCTL_API": "3"}

only_etcd = pytest.mark.parametrize("kind", ["etcd"], indirect=True, scope="session")
only_mysql = pytest.mark.parametrize("kind", ["mysql"], indirect=True, scope="session")
only_zookeeper = pytest.mark.parametrize(
    "kind", ["zookeeper"], indirect=True, scope="session"
)


# ---- etcdctl ----------------------------------------------------------------------


@contextlib.contextmanager
def etcdctl(store: Store, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A command that ends when it is interrupted."""
    assert isinstance(store, Etcd)
    with subprocess.Popen(
        store.ctl_command(*words),
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        text=True,
    ) as one:
        try:
            yield one
        finally:
            if one.poll() is None:
                one.kill()


def first_line(process: subprocess.Popen[str]) -> Background[str]:
    assert process.stdout
    return Background(process.stdout.readline)


@only_etcd
def test_etcdctl_lock_keeps_us_out(
    store: Store, client: interlock.Client, name: str
) -> None:
    lock = client.lock(name, ttl=TTL)
    with etcdctl(store, "lock", name) as peer:
        assert first_line(peer).result().startswith(f"{name}/")
        assert not lock.acquire(0)
        assert client.inspect(name).state in ("held", "foreign")
        waiting = Background(lambda: lock.acquire(60))
        until(lambda: client.inspect(name).waiting == 1, what="our waiter")
        peer.terminate()
        assert waiting.result()
        assert lock.release()


@only_etcd
def test_our_lock_keeps_etcdctl_out(
    store: Store, client: interlock.Client, name: str
) -> None:
    lock = client.lock(name, ttl=TTL)
    assert lock.acquire(5)
    with etcdctl(store, "lock", name, "echo", "mine") as peer:
        line = first_line(peer)
        until(lambda: client.inspect(name).waiting == 1, what="its waiter")
        assert not line.found and peer.poll() is None
        assert lock.release()
        assert line.result() == "mine\n"
        assert peer.wait(30 * PATIENCE) == 0


@only_etcd
def test_etcdctl_elect_and_ours_are_one_election(
    store: Store, client: interlock.Client, name: str
) -> None:
    mine = client.election(name, ttl=TTL, value=b"ours")
    with etcdctl(store, "elect", name, "theirs") as peer:
        assert first_line(peer).result().startswith(f"{name}/")
        assert mine.leader() == b"theirs"
        assert not mine.campaign(0)
        waiting = Background(lambda: mine.campaign(60))
        peer.terminate()
        assert waiting.result()
    with etcdctl(store, "elect", "--listen", name) as listener:
        seen = [first_line(listener).result() for _ in range(2)]
        assert seen[0].startswith(f"{name}/") and seen[1] == "ours\n"
        assert mine.proclaim(b"changed")
        seen = [first_line(listener).result() for _ in range(2)]
        assert seen[1] == "changed\n"
    assert mine.resign()


@only_etcd
def test_other_keys_of_the_store_do_not_matter(
    store: Store, client: interlock.Client, name: str
) -> None:
    """A key that has the lock's name, and those that begin with it."""
    assert isinstance(store, Etcd)
    for key in (name, f"{name}0", f"{name}-x/y"):
        store.ctl("put", key, "a value of somebody")
    with client.lock(name, ttl=TTL) as lock:
        assert lock.held
    for key in (name, f"{name}0", f"{name}-x/y"):
        assert store.ctl("get", "--print-value-only", key) == "a value of somebody\n"


# ---- kazoo ------------------------------------------------------------------------


@pytest.fixture
def zk(store: Store, client: interlock.Client) -> Iterator[Any]:
    """After our client, which makes the chroot."""
    kazoo = pytest.importorskip("kazoo.client")
    assert isinstance(store, ZooKeeper)
    one = kazoo.KazooClient(hosts=store.hosts() + CHROOT)
    one.start(60)
    yield one
    one.stop()
    one.close()


def kazoo_lock(zk: Any, name: str) -> Any:
    """It looks for our nodes as well as for its own."""
    return zk.Lock(f"/{name}", "somebody", extra_lock_patterns=["-lock-"])


@only_zookeeper
def test_kazoos_lock_keeps_us_out(zk: Any, client: interlock.Client, name: str) -> None:
    lock, peer = client.lock(name, ttl=TTL), kazoo_lock(zk, name)
    assert peer.acquire(timeout=30)
    assert not lock.acquire(0)
    waiting = Background(lambda: lock.acquire(60))
    until(lambda: client.inspect(name).waiting == 1, what="our waiter")
    assert not waiting.found
    peer.release()
    assert waiting.result()
    assert lock.release()


@only_zookeeper
def test_our_lock_keeps_kazoo_out(zk: Any, client: interlock.Client, name: str) -> None:
    lock, peer = client.lock(name, ttl=TTL), kazoo_lock(zk, name)
    assert lock.acquire(5)
    assert not peer.acquire(blocking=False)
    waiting = Background(lambda: bool(peer.acquire(timeout=60)))
    until(lambda: client.inspect(name).waiting == 1, what="its waiter")
    assert not waiting.found
    assert lock.release()
    assert waiting.result()
    peer.release()
    assert client.lock(name).acquire(5)


@only_zookeeper
def test_other_nodes_of_the_store_do_not_matter(
    zk: Any, client: interlock.Client, name: str
) -> None:
    """A sibling whose name begins alike, and data of the lock's own node."""
    zk.create(f"/{name}", b"data of somebody")
    zk.create(f"/{name}-x", b"")
    with client.lock(name, ttl=TTL) as lock:
        assert lock.held
    assert zk.get(f"/{name}")[0] == b"data of somebody"


# ---- pymysql ----------------------------------------------------------------------

PAGE = Path(__file__).resolve().parents[2] / "docs" / "mysql.md"


@pytest.fixture(scope="session")
def row() -> Any:
    """The functions of the page, as a reader copies them."""
    section = PAGE.read_text().partition("\n### Other programs on the row\n")[2]
    code = section.partition("```python\n")[2].partition("```")[0]
    functions: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), functions)
    return SimpleNamespace(**functions)


@pytest.fixture
def cursor(store: Store, client: interlock.Client) -> Iterator[Any]:
    pymysql = pytest.importorskip("pymysql")
    assert isinstance(store, MySql)
    assert not client.lock("any").locked()  # the table is there
    with (
        pymysql.connect(
            host="127.0.0.1",
            port=store.ports[0],
            user="ilk",
            password="secret",
            database=DATABASE,
            autocommit=True,
        ) as opened,
        opened.cursor() as one,
    ):
        yield one


@only_mysql
def test_a_row_of_another_program_keeps_us_out(
    row: Any, cursor: Any, client: interlock.Client, name: str
) -> None:
    lock = client.lock(name, ttl=TTL)
    token, fence = row.acquire(cursor, name, TTL)
    assert not lock.acquire(0)
    assert row.renew(cursor, name, token, TTL)
    waits = Background(lambda: lock.acquire(60 * PATIENCE))
    time.sleep(0.3)
    assert not waits.found

    assert row.release(cursor, name, token)

    began = time.monotonic()
    assert waits.result()
    assert time.monotonic() - began < patience(2)
    assert lock.fence > fence
    assert not row.renew(cursor, name, token, TTL)
    assert lock.release()


@only_mysql
def test_our_lock_keeps_a_row_of_another_program_out(
    row: Any, cursor: Any, client: interlock.Client, name: str
) -> None:
    lock = client.lock(name, ttl=TTL)
    assert lock.acquire(0)
    assert row.acquire(cursor, name, TTL) is None
    assert lock.fence is not None
    held_by = lock.fence

    assert lock.release()

    token, fence = row.acquire(cursor, name, TTL)
    assert fence > held_by
    assert not lock.acquire(0)
    assert row.release(cursor, name, token)
    assert not row.release(cursor, name, token)


@only_mysql
def test_a_row_of_another_program_ends_with_its_lease(
    row: Any, cursor: Any, client: interlock.Client, name: str
) -> None:
    token, _ = row.acquire(cursor, name, 0.5)
    with client.lock(name, ttl=TTL) as lock:
        assert lock.held
        assert not row.renew(cursor, name, token, TTL)
        assert not row.release(cursor, name, token)
        assert row.acquire(cursor, name, TTL) is None
