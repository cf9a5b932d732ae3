# SPDX-License-Identifier: MIT
"""The documents' functions, with the functions themselves on the other side."""

from __future__ import annotations

import os
import time
import uuid

import interlock
import pytest
from interlock.recipes import acquire_lock, release_lock

redis = pytest.importorskip("redis", reason="the recipes are not tried: no redis-py")

# The well-known functions, as programs carry them around.
TUTORIAL = """
import os, sys, time, uuid, redis
conn = redis.from_url(os.environ["TEST_URL"])
def acquire_lock(conn, lockname, acquire_timeout=10):
    identifier = str(uuid.uuid4())
    end = time.time() + acquire_timeout
    while time.time() < end:
        if conn.setnx("lock:" + lockname, identifier):
            return identifier
        time.sleep(.001)
    return False
def release_lock(conn, lockname, identifier):
    pipe = conn.pipeline(True)
    key = "lock:" + lockname
    while True:
        try:
            pipe.watch(key)
            if (pipe.get(key) or b"").decode() == identifier:
                pipe.multi()
                pipe.delete(key)
                pipe.execute()
                return True
            pipe.unwatch()
            return False
        except redis.exceptions.WatchError:
            pass
"""


@pytest.fixture(params=["client", "url", "redis"])
def conn(request, client, url):
    return {"client": client, "url": url, "redis": redis.from_url(url)}[request.param]


def test_acquire_answers_an_identifier_and_release_true(conn, client, server, name):
    identifier = acquire_lock(conn, name)

    assert isinstance(identifier, str)
    assert server.call("GET", f"lock:{name}").decode() == identifier
    assert acquire_lock(conn, name, acquire_timeout=0.01) is False
    assert release_lock(conn, name, identifier) is True
    assert release_lock(conn, name, identifier) is False
    assert server.call("EXISTS", f"lock:{name}") == 0


def test_a_wrong_identifier_releases_nothing(conn, server, name):
    identifier = acquire_lock(conn, name)

    assert release_lock(conn, name, str(uuid.uuid4())) is False
    assert release_lock(conn, name + "x", identifier) is False
    assert server.call("EXISTS", f"lock:{name}") == 1
    assert release_lock(conn, name, identifier.encode()) is True


def test_an_identifier_of_another_process_releases(client, run_child, name):
    child = run_child(
        "import os, sys; from interlock.recipes import *;"
        "from interlock.recipes import acquire_lock;"
        "print(acquire_lock(os.environ['TEST_URL'], sys.argv[1]), flush=True);"
        "sys.stdin.read()",
        name,
    )
    identifier = child.stdout.readline().strip()

    assert release_lock(client, name, identifier) is True
    assert acquire_lock(client, name, 0) is not False


def test_the_timeout_is_kept(client, name, took):
    assert acquire_lock(client, name)
    with took(0.19, 0.5):
        assert acquire_lock(client, name, acquire_timeout=0.2) is False


def test_the_lease_ends_with_the_process(client, run_child, server, name):
    child = run_child(
        "import os, sys; from interlock.recipes import acquire_lock;"
        "print(acquire_lock(os.environ['TEST_URL'], sys.argv[1]), flush=True);"
        "sys.stdin.read()",
        name,
    )
    assert child.stdout.readline().strip() != "False"

    assert 0 < server.call("PTTL", f"lock:{name}") <= 30000


def test_both_kinds_exclude_each_other(client, run_child, name):
    child = run_child(
        TUTORIAL + "name = sys.argv[1]\n"
        "for line in sys.stdin:\n"
        "    print(eval(line), flush=True)\n",
        name,
    )

    def ask(expression):
        child.stdin.write(expression + "\n")
        child.stdin.flush()
        return child.stdout.readline().strip()

    theirs = ask("acquire_lock(conn, name)")
    assert acquire_lock(client, name, 0.05) is False
    assert client.inspect(f"lock:{name}").state == "foreign"
    assert ask(f"release_lock(conn, name, {theirs!r})") == "True"
    ours = acquire_lock(client, name, 1)
    assert ask("acquire_lock(conn, name, 0.05)") == "False"
    assert ask(f"release_lock(conn, name, {theirs!r})") == "False"
    assert ask(f"release_lock(conn, name, {ours!r})") == "True"
    assert release_lock(client, name, ours) is False


