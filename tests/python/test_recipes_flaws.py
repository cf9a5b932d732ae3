# SPDX-License-Identifier: MIT
"""Each flaw of the well-known functions, triggered; and the same with ours.

The first half of a test drives the function on redis-py, as documents.py has
it, through the schedule of docs/recipes.md. The second half gives ours the
same one.
"""

from __future__ import annotations

import os
import threading
import time

import documents
import interlock
import pytest
from documents import Candidate, run, step
from interlock import recipes
from support import wait_until

redis = pytest.importorskip("redis", reason="the recipes are not tried: no redis-py")


@pytest.fixture
def conn(url):
    with redis.from_url(url) as opened:
        yield opened


@pytest.fixture
def r(client, name):
    return recipes.bind(client, master=name)


def finish(steps):
    """The rest of a function that was stopped."""
    return run(steps)


# -- the fair semaphore


def test_turn_and_insertion_are_two_transactions(conn, client, name):
    late = documents.acquire_fair_semaphore(conn, name, 1)
    step(late)
    early = run(documents.acquire_fair_semaphore(conn, name, 1))
    assert early and finish(late)  # two, and one is the limit

    conn.delete(name, name + ":owner", name + ":counter")
    mine = [recipes.acquire_fair_semaphore(client, name, 1) for _ in range(2)]
    assert mine[0] and mine[1] is None


def test_many_at_once_get_as_many_permits_as_there_are(client, name):
    got, start = [], threading.Barrier(8)

    def ask():
        start.wait()
        for _ in range(20):
            got.append(recipes.acquire_fair_semaphore(client, name, 3))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([one for one in got if one]) == 3


def test_a_clock_that_is_ahead_throws_holders_out(conn, client, name, monkeypatch):
    def ahead():
        return time.time() + 60

    assert run(documents.acquire_fair_semaphore(conn, name, 1))
    assert run(documents.acquire_fair_semaphore(conn, name, 1, clock=ahead))

    conn.delete(name, name + ":owner", name + ":counter")
    assert recipes.acquire_fair_semaphore(client, name, 1)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 60)
    assert recipes.acquire_fair_semaphore(client, name, 1) is None


def test_a_refresh_that_comes_too_late_is_a_holder_for_a_moment(conn, client, name):
    late = documents.refresh_fair_semaphore(conn, name, "gone")
    step(late)  # and dies here
    assert conn.zscore(name, "gone") is not None

    conn.delete(name)
    assert recipes.refresh_fair_semaphore(client, name, "gone") is False
    assert conn.exists(name) == 0


def test_clients_that_count_after_inserting_may_all_be_refused(conn, client, name):
    both = [documents.acquire_counting_semaphore(conn, name, 1) for _ in range(2)]
    for one in both * 2:
        step(one)  # both insert, both count two
    assert [finish(one) for one in both] == [None, None]

    mine = [recipes.acquire_fair_semaphore(client, name, 1) for _ in range(2)]
    assert [bool(one) for one in mine] == [True, False]


def test_a_holder_that_dies_is_counted_for_ever(conn, client, name):
    assert run(documents.acquire_counting_semaphore(conn, name, 1))  # and dies
    much_later = time.time() + 1e9
    again = documents.acquire_counting_semaphore(conn, name, 1, lambda: much_later)
    assert run(again) is None

    conn.delete(name + ":owner")
    assert recipes.acquire_fair_semaphore(client, name, 1)
    assert recipes.acquire_fair_semaphore(client, name, 1, timeout=0.2) is None
    wait_until(lambda: recipes.acquire_fair_semaphore(client, name, 1, timeout=0.2))


# -- the master


def test_a_master_that_dies_before_expire_leaves_none_for_ever(conn, client, name):
    step(Candidate(conn, name).master())  # INCR, and dies
    others = [Candidate(conn, name) for _ in range(3)]
    assert not any(run(other.master()) for other in others)
    assert conn.ttl(name) == -1

    mine = recipes.bind(client, master=name, tenure=1)
    assert mine.master() is False
    assert 0 < conn.pttl(name) <= 1000
    wait_until(mine.master, 5)
    assert 0 < conn.pttl(name) <= 1000


