# SPDX-License-Identifier: MIT
"""The drop-in for redis.lock.Lock behaves as redis-py's own, and excludes it."""

from __future__ import annotations

import socket
import threading
import time

import interlock
import pytest
import redis
from interlock.compat.redis_py import Lock as Ours
from redis.exceptions import LockError, LockNotOwnedError
from redis.lock import Lock as Stock
from support import free_port, in_child, wait_until


@pytest.fixture
def r(url):
    with redis.from_url(url) as connection:
        yield connection


@pytest.fixture(params=[Ours, Stock], ids=["ours", "stock"])
def lock_class(request):
    """Requirements on both are tested on both."""
    return request.param


@pytest.fixture
def make(r, lock_class):
    def lock(name, **options):
        return r.lock(name, lock_class=lock_class, **options)

    return lock


def test_acquire_and_release(r, make, name):
    lock = make(name, timeout=10)
    assert lock.acquire(blocking=False) is True
    assert r.get(name) == lock.local.token
    assert 9000 < r.pttl(name) <= 10000
    assert lock.release() is None
    assert r.get(name) is None
    assert lock.local.token is None


def test_a_held_lock_is_false_at_once(make, name, took):
    first, second = make(name, timeout=10), make(name, timeout=10)
    assert first.acquire(blocking=False)
    with took(0, 0.1):
        assert second.acquire(blocking=False) is False
    first.release()
    assert second.acquire(blocking=False)
    second.release()


def test_lost_acquire_leaves_no_token(make, name):
    first, second = make(name, timeout=10), make(name, timeout=10)
    assert first.acquire()
    assert second.acquire(blocking=False) is False
    assert second.local.token is None
    with pytest.raises(LockError):
        second.release()
    first.release()


def test_blocking_timeout(make, name, took):
    first = make(name, timeout=10)
    second = make(name, timeout=10, blocking_timeout=0.2, sleep=0.05)
    assert first.acquire()
    with took(0.1, 0.5):
        assert second.acquire() is False
    with took(0, 0.1):
        assert second.acquire(blocking_timeout=0) is False
    first.release()


def test_blocking_false_in_the_constructor(make, name, took):
    first, second = make(name, timeout=10), make(name, timeout=10, blocking=False)
    assert first.acquire()
    with took(0, 0.1):
        assert second.acquire() is False
    first.release()


def test_context_manager(r, make, name):
    with make(name, timeout=10) as lock:
        assert r.get(name) == lock.local.token
    assert r.get(name) is None


def test_context_manager_raises_when_not_acquired(r, make, name):
    r.set(name, "stranger")
    with pytest.raises(LockError), make(name, blocking_timeout=0.05, sleep=0.01):
        pytest.fail("two holders")


def test_context_manager_raises_that_it_was_not_owned_any_more(r, make, name):
    with pytest.raises(LockNotOwnedError), make(name, timeout=10):
        r.set(name, "thief")
    with pytest.raises(LockError), make(name + "x", timeout=10) as lock:
        lock.release()


def test_raise_on_release_error_false_only_logs(r, make, name, caplog):
    with make(name, timeout=10, raise_on_release_error=False):
        r.set(name, "thief")
    assert r.get(name) == b"thief"
    assert "no longer owned" in caplog.text


def test_extend_adds(r, make, name):
    lock = make(name, timeout=10)
    assert lock.acquire()
    assert lock.extend(10) is True
    assert 18000 < r.pttl(name) <= 20000
    lock.release()


def test_extend_replaces(r, make, name):
    lock = make(name, timeout=10)
    assert lock.acquire()
    assert lock.extend(5, replace_ttl=True) is True
    assert 4000 < r.pttl(name) <= 5000
    lock.release()


def test_extend_takes_floats(r, make, name):
    lock = make(name, timeout=1.5)
    assert lock.acquire()
    assert 1000 < r.pttl(name) <= 1500
    assert lock.extend(0.5)
    assert 1500 < r.pttl(name) <= 2000
    lock.release()


def test_reacquire_resets_the_lease(r, make, name):
    lock = make(name, timeout=10)
    assert lock.acquire()
    r.pexpire(name, 5000)
    assert lock.reacquire() is True
    assert 8000 < r.pttl(name) <= 10000
    lock.release()


@pytest.mark.parametrize("verb", ["extend", "reacquire"])
def test_prolonging_what_is_not_held(r, make, name, verb):
    def prolong(lock):
        return lock.extend(10) if verb == "extend" else lock.reacquire()

    with pytest.raises(LockError, match=f"{verb} an unlocked lock"):
        prolong(make(name, timeout=10))
    unlimited = make(name)
    assert unlimited.acquire()
    with pytest.raises(LockError, match=f"{verb} a lock with no timeout"):
        prolong(unlimited)
    unlimited.release()
    lost = make(name, timeout=10)
    assert lost.acquire()
    r.set(name, "thief")
    with pytest.raises(LockNotOwnedError):
        prolong(lost)


def test_releasing_what_another_holds_now(r, make, name):
    lock = make(name, timeout=10)
    assert lock.acquire()
    r.set(name, "thief")
    with pytest.raises(LockNotOwnedError):
        lock.release()
    assert lock.local.token is None
    assert r.get(name) == b"thief"