def test_mixed_processes_count_right(client, run_child, server, name):
    code = (
        "for _ in range(40):\n"
        "    identifier = acquire_lock(conn, name, 60)\n"
        "    count = int(raw.get(name + ':count') or 0)\n"
        "    time.sleep(0.0005)\n"
        "    raw.set(name + ':count', count + 1)\n"
        "    assert release_lock(conn, name, identifier)\n"
    )
    ours = (
        "import os, sys, time, redis\n"
        "from interlock.recipes import acquire_lock, release_lock\n"
        "conn = raw = redis.from_url(os.environ['TEST_URL'])\n"
        "name = sys.argv[1]\n"
    )
    theirs = TUTORIAL + "raw, name = conn, sys.argv[1]\n"

    children = [run_child(head + code, name) for head in (ours, theirs) * 2]
    for child in children:
        child.stdin.close()
        assert child.wait(60) == 0

    assert server.call("GET", f"{name}:count") == b"160"


def test_a_forked_child_releases_by_the_identifier(client, name):
    identifier = acquire_lock(client, name)
    pid = os.fork()
    if pid == 0:
        os._exit(0 if release_lock(client, name, identifier) is True else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert release_lock(client, name, identifier) is False


def test_a_closed_client_is_opened_anew(url, name):
    first = interlock._client_lookup.client_for(url)
    first.close()
    assert acquire_lock(url, name, 1)
    assert interlock._client_lookup.client_for(url) is not first


def test_a_value_that_is_no_connection_is_a_type_error(name):
    with pytest.raises(TypeError, match=r"interlock.Client, a URL or a redis.Redis"):
        acquire_lock(42, name)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("redis://h", "redis://h:6379/0"),
        ("redis://h:1/2", "redis://h:1/2"),
        ("redis://:p%40ss@h", "redis://:p%40ss@h:6379/0"),
        ("redis://me:p%2F@h", "redis://me:p%2F@h:6379/0"),
        ("redis://[::1]:7", "redis://[::1]:7/0"),
        ("unix:///run/r%20s.sock?db=3", "unix:///run/r%20s.sock?db=3"),
        ("unix://me:pw@/run/s", "unix://me:pw@/run/s?db=0"),
        (
            "rediss://h?ssl_ca_certs=/ca.pem&ssl_certfile=/c.pem&ssl_keyfile=/k.pem",
            "rediss://h:6379/0?ca=%2Fca.pem&cert=%2Fc.pem&key=%2Fk.pem",
        ),
    ],
)
def test_the_url_of_a_redis_py_pool(given, expected):
    pool = redis.ConnectionPool.from_url(given)

    assert interlock._client_lookup.url_of(pool) == expected


def test_a_connection_class_of_ones_own_keeps_what_it_extends(server):
    class Ours(redis.SSLConnection):
        pass

    class Followed(redis.sentinel.SentinelManagedSSLConnection):
        pass

    pool = redis.ConnectionPool(connection_class=Ours, host="h", ssl_ca_certs="/ca")
    assert interlock._client_lookup.url_of(pool) == "rediss://h:6379/0?ca=%2Fca"
    sentinel = redis.Sentinel([("127.0.0.1", server.port)])
    pool = redis.sentinel.SentinelConnectionPool("mymaster", sentinel, ssl=True)
    pool.connection_class = Followed
    with pytest.raises(interlock.InvalidError, match="a Followed names no single"):
        interlock._client_lookup.url_of(pool)


def test_waiting_does_not_poll(client, url, name, waiting):
    identifier = acquire_lock(client, name)
    before = int(redis.from_url(url).info()["total_commands_processed"])
    began = time.monotonic()
    assert acquire_lock(url, name, acquire_timeout=0.5) is False
    after = int(redis.from_url(url).info()["total_commands_processed"])

    assert time.monotonic() - began >= 0.5
    assert after - before < 40
    assert release_lock(client, name, identifier)
