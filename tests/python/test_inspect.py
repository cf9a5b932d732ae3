# SPDX-License-Identifier: MIT
"""Looking at names."""

from __future__ import annotations

import os
import socket
import threading
import time

import interlock
import pytest

INSPECTED = [
    *("lock", "semaphore", "election", "signal", "event", "barrier", "latch"),
    *("queue", "group", "register"),
]


def test_a_free_name(client, name):
    info = client.inspect(name)

    assert (info.name, info.state, info.holder) == (name, "free", None)
    assert (info.ttl, info.fence, info.waiters, info.waiting) == (0.0, 0, [], 0)
    assert info.since is None


def test_a_held_name_has_holder_start_and_time(client, other, name):
    with client.lock(name, ttl=10) as lock:
        info = other.inspect(name)

        assert info.state == "held"
        assert info.holder == lock.token
        assert info.fence == lock.fence
        assert info.label == f"{socket.gethostname()}:{os.getpid()}"
        assert abs(info.since - time.time()) < 5
        assert 8 < info.ttl <= 10
    assert client.inspect(name).fence == lock.fence


def test_a_label_of_ones_own_is_shown(url, other, name):
    with interlock.connect(url, label="till:7") as client, client.lock(name):
        assert other.inspect(name).label == "till:7"


def test_waiters_are_listed_in_their_order(client, other, url, name, waiting):
    clients = [interlock.connect(url, label=f"till:{n}") for n in range(3)]
    locks = [one.lock(name) for one in clients]
    holder = client.lock(name)
    assert holder.acquire(0)
    threads = [threading.Thread(target=lock.acquire, args=(30,)) for lock in locks]
    for number, thread in enumerate(threads):
        thread.start()
        waiting(name, number + 1)

    info = other.inspect(name)

    assert info.waiting == 3
    assert [waiter.label for waiter in info.waiters] == ["till:0", "till:1", "till:2"]
    for lock, thread, waiter in zip(locks, threads, info.waiters):
        holder.release()
        thread.join(5)
        assert lock.token == waiter.token
        holder = lock


def test_a_foreign_lock(client, server, name):
    server.call("SET", name, b"\xff\x00stranger", "PX", "5000")
    info = client.inspect(name)

    assert info.state == "foreign"
    assert info.holder.encode("utf-8", "surrogateescape") == b"\xff\x00stranger"
    assert 4 < info.ttl <= 5
    server.call("PERSIST", name)
    assert client.inspect(name).ttl is None


def test_a_key_that_is_no_lock_is_a_wrong_type(client, server, name):
    server.call("RPUSH", name, "x")
    with pytest.raises(interlock.WrongTypeError):
        client.inspect(name)


def test_ls_finds_names_by_a_pattern(client, name):
    plain, tagged = f"{name}:a", f"{name}:{{b}}"
    with client.lock(plain), client.lock(tagged):
        assert client.ls(f"{name}*") == [plain, tagged]
        assert client.ls(f"{name}:a".encode()) == [plain.encode()]
        assert plain in client.ls()
    assert client.ls(f"{name}:nothing*") == []
    assert client.ls(f"{name}*", kind="queue") == []
    with pytest.raises(interlock.InvalidError, match="kind must be one of lock"):
        client.ls(kind="loch")
    with pytest.raises(TypeError):
        client.ls(7)


def test_holder_and_waiter_of_one_client_are_recognised(client, other, name, waiting):
    lock = other.lock(name)
    with client.lock(name):
        thread = threading.Thread(target=lock.acquire)
        thread.start()
        waiting(name, 1)
        info = client.inspect(name)
    thread.join()

    assert info.client == info.holders[0].client != ""
    assert info.waiters[0].client not in ("", info.client)
    assert other.inspect(name).client == info.waiters[0].client
    assert 0 <= info.waiters[0].waited == info.longest_wait < 60
    lock.release()


def test_all_readers_are_named(client, url, name):
    with interlock.connect(url, label="second") as second:
        first_lock, second_lock = client.rwlock(name).read, second.rwlock(name).read
        with first_lock, second_lock:
            info = client.inspect(name)

    assert (info.state, info.readers, info.holding) == ("readers", 2, 2)
    assert {one.token for one in info.holders} == {first_lock.token, second_lock.token}
    assert "second" in {one.label for one in info.holders}
    assert all(one.fence > 0 and one.since and one.ttl for one in info.holders)


def test_every_kind_can_be_inspected(client, name):
    client.queue(name).push(b"x")
    client.register(name).set(b"value")
    client.event(name).set(b"data")
    client.latch(name, 3).count_down()

    found = {kind: client.inspect(name, kind) for kind in INSPECTED}

    assert [kind for kind in found if found[kind].in_use] == [
        "event",
        "latch",
        "queue",
        "register",
    ]
    assert all(info.kind == kind for kind, info in found.items())
    assert found["queue"].facts["ready"] == 1
    assert found["queue"].facts["order"] == "fifo"
    assert found["register"].facts["value"] == b"value"
    assert found["event"].facts["data"] == b"data"
    assert found["latch"].facts["left"] == 2


def test_a_kind_without_a_state_is_refused(client, name):
    for kind in ("store", "kv", "nonsense"):
        with pytest.raises(interlock.InvalidError):
            client.inspect(name, kind)