def test_an_overrun_master_goes_on_beside_the_next(conn, client, other, name):
    old, new = Candidate(conn, name), Candidate(conn, name)
    assert run(old.master())
    conn.delete(name)  # its tenure is over
    assert run(new.master())
    assert run(old.master()) and run(new.master())  # two

    conn.delete(name)
    mine, next_one = (recipes.bind(one, master=name) for one in (client, other))
    assert mine.master()
    conn.delete(name)
    assert next_one.master()
    assert mine.master() is False
    assert next_one.master() is True


def test_a_client_that_is_bound_twice_is_two_candidates(url, conn, name):
    old, new = (recipes.bind(url, master=name) for _ in range(2))
    assert old.master() and not new.master()
    conn.delete(name)
    assert new.master()
    assert [old.master(), new.master()] == [False, True]


def test_losers_help_an_overrun_master_of_many_tenures(conn, client, other, name):
    old, new, loser = (Candidate(conn, name) for _ in range(3))
    for _ in range(4):
        assert run(old.master())
    conn.delete(name)
    assert run(new.master())
    for _ in range(3):
        assert not run(loser.master())
    assert run(old.master())  # its 4 is not above the losers' count

    conn.delete(name)
    mine, next_one = (recipes.bind(one, master=name) for one in (client, other))
    third = recipes.bind(interlock.connect(client.url), master=name)
    for _ in range(4):
        assert mine.master()
    conn.delete(name)
    assert next_one.master()
    assert not any(third.master() for _ in range(3))
    assert mine.master() is False
    assert int(conn.get(name)) == 1  # a loser counts nothing


def test_a_forked_child_is_a_second_master(conn, r, name):
    parent = Candidate(conn, name)
    assert run(parent.master())
    child = Candidate(conn, name)
    child.selector = parent.selector  # what a fork copies
    assert run(child.master()) and run(parent.master())

    conn.delete(name)
    assert r.master()
    pid = os.fork()
    if pid == 0:
        os._exit(int(r.master()))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert r.master()


# -- queues


def test_lrem_with_two_arguments_removes_nothing(conn, r, name):
    conn.lpush(name, "a")
    conn.rpoplpush(name, name + ":cache")
    with pytest.raises(TypeError):
        conn.lrem(name + ":cache", 1)  # as it is printed
    assert conn.lrange(name + ":cache", 0, -1) == [b"a"]

    conn.delete(name + ":cache")
    conn.lpush(name, "a")
    assert r.safe_fifo_pop(name, name + ":cache") == b"a"
    assert conn.lrange(name + ":cache", 0, -1) == []


def test_a_late_lrem_removes_the_next_delivery(conn, r, name):
    cache = name + ":cache"
    conn.lpush(name, "a")
    late = documents.safe_fifo_pop(conn, name, cache)
    step(late)
    conn.rpoplpush(cache, name)  # somebody takes it for dead
    step(documents.safe_fifo_pop(conn, name, cache))  # the next one works on it
    finish(late)
    assert conn.llen(cache) == 0  # and if that one dies now, it is lost

    conn.lpush(name, "a")

    def slow(msg):
        assert r.safe_fifo_restore(name, cache) == 1
        with pytest.raises(ZeroDivisionError):
            r.safe_fifo_pop(name, cache, handle=lambda msg: 1 / 0)

    assert r.safe_fifo_pop(name, cache, handle=slow) == b"a"
    assert conn.lrange(cache, 0, -1) == [b"a"]


def test_two_read_the_same_delayed_task_before_either_removes_it(conn, client, name):
    conn.zadd(name, {"task": 1})
    both = [documents.delayed_queue_pop(conn, name) for _ in range(2)]
    for one in both:
        step(one)
    assert [finish(one) for one in both] == [[b"task"], [b"task"]]

    conn.zadd(name, {"task": 1})
    popped = [recipes.delayed_queue_pop(client, name) for _ in range(2)]
    assert popped == [[b"task"], []]


