# SPDX-License-Identifier: MIT
"""Clients: opening, closing, counters, notifications, trouble with the server."""

from __future__ import annotations

import dataclasses
import gc
import itertools
import os
import pickle
import select
import socket
import threading
import time

import interlock
import pytest
from support import Server, free_port, wait_until


def test_ping_answers_true(each_url):
    with interlock.connect(each_url) as client:
        assert client.ping() is True
        assert client.ping(timeout=1) is True


def test_environment_names_the_server(server, monkeypatch):
    monkeypatch.setenv("INTERLOCK_URL", server.unix_url)
    with interlock.connect() as client:
        assert client.url.startswith(server.unix_url)


def test_nobody_listening_is_a_connection_error(took):
    with took(0, 2), pytest.raises(interlock.ConnectionError) as caught:
        interlock.connect(f"redis://127.0.0.1:{free_port()}")
    assert isinstance(caught.value, ConnectionError)
    assert caught.value.code == -17


def test_lazy_connects_at_the_first_call():
    client = interlock.connect(f"redis://127.0.0.1:{free_port()}", lazy=True)
    lock = client.lock("anything")

    with pytest.raises(interlock.ConnectionError):
        lock.acquire(1)


def test_a_server_that_hangs_after_accept_is_given_up(took):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"redis://127.0.0.1:{silent.getsockname()[1]}"
        with (
            took(0.25, 1),
            pytest.raises((interlock.ConnectionError, interlock.TimeoutError)),
        ):
            interlock.connect(url, connect_timeout=0.3)


def test_listen_receives_wake_ups_from_a_replica_too(server, tmp_path, name):
    with Server(tmp_path, "--replicaof", "127.0.0.1", str(server.port)) as replica:
        listen = f"127.0.0.1:{replica.port}"
        with (
            interlock.connect(server.tcp_url, listen=listen) as client,
            interlock.connect(server.unix_url) as other,
            other.lock(name),
        ):
            inbox = f"ilk:inbox:{client.id}"
            assert not client.lock(name).acquire(0.05)

            wait_until(lambda: replica.call("PUBSUB", "NUMSUB", inbox)[1] == 1)
            wait_until(lambda: server.call("PUBSUB", "NUMSUB", inbox)[1] == 1)


@pytest.mark.parametrize("listen", [",", "a:0", "[::1", "1,2,3,4,5,6,7,8"])
def test_listen_names_servers(server, listen):
    with pytest.raises(interlock.InvalidError, match="listen: "):
        interlock.connect(server.unix_url, listen=listen)


@pytest.mark.parametrize(
    "url", ["", "orders", "http://x", "redis://:port", "redis://x:99999", "redis://h/x"]
)
def test_a_url_that_makes_no_sense_is_invalid(url):
    with pytest.raises(interlock.InvalidError):
        interlock.connect(url)


def test_urls_and_labels_are_text():
    with pytest.raises(TypeError):
        interlock.connect(1)
    with pytest.raises(TypeError):
        interlock.connect(label=b"x", lazy=True)
    with pytest.raises(interlock.InvalidError):
        interlock.connect("redis://x\0y")
    with pytest.raises(interlock.InvalidError):
        interlock.connect(protocol=4, lazy=True)


def test_a_wrong_password_is_an_auth_error_and_never_shown(tmp_path):
    with Server(tmp_path, "--requirepass", "open sesame") as guarded:
        port = guarded.port
        for login in ("", ":open%20s3same@"):
            with pytest.raises(interlock.AuthError) as caught:
                interlock.connect(f"redis://{login}127.0.0.1:{port}")
            assert "s3same" not in str(caught.value)
        with interlock.connect(f"redis://:open%20sesame@127.0.0.1:{port}") as client:
            assert client.ping()
            assert "sesame" not in client.url + repr(client)


def test_use_after_close_raises_closed(url, name):
    client = interlock.connect(url)
    lock, idle = client.lock(name), client.lock(name)
    assert lock.acquire(0)
    client.close()
    client.close()

    assert client.closed
    assert client.stats().connections == 0
    for call in (
        client.ping,
        client.notifications,
        lambda: client.lock(name),
        lambda: client.inspect(name),
        lambda: idle.acquire(0),
        lambda: lock.release(),
    ):
        with pytest.raises(interlock.ClosedError):
            call()


