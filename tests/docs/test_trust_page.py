# SPDX-License-Identifier: MIT
"""Each right in docs/trust.md allows as much as its row says, and no more.

Each test has a user with the rights in the row, on a raw connection.
"""

from __future__ import annotations

import contextlib
import math
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import interlock
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "python"))

from attacker import Attacker, entries_of, inbox_of, waiting_lock  # noqa: E402
from support import ReplyError, Server, read_reply, wait_until  # noqa: E402

PAGE = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")
ROWS = {
    right: " ".join(re.findall(r"`([^`]*)`", acl)).replace("\\|", "|").split()
    for right, acl in re.findall(r"^\| ([^|]+) \| ((?:`\+.*?`)) \| ", PAGE, re.M)
}
NAME = "orders:1"
OTHER = "billing:1"
KEY = f"ilk:lock:fence:{{{NAME}}}"
ENDLESS = "while true do end"
TRIED = {}


@pytest.fixture
def server(tmp_path):
    with Server(tmp_path) as running:
        yield running


@pytest.fixture
def client(server):
    with interlock.connect(server.unix_url) as opened:
        yield opened


@pytest.fixture
def other(server):
    with interlock.connect(server.unix_url) as opened:
        yield opened


def row(right):
    """Marks a test of that row, and gives it the user with those rights."""

    def mark(function):
        TRIED[right] = function
        return pytest.mark.parametrize("user", [right], indirect=True)(function)

    return mark


@pytest.fixture
def user(server, request):
    rights = ROWS[request.param]
    made = Attacker(server, "resetkeys", "resetchannels", "-@all", *rights)
    yield made
    made.close()


def refused(user, *words):
    """Servers differ in what they say when a script calls a command."""
    with pytest.raises(ReplyError, match=r"NOPERM|ACL failure|can't (run|access)"):
        user.call(*words)
    return True


def test_each_row_is_tried():
    assert set(TRIED) == set(ROWS)


@row("read the name")
def test_a_token_alone_is_of_no_use(user, client):
    lock = client.lock(NAME)
    assert lock.acquire(timeout=0)
    assert user.call("GET", NAME) == lock.token.encode()
    assert user.call("PTTL", NAME) > 0
    assert refused(user, "DEL", NAME)
    assert refused(user, "GET", KEY)
    assert refused(user, "EVALSHA", "0" * 40, 1, NAME)


@row("read `ilk:*` of the name")
def test_a_reader_sees_entries_and_changes_nothing(user, server, client, other):
    assert other.lock(NAME).acquire(timeout=0)
    lock, thread, got = waiting_lock(client, NAME)
    fields = user.call("HGETALL", KEY)
    assert b"fence" in fields[::2]
    entry = user.call("ZRANGE", f"ilk:lock:wait:{{{NAME}}}", 0, -1)[0].decode()
    assert entry.split(" ")[3:5] == entries_of(server, "lock", NAME)[0][3:5]
    assert refused(user, "ZRANGE", f"ilk:lock:wait:{{{OTHER}}}", 0, -1)
    assert refused(user, "DEL", KEY)
    assert refused(user, "GET", NAME)
    other.break_lock(NAME)
    thread.join()
    assert got == [True]
    assert lock.release()


@row("write the name")
def test_a_writer_of_the_name_breaks_and_takes_it(user, client, other):
    lock, news = client.lock(NAME, ttl=1.5), client.notifications()
    assert lock.acquire(timeout=0)

    assert user.call("DEL", NAME) == 1
    with other.lock(NAME) as second:
        assert second.fence > lock.fence
        assert news.get(timeout=30).kind == "lock_lost"
        assert not lock.held

    assert user.call("SET", NAME, "for ever") == "OK"
    assert client.lock(NAME).acquire(timeout=0) is False
    assert refused(user, "HSET", KEY, "fence", "1")
    assert refused(user, "SET", OTHER, "x")


@row("write `ilk:*` of the name")
def test_a_writer_of_the_record_stops_grants_until_it_is_deleted(user, client):
    with client.lock(NAME) as lock:
        before = lock.fence
    user.call("HSET", KEY, "fence", "1e308")
    with pytest.raises(interlock.ServerError, match="ILKFENCE"):
        client.lock(NAME).acquire(timeout=0)

    assert user.call("DEL", KEY) == 1
    with client.lock(NAME) as lock:
        assert lock.fence > before
    with client.lock(OTHER):
        assert refused(user, "HSET", f"ilk:lock:fence:{{{OTHER}}}", "fence", "1")
    assert refused(user, "DEL", NAME)

    # a name with a hash tag of its own is covered by its text
    with client.lock("billing{orders:1}"):
        assert user.call("DEL", "ilk:lock:fence=billing{orders:1}") == 1