def test_a_worker_that_dies_after_blpop_takes_its_job_along(
    conn, client, run_child, name
):
    jobs = []
    conn.rpush(name, '["work", [1]]')
    step(documents.worker_step(conn, name, {"work": jobs.append}))  # and dies
    assert conn.llen(name) == 0 and jobs == []

    conn.rpush(name, '["work", [2]]')
    child = run_child(
        "import os, sys, time\n"
        "from interlock import recipes\n"
        "def work(number):\n"
        "    print('begun', flush=True)\n"
        "    time.sleep(60)\n"
        "url, name = os.environ['TEST_URL'], sys.argv[1]\n"
        "recipes.worker_watch_queue(url, name, {'work': work})\n",
        name,
    )
    assert child.stdout.readline() == "begun\n"
    child.kill()
    child.wait()
    consumers = f"ilk:recipes:consumers:{{{name}}}"
    dead = conn.zrange(consumers, 0, -1)[0]
    conn.zadd(consumers, {dead: 0})  # the seconds that it had to show up are over
    recipes.worker_watch_queue(
        client, name, {"work": jobs.append}, quit=lambda: bool(jobs)
    )
    assert jobs == [2]


def test_a_callback_that_raises_takes_its_job_along(conn, client, name):
    bad, dead = '["divide", [1, 0]]', f"ilk:recipes:dead:{{{name}}}"
    calls = {"divide": lambda a, b: a / b}
    conn.rpush(name, bad)
    with pytest.raises(ZeroDivisionError):
        run(documents.worker_step(conn, name, calls))
    assert conn.llen(name) == 0

    conn.rpush(name, bad)
    with pytest.raises(ZeroDivisionError):
        recipes.worker_watch_queue(client, name, calls)
    assert conn.lrange(dead, 0, -1) == [bad.encode()]


# -- the lock's release


def test_get_then_delete_deletes_anothers_lock(conn, client, name):
    key = "lock:" + name
    conn.set(key, "mine", px=60000)
    late = documents.release_lock(conn, name, "mine")
    step(late)
    conn.set(key, "another's")  # the lease ran out, and somebody took it
    finish(late)
    assert conn.exists(key) == 0

    mine = recipes.acquire_lock(client, name)
    conn.set(key, "another's")
    assert recipes.release_lock(client, name, mine) is False
    assert conn.get(key) == b"another's"


# -- signals


def start_waiting(r, channel, *ids):
    """Threads that wait for one signal each, and the signals they receive."""
    heard = []
    threads = [
        threading.Thread(target=lambda i=i: heard.append(r.wait_single(channel, i, 10)))
        for i in ids
    ]
    for thread in threads:
        thread.start()
    return threads, heard


def test_a_waiter_that_has_its_signal_is_chosen_again(conn, r, name):
    first = documents.wait(conn, name + ":1")
    step(first)
    assert documents.signal_single(conn, name + ":", "a") == 1
    step(first)  # it has its message, and is about to close
    assert documents.signal_single(conn, name + ":", "b") == 1
    assert finish(first)["data"] == b"a"  # nobody has b, and 1 has returned

    threads, heard = start_waiting(r, name + ";", "1")
    wait_until(lambda: conn.pubsub_channels(name + ";*"))
    assert [r.signal_single(name + ";", data) for data in "ab"] == [1, 0]
    threads[0].join()
    assert [one["data"] for one in heard] == [b"a"]


def test_a_signal_of_the_other_kind_to_the_same_waiter_is_passed_on(conn, r, name):
    threads, heard = start_waiting(r, name + ":", "1")
    wait_until(lambda: conn.pubsub_channels(name + ":1"))
    more = conn.pipeline(True)  # both before it can leave
    more.publish(name + ":1", "a")
    more.publish(name + ":1", "b")
    others, heard_too = start_waiting(r, name + ":", "2")
    wait_until(lambda: conn.pubsub_channels(name + ":2"))
    assert more.execute() == [1, 1]
    for thread in (*threads, *others):
        thread.join()
    assert [one["data"] for one in heard + heard_too] == [b"a", b"b"]


def test_a_prefix_is_no_pattern(conn, r, name):
    ears = conn.pubsub()
    ears.subscribe(name + ":x1")
    assert ears.get_message(timeout=5)["type"] == "subscribe"
    assert documents.signal_single(conn, name + ":[xyz]", "a") == 1

    assert r.signal_single(name + ":[xyz]", "a") == 0
    assert r.signal_single(name + ":", "a") == 1
    ears.close()
