# SPDX-License-Identifier: MIT
"""Arguments that may be passed, and those refused before anything is sent."""

from __future__ import annotations

import decimal
import math
import uuid

import interlock
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from interlock import _ffi

quick = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

BAD_TIMES = [-1, -0.001, math.nan, math.inf, -math.inf, 1e300, 10**400]
NO_TIMES = [True, False, "10", b"1", [], {}, decimal.Decimal(1), object()]


@pytest.mark.parametrize("value", BAD_TIMES)
def test_times_out_of_range_are_invalid(client, name, value):
    lock = client.lock(name)
    for call in (
        lambda: lock.acquire(value),
        lambda: lock.acquire(0, ttl=value),
        lambda: lock.extend(value),
        lambda: client.lock(name, ttl=value),
        lambda: client.lock(name, wait=value),
        lambda: client.lock(name, max_hold=value),
        lambda: client.lock(name, foreign_poll=value),
        lambda: client.ping(value),
        lambda: interlock.connect(lazy=True, connect_timeout=value),
        lambda: interlock.connect(lazy=True, outage_timeout=value),
    ):
        with pytest.raises(interlock.InvalidError) as caught:
            call()
        assert isinstance(caught.value, ValueError)
        assert caught.value.status == "ILK_EINVAL"
    assert not lock.held


@pytest.mark.parametrize("value", NO_TIMES)
def test_a_value_that_is_no_number_is_a_type_error(client, name, value):
    lock = client.lock(name)
    for call in (
        lambda: lock.acquire(value),
        lambda: lock.acquire(0, ttl=value),
        lambda: lock.extend(value),
        lambda: client.lock(name, ttl=value),
        lambda: client.lock(name, wait=value),
    ):
        with pytest.raises(TypeError, match="number of seconds"):
            call()
    assert not lock.held


@pytest.mark.parametrize("ttl", [0, 0.0, -1, -0.5, 367 * 24 * 3600, 2**62])
def test_ttl_zero_negative_and_overflow_are_refused(client, name, ttl):
    with pytest.raises(interlock.InvalidError):
        client.lock(name, ttl=ttl)
    with pytest.raises(interlock.InvalidError):
        client.lock(name).acquire(0, ttl=ttl)
    assert client.inspect(name).state == "free"


@given(st.floats(min_value=0, max_value=1e7))
def test_seconds_become_milliseconds_rounded_up(seconds):
    ms = _ffi.milliseconds(seconds, "timeout")

    assert ms - 1.01 <= seconds * 1000 <= ms + 0.01
    assert (ms == 0) == (seconds == 0)


@given(st.integers(min_value=0, max_value=10**13))
@example(2007)
@example(8_439_926_776)
def test_whole_milliseconds_stay_as_they_are(ms):
    assert _ffi.milliseconds(ms / 1000, "timeout") == ms


@quick
@given(st.binary(min_size=1, max_size=400).filter(lambda n: n[:4] != b"ilk:"))
def test_any_bytes_are_a_name(client, server, raw):
    key = raw + uuid.uuid4().hex.encode()

    with client.lock(key, ttl=5, renew=False) as lock:
        assert server.call("GET", key).decode() == lock.token
        assert client.lock(key).acquire(0) is False
        assert client.inspect(key).state == "held"
    assert server.call("EXISTS", key) == 0


@quick
@given(
    st.lists(
        st.text(alphabet="{}x:=~\0\r\n", min_size=1, max_size=5),
        min_size=2,
        max_size=6,
        unique=True,
    )
)
def test_different_names_never_collide(client, server, names):
    locks = [client.lock(one, ttl=5, renew=False) for one in names]

    assert all(lock.acquire(0) for lock in locks)

    assert len({lock.token for lock in locks}) == len(names)
    assert len(server.call("KEYS", "ilk:lock:fence*")) >= len(names)
    assert all(lock.release() for lock in locks)


def test_text_and_its_utf8_bytes_are_one_name(client, name):
    text = f"{name}:é漢\udcff"
    with client.lock(text):
        raw = text.encode("utf-8", "surrogateescape")
        assert client.lock(raw).acquire(0) is False
        assert client.lock(bytearray(raw)).acquire(0) is False
        assert client.lock(memoryview(raw)).acquire(0) is False
        assert text in client.ls(f"{name}*")
        assert client.ls(f"{name}*".encode()) == [raw]


@pytest.mark.parametrize("bad", ["", b"", "x" * 513, "é" * 257, "ilk:", "\ud800"])
def test_a_value_that_is_no_name_is_invalid(client, bad):
    for call in (
        lambda: client.lock(bad),
        lambda: client.rwlock(bad),
        lambda: client.lock_many(["fine", bad]),
        lambda: client.inspect(bad),
        lambda: client.break_lock(bad),
        lambda: interlock.guard.set(client, bad, b"", 1),
    ):
        with pytest.raises(interlock.InvalidError):
            call()


@pytest.mark.parametrize("bad", [None, 1, 1.5, ["a"], object()])
def test_a_name_is_text_or_bytes(client, bad):
    with pytest.raises(TypeError, match="name must be str or bytes"):
        client.lock(bad)


def test_512_bytes_are_a_name(client):
    key = uuid.uuid4().hex * 16
    with client.lock(key):
        assert client.inspect(key).state == "held"


@pytest.mark.parametrize("layout", ["", "Redisson", "hash", None, 1])
def test_an_unknown_layout_is_invalid(client, name, layout):
    with pytest.raises(interlock.InvalidError, match="'plain' or 'redisson'"):
        client.lock(name, layout=layout)


def test_one_name_is_not_many(client):
    with pytest.raises(TypeError, match="several names"):
        client.lock_many("orders")


def test_no_names_are_invalid(client):
    with pytest.raises(interlock.InvalidError):
        client.lock_many([])
    with pytest.raises(interlock.InvalidError):
        client.lock_many(f"name{i}" for i in range(65))


@quick
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "ttl": st.floats(0.5, 100),
            "wait": st.none() | st.floats(5, 10),
            "renew": st.booleans(),
            "fair": st.booleans(),
            "reentrant": st.booleans(),
            "max_hold": st.none() | st.floats(1, 100),
            "layout": st.sampled_from(["plain", "redisson"]),
            "foreign_poll": st.none() | st.floats(0.001, 1),
        },
    )
)
def test_options_in_any_mixture_lock(client, options):
    key = f"mix:{uuid.uuid4().hex}"
    with client.lock(key, **options) as lock:
        assert lock.held
        assert client.lock(key, layout=options.get("layout", "plain")).acquire(0) is (
            False
        )
    assert client.inspect(key).state == "free"
