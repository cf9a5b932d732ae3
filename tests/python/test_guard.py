# SPDX-License-Identifier: MIT
"""Writes that refuse an older fence: in Redis, in a script, in SQL."""

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


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.tuples(st.integers(1, 2**53 - 1), st.binary()), min_size=1))
def test_it_remembers_the_greatest(client, name, writes):
    guard.remove(client, name)
    expected = guard.Guarded(None, 0)
    for fence, value in writes:
        try:
            guard.set(client, name, value, fence)
        except interlock.StaleError:
            assert fence < expected.fence
        else:
            assert fence >= expected.fence
            expected = guard.Guarded(value, fence)
        assert guard.get(client, name) == expected


@pytest.mark.parametrize("fence", [-1, 2**53, 2**70])
def test_fences_out_of_range_are_invalid(client, name, fence):
    with pytest.raises(interlock.InvalidError):
        guard.set(client, name, b"", fence)


@pytest.mark.parametrize("fence", [True, 1.0, "1", None])
def test_a_fence_is_an_int(client, name, fence):
    with pytest.raises(TypeError):
        guard.set(client, name, b"", fence)


def test_a_wrong_type_is_told(client, server, name):
    server.call("RPUSH", name, "x")
    for call in (
        lambda: guard.set(client, name, b"x", 1),
        lambda: guard.get(client, name),
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
