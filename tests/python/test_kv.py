# SPDX-License-Identifier: MIT
"""Replicated values: what is Python's own about them; the rest is in the table."""

from __future__ import annotations

import os
import pickle
import threading

import interlock
import pytest
from interlock import KVEntry, KVProgress
from late_proxy import LateProxy

WHOLE = KVProgress(
    server=1,
    servers=1,
    looked=0,
    copied=0,
    removed=0,
    done=True,
    cursor=b"",
    pass_id=b"",
)


@pytest.fixture
def kv(client, name):
    return client.kv(name)


# -- values


def test_a_value_is_put_read_and_deleted(kv):
    assert kv.get("k") is None
    first = kv.put("k", b"one")
    found = kv.get("k")
    assert found == (b"one", first)
    assert (found.value, found.version) == found
    second = kv.put("k", b"two", fast=True)
    assert kv.get("k") == KVEntry(b"two", second)
    third = kv.delete("k")
    assert kv.get("k") is None
    fourth = kv.delete("k", fast=True)
    assert first < second < third < fourth


@pytest.mark.parametrize("key", ["k\0", b"k\0", bytearray(b"k\0"), memoryview(b"k\0")])
def test_keys_and_values_are_text_or_bytes(client, name, key):
    kv = client.kv(name.encode())
    kv.put(key, "wert \u00e4")
    assert client.kv(name).get("k\0").value == "wert \u00e4".encode()
    kv.put(key, memoryview(b"\0\xff"))
    assert kv.get(key).value == b"\0\xff"
    assert type(kv.get(key).value) is bytes


def test_names_keys_and_values_are_checked(client, kv):
    for bad in ("", "k" * 513):
        for call in (
            lambda key=bad: kv.put(key, b""),
            lambda key=bad: kv.get(key),
            lambda key=bad: kv.delete(key),
        ):
            with pytest.raises(interlock.InvalidError, match="1 to 512 bytes"):
                call()
    with pytest.raises(interlock.InvalidError, match="at most 65536 bytes, got 65537"):
        kv.put("k", b"x" * 65537)
    kv.put("k" * 512, b"x" * 65536)
    for bad in (None, 7, 1.5):
        with pytest.raises(TypeError, match="key must be str or bytes"):
            kv.get(bad)
        with pytest.raises(TypeError, match="value must be str or bytes"):
            kv.put("k", bad)
        with pytest.raises(TypeError):
            client.kv(bad)
    for bad in ("", "ilk:x", "n" * 513):
        with pytest.raises(interlock.InvalidError):
            client.kv(bad)


def test_a_key_of_another_type_is_an_error(server, kv):
    server.call("SET", f"ilk:kv:{{{kv.name}}}/k", "x")

    for call in (
        lambda: kv.get("k"),
        lambda: kv.put("k", b""),
        lambda: kv.delete("k"),
    ):
        with pytest.raises(interlock.WrongTypeError):
            call()


def test_no_version_above_the_last_is_an_error(server, kv):
    server.call("HSET", f"ilk:kv:{{{kv.name}}}/k", "version", str(2**53 - 1))

    with pytest.raises(interlock.ServerError, match="ILKFENCE no version can rise"):
        kv.put("k", b"x")


def test_a_handle_shows_its_name_and_is_of_this_process(client, kv):
    assert repr(kv) == f"<interlock.KV {kv.name!r}>"
    with pytest.raises(TypeError, match="KV cannot be pickled"):
        pickle.dumps(kv)
    assert client.offers("kv") is True


def test_a_closed_client_refuses(server, name):
    client = interlock.connect(server.unix_url)
    kv = client.kv(name)
    client.close()

    for call in (
        lambda: kv.get("k"),
        lambda: kv.put("k", b""),
        lambda: kv.delete("k"),
        lambda: next(client.kv_move()),
        lambda: client.kv(name),
    ):
        with pytest.raises(interlock.ClosedError):
            call()


def test_threads_share_a_handle(kv):
    versions = []

    def write():
        for _ in range(50):
            version = kv.put("k", b"x")
            assert kv.get("k").version >= version
            versions.append(version)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(versions)) == 200
    assert kv.get("k").version == max(versions)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_uses_the_handle(kv):
    kv.put("k", b"parent")
    child = os.fork()
    if child == 0:
        ok = kv.get("k").value == b"parent" and kv.put("k", b"child") > 0
        os._exit(0 if ok else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert kv.get("k").value == b"child"


def test_a_put_without_a_reply_has_an_unknown_outcome(server, name):
    with (
        LateProxy(server.socket) as proxy,
        interlock.connect(proxy.url, reply_timeout=0.5) as client,
    ):
        kv = client.kv(name)
        kv.put("k", b"0")
        proxy.accepts = False
        proxy.lose_next_reply(b"kv:once")
        with pytest.raises(interlock.UnknownOutcomeError):
            kv.put("k", b"1")
        assert server.call("HGET", f"ilk:kv:{{{name}}}/k", "value") == b"1"


# -- moving


def test_a_single_server_has_all_values_where_they_belong(client, kv):
    version = kv.put("k", b"v")

    assert list(client.kv_move()) == [WHOLE]
    assert kv.get("k") == (b"v", version)


def test_a_move_goes_on_after_a_progress(client):
    before = KVProgress(
        server=0,
        servers=3,
        looked=70,
        copied=8,
        removed=9,
        done=False,
        cursor=b"17",
        pass_id=b"p",
    )
    assert pickle.loads(pickle.dumps(before)) == before

    (after,) = client.kv_move(before)

    assert (after.looked, after.copied, after.removed) == (70, 8, 9)
    assert (after.servers, after.done) == (1, True)
    assert list(client.kv_move(after)) == []
    assert repr(WHOLE) == (
        "KVProgress(server=1, servers=1, looked=0, copied=0, removed=0, done=True)"
    )


def test_a_progress_of_other_servers_is_an_error(client):
    far = KVProgress(
        server=5,
        servers=9,
        looked=0,
        copied=0,
        removed=0,
        done=False,
        cursor=b"",
        pass_id=b"",
    )
    with pytest.raises(interlock.ReplyError, match="kv_move: no progress"):
        next(client.kv_move(far))


@pytest.mark.parametrize("bad", ["x", 7, {}, ()])
def test_another_progress_is_refused(client, bad):
    with pytest.raises(TypeError, match="after must be KVProgress"):
        next(client.kv_move(bad))
