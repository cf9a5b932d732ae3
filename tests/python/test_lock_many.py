# SPDX-License-Identifier: MIT
"""One lock over many names."""

from __future__ import annotations

import random
import threading

import interlock
import pytest
from support import wait_until


def names(name, count=3):
    return [f"{name}:{i}" for i in range(count)]


def test_with_holds_all_and_releases_all(client, other, name):
    with client.lock_many(names(name), ttl=10) as lock:
        assert lock.held
        assert lock.names == tuple(names(name))
        assert 8 < lock.remaining() <= 10
        for one in names(name):
            assert other.lock(one).acquire(0) is False
            assert other.inspect(one).holder == lock.token
    for one in names(name):
        assert other.inspect(one).state == "free"


def test_nothing_is_held_when_one_cannot_be_had(client, other, name):
    with other.lock(names(name)[1]):
        lock = client.lock_many(names(name), wait=0.1)
        assert lock.acquire() is False
        wait_until(lambda: other.inspect(names(name)[0]).state == "free")
        with pytest.raises(interlock.TimeoutError, match="lock many"), lock:
            pytest.fail("two holders")


def test_the_fence_is_above_each_names_last(client, name):
    fences = []
    for one in names(name):
        with client.lock(one) as lock:
            fences.append(lock.fence)

    with client.lock_many(names(name)) as many:
        assert many.fence > max(fences)


def test_extend_check_and_loss(client, server, name):
    lock = client.lock_many(names(name), ttl=10, renew=False)
    assert lock.acquire(0)
    assert lock.extend(60)
    assert lock.remaining() > 50
    lock.check()
    server.call("DEL", names(name)[2])

    assert lock.extend(60) is False
    assert not lock.held


def test_with_raises_a_loss_inside(client, server, name):
    lock = client.lock_many(names(name), renew=False)
    with pytest.raises(interlock.LostError), lock:
        server.call("SET", names(name)[0], "thief")
    assert server.call("GET", names(name)[0]) == b"thief"


def test_opposite_orders_never_block_each_other(client, other, name):
    seed = random.randrange(2**32)
    print("seed", seed)
    keys, inside, errors = names(name, 4), [], []

    def work(number, user):
        choice = random.Random(seed + number)
        try:
            for _ in range(15):
                some = choice.sample(keys, choice.randint(2, 4))
                with user.lock_many(some, wait=30):
                    inside.append(set(some))
                    assert sum(len(one) for one in inside) == len(set().union(*inside))
                    inside.remove(set(some))
        except BaseException as error:
            errors.append(error)

    threads = [
        threading.Thread(target=work, args=(n, (client, other)[n % 2]))
        for n in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []
    assert inside == []


def test_cancel_ends_a_wait(client, other, name):
    lock, seen = client.lock_many(names(name)), []

    def work():
        try:
            lock.acquire()
        except interlock.Error as error:
            seen.append(type(error))

    with other.lock(names(name)[0]):
        thread = threading.Thread(target=work)
        thread.start()
        threading.Timer(0.2, lock.cancel).start()
        thread.join(5)
    assert seen == [interlock.CancelledError]


def test_repr_names_them(client, name):
    assert (
        repr(client.lock_many([name]))
        == f"<interlock.LockMany ['{name}'] not held by this handle>"
    )