@row("publish to inboxes")
def test_a_publisher_is_refused_and_counted(user, client, other):
    """tests/python/test_trust.py has what it cannot do."""
    with other.lock(NAME):
        _, thread, _ = waiting_lock(client, NAME)
    thread.join()
    text = f"1 wake x1.0123456789abcdef {NAME}"
    assert user.call("PUBLISH", inbox_of(client), text) == 1
    wait_until(lambda: client.stats().messages_refused == 1)
    assert refused(user, "PUBLISH", f"ilk:signal:{NAME}", "x")
    assert refused(user, "PUBLISH", "redisson_lock__channel:{x}", "0")


@row("publish signals")
def test_a_publisher_of_signals_reaches_listeners_of_patterns_alone(user, client):
    listener, waiter = client.signal(pattern="orders:*"), client.signal(NAME)
    listener.listen()
    waiter.listen()

    text = f"1 notify 1.- id {len(NAME)} {NAME}forged"
    assert user.call("PUBLISH", f"ilk:signal:{NAME}", text) == 1

    assert listener.wait(10) == b"forged"
    assert waiter.wait(0.01) is None
    assert refused(user, "PUBLISH", inbox_of(client), "x")


@row("publish releases of Redisson")
def test_forged_releases_cause_one_claim_at_a_time(user, client, other):
    holder = other.lock(NAME, layout="redisson")
    assert holder.acquire(timeout=0)
    waiter, got = client.lock(NAME, layout="redisson"), []
    thread = threading.Thread(target=lambda: got.append(waiter.acquire(timeout=60)))
    thread.start()
    channel = f"redisson_lock__channel:{{{NAME}}}"
    wait_until(lambda: user.call("PUBLISH", channel, "0") == 1)
    before = client.stats().commands

    user.calls([("PUBLISH", channel, "0")] * 20_000)
    wait_until(lambda: client.stats().bytes_in > 20_000 * len(channel))

    assert client.stats().commands > before
    assert client.stats().commands - before < 10_000
    assert got == []
    assert holder.check() is None
    assert holder.release()
    thread.join()
    assert got == [True]
    assert waiter.release()


