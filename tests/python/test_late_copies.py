# SPDX-License-Identifier: MIT
"""The first copy of a repeated request arrives late: the server refuses it.

For each verb that changes something: a proxy takes its command and cuts the
client off, the client repeats the request on a new connection and is answered,
then the proxy delivers the first copy.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import interlock
import interlock.aio
import pytest
from late_proxy import LateProxy
from support import wait_until


@pytest.fixture
def proxy(server):
    with LateProxy(server.socket) as between:
        yield between


@pytest.fixture
def cut_off(proxy):
    """A client whose connections go through the proxy."""
    with interlock.connect(proxy.url) as client:
        yield client


def lock_acquire(client, name):
    return client.lock(name).acquire


def lock_release(client, name):
    lock = client.lock(name)
    lock.acquire()
    return lock.release


def lock_extend(client, name):
    lock = client.lock(name, renew=False)
    lock.acquire()
    return lambda: lock.extend(2)


def lock_break(client, name):
    client.lock(name, renew=False).acquire()
    return lambda: client.break_lock(name)


def reader_acquire(client, name):
    return client.rwlock(name).read.acquire


def reader_release(client, name):
    reader = client.rwlock(name).read
    reader.acquire()
    return reader.release


def many_acquire(client, name):
    return client.lock_many([name, name + "2"]).acquire


def many_extend(client, name):
    many = client.lock_many([name, name + "2"], renew=False)
    many.acquire()
    return lambda: many.extend(2)


def many_release(client, name):
    many = client.lock_many([name, name + "2"])
    many.acquire()
    return many.release


def redisson_acquire(client, name):
    return client.lock(name, layout="redisson").acquire


def redisson_release(client, name):
    lock = client.lock(name, layout="redisson")
    lock.acquire()
    return lock.release


def semaphore_acquire(client, name):
    return client.semaphore(name, 2).acquire


def semaphore_extend(client, name):
    semaphore = client.semaphore(name, 2, renew=False)
    semaphore.acquire()
    return lambda: semaphore.extend(2)


def semaphore_release(client, name):
    semaphore = client.semaphore(name, 2)
    semaphore.acquire()
    return semaphore.release


def semaphore_limit(client, name):
    semaphore = client.semaphore(name, 2)
    return lambda: semaphore.set_limit(5) or True


def election_campaign(client, name):
    return client.election(name).campaign


def election_renew(client, name):
    election = client.election(name)
    election.campaign()
    return lambda: election.renew(2)


def election_proclaim(client, name):
    election = client.election(name)
    election.campaign()
    return lambda: election.proclaim(b"new") or True


def election_break(client, name):
    client.election(name, renew=False).campaign()
    return lambda: client.break_election(name)


def election_resign(client, name):
    election = client.election(name)
    election.campaign()
    return election.resign


def signal_one(client, name):
    return lambda: client.signal(name).notify_one(b"x") == 0


def signal_all(client, name):
    return lambda: client.signal(name).notify_all(b"x") == 0


def event_set(client, name):
    return lambda: client.event(name).set() or True


def event_clear(client, name):
    client.event(name).set()
    return lambda: client.event(name).clear() or True


def latch_count_down(client, name):
    return lambda: client.latch(name, 3).count_down() == 2


def latch_reset(client, name):
    return lambda: client.latch(name, 3).reset() or True


def barrier_reset(client, name):
    return lambda: client.barrier(name, 2).reset() or True


def group_join(client, name):
    return lambda: client.group(name).join("a").held


def group_update(client, name):
    member = client.group(name).join("a")
    return lambda: member.update(b"x") or True


def group_leave(client, name):
    return client.group(name).join("a").leave


def register_set(client, name):
    return lambda: client.register(name).set(b"v")


def register_cas(client, name):
    register = client.register(name)
    version = register.set(b"v")
    return lambda: register.cas(version, b"w")


def register_delete(client, name):
    client.register(name).set(b"v")
    return lambda: client.register(name).delete()


def store_commit(client, name):
    def commit():
        with client.store(name).transaction() as t:
            t["a"] = b"1"
        return True

    return commit


def kv_put(client, name):
    return lambda: client.kv(name).put("a", b"v")


def kv_delete(client, name):
    client.kv(name).put("a", b"v")
    return lambda: client.kv(name).delete("a")


def guard_set(client, name):
    return lambda: interlock.guard.set(client, name, b"v", 7) or True


def guard_get(client, name):
    interlock.guard.set(client, name, b"v", 7)
    return lambda: interlock.guard.get(client, name, 8).value == b"v"


def guard_remove(client, name):
    interlock.guard.set(client, name, b"v", 7)
    return lambda: interlock.guard.remove(client, name) or True


def queue_push(client, name):
    return lambda: client.queue(name).push(b"m")


def queue_reserve(client, name):
    queue = client.queue(name)
    queue.push(b"m")
    return lambda: queue.reserve().data == b"m"


def queue_purge(client, name):
    queue = client.queue(name)
    queue.push(b"m")
    return lambda: queue.purge() == 1


def reserved(client, name, lease=30.0):
    queue = client.queue(name)
    queue.push(b"m")
    return queue.reserve(lease=lease)


def job_ack(client, name):
    return reserved(client, name).ack


def job_nack(client, name):
    return reserved(client, name).nack


def job_bury(client, name):
    job = reserved(client, name)
    return lambda: job.bury("no")


def job_extend(client, name):
    job = reserved(client, name)
    return lambda: job.extend(2)


def queue_requeue(client, name):
    queue = client.queue(name)
    queue.push(b"m")
    queue.reserve().bury("no")
    return lambda: queue.requeue() == 1


VERBS = [
    *(lock_acquire, lock_release, lock_extend, lock_break),
    *(reader_acquire, reader_release, many_acquire, many_extend, many_release),
    *(redisson_acquire, redisson_release),
    *(semaphore_acquire, semaphore_extend, semaphore_release, semaphore_limit),
    *(election_campaign, election_renew, election_proclaim, election_resign),
    election_break,
    *(signal_one, signal_all, event_set, event_clear),
    *(latch_count_down, latch_reset, barrier_reset),
    *(group_join, group_update, group_leave),
    *(register_set, register_cas, register_delete),
    *(store_commit, kv_put, kv_delete),
    *(guard_set, guard_get, guard_remove),
    *(queue_push, queue_reserve, queue_purge, queue_requeue),
    *(job_ack, job_nack, job_bury, job_extend),
]


@pytest.mark.parametrize("protocol", ["", "?protocol=2"])
@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__)
def test_a_late_copy_is_refused(proxy, name, verb, protocol):
    with interlock.connect(proxy.url + protocol) as client:
        run = verb(client, name)
        proxy.keep_next()

        assert run()

        assert proxy.was_kept.is_set()
        assert not proxy.deliver()


def test_a_pop_is_never_repeated_and_never_late(proxy, cut_off, name):
    queue = cut_off.queue(name)
    queue.push(b"m")
    proxy.keep_next()

    with pytest.raises(interlock.UnknownOutcomeError):
        queue.pop()

    assert queue.size() == 1
    assert not proxy.deliver()
    assert queue.size() == 1


def test_a_late_copy_of_a_started_request_is_refused(proxy, name):
    async def main():
        async with interlock.aio.connect(proxy.url) as client:
            lock = client.lock(name, renew=False)
            await lock.acquire()
            proxy.keep_next()
            assert await lock.extend(2)
            assert await asyncio.to_thread(proxy.deliver) is False

    asyncio.run(main())


def test_a_late_renewal_is_refused(proxy, cut_off, name):
    lock = cut_off.lock(name, ttl=1.5)
    lock.acquire()
    renewals = cut_off.stats().renewals
    proxy.keep_next()

    wait_until(lambda: cut_off.stats().renewals > renewals)

    assert proxy.was_kept.is_set()
    assert not proxy.deliver()
    assert lock.held


def test_a_late_shorter_extend_leaves_one_holder(proxy, cut_off, other, server, name):
    lock = cut_off.lock(name, renew=False)
    lock.acquire()
    proxy.keep_next()
    assert lock.extend(1)
    assert lock.extend(30)

    proxy.deliver()

    assert server.call("PTTL", name) > 20_000
    assert lock.remaining() > 20
    assert not other.lock(name).acquire(timeout=1.5)


def test_a_late_acquire_takes_nothing_from_the_next(proxy, cut_off, other, name):
    lock = cut_off.lock(name)
    proxy.keep_next()
    assert lock.acquire()
    assert lock.release()

    proxy.deliver()

    assert other.lock(name).acquire(timeout=0)


@pytest.mark.parametrize("timeout", [0, 10])
def test_a_repeat_that_is_refused_gives_back_what_the_first_copy_took(
    proxy, cut_off, server, name, timeout
):
    many = cut_off.lock_many([name, name + "2"], ttl=600)
    with many:  # the server has the scripts then
        pass
    proxy.lose_next_reply()
    proxy.accepts = False  # until the first name is lost and taken by another
    with ThreadPoolExecutor(1) as pool:
        acquired = pool.submit(many.acquire, timeout=timeout)
        assert proxy.was_kept.wait(10)
        assert server.call("EXISTS", name, name + "2") == 2
        server.call("SET", name, "another")

        proxy.accepts = True

        wait_until(lambda: server.call("EXISTS", name + "2") == 0)
        server.call("DEL", name)
        assert acquired.result() == (timeout > 0)


def test_a_late_write_overwrites_nothing(proxy, cut_off, name):
    proxy.keep_next()
    interlock.guard.set(cut_off, name, b"old", 7)
    interlock.guard.set(cut_off, name, b"new", 7)

    proxy.deliver()

    assert interlock.guard.get(cut_off, name, 7).value == b"new"


RIGHTS = [
    *("resetkeys", "~*", "resetchannels", "&ilk:inbox:*", "-@all", "+evalsha", "+eval"),
    *("+get", "+set", "+del", "+exists", "+pttl", "+pexpire", "+time", "+publish"),
    *("+hmget", "+hset", "+client|setname", "+client|list", "+client|kill"),
]


@pytest.mark.parametrize("protocol", ["3", "2"])
def test_the_rights_that_the_page_names_are_enough(server, proxy, name, protocol):
    number = ["+client|id"] if protocol == "2" else []
    server.call("ACL", "SETUSER", "meek", "reset", "on", ">pw", *RIGHTS, *number)
    try:
        url = proxy.url.replace("unix://", "unix://meek:pw@")
        with interlock.connect(f"{url}?protocol={protocol}") as client:
            lock = client.lock(name, renew=False)
            proxy.keep_next()
            assert lock.acquire()
            assert not proxy.deliver()
    finally:
        server.call("ACL", "DELUSER", "meek")


def test_without_the_right_to_close_it_is_repeated_all_the_same(server, proxy, name):
    server.call(
        "ACL", "SETUSER", "meek", "on", ">pw", "~*", "&*", "+@all", "-client|kill"
    )
    try:
        url = proxy.url.replace("unix://", "unix://meek:pw@")
        with interlock.connect(url) as client:
            lock = client.lock(name)
            proxy.keep_next()
            assert lock.acquire()
            assert proxy.deliver()  # as docs/safety.md says
            assert lock.release()
    finally:
        server.call("ACL", "DELUSER", "meek")
