# SPDX-License-Identifier: MIT
"""Names, arguments, answers, keys and formats: those that everybody knows."""

from __future__ import annotations

import concurrent.futures
import os
import signal
import threading
import time
import uuid

import interlock
import pytest
from interlock import recipes
from interlock.recipes import acquire_lock, release_lock
from support import patience, wait_until

redis = pytest.importorskip("redis", reason="the recipes are not tried: no redis-py")


@pytest.fixture(params=["client", "url", "redis"])
def conn(request, client, url):
    return {"client": client, "url": url, "redis": redis.from_url(url)}[request.param]


def test_values_are_what_redis_py_would_send_and_show(client, url, server, name):
    r = recipes.bind(redis.from_url(url, decode_responses=True))
    for value in ("ä", b"\xc3\xb6", 7, 2.5, bytearray(b"x"), memoryview(b"y")):
        r.fifo_push(name, value)
    assert [r.fifo_pop(name) for _ in range(7)] == [
        *("ä", "ö", "7", "2.5", "x", "y", None)
    ]
    recipes.delayed_queue_push(client, name, "ä", -1)
    assert recipes.delayed_queue_pop(redis.from_url(url), name) == ["ä".encode()]
    for wrong in (None, True, ["x"], {}):
        with pytest.raises(TypeError):
            r.fifo_push(name, wrong)
    assert server.call("EXISTS", name) == 0


def test_text_is_in_the_encoding_of_the_pool(url, server, name):
    conn, key = redis.from_url(url, encoding="utf-16-le", decode_responses=True), "ä"
    raw = (name + key).encode("utf-16-le")
    r = recipes.bind(conn)
    r.fifo_push(name + key, "ö")
    assert server.call("LRANGE", raw, 0, -1) == ["ö".encode("utf-16-le")]
    with recipes.Consumer(conn, [name + key]) as consumer:
        assert consumer.pop(5) == (name + key, "ö")
        assert consumer.done()
    permit = recipes.acquire_fair_semaphore(conn, name + key, 1)
    assert server.call("ZCARD", raw) == 1
    assert recipes.refresh_fair_semaphore(conn, name + key, permit)
    assert recipes.release_fair_semaphore(conn, name + key, permit) == 1
    identifier = recipes.acquire_lock(conn, name + key)
    assert server.call("EXISTS", f"lock:{name}{key}".encode("utf-16-le")) == 1
    assert recipes.release_lock(conn, name + key, identifier)


def test_a_lock_that_was_not_acquired_is_released_by_nobody(conn, name):
    identifier = recipes.acquire_lock(conn, name)
    missed = recipes.acquire_lock(conn, name, acquire_timeout=0.01)

    assert missed is False
    assert recipes.release_lock(conn, name, missed) is False
    assert recipes.release_lock(conn, name, identifier) is True


def test_pushes_return_nothing_and_pops_none_from_nothing(conn, name):
    r = recipes.bind(conn)
    for push, pop in (
        (r.fifo_push, r.fifo_pop),
        (r.filo_push, r.filo_pop),
        (r.safe_fifo_push, lambda q: r.safe_fifo_pop(q, q + ":cache")),
        (
            lambda q, data: recipes.fifo_queue_push(conn, q, data),
            lambda q: recipes.fifo_queue_pop(conn, q),
        ),
    ):
        assert push(name, "a") is None
        assert pop(name) == b"a"
        assert pop(name) is None


def test_orders(conn, name):
    r = recipes.bind(conn)
    for data in "abc":
        r.fifo_push(name, data)
    assert [r.filo_pop(name), r.fifo_pop(name), r.fifo_pop(name)] == [b"c", b"a", b"b"]


def take_under_the_lock(conn, name, limit):
    """A permit; the lock is waited for 10 ms, which a busy machine may exceed."""
    taken = []
    wait_until(
        lambda: (
            taken.append(recipes.acquire_semaphore_with_lock(conn, name, limit))
            or taken[-1]
        )
    )
    return taken[-1]


