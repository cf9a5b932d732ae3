# SPDX-License-Identifier: MIT
"""A store says what it does not keep, to whom it opens, and why it cannot be had."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import interlock
import pytest
from certificates import HERE, Certificates
from cluster import PATIENCE, until
from etcd_store import Etcd
from interlock import guard
from mysql_store import MySql
from ports import free_port
from store import Store
from store_kinds import KINDS
from support import patience
from zookeeper_store import ZooKeeper

ALL = sorted(KINDS["redis"].offers)

OPEN: dict[str, Callable[[interlock.Client], object]] = {
    "rwlock": lambda client: client.rwlock("x").read.acquire(0),
    "lock_many": lambda client: client.lock_many(["x", "y"]).acquire(0),
    "semaphore": lambda client: client.semaphore("x", 2).acquire(0),
    "queue": lambda client: client.queue("x").push(b"x"),
    "signal": lambda client: client.signal("x").notify_all(b"x"),
    "event": lambda client: client.event("x").set(),
    "barrier": lambda client: client.barrier("x", 2).reset(),
    "latch": lambda client: client.latch("x", 2).count_down(),
    "group": lambda client: client.group("x").members(),
    "register": lambda client: client.register("x").set(b"x"),
    "guard": lambda client: guard.set(client, "x", b"x", time.time_ns() // 1000),
    "list": lambda client: client.ls(),
}


# ---- what it offers ---------------------------------------------------------------


def test_a_client_says_what_the_store_offers(
    store: Store, client: interlock.Client
) -> None:
    assert {what for what in ALL if client.offers(what)} == store.offers


@pytest.mark.parametrize("what", OPEN)
def test_a_kind_that_is_not_offered_is_refused_and_named(
    store: Store, client: interlock.Client, what: str
) -> None:
    if what in store.offers:
        OPEN[what](client)
        return
    with pytest.raises(interlock.UnsupportedError) as caught:
        OPEN[what](client)
    assert store.scheme in str(caught.value).lower() or "MariaDB" in str(caught.value)


@pytest.mark.parametrize(
    "take",
    [
        lambda client, name: client.lock(name, layout="redisson").acquire(0),
        lambda client, name: client.lock(name, fair=False).acquire(0),
        lambda client, name: client.election(name, identity="node-1").campaign(0),
    ],
    ids=["layout", "barging", "identity"],
)
def test_options_that_only_one_redis_has_are_refused(
    store: Store,
    client: interlock.Client,
    name: str,
    take: Callable[[interlock.Client, str], bool],
) -> None:
    if store.scheme == "redis":
        pytest.skip("the control has them")
    with pytest.raises(interlock.UnsupportedError):
        take(client, name)
    assert client.inspect(name).state == "free"
    assert client.election(name).leader() is None


def test_holds_move_between_processes_only_where_they_outlive_their_client(
    store: Store, client: interlock.Client, other: interlock.Client, name: str
) -> None:
    lock, heir = client.lock(name), other.lock(name)
    assert lock.acquire(5)
    token = lock.token
    if "detach" not in store.offers:
        with pytest.raises(interlock.UnsupportedError):
            lock.detach()
        with pytest.raises(interlock.UnsupportedError):
            heir.adopt(token)
        assert lock.held and lock.release()
        return
    assert lock.detach() == token
    client.close()
    assert heir.adopt(token)
    assert heir.held and heir.release()


# ---- who may ----------------------------------------------------------------------


@pytest.fixture
def guarded(kind: type[Store]) -> Iterator[Store]:
    """Where a wrong password is refused."""
    with kind() as running:
        if isinstance(running, Etcd):
            running.require_password()
        yield running


def url_of(store: Store, login: str) -> str:
    return re.sub("//([^@/]*@)?", f"//{login}@", store.url())


@pytest.mark.parametrize("kind", ["etcd", "mysql"], indirect=True, scope="session")
def test_a_wrong_password_is_refused_and_not_repeated_in_the_error(
    guarded: Store, name: str
) -> None:
    user = "root" if isinstance(guarded, Etcd) else "ilk"
    for login in (f"{user}:guessed-it", "stranger:guessed-it"):
        with pytest.raises(interlock.AuthError) as caught:
            interlock.connect(url_of(guarded, login))
        assert "guessed-it" not in str(caught.value)
    with interlock.connect(url_of(guarded, f"{user}:secret")) as client:
        with client.lock(name, ttl=20) as lock:
            assert lock.held
        assert "secret" not in client.url


@pytest.mark.parametrize("kind", ["etcd", "mysql"], indirect=True, scope="session")
def test_a_user_without_rights_is_refused(guarded: Store, name: str) -> None:
    logins = ["guest:secret"]
    if isinstance(guarded, MySql):
        logins.append("reader:secret")
    for login in logins:
        with (
            pytest.raises(interlock.AuthError),
            interlock.connect(url_of(guarded, login)) as client,
        ):
            client.lock(name).acquire(1)


@pytest.mark.parametrize("kind", ["etcd"], indirect=True, scope="session")
def test_a_client_without_a_password_is_refused(guarded: Store, name: str) -> None:
    with (
        pytest.raises(interlock.AuthError),
        interlock.connect(guarded.url()) as client,
    ):
        client.lock(name).acquire(1)


# ---- TLS --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", ["etcd", "mysql", "zookeeper"], indirect=True, scope="session"
)
@pytest.mark.parametrize(
    ("names", "trusts_it", "is_refused"),
    [
        (HERE, True, False),
        ("DNS:other.example,IP:192.0.2.1", True, True),
        (HERE, False, True),
    ],
    ids=["right", "wrong name", "another authority"],
)
def test_a_certificate_is_judged(
    kind: type[Store],
    tmp_path: Path,
    name: str,
    names: str,
    trusts_it: bool,
    is_refused: bool,
) -> None:
    certificates = Certificates(tmp_path)
    certificates.issue(certificates.old, names=names)
    trusted = certificates.old if trusts_it else certificates.new
    assert issubclass(kind, (Etcd, MySql, ZooKeeper))
    with kind(certificates=certificates) as store:
        # The client library of MariaDB 11.8 compares no name for 127.0.0.1.
        url = store.url(f"ca={trusted.file}").replace("127.0.0.1", "localhost")
        if not is_refused:
            with interlock.connect(url) as client, client.lock(name) as lock:
                assert lock.held and lock.extend(30)
                with interlock.connect(url) as other:
                    waits = other.lock(name)
                    with ThreadPoolExecutor(1) as pool:
                        taken = pool.submit(waits.acquire, 60)
                        until(lambda: store.waiters(client, name), 30, "a waiter")
                        fence = lock.fence
                        assert lock.release() and taken.result()
                    assert waits.fence > fence and waits.release()
            return
        with pytest.raises(interlock.ConnectionError, match="certificate|Hostname"):
            interlock.connect(url)


@pytest.mark.parametrize(
    "kind", ["etcd", "mysql", "zookeeper"], indirect=True, scope="session"
)
def test_a_wait_over_tls_delays_no_other_lock(
    kind: type[Store], tmp_path: Path, name: str
) -> None:
    certificates = Certificates(tmp_path)
    certificates.issue(certificates.old)
    assert issubclass(kind, (Etcd, MySql, ZooKeeper))
    with (
        kind(certificates=certificates) as store,
        interlock.connect(store.url(f"ca={certificates.old.file}")) as client,
        interlock.connect(store.url(f"ca={certificates.old.file}")) as other,
        client.lock(name) as held,
        other.lock(f"{name}-steady", ttl=3) as steady,
        ThreadPoolExecutor(1) as pool,
    ):
        waits = pool.submit(other.lock(name).acquire, 60)
        until(lambda: store.waiters(client, name), 30, "a waiter")
        for _ in range(5):
            time.sleep(1)
            assert steady.extend(3)
        assert held.release() and waits.result()


class Relay:
    """It passes all bytes; of connections that come after `stops` was set, only the
    first ones of the server."""

    def __init__(self, port: int):
        self.target, self.stops = port, threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self.sockets: list[socket.socket] = []
        self.stopped = 0
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(("127.0.0.1", self.target))
                self.sockets += [client, server]
                if self.stops.is_set():
                    client.sendall(server.recv(65536))  # the greeting, before TLS
                    self.stopped += 1
                    continue
                for way in ((client, server), (server, client)):
                    threading.Thread(target=self.pass_on, args=way, daemon=True).start()

    def pass_on(self, source: socket.socket, to: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                to.sendall(data)
            to.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.listener.close()
        for one in self.sockets:
            one.close()


@pytest.mark.parametrize("kind", ["mysql"], indirect=True, scope="session")
def test_a_server_that_is_silent_in_the_handshake_delays_no_other_lock(
    kind: type[Store], tmp_path: Path, name: str
) -> None:
    certificates = Certificates(tmp_path)
    certificates.issue(certificates.old)
    assert issubclass(kind, MySql)
    with (
        kind(certificates=certificates) as store,
        contextlib.closing(Relay(store.ports[0])) as relay,
        interlock.connect(store.url(f"ca={certificates.old.file}")) as client,
        interlock.connect(
            store.url(f"ca={certificates.old.file}", ports=[relay.port])
        ) as other,
        client.lock(name),
        other.lock(f"{name}-steady", ttl=30) as steady,
        ThreadPoolExecutor(1) as pool,
    ):
        relay.stops.set()
        waits = pool.submit(other.lock(name).acquire, 8)  # over a new connection
        until(lambda: relay.stopped, 30, "a connection that stops")
        slowest = 0.0
        while relay.stopped < 3:
            began = time.monotonic()
            assert steady.extend(30)
            slowest = max(slowest, time.monotonic() - began)
            time.sleep(0.05)
        assert slowest < patience(1)
        assert not waits.result()


# ---- what is missing --------------------------------------------------------------

CONNECT = "import interlock, sys; interlock.connect(sys.argv[1])"


def package_without_backends(to: Path) -> Path:
    """The directory of a copy: a wheel has the backends beside the library."""
    shutil.copytree(
        Path(interlock.__file__).parent,
        to / "interlock",
        ignore=shutil.ignore_patterns("libinterlock-*.so", "__pycache__"),
    )
    return to


def test_a_backend_that_is_missing_is_named_with_its_package(
    kind: type[Store], tmp_path: Path
) -> None:
    if kind.scheme == "redis":
        pytest.skip("the control has no backend")
    url = f"{kind.scheme}://127.0.0.1:1/x"
    package = package_without_backends(tmp_path / "package")
    needs = r"build again with" if kind.scheme == "zookeeper" else r"install lib\S+"
    for folder, told in (
        (tmp_path, rf"UnsupportedError: .*built without {kind.scheme}.*{needs}"),
        (
            tmp_path / "missing",
            r"InvalidError: INTERLOCK_BACKENDS: there is no directory",
        ),
    ):
        done = subprocess.run(
            [sys.executable, "-c", CONNECT, url],
            env={
                **os.environ,
                "INTERLOCK_BACKENDS": str(folder),
                "PYTHONPATH": str(package),
            },
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert re.search(told, done.stderr), done.stderr


def test_an_object_that_is_no_backend_is_refused(
    kind: type[Store], tmp_path: Path
) -> None:
    if kind.scheme == "redis":
        pytest.skip("the control has no backend")
    (tmp_path / f"libinterlock-{kind.scheme}.so").write_bytes(b"\x7fELF and no more")
    done = subprocess.run(
        [sys.executable, "-c", CONNECT, f"{kind.scheme}://127.0.0.1:1/x"],
        env={**os.environ, "INTERLOCK_BACKENDS": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "UnsupportedError" in done.stderr, done.stderr
    assert "cannot load the backend" in done.stderr


# ---- servers that are none --------------------------------------------------------


def url_at(kind: type[Store], port: int) -> str:
    path = {"etcd": "", "redis": "", "mysql": "/interlock"}.get(kind.scheme, "/x")
    login = "ilk:secret@" if kind.scheme == "mysql" else ""
    return f"{kind.scheme}://{login}127.0.0.1:{port}{path}"


def test_a_port_where_nobody_listens_is_said_at_once(kind: type[Store]) -> None:
    began = time.monotonic()
    with pytest.raises(interlock.ConnectionError) as caught:
        interlock.connect(url_at(kind, free_port()))
    assert time.monotonic() - began < 5 * PATIENCE
    assert "127.0.0.1" in str(caught.value)


@pytest.fixture(params=["silent", "closes", "babbles", "http"])
def stranger(request: pytest.FixtureRequest) -> Iterator[int]:
    """The port of a server that speaks another protocol."""
    words = {
        "babbles": os.urandom(4096),
        "http": b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
    }.get(request.param, b"")
    kept = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    one, _ = listener.accept()
                    one.sendall(words)
                except OSError:
                    return
                if request.param == "silent":
                    kept.append(one)
                else:
                    one.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
    for one in kept:
        one.close()


def test_a_server_that_is_another_one_ends_in_an_error(
    kind: type[Store], stranger: int
) -> None:
    began = time.monotonic()
    with pytest.raises(interlock.Error) as caught:
        interlock.connect(url_at(kind, stranger), connect_timeout=1, reply_timeout=1)
    assert time.monotonic() - began < 15 * PATIENCE
    assert not isinstance(caught.value, interlock.UnsupportedError)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("scheme", "rest"),
    [
        ("etcd", "127.0.0.1:port"),
        ("etcd", "127.0.0.1?nonsense=1"),
        ("etcd", ""),
        ("zookeeper", "127.0.0.1:99999/x"),
        ("zookeeper", "127.0.0.1/x?nonsense=1"),
        ("mysql", "ilk:secret@127.0.0.1:0/interlock"),
        ("mysql", "ilk:secret@127.0.0.1/interlock?nonsense=1"),
    ],
)
def test_a_url_that_makes_no_sense_is_refused(scheme: str, rest: str) -> None:
    from store_kinds import absence

    lacks = absence(scheme)
    if lacks:
        lacks.report()
    with pytest.raises(interlock.InvalidError) as caught:
        interlock.connect(f"{scheme}://{rest}")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("kind", ["zookeeper"], indirect=True, scope="session")
def test_a_chroot_that_may_not_be_written_is_refused(own: Store, name: str) -> None:
    assert isinstance(own, ZooKeeper)
    own.shell("create", "/closed")
    own.shell("setAcl", "/closed", "world:anyone:r")
    url = own.url().replace("/ilk-test", "/closed")
    with (
        pytest.raises(interlock.AuthError),
        interlock.connect(url) as client,
    ):
        client.lock(name).acquire(1)