def test_locked_and_owned(r, make, name):
    mine, theirs = make(name, timeout=10), make(name, timeout=10)
    assert (mine.locked(), mine.owned()) == (False, False)
    assert mine.acquire()
    assert (mine.locked(), mine.owned()) == (True, True)
    assert (theirs.locked(), theirs.owned()) == (True, False)
    mine.release()
    assert (mine.locked(), mine.owned()) == (False, False)


def test_owned_with_decoded_responses(url, lock_class, name):
    decoding = redis.from_url(url, decode_responses=True)
    with decoding.lock(name, timeout=10, lock_class=lock_class) as lock:
        assert lock.owned()
        assert lock.extend(1)


def test_a_token_of_ones_own(r, make, name):
    first, second = make(name, timeout=10), make(name, timeout=10)
    assert first.acquire(token="mine")
    assert r.get(name) == b"mine" == first.local.token
    assert 9000 < r.pttl(name) <= 10000
    assert second.acquire(token=b"other", blocking=False) is False
    assert second.acquire(token=b"other", blocking_timeout=0.2, sleep=0.05) is False
    assert first.extend(10)
    first.release()
    assert second.acquire(token=b"other", blocking_timeout=1)
    second.release()


def test_a_token_set_by_hand_releases(r, make, name):
    donor, heir = make(name, timeout=10), make(name, timeout=10)
    assert donor.acquire()
    heir.local.token = donor.local.token
    assert heir.owned()
    assert heir.extend(5)
    heir.release()
    assert r.get(name) is None
    with pytest.raises(LockNotOwnedError):
        donor.release()


def test_a_token_set_by_hand_counts_and_not_the_last_hold(r, make, name):
    lock, next_one = make(name, timeout=10), make(name, timeout=10)
    assert lock.acquire()
    r.delete(name)
    assert next_one.acquire()

    lock.local.token = next_one.local.token

    lock.release()
    assert r.get(name) is None


@pytest.mark.parametrize("timeout", [10, None])
def test_a_forked_child_extends_and_releases(r, make, name, timeout):
    lock = make(name, timeout=timeout)
    assert lock.acquire()
    if timeout:
        assert in_child(lambda: lock.extend(20)) == "True"
        assert r.pttl(name) > 20000
    assert in_child(lock.release) == "None"
    assert r.get(name) is None
    assert in_child(lock.release) == "LockNotOwnedError"
    with pytest.raises(LockNotOwnedError):
        lock.release()


def test_do_acquire_takes_a_free_name(r, make, name):
    lock = make(name, timeout=10)
    assert lock.do_acquire(b"raw") is True
    assert r.get(name) == b"raw"
    assert make(name, timeout=10).do_acquire(b"next") is False
    lock.local.token = b"raw"
    lock.release()


def test_thread_local_keeps_tokens_apart(make, name):
    lock, seen = make(name, timeout=10, thread_local=True), []
    assert lock.acquire()

    def work():
        lock.local.token = None
        seen.append(lock.owned())
        seen.append(lock.acquire(blocking=False))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(5)
    assert seen == [False, False]
    lock.release()


def test_without_thread_local_another_thread_releases(r, make, name):
    lock = make(name, timeout=10, thread_local=False)
    assert lock.acquire()
    thread = threading.Thread(target=lock.release)
    thread.start()
    thread.join(5)
    assert lock.local.token is None
    assert r.get(name) is None