def test_permits_are_as_the_document_keeps_them(conn, server, name):
    first = recipes.acquire_fair_semaphore(conn, name, 2)
    assert str(uuid.UUID(first)) == first and uuid.UUID(first).version == 4
    second = take_under_the_lock(conn, name, 2)
    assert recipes.acquire_fair_semaphore(conn, name, 2) is None
    assert recipes.acquire_fair_semaphore(conn, name, 0) is None
    score = float(server.call("ZSCORE", name, first))
    assert abs(score - time.time()) < 60
    assert server.call("ZSCORE", name + ":owner", first) == b"1"
    assert recipes.refresh_fair_semaphore(conn, name, second) is True
    assert recipes.release_fair_semaphore(conn, name, first.encode()) == 1
    assert recipes.release_fair_semaphore(conn, name, first) == 0
    assert recipes.refresh_fair_semaphore(conn, name, first) is False
    assert server.call("ZCARD", name) == server.call("ZCARD", name + ":owner") == 1


def test_the_lock_keeps_the_guarded_semaphore_shut(client, name):
    identifier = acquire_lock(client, name)
    assert recipes.acquire_semaphore_with_lock(client, name, 9) is None
    release_lock(client, name, identifier)
    # It has 10 ms for its lock.
    wait_until(lambda: recipes.acquire_semaphore_with_lock(client, name, 9))
    assert acquire_lock(client, name, 0) is not False


def test_the_master_counts_its_tenures(conn, client, other, server):
    mine, others = recipes.bind(conn), recipes.bind(other)
    server.call("DEL", "master_selector", "ilk:recipes:master:{master_selector}")
    assert [mine.master() for _ in range(3)] == [True] * 3
    assert others.master() is False
    assert server.call("GET", "master_selector") == b"3" and mine.local_selector == 3
    assert 0 < server.call("TTL", "master_selector") <= 20
    mine.local_selector = 0  # its work took longer than a tenure
    assert mine.master() is False
    server.call("DEL", "master_selector", "ilk:recipes:master:{master_selector}")


def test_threads_are_one_candidate(client, server, name):
    r = recipes.bind(client, master=name, tenure=600)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert all(pool.map(lambda _: r.master(), range(40)))
    assert server.call("GET", name) == b"40"


def test_wait_answers_as_redis_pys_pubsub(conn, server, name, took):
    r = recipes.bind(conn)
    with took(0.09, 0.5):
        assert r.wait(name, timeout=0.1) is None
    timer = threading.Timer(0.1, lambda: told.append(r.signal_broadcast(name, 5)))
    told = []
    timer.start()
    assert r.wait(name, timeout=10) == {
        "type": "message",
        "pattern": None,
        "channel": name.encode(),
        "data": b"5",
    }
    timer.join()
    assert told == [1]
    assert r.signal_broadcast(name, b"") == r.signal_single(name, None) == 0


def test_ctrl_c_ends_a_wait_and_a_worker_at_once(run_child, server, name):
    for call in (f"recipes.bind(url).wait('{name}')", "watch(url, 'q', {})"):
        child = run_child(
            "import os\nfrom interlock import recipes\n"
            "from interlock.recipes import worker_watch_queue as watch\n"
            "url = os.environ['TEST_URL']\n"
            "print('here', flush=True)\n"
            f"try:\n    {call}\nexcept KeyboardInterrupt:\n    print('ended')\n"
        )
        assert child.stdout.readline() == "here\n"
        time.sleep(0.3)
        began = time.monotonic()
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "ended\n"
        assert time.monotonic() - began < patience(3)


