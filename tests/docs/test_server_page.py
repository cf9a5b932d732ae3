# SPDX-License-Identifier: MIT
"""The rights in docs/server.md are enough, and each of them is needed."""

from __future__ import annotations

import contextlib
import re
import sys
import threading
from pathlib import Path

import interlock
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "python"))

from support import Server, wait_until  # noqa: E402

PAGE = (ROOT / "docs" / "server.md").read_text(encoding="utf-8")
LOCKS = re.search(r"<!-- acl: locks -->\n```\n(.*?)```", PAGE, re.DOTALL)[1].split()
EXTRAS = {
    purpose: " ".join(re.findall(r"`([^`]*)`", rights)).replace("\\|", "|").split()
    for purpose, rights in re.findall(r"^\| ([^|]+) \| (`[+&].*) \|$", PAGE, re.M)
}
NAME = "orders"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("rights")) as running:
        yield running


def connect(server, rights, query=""):
    server.call("FLUSHALL")
    server.call("SCRIPT", "FLUSH")  # EVAL is for servers that know no script yet
    server.call("ACL", "SETUSER", "limited", "reset", "on", ">pw", *rights)
    url = server.unix_url.replace("unix://", "unix://limited:pw@")
    return interlock.connect(url + query)


def take(lock):
    try:
        return lock.acquire(timeout=1)
    except interlock.Error as error:
        return error


def hand_over(client, holder, waiter):
    """The waiter gets what the holder, who holds already, gives up."""
    got = []
    thread = threading.Thread(target=lambda: got.append(take(waiter)))
    thread.start()
    wait_until(lambda: client.stats().waiting == 1 or got)
    assert holder.release()
    thread.join()
    assert got == [True]
    assert waiter.release()


def use_lock(client):
    first, second = client.lock(NAME), client.lock(NAME)
    assert first.acquire(timeout=0)
    hand_over(client, first, second)
    assert first.acquire(timeout=0)
    assert first.extend(5)
    assert second.acquire(timeout=0.02) is False
    assert second.adopt(first.detach())
    assert client.break_lock(NAME)
    assert second.release() is False
    with client.lock_many([NAME, NAME + "2"]):
        pass


def use_readers(client):
    table, other = client.rwlock(NAME), client.rwlock(NAME)
    assert table.read.acquire(timeout=0)
    assert other.read.acquire(timeout=0)
    assert table.read.extend(5)
    assert table.write.acquire(timeout=0.02) is False
    assert other.read.release()
    hand_over(client, table.read, table.write)


def use_locks(client, server):
    """All verbs of locks, one of them with a line of the dead behind it."""
    use_lock(client)
    use_readers(client)
    with client.lock(NAME):
        for place in range(65):
            entry = f"1 x dead x{place} token{place} 1000 1 somebody"
            server.call("ZADD", f"ilk:lock:wait:{{{NAME}}}", place, entry)


def works(server, rights, use, query=""):
    try:
        with connect(server, rights, query) as client:
            use(client, server)
    except (interlock.Error, AssertionError):
        return False
    return True


def test_the_rights_for_locks_are_enough(server):
    with connect(server, LOCKS) as client:
        use_locks(client, server)


@pytest.mark.parametrize("right", [r for r in LOCKS if r[0] in "+&~"])
def test_each_right_for_locks_is_needed(server, right):
    less = [other for other in LOCKS if other != right]

    assert not works(server, less, use_locks)


def test_a_missing_right_is_named(server):
    client = connect(server, [*LOCKS, "-evalsha"])
    with client, pytest.raises(interlock.AuthError, match="evalsha"):
        client.lock(NAME).acquire(timeout=0)


def test_other_names_are_refused(server):
    with connect(server, LOCKS) as client, pytest.raises(interlock.AuthError):
        client.lock("others").acquire(timeout=0)