def test_close_ends_a_wait_of_another_thread(client, url, name, waiting):
    closing, seen = interlock.connect(url), []

    def work():
        try:
            closing.lock(name).acquire()
        except interlock.Error as error:
            seen.append(error)

    with client.lock(name):
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        waiting(name, 4)
        closing.close()
        for thread in threads:
            thread.join(5)

    assert [type(error) for error in seen] == [interlock.ClosedError] * 4


def test_held_leases_without_renewal_run_out_after_close(url, other, name):
    client = interlock.connect(url)
    assert client.lock(name, ttl=1.5, renew=False).acquire(0)
    client.close()

    assert other.lock(name).acquire(0) is False
    assert other.lock(name).acquire(5) is True


def test_handles_may_be_collected_in_any_order(url, name):
    def objects():
        client = interlock.connect(url)
        lock = client.lock(name)
        assert lock.acquire(10)
        many, table = client.lock_many([name + "1"]), client.rwlock(name + "2")
        assert lock.release()
        return {
            "client": client,
            "lock": lock,
            "many": many,
            "table": table,
            "info": client.inspect(name),
            "notifications": client.notifications(),
        }

    gc.collect()
    gc.freeze()  # what was there before is not looked at each time
    try:
        for order in itertools.islice(itertools.permutations(objects()), 0, 720, 17):
            alive = objects()
            for key in order:
                del alive[key]
                gc.collect()
    finally:
        gc.unfreeze()


def test_a_handle_keeps_working_when_its_client_is_out_of_sight(url, name):
    lock = interlock.connect(url).lock(name)
    gc.collect()

    with lock:
        assert lock.client.ping()


def test_a_thousand_handles_leave_no_memory_behind(client, name):
    def resident():
        gc.collect()
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def work():
        for _ in range(1000):
            with client.lock(name):
                pass

    if not os.path.exists("/proc/self/statm"):
        pytest.skip("memory is not measured: /proc/self/statm is missing")
    work()
    before = resident()
    work()
    work()
    assert resident() - before < 1_000_000


def test_no_descriptor_is_left_behind(url, name):
    def count():
        return len(os.listdir("/proc/self/fd"))

    if not os.path.exists("/proc/self/fd"):
        pytest.skip("descriptors are not counted: /proc/self/fd is missing")
    gc.collect()  # what other tests left
    before = count()
    for _ in range(10):
        with interlock.connect(url) as client:
            client.notifications()
            with client.lock(name):
                assert client.lock(name).acquire(0.01) is False
        del client
    gc.collect()
    assert count() <= before


def test_stats_count(client, name):
    before = client.stats()
    with client.lock(name):
        during = client.stats()
    after = client.stats()

    assert during.acquires == before.acquires + 1
    assert (during.held, after.held) == (1, 0)
    assert after.commands == before.commands + 2
    assert after.bytes_out > before.bytes_out
    assert after.bytes_in > before.bytes_in
    assert after.connections >= 1
    assert dataclasses.asdict(after)["losses"] == 0


def test_stats_of_one_server_have_no_nodes(client):
    assert client.stats().nodes == ()


def test_stats_of_a_quorum_have_its_nodes():
    with interlock.connect("redis://a,b:7000,c?quorum", lazy=True) as client:
        nodes = client.stats().nodes

    assert [node.address for node in nodes] == ["a:6379", "b:7000", "c:6379"]
    assert {(node.state, node.error) for node in nodes} == {("connecting", "")}
    assert {(node.round_trip, node.clock_offset) for node in nodes} == {(None, None)}
    with pytest.raises(dataclasses.FrozenInstanceError):
        nodes[0].state = "voting"


def test_id_is_16_digits_and_ones_own(client, other):
    assert len(client.id) == 16
    assert int(client.id, 16) >= 0
    assert client.id != other.id


def test_a_lost_lock_is_a_notification(client, server, name):
    lock = client.lock(name, ttl=1.5)
    notifications = client.notifications()
    assert lock.acquire(0)
    assert select.select([notifications], [], [], 0)[0] == []
    server.call("SET", name, "thief")

    notification = notifications.get(timeout=5)

    assert notification is not None
    assert (notification.kind, notification.id) == ("lock_lost", lock.id)
    assert notification.lock is lock
    assert isinstance(notification.error, interlock.LostError)
    assert notifications.get(timeout=0) is None
    assert client.stats().losses == 1
    assert not lock.held