def test_the_worker_calls_names_and_logs_what_it_does_not_know(
    conn, server, name, caplog
):
    done, deep = [], "[" * 200_000
    for job in ('["add", [1, 2]]', '["nobody", []]', "{", "7", deep, '["add", [3, 4]]'):
        server.call("RPUSH", name, job)
    recipes.worker_watch_queue(
        conn, name, {"add": lambda a, b: done.append(a + b)}, quit=lambda: len(done) > 1
    )
    assert done == [3, 7]
    assert "Unknown callback nobody" in caplog.text
    dead = server.call("LRANGE", f"ilk:recipes:dead:{{{name}}}", 0, -1)
    assert dead == [b'["nobody", []]', b"{", b"7", deep.encode()]


def test_quit_of_the_module_ends_the_worker(client, server, name, monkeypatch):
    def last():
        monkeypatch.setattr(recipes, "QUIT", True)

    server.call("RPUSH", name, '["last", []]', '["last", []]')
    recipes.worker_watch_queue(client, name, {"last": last})
    assert server.call("LLEN", name) == 1


def test_the_end_of_the_process_puts_the_job_back(client, server, name):
    def stop():
        raise SystemExit

    server.call("RPUSH", name, '["stop", []]', "next")
    with pytest.raises(SystemExit):
        recipes.worker_watch_queue(client, name, {"stop": stop})
    assert server.call("LRANGE", name, 0, -1) == [b'["stop", []]', b"next"]


def test_a_consumer_sleeps_without_polling(client, server, name):
    with recipes.Consumer(client, [name + ":a", name + ":b"]) as consumer:
        assert consumer.pop(0) is None
        before = commands(server)
        threading.Timer(1, server.call, ("RPUSH", name + ":b", "x")).start()
        assert consumer.pop(20) == ((name + ":b").encode(), b"x")
        assert commands(server) - before < 60
        assert consumer.done() is True


def commands(server):
    text = server.call("INFO", "stats").decode()
    return int(text.partition("total_commands_processed:")[2].split()[0])


def test_a_long_due_list_comes_in_one_answer(client, server, name):
    for first in range(0, 2500, 500):
        pairs = [w for n in range(first, first + 500) for w in (n, f"{n:05}")]
        server.call("ZADD", name, *pairs)
    tasks = recipes.delayed_queue_pop(client, name)
    assert tasks == [f"{n:05}".encode() for n in range(2500)]


def test_each_signal_reaches_one_of_waiters_that_come_and_go(client, name):
    r = recipes.bind(client)
    heard, over = [], threading.Event()

    def wait(number):
        turn = 0
        while not over.is_set():
            message = r.wait_single(name, f".{number}.{turn}", timeout=0.02)
            if message is not None:
                heard.append(message["data"])
            turn += 1

    threads = [threading.Thread(target=wait, args=(n,)) for n in range(12)]
    for thread in threads:
        thread.start()
    sent = []
    end = time.monotonic() + 60
    while len(sent) < 300 and time.monotonic() < end:
        if r.signal_single(name, str(len(sent))):
            sent.append(b"%d" % len(sent))
    time.sleep(0.1)
    over.set()
    for thread in threads:
        thread.join()
    assert len(sent) == 300
    assert sorted(heard) == sorted(sent)


def test_closing_the_client_ends_waits(url, name):
    for wait in (
        lambda conn: recipes.bind(conn).wait(name),
        lambda conn: recipes.Consumer(conn, [name]).pop(),
        lambda conn: recipes.worker_watch_queue(conn, name, {}),
    ):
        conn = interlock.connect(url)
        timer = threading.Timer(0.2, conn.close)
        timer.start()
        with pytest.raises(interlock.ClosedError):
            wait(conn)
        timer.join()


def test_a_consumer_is_its_processs_own(client, server, name):
    consumer = recipes.Consumer(client, [name])
    server.call("RPUSH", name, "a", "b")
    assert consumer.pop(0) == (name.encode(), b"a")
    pid = os.fork()
    if pid == 0:
        try:
            consumer.pop(0)
        except interlock.ForkedError:
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert consumer.done() is True