def test_the_keys_can_be_narrowed(server):
    assert "`~ilk:*{orders*`" in PAGE
    narrow = ["~ilk:*{orders*" if right == "~ilk:*" else right for right in LOCKS]
    with connect(server, narrow) as client:
        use_locks(client, server)


def look(client, server):
    with client.lock(NAME):
        assert client.inspect(NAME).state == "held"
    with client.rwlock(NAME).read:
        assert client.inspect(NAME).readers == 1
    server.call("HSET", NAME, "owner", "1")
    assert client.inspect(NAME).state == "redisson"


def use_list(client, _):
    assert client.ls() == []


def use_ping(client, _):
    assert client.ping()


def use_guard(client, _):
    interlock.guard.set(client, NAME, "x", 7)
    assert interlock.guard.get(client, NAME).value == b"x"
    interlock.guard.remove(client, NAME)


def use_semaphore(client, server):
    first, second = (client.semaphore(NAME, 2, permits=2) for _ in range(2))
    assert first.acquire(timeout=0)
    assert first.extend(5)
    hand_over(client, first, second)
    assert first.acquire(timeout=0, ttl=0.5)
    assert first.detach()  # not renewed: somebody else takes it off the books
    assert second.acquire(timeout=10)
    client.semaphore(NAME, 2).set_limit(3)
    assert client.inspect_semaphore(NAME).limit == 3


def use_election(client, server):
    first, second = (client.election(NAME, identity="i") for _ in range(2))
    assert first.campaign(timeout=0)
    assert first.renew(5)
    assert first.proclaim(b"v")
    assert first.proclaim(b"")
    assert second.campaign(timeout=0)
    assert list(second.observe(timeout=0.1, vacant=True))
    hand_over(client, second, client.election(NAME))
    assert second.leader() is None


def use_states(client, _):
    event, woken = client.event(NAME), []

    def wait():
        with contextlib.suppress(interlock.Error):
            woken.append(event.wait(timeout=1))

    thread = threading.Thread(target=wait)
    thread.start()
    wait_until(lambda: client.stats().waiting == 1 or not thread.is_alive())
    for _ in range(200):  # one of sixteen removes old requests
        event.set(b"x")
    thread.join()
    assert woken == [True]
    assert event.read().data == b"x"
    event.clear()
    assert event.wait(timeout=0.01) is False
    register = client.register(NAME)
    assert register.cas(register.set(b"x"), b"y")
    assert register.delete()
    assert register.set(b"z")
    assert register.wait(0) == register.get()
    assert client.latch(NAME, 1).count_down() == 0
    assert client.barrier(NAME, 1).wait(timeout=1) == 0


def use_store(client, _):
    store = client.store(NAME)
    for number in range(200):  # one of sixteen removes old transactions
        with store.transaction() as t:
            assert t.get("a") == (b"%d" % (number - 1) if number else None)
            t["a"] = b"%d" % number
    assert store.outcome(t.txid) == "committed"
    with store.transaction() as t:
        del t["a"]


def use_kv(client, _):
    kv = client.kv(NAME)
    assert kv.put("a", b"x") < kv.put("a", b"y")
    for _ in range(200):  # one of sixteen removes old requests
        kv.put("a", b"y")
    assert kv.get("a").value == b"y"
    assert kv.delete("a")
    assert kv.get("a") is None
    assert [step.done for step in client.kv_move()] == [True]


def use_group(client, server):
    group = client.group(NAME)
    changes = group.watch(timeout=1)
    assert next(changes).members == {}
    with interlock.connect(server.unix_url) as other:
        seen = []
        thread = threading.Thread(target=lambda: seen.append(take_change(changes)))
        thread.start()
        key = f"ilk:group:wait:{{{NAME}}}"
        wait_until(lambda: server.call("ZCARD", key) or not thread.is_alive())
        member = group.join("a")
        thread.join()
        assert seen == [{"a": b""}]
        assert other.group(NAME).members() == {"a": b""}
    member.update(b"x")
    assert group.members() == {"a": b"x"}
    assert member.leave()


