# SPDX-License-Identifier: MIT
"""Stores: what is Python's own about transactions; the rest is in the table."""

from __future__ import annotations

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import interlock
import pytest
from aio_case import on_every_loop
from awaited import OneTask
from interlock import ConflictError, aio
from late_proxy import LateProxy


@pytest.fixture
def store(client, name):
    return client.store(name)


def put(store, **values):
    with store.transaction() as t:
        for key, value in values.items():
            t[key] = value


def read(store, *keys):
    with store.snapshot() as v:
        return [v.get(key) for key in keys]


# -- as a mapping


def test_a_transaction_commits_at_the_end_of_its_block(store):
    with store.transaction() as t:
        t["a"], t[b"b\0"] = b"1", "text"
        assert t["a"] == b"1"
        assert read(store, "a") == [None]

    assert read(store, "a", b"b\0") == [b"1", b"text"]
    assert len(t.txid) == 46


def test_a_missing_key_is_a_key_error(store):
    with store.transaction() as t:
        with pytest.raises(KeyError) as caught:
            t["none"]
        assert caught.value.args == ("none",)
        assert t.get("none") is None
        assert t.get("none", b"other") == b"other"
        assert "none" not in t
        t["some"] = b""
        assert "some" in t
        del t["some"]
        assert "some" not in t
        del t["none"]


def test_a_block_that_raises_writes_nothing(store):
    with pytest.raises(ZeroDivisionError), store.transaction() as t:
        t["a"] = b"1"
        raise ZeroDivisionError

    assert read(store, "a") == [None]
    assert t.txid == ""
    with pytest.raises(interlock.NotOwnedError):
        t["a"]


def test_commit_inside_the_block_ends_it(store):
    with store.transaction() as t:
        t["a"] = b"1"
        t.commit()
        with pytest.raises(interlock.NotOwnedError):
            t["a"] = b"2"
    assert read(store, "a") == [b"1"]


@pytest.mark.parametrize("bad", [None, 1, 1.5, object()])
def test_other_types_are_refused(store, bad):
    with store.transaction() as t:
        with pytest.raises(TypeError):
            t[bad]
        with pytest.raises(TypeError):
            t["a"] = bad
        with pytest.raises(TypeError):
            del t[bad]


def test_keys_and_values_have_limits(store):
    with store.transaction() as t:
        for key in ("", "k" * 513):
            with pytest.raises(interlock.InvalidError):
                t[key] = b"1"
        with pytest.raises(interlock.InvalidError):
            t["a"] = b"x" * 65537


def test_a_snapshot_has_no_writes(store):
    with store.snapshot() as v, pytest.raises(TypeError):
        v["a"] = b"1"


def test_objects_are_of_this_process(store):
    for thing in (store, store.transaction(), store.snapshot()):
        with pytest.raises(TypeError):
            pickle.dumps(thing)
    assert repr(store) == f"<interlock.Store {store.name!r}>"


# -- conflicts


def test_a_conflict_is_raised_at_the_end_of_the_block(store):
    put(store, a=b"1")
    with pytest.raises(ConflictError) as caught, store.transaction() as t:
        assert t["a"] == b"1"
        put(store, a=b"2")
        t["a"] = b"3"

    assert caught.value.status == "ILK_ECONFLICT"
    assert read(store, "a") == [b"2"]


def test_run_begins_again_after_a_conflict(store):
    seen = []

    def double(t):
        seen.append(t["a"])
        if len(seen) == 1:
            put(store, a=b"5")
        t["a"] = b"%d" % (2 * int(seen[-1]))
        return "done"

    put(store, a=b"1")
    assert store.run(double) == "done"
    assert seen == [b"1", b"5"]
    assert read(store, "a") == [b"10"]


def test_run_gives_up_when_its_time_is_over(store):
    def lose(t):
        t.get("a")
        put(store, a=b"x")
        t["a"] = b"y"

    with pytest.raises(ConflictError):
        store.run(lose, timeout=0.05)
    with pytest.raises(ConflictError):
        store.run(lose, timeout=0)


def test_an_error_of_fn_ends_run(store):
    def fail(t):
        t["a"] = b"1"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.run(fail)
    assert read(store, "a") == [None]


def add_one(t):
    t["n"] = b"%d" % (int(t.get("n", b"0")) + 1)