def test_notifications_come_over_a_descriptor_above_1023(client, run_child, name):
    child = run_child(
        "import interlock, os, resource, sys, time\n"
        "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))\n"
        "kept = [os.dup(0) for _ in range(1100)]\n"
        "with interlock.connect(os.environ['TEST_URL']) as client:\n"
        "    notifications = client.notifications()\n"
        "    before = time.process_time()\n"
        "    nothing = notifications.get(timeout=0.5)\n"
        "    idle = time.process_time() - before < 0.25\n"
        "    lock = client.lock(sys.argv[1], ttl=1.5)\n"
        "    print(notifications.fileno() > 1023, nothing, idle, lock.acquire())\n"
        "    print(notifications.get(timeout=10).kind)\n",
        name,
    )
    assert child.stdout.readline() == "True None True True\n"
    assert client.break_lock(name)
    assert child.stdout.readline() == "lock_lost\n"


def test_notifications_end_with_the_client(url, took):
    client = interlock.connect(url)
    notifications = client.notifications()
    threading.Timer(0.2, client.close).start()

    with took(0.1, 2):
        assert list(notifications) == []


def test_notifications_of_a_closed_client_are_refused(url):
    client = interlock.connect(url)
    notifications = client.notifications()
    client.close()

    with pytest.raises(interlock.ClosedError):
        notifications.get(timeout=0)


def test_get_waits_no_longer_than_its_timeout(client, took):
    with took(0.09, 0.5):
        assert client.notifications().get(timeout=0.1) is None


def test_a_frozen_server_keeps_the_callers_deadline(own_server, name, took):
    with interlock.connect(own_server.unix_url) as client:
        holder = client.lock(name)
        assert holder.acquire(0)
        own_server.pause()
        try:
            with (
                took(0.2, 1.5),
                pytest.raises((interlock.TimeoutError, interlock.ConnectionError)),
            ):
                client.ping(timeout=0.3)
        finally:
            own_server.resume()


def test_a_wait_survives_a_restart_of_the_server(own_server, name):
    with (
        interlock.connect(own_server.unix_url) as client,
        interlock.connect(own_server.unix_url) as other,
    ):
        assert client.lock(name, ttl=60, renew=False).acquire(0)
        waiter, outcome = other.lock(name), []
        thread = threading.Thread(target=lambda: outcome.append(waiter.acquire(30)))
        thread.start()
        wait_until(lambda: client.inspect(name).waiting == 1)

        own_server.kill()
        time.sleep(0.3)
        own_server.start()
        thread.join(30)

        assert outcome == [True]
        assert waiter.held


@pytest.mark.parametrize("kind", sorted(interlock.errors.BY_CODE))
def test_exceptions_survive_pickling(kind):
    error = interlock.errors.from_status(kind, "a text")

    again = pickle.loads(pickle.dumps(error))

    assert type(again) is type(error)
    assert (again.code, str(again)) == (error.code, "a text")


def test_memory_full_is_raised_and_release_still_works(own_server, name):
    with interlock.connect(own_server.unix_url) as client:
        lock = client.lock(name)
        assert lock.acquire(0)
        own_server.call("CONFIG", "SET", "maxmemory", "1")

        assert lock.release() is True
        with pytest.raises(interlock.ServerMemoryError):
            client.lock(name).acquire(0)


def test_a_replica_takes_no_locks(own_server, name):
    own_server.call("REPLICAOF", "127.0.0.1", free_port())
    with interlock.connect(own_server.unix_url) as client:
        lock = client.lock(name)
        with pytest.raises(interlock.ServerReadOnlyError):
            lock.acquire(0)


def test_script_flush_in_a_loop_harms_nobody(own_server, name):
    stop = threading.Event()

    def flush():
        while not stop.is_set():
            own_server.call("SCRIPT", "FLUSH")

    thread = threading.Thread(target=flush)
    thread.start()
    try:
        with interlock.connect(own_server.unix_url) as client:
            for _ in range(200):
                with client.lock(name, ttl=10) as lock:
                    lock.extend(5)
    finally:
        stop.set()
        thread.join()


def test_one_server_offers_everything(client):
    for what in ("lock", "rwlock", "lock_many", "queue", "recipes", "detach"):
        assert client.offers(what) is True


def test_an_unknown_offer_is_an_error(client):
    with pytest.raises(ValueError, match="one of lock, rwlock"):
        client.offers("locks")


def test_unsupported_is_not_implemented():
    error = interlock.errors.from_status(-29, "the store offers no queue")
    assert isinstance(error, interlock.UnsupportedError)
    assert isinstance(error, NotImplementedError)