def take_change(changes):
    with contextlib.suppress(interlock.Error, StopIteration):
        return next(changes).members


def use_signal(client, server):
    first, second = client.signal(NAME), client.signal(NAME)
    assert first.wait(0.01) is None
    first.listen()
    assert second.notify_one(b"x") == 1
    assert first.wait(1) == b"x"
    first.listen()
    assert second.notify_all(b"y") == 1
    assert first.wait(1) == b"y"
    assert interlock.wait_any([first, client.signal(NAME + "2")], 0.01) is None
    entries, counts = [], []  # of more clients than one call signals to
    for number in range(150):
        entries += [number + 1, f"2 s dead{number} s1.5ec - 1000 1 host"]
        counts += [f"2 dead{number}", "1 5ec"]
    server.call("ZADD", f"ilk:signal:wait:{{{NAME}}}", *entries)
    server.call("HSET", f"ilk:signal:crowd:{{{NAME}}}", *counts)
    assert second.notify_all(b"z") == 0


def use_pattern(client, server):
    listener = client.signal(pattern=NAME + ".*")
    listener.listen()
    with interlock.connect(server.unix_url) as giver:
        sent = giver.signal(NAME + ".a")
        assert sent.notify_all(b"x") == 1
        assert listener.wait(1) == b"x"
        wait_until(lambda: sent.notify_all() == 0, 1)


def use_queue(client, server):
    queue, pile = client.queue(NAME), client.queue(NAME + "2", order="filo")
    for each in (queue, pile):
        each.push_many([b"a", b"b"])
        assert each.reserve().nack()
        with each.reserve(lease=5) as job:
            assert job.attempts == 2
            assert job.extend(5)
        assert each.reserve().bury("why")
        assert each.requeue() == 1
        assert each.peek()[0].data in (b"a", b"b")
        assert each.inspect().returned == 1
        assert each.pop() in (b"a", b"b")
        each.push(b"c", delay=0.01)
        assert each.pop(timeout=1) == b"c"
        each.push(b"d")
        assert each.purge() == 1


def use_name(client, server):
    client.lock(NAME).acquire(timeout=0)
    assert f"name=interlock-{client.id}" in server.call("CLIENT", "LIST").decode()


def use_redisson(client, _):
    first, second = (client.lock(NAME, layout="redisson") for _ in range(2))
    assert first.acquire(timeout=0)
    assert first.extend(5)
    hand_over(client, first, second)


USES = {
    "`inspect`": (look, ""),
    "`ls`": (use_list, ""),
    "`ping`": (use_ping, ""),
    "guarded writes": (use_guard, ""),
    "semaphores": (use_semaphore, ""),
    "elections": (use_election, ""),
    "events, barriers, latches, registers": (use_states, ""),
    "stores": (use_store, ""),
    "replicated values": (use_kv, ""),
    "groups": (use_group, ""),
    "signals": (use_signal, ""),
    "listening to a pattern of signals": (use_pattern, ""),
    "queues": (use_queue, ""),
    "a database other than 0": (use_locks, "?db=3"),
    "names of connections under RESP2": (use_name, "?protocol=2"),
    '`layout="redisson"`': (use_redisson, ""),
}


# A refresh that fails is tried again, and hands on no signals of dead processes.
UNNOTICED = {"+hkeys"}


@pytest.mark.parametrize("purpose", USES)
def test_further_rights_are_enough_and_each_is_needed(server, purpose):
    use, query = USES[purpose]
    extra = EXTRAS[purpose]

    assert works(server, [*LOCKS, *extra], use, query)
    for right in set(extra) - UNNOTICED:
        less = [other for other in extra if other != right]
        assert not works(server, [*LOCKS, *less], use, query), right


def test_each_line_of_the_table_is_tried():
    assert set(USES) == set(EXTRAS)