def test_threads_that_count_lose_nothing(server, name):
    def count(_):
        with interlock.connect(server.unix_url) as client:
            store = client.store(name)
            for _ in range(25):
                store.run(add_one)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(count, range(4)))
    with interlock.connect(server.unix_url) as client:
        assert read(client.store(name), "n") == [b"100"]


def test_write_skew_is_refused(client, name):
    """Each of two takes off one of the two that are on call, and sees both there."""
    store = client.store(name)
    put(store, anna=b"on", ben=b"on")
    barrier = threading.Barrier(2)

    def go_off(who):
        with store.transaction() as t:
            on_call = [key for key in ("anna", "ben") if t[key] == b"on"]
            barrier.wait(30)
            assert len(on_call) == 2
            t[who] = b"off"

    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(go_off, who) for who in ("anna", "ben")]
        ends = [one.exception() for one in both]
    assert [type(end) for end in ends if end] == [ConflictError]
    assert sorted(read(store, "anna", "ben")) == [b"off", b"on"]


# -- outcomes


@pytest.fixture
def over_proxy(server, name):
    """A proxy that can keep or lose a commit, and the store of a client behind it."""
    with (
        LateProxy(server.socket) as proxy,
        interlock.connect(proxy.url, reply_timeout=0.5) as client,
    ):
        yield proxy, client.store(name)


@pytest.fixture
def other(server, name):
    """The same store, of a client that does not use the proxy."""
    with interlock.connect(server.unix_url) as client:
        yield client.store(name)


def test_an_unknown_outcome_is_settled_by_its_id(over_proxy, other):
    proxy, store = over_proxy
    put(store, a=b"0")
    proxy.accepts = False
    proxy.keep_next(b"store:done")
    with pytest.raises(interlock.UnknownOutcomeError) as caught:
        put(store, a=b"1")
    txid = caught.value.txid

    assert other.outcome(txid) == "aborted"
    proxy.deliver()  # the commit comes late
    assert other.outcome(txid) == "aborted"
    assert read(other, "a") == [b"0"]


def test_the_outcome_of_a_commit_whose_reply_was_lost(over_proxy, other):
    proxy, store = over_proxy
    put(store, a=b"0")
    proxy.accepts = False
    proxy.lose_next_reply(b"store:done")
    with pytest.raises(interlock.UnknownOutcomeError) as caught:
        put(store, a=b"1")

    assert other.outcome(caught.value.txid) == "committed"
    assert read(other, "a") == [b"1"]


@pytest.mark.parametrize("bad", ["", "x", "0" * 46])
def test_a_value_that_is_no_id_is_refused(store, bad):
    with pytest.raises(interlock.InvalidError, match="id must be a transaction's"):
        store.outcome(bad)
    with pytest.raises(TypeError):
        store.outcome(None)


# -- awaited


@pytest.fixture
def task():
    one = OneTask()
    yield one
    one.close()


def test_tasks_read_and_write(server, name, task):
    async def all_of_it():
        async with aio.connect(server.unix_url) as client:
            store = client.store(name)
            async with store.transaction() as t:
                t["a"] = b"1"
                assert await t["a"] == b"1"
                with pytest.raises(KeyError):
                    await t["none"]
                assert await t.get("none", b"x") == b"x"
            async with store.snapshot() as v:
                assert await v["a"] == b"1"

            async def add(t):
                value = int(await t["a"]) + 1
                t["a"] = b"%d" % value
                return value

            assert await store.run(add) == 2
            with pytest.raises(ConflictError):
                async with store.transaction() as t:
                    await t["a"]
                    await store.run(add)
                    t["a"] = b"9"
            assert await store.outcome(t.txid) == "aborted"
            with pytest.raises(ZeroDivisionError):
                async with store.transaction() as t:
                    t["a"] = b"0"
                    raise ZeroDivisionError
            assert await store.run(add) == 4

    task.run(all_of_it)


@on_every_loop
async def test_a_task_begins_again_after_conflicts(url, name):
    async with aio.connect(url) as client:
        store = client.store(name)

        async def write(t):
            t["a"] = b"theirs"

        async def add(t):
            before = await t.get("a")
            seen.append(before)
            if len(seen) < 4:
                await store.run(write)
            t["a"] = b"ours"

        seen = []
        await store.run(add)
        assert len(seen) == 4
        async with store.snapshot() as v:
            assert await v["a"] == b"ours"
