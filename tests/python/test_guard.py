# SPDX-License-Identifier: MIT
"""Reads and writes that refuse an older fence: in Redis, in a script, in SQL."""

from __future__ import annotations

import sqlite3

import interlock
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from interlock import guard


def test_the_newer_fence_wins(client, server, name):
    guard.set(client, name, b"new", 7)
    guard.set(client, name, b"newer", 7)
    with pytest.raises(interlock.StaleError) as caught:
        guard.set(client, name, b"late", 6)

    assert caught.value.status == "ILK_ESTALE"
    assert guard.get(client, name) == guard.Guarded(b"newer", 7)
    assert server.call("GET", name) == b"newer"


def test_nothing_is_there_at_first_and_after_remove(client, name):
    assert guard.get(client, name) == guard.Guarded(None, 0)
    guard.set(client, name, "text", 3)
    guard.remove(client, name)
    assert guard.get(client, name) == guard.Guarded(None, 0)
    guard.set(client, name, b"", 1)
    assert guard.get(client, name) == guard.Guarded(b"", 1)


def test_fence_0_writes_without_a_check(client, name):
    guard.set(client, name, b"guarded", 9)
    guard.set(client, name, b"forced", 0)
    assert guard.get(client, name) == guard.Guarded(b"forced", 9)


def test_a_read_under_a_fence_shuts_out_older_ones(client, name):
    guard.set(client, name, b"10", 7)
    assert guard.get(client, name, 9) == guard.Guarded(b"10", 9)
    assert guard.get(client, name, fence=9) == guard.Guarded(b"10", 9)
    with pytest.raises(interlock.StaleError):
        guard.set(client, name, b"late", 8)
    with pytest.raises(interlock.StaleError):
        guard.get(client, name, 8)
    guard.set(client, name, b"9", 9)

    assert guard.get(client, name, None) == guard.Guarded(b"9", 9)
    assert guard.get(client, name, 0) == guard.Guarded(b"9", 9)


def test_a_late_write_between_read_and_write_is_refused(client, name):
    value = f"{name}:left"
    guard.set(client, value, b"10", 0)
    frozen, following = client.lock(name), client.lock(name)
    assert frozen.acquire(0)
    left = int(guard.get(client, value, frozen.fence).value)
    client.break_lock(name)  # its lease is over
    with following:
        seen = int(guard.get(client, value, following.fence).value)
        with pytest.raises(interlock.StaleError):
            guard.set(client, value, str(left - 1), frozen.fence)
        guard.set(client, value, str(seen - 1), following.fence)

    assert guard.get(client, value) == guard.Guarded(b"9", following.fence)


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(st.tuples(st.integers(1, 2**53 - 1), st.none() | st.binary()), min_size=1)
)
def test_it_remembers_the_greatest(client, name, steps):
    guard.remove(client, name)
    expected = guard.Guarded(None, 0)
    for fence, value in steps:
        try:
            if value is None:
                assert guard.get(client, name, fence).value == expected.value
            else:
                guard.set(client, name, value, fence)
        except interlock.StaleError:
            assert fence < expected.fence
        else:
            assert fence >= expected.fence
            kept = expected.value if value is None else value
            expected = guard.Guarded(kept, fence)
        assert guard.get(client, name) == expected


@pytest.mark.parametrize("fence", [-1, 2**53, 2**70])
def test_fences_out_of_range_are_invalid(client, name, fence):
    with pytest.raises(interlock.InvalidError):
        guard.set(client, name, b"", fence)
    with pytest.raises(interlock.InvalidError):
        guard.get(client, name, fence)


@pytest.mark.parametrize("fence", [True, 1.0, "1", None])
def test_a_fence_is_an_int(client, name, fence):
    with pytest.raises(TypeError):
        guard.set(client, name, b"", fence)
    if fence is not None:
        with pytest.raises(TypeError):
            guard.get(client, name, fence)


def test_a_wrong_type_is_refused(client, server, name):
    server.call("RPUSH", name, "x")
    for call in (
        lambda: guard.set(client, name, b"x", 1),
        lambda: guard.get(client, name),
        lambda: guard.get(client, name, 1),
    ):
        with pytest.raises(interlock.WrongTypeError):
            call()


def test_the_script_text_guards_scripts_of_ones_own(server, name):
    script = guard.LUA + (
        "if not fenced(KEYS[1], ARGV[1]) then return 0 end\n"
        'redis.call("SET", KEYS[2], ARGV[2]); return 1'
    )

    def write(fence, value):
        keys = (f"{name}:fence", name)
        return server.call("EVAL", script, "2", *keys, str(fence), value)

    assert write(9007199254740990, "a") == 1
    assert write(9007199254740990, "b") == 1
    assert write(9007199254740989, "c") == 0
    assert server.call("GET", name) == b"b"


def test_the_sql_refuses_an_older_fence():
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE items (id TEXT PRIMARY KEY, stock INT, price INT)")
    db.execute("ALTER TABLE items ADD COLUMN fence BIGINT NOT NULL DEFAULT 0")
    db.execute("INSERT INTO items (id, stock, price) VALUES ('a', 1, 1)")
    update = guard.sql_update("items", ["stock", "price"], "id")

    def write(stock, fence):
        return db.execute(update, (stock, stock * 10, fence, "a", fence)).rowcount

    assert write(17, 2**52) == 1
    assert write(18, 2**52) == 1
    assert write(99, 2**52 - 1) == 0
    row = db.execute("SELECT stock, price, fence FROM items").fetchone()
    assert row == (18, 180, 2**52)


def test_the_sql_takes_other_marks():
    assert guard.sql_update("t", ["a"], "id", mark="%s") == (
        "UPDATE t SET a = %s, fence = %s WHERE id = %s AND fence <= %s"
    )
    with pytest.raises(interlock.InvalidError):
        guard.sql_update("t", [], "id")