def test_one_lock_object_for_many_threads(make, name):
    lock, inside, count = make(name, timeout=10, sleep=0.005), [], []

    def work(number):
        for _ in range(5):
            with lock:
                inside.append(number)
                count.append(list(inside))
                time.sleep(0.001)
                inside.remove(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(count) == 20
    assert all(len(one) == 1 for one in count)


# --- What is ours alone.


def test_it_is_a_redis_py_lock(r, name):
    lock = r.lock(name, lock_class=Ours)
    assert isinstance(lock, Stock)
    assert (lock.name, lock.timeout, lock.sleep) == (name, None, 0.1)
    assert (lock.blocking, lock.blocking_timeout) == (True, None)
    assert (lock.thread_local, lock.raise_on_release_error) == (True, True)


@pytest.mark.parametrize("kinds", [(Ours, Stock), (Stock, Ours)])
def test_both_kinds_exclude_each_other(r, name, kinds):
    first, second = (r.lock(name, timeout=10, lock_class=k) for k in kinds)
    assert first.acquire()
    assert second.acquire(blocking=False) is False
    assert second.acquire(blocking_timeout=0.1, sleep=0.02) is False
    with pytest.raises(LockError):
        second.release()
    threading.Timer(0.2, r.delete, args=[name]).start()
    assert second.acquire(blocking_timeout=5, sleep=0.02) is True
    with pytest.raises(LockNotOwnedError):
        first.release()
    assert second.owned()
    second.release()


def test_mixed_threads_count_right(url, name):
    count = [0]

    def work(kind):
        with redis.from_url(url) as connection:
            for _ in range(15):
                lock = connection.lock(name, timeout=20, sleep=0.002, lock_class=kind)
                with lock:
                    value = count[0]
                    time.sleep(0.0005)
                    count[0] = value + 1

    threads = [threading.Thread(target=work, args=(k,)) for k in (Ours, Stock) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert count == [60]


def test_waiters_are_served_in_their_order(r, client, name, waiting):
    order, threads = [], []
    holder = r.lock(name, timeout=20, lock_class=Ours)
    assert holder.acquire()

    def work(number):
        with r.lock(name, timeout=20, lock_class=Ours):
            order.append(number)

    for number in range(5):
        threads.append(threading.Thread(target=work, args=(number,)))
        threads[-1].start()
        waiting(name, number + 1)
    holder.release()
    for thread in threads:
        thread.join(10)
    assert order == list(range(5))


def test_without_timeout_the_lease_is_renewed(r, name):
    lock = r.lock(name, lock_class=Ours)
    assert lock.acquire()
    assert 0 < r.pttl(name) <= 30000
    assert interlock._client_lookup.client_for(r).stats().held == 1
    lock.release()


def test_with_timeout_the_lease_ends(r, name):
    lock = r.lock(name, timeout=0.2, lock_class=Ours)
    assert lock.acquire()
    wait_until(lambda: r.get(name) is None, 2)
    with pytest.raises(LockNotOwnedError):
        lock.release()


def test_one_client_serves_all_locks_of_a_pool(r, name):
    locks = [r.lock(f"{name}{i}", timeout=5, lock_class=Ours) for i in range(3)]
    for lock in locks:
        assert lock.acquire()
    assert interlock._client_lookup.client_for(
        r
    ) is interlock._client_lookup.client_for(r)
    assert interlock._client_lookup.client_for(r).stats().acquires == 3
    for lock in locks:
        lock.release()


@pytest.mark.parametrize(
    "limits",
    [{"socket_timeout": 0.3}, {"socket_timeout": 9, "socket_connect_timeout": 0.3}],
    ids=["socket_timeout", "socket_connect_timeout"],
)
def test_the_pools_timeouts_are_those_of_the_connection(name, took, limits):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        r = redis.Redis(port=silent.getsockname()[1], **limits)
        with (
            took(0.25, 1),
            pytest.raises((redis.ConnectionError, redis.TimeoutError)),
        ):
            r.lock(name, lock_class=Ours).acquire(blocking=False)


def test_a_reply_is_waited_for_as_long_as_the_pool_says(own_server, name, took):
    r = redis.Redis(port=own_server.port, socket_timeout=0.3, retry=None)
    lock = r.lock(name, lock_class=Ours, timeout=10)
    assert lock.acquire()
    own_server.pause()
    with took(0.25, 2), pytest.raises((LockError, redis.RedisError)):
        lock.release()


def test_errors_are_redis_pys_own(name):
    r = redis.Redis(host="127.0.0.1", port=free_port())
    with pytest.raises(redis.exceptions.ConnectionError):
        r.lock(name, lock_class=Ours).acquire(blocking_timeout=1)


def test_a_wrong_type_is_a_response_error(r, name):
    r.rpush(name, "x")
    with pytest.raises(redis.exceptions.ResponseError):
        r.lock(name, timeout=5, lock_class=Ours).acquire(blocking=False)


@pytest.mark.parametrize("key", [17, 2.5, b"bytes", "str"])
def test_names_are_encoded_as_redis_py_encodes_them(r, make, name, key):
    r.delete(key)
    lock = make(key, timeout=10)
    assert lock.acquire(blocking=False)
    assert r.get(key) == lock.local.token
    assert lock.owned() and lock.locked() and lock.name == key
    lock.release()
    assert not r.exists(key)


def test_names_are_in_the_encoding_of_the_pool(url, server, lock_class, name):
    with redis.from_url(url, encoding="latin-1", encoding_errors="replace") as r:
        lock = r.lock(f"{name}-ä-€", timeout=10, lock_class=lock_class)
        assert lock.acquire(blocking=False)
        assert server.call("GET", f"{name}-ä-?".encode("latin-1")) == lock.local.token
        assert lock.owned()
        lock.release()


@pytest.mark.parametrize("key", [None, True, ["a"]])
def test_other_names_are_refused(r, key):
    with pytest.raises(redis.DataError, match="name must be str, bytes, int or float"):
        r.lock(key, lock_class=Ours)


def test_a_name_that_is_too_long_is_refused(r):
    r.lock("x" * 512, lock_class=Ours)
    with pytest.raises(redis.DataError, match="512 bytes at most, got 513"):
        r.lock("x" * 513, lock_class=Ours)


def test_a_fake_server_is_refused(name):
    kind = type(
        "FakeConnection", (redis.Connection,), {"__module__": "fakeredis._connection"}
    )
    pool = redis.ConnectionPool(connection_class=kind)
    lock = redis.Redis(connection_pool=pool).lock(name, lock_class=Ours)
    with pytest.raises(TypeError, match="FakeConnection of fakeredis has no server"):
        lock.acquire()