WAITER = """
import sys, interlock
client = interlock.connect(sys.argv[1])
signal = client.signal(sys.argv[2])
signal.listen()
print(client.id, flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def dead_waiter(server, name, before_its_death):
    """A process that waits for a signal, and is killed."""
    child = subprocess.Popen(
        [sys.executable, "-c", WAITER, server.unix_url, name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        channel = f"ilk:inbox:{child.stdout.readline().strip()}"
        before_its_death(channel)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdin.close()
        child.stdout.close()
    yield channel


@row("subscribe to an inbox")
def test_a_subscriber_sees_grants_and_counts_as_a_receiver(user, server, client, other):
    holder = other.lock(NAME)
    assert holder.acquire(timeout=0)
    assert refused(user, "PSUBSCRIBE", "ilk:inbox:*")
    user.call("SUBSCRIBE", inbox_of(client))
    lock, thread, _ = waiting_lock(client, NAME)
    to = entries_of(server, "lock", NAME)[0][3]

    assert holder.release()
    thread.join()

    message = read_reply(user.replies)[2].decode().split(" ")
    assert message[:5] == ["1", "grant", to, lock.token, str(lock.fence)]
    assert lock.release()
    subscribers = ("PUBSUB", "NUMSUB")
    with dead_waiter(server, NAME, lambda at: user.call("SUBSCRIBE", at)) as channel:
        wait_until(lambda: server.call(*subscribers, channel)[1] == 1)
        assert client.signal(NAME).notify_one(b"nobody reads this") == 1


@row("subscribe to all inboxes")
def test_a_pattern_shows_all_inboxes(user, client, other):
    assert user.call("PSUBSCRIBE", "ilk:inbox:*")[1] == b"ilk:inbox:*"
    holder = other.lock(NAME)
    assert holder.acquire(timeout=0)
    lock, thread, _ = waiting_lock(client, NAME)
    assert holder.release()
    thread.join()
    assert read_reply(user.replies)[2] == inbox_of(client).encode()
    assert lock.release()


@row("list channels")
def test_channels_show_who_waits(user, client, other):
    with other.lock(NAME):
        assert client.lock(NAME).acquire(timeout=0.05) is False
    inbox = inbox_of(client).encode()
    assert inbox in user.call("PUBSUB", "CHANNELS", "ilk:inbox:*")
    assert refused(user, "SUBSCRIBE", inbox)


@row("list connections")
def test_connections_show_clients_and_no_names(user, client):
    with client.lock(NAME) as lock:
        text = user.call("CLIENT", "LIST").decode()
        assert f"name=interlock-{client.id}" in text
        assert NAME not in text
        assert lock.token not in text


@row("close connections")
def test_closed_connections_are_opened_again_and_make_no_second_holder(
    user, client, other
):
    lock = client.lock(NAME, ttl=30)
    assert lock.acquire(timeout=0)
    before = client.stats().connects
    kill = ("CLIENT", "KILL", "TYPE", "normal")

    for closed in range(1, 5):
        user.call(*kill)
        assert lock.extend(30)
        assert client.stats().connects >= before + closed
    assert other.lock(NAME).acquire(timeout=0) is False

    assert lock.release()
    assert refused(user, "CLIENT", "LIST")


@row("run scripts")
def test_a_script_has_no_further_rights_but_stops_the_server(user, server, client):
    assert refused(user, "EVAL", "return redis.call('TIME')", 0)
    assert refused(user, "EVAL", "return redis.call('GET', ARGV[1])", 0, NAME)
    assert refused(user, "EVAL", "return 1", 1, NAME)
    server.call("CONFIG", "SET", "lua-time-limit", "50")
    ended = []
    thread = threading.Thread(
        target=lambda: ended.append(outcome(user.call, "EVAL", ENDLESS, 0))
    )
    thread.start()
    wait_until(lambda: "BUSY" in str(outcome(server.call, "PING")))

    with pytest.raises(interlock.Error) as caught:
        client.lock(NAME).acquire(timeout=0)

    assert caught.value.status == "ILK_ESERVERBUSY"
    server.call("SCRIPT", "KILL")
    thread.join()
    assert "killed" in str(ended[0])
    with client.lock(NAME):
        pass


def outcome(call, *words):
    try:
        return call(*words)
    except ReplyError as error:
        return error


@row("forget scripts")
def test_forgotten_scripts_are_sent_again(user, client):
    with client.lock(NAME) as lock:
        assert user.call("SCRIPT", "FLUSH") == "OK"
        assert lock.extend(5)
        assert user.call("SCRIPT", "FLUSH") == "OK"
    assert refused(user, "SCRIPT", "KILL")


@row("empty the server")
def test_an_empty_server_has_a_second_holder_with_a_greater_fence(user, client, other):
    lock, news = client.lock(NAME, ttl=6), client.notifications()
    assert lock.acquire(timeout=0)

    assert user.call("FLUSHALL") == "OK"

    second = other.lock(NAME)
    assert second.acquire(timeout=0)
    assert second.fence > lock.fence
    assert news.get(timeout=30).kind == "lock_lost"
    assert second.release()


@row("configure the server")
def test_an_administrator_of_the_server_stops_writes(user, client):
    assert user.call("CONFIG", "SET", "maxmemory", "1") == "OK"
    with pytest.raises(interlock.Error) as caught:
        client.lock(NAME).acquire(timeout=0)
    assert caught.value.status == "ILK_ESERVERMEMORY"


# -- the rest of the page


def test_databases_share_inboxes(server, client, other):
    """A publisher in another database reaches the inbox."""
    publisher = Attacker(
        server, "resetkeys", "resetchannels", "-@all", "+publish", "+select", "&ilk:*"
    )
    with other.lock(NAME):
        assert client.lock(NAME).acquire(timeout=0.05) is False
    assert publisher.call("SELECT", "5") == "OK"
    assert publisher.call("PUBLISH", inbox_of(client), "x") == 1
    wait_until(lambda: client.stats().messages_refused == 1)
    publisher.close()


def test_an_entry_under_another_clients_id_makes_no_proof(server, client, other):
    """A release then publishes to that client, without the secret."""
    holder = other.lock(NAME)
    assert holder.acquire(timeout=0)
    lock, thread, got = waiting_lock(client, NAME)
    wait = f"ilk:lock:wait:{{{NAME}}}"
    to, token = entries_of(server, "lock", NAME)[0][3:5]
    forged = (
        f"1 x {client.id} {to.partition('.')[0]}.0123456789abcdef {token} 3000 1 me"
    )
    server.call("ZADD", wait, "-1", forged)

    assert holder.release()

    wait_until(lambda: client.stats().messages_refused == 1)
    thread.join()  # by a refresh: its token was granted after all
    assert got == [True]
    assert lock.release()


def test_the_bounds_on_the_page_are_the_codes():
    wait_queue = "".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "libcore" / "src" / "wait").glob("*.h")
    )
    most = re.search(r"ILK__GIVING_BACK_MAX = (\d+)", wait_queue)[1]
    assert f"at most {most} grants of waits" in PAGE.replace("\n", " ")
    reply = (ROOT / "libcore/src/redis/reply.h").read_text(encoding="utf-8")
    mib = re.search(r"ILK__REPLY_BYTES = (\d+) \* 1024 \* 1024", reply)[1]
    others = PAGE.count(f"16 bytes to {mib} MiB")  # of another store
    assert PAGE.count(f"{mib} MiB") - others == 2


def test_the_limits_of_announced_addresses_on_the_page_are_the_codes():
    source = ROOT / "libcore"
    cluster = (source / "stores/cluster/cluster_internal.h").read_text(encoding="utf-8")
    sentinel = (source / "src/redis/sentinel.c").read_text(encoding="utf-8")

    def numbers(code):
        pair = (r"NEW_AT_ONCE = (\d+)", r"NEW_EACH_MS = (\d+)")
        return [int(re.search(one, code)[1]) for one in pair]

    assert numbers(cluster) == [512, 1000]
    assert "512 new addresses at once, then one in a second" in PAGE
    assert numbers(sentinel) == [16, 10_000]
    assert "16 new addresses at once, then one in 10 s" in PAGE


def test_a_pattern_for_reading_alone_allows_no_inspect(server, client):
    if int(server.call("INFO", "server").decode().split("redis_version:")[1][0]) < 7:
        pytest.skip("patterns with %R came with Redis 7")
    looks = [
        "-@all",
        "+@connection",
        "+@read",
        "+@scripting",
        "+time",
        "+client|setname",
    ]
    for pattern, allowed in (("~*", True), ("%R~*", False)):
        server.call("ACL", "SETUSER", "looks", "reset", "on", ">pw", *looks, pattern)
        url = f"unix://looks:pw@{server.socket}"
        with interlock.connect(url) as observer, contextlib.ExitStack() as stack:
            if not allowed:
                stack.enter_context(pytest.raises(interlock.AuthError))
            assert observer.inspect(NAME).fence == 0


def test_no_part_of_a_key_is_in_the_pattern_of_another_name(server, client):
    """A key of a kv or a store, and a request id, may be anything."""
    part = b"{billing:prices}/100%"
    client.kv("orders:kv").put(part, b"1")
    client.store("orders:store").run(lambda txn: txn.__setitem__(part, b"1"))
    client.queue("orders:queue").push(b"x", once=part)

    assert client.kv("orders:kv").get(part).value == b"1"
    assert client.store("orders:store").run(lambda txn: txn.get(part)) == b"1"
    assert server.call("KEYS", "ilk:*{orders:*")
    assert not server.call("KEYS", "ilk:*{billing:*")


def test_the_limits_of_zookeeper_on_the_page_are_the_codes():
    folder = ROOT / "libcore" / "stores" / "zookeeper"
    code = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.[ch]"))

    def number(name):
        factors = re.search(rf"\b{name} = ([\d *]+)", code)[1].split("*")
        return math.prod(int(one) for one in factors)

    frame = number("ILK__ZK_FRAME_MOST") // 2**20
    assert f"a frame of {number('ILK__ZK_HEAD')} bytes to {frame} MiB" in PAGE
    assert f"{number('ILK__ZK_CHILDREN_MOST'):,} children of a node" in PAGE
    assert f"{number('ILK__ZK_ACL_MOST'):,} entries in the access list" in PAGE
    assert number("DECIDED_MOST_MS") == 3600 * 1000
    assert f"a session of {number('DECIDED_LEAST_MS')} ms to an hour" in PAGE
    assert f"a password of {number('ILK__ZK_PASSWORD')} bytes" in PAGE
    assert f"{number('FINISH_MS') / 1000} s for the answers under way" in PAGE
