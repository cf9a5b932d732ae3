# SPDX-License-Identifier: MIT
"""Clients of a service whose primary is killed, frozen or replaced.

docs/topologies.md has the promises, docs/safety.md what a failover costs. The time
from Sentinel's own switch to the next acquire is printed (`pytest -s`), not asserted.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import subprocess
import threading
import time

import interlock
import pytest
from interlock import aio, recipes
from ports import free_port
from sentinel_service import ROOT, Service
from server_programs import has_tls
from support import patience, wait_until

FAILOVERS = ["kill", "freeze", "ask"]


def fail_over(service, how):
    """Begin a failover; returns the primary that is to be left."""
    old = service.primary()
    if how == "kill":
        old.kill()
    elif how == "freeze":
        old.freeze()
    else:
        assert service.sentinels[0].call("SENTINEL", "FAILOVER", "mymaster") == "OK"
    return old


def is_on_all(service, key, value):
    """Both replicas have the key: a failover does not lose it."""
    wanted = value.encode()
    return all(server.call("GET", key) == wanted for server in service.servers)


def await_replicas(service, name):
    """They have all that was written until now."""
    service.primary().call("SET", name + ":written", "1")
    wait_until(lambda: is_on_all(service, name + ":written", "1"))


def in_thread(function):
    """Run it in a thread; the list gets its result."""
    results = []
    thread = threading.Thread(target=lambda: results.append(function()), daemon=True)
    thread.start()
    return results


def next_acquire(service, client, name, how, since):
    """Acquire at once; print how long after the switch the new primary has the lock.

    After SENTINEL FAILOVER the old primary goes on for a moment, so it may be there
    that it is acquired.
    """
    end = time.monotonic() + patience(10)
    while True:
        lock = client.lock(name, ttl=10)
        assert lock.acquire(timeout=patience(10))
        taken = time.monotonic()
        if service.primary().call("GET", name) == lock.token.encode():
            break
        assert how in ("ask", "and back") and taken < end
        # It finds out that it is lost, or gives it up; the old primary may not reply.
        with contextlib.suppress(interlock.UnknownOutcomeError):
            lock.extend()
            if lock.held:
                lock.release()
    print(f"\n{how}: acquired {1000 * (taken - since):.0f} ms after the switch")
    return lock


@pytest.mark.parametrize("how", FAILOVERS)
def test_holds_and_waits_go_on_at_the_next_primary(service, name, how):
    url = service.url()
    with interlock.connect(url) as one, interlock.connect(url) as two:
        held = one.lock(name, ttl=8)
        assert held.acquire()
        wait_until(lambda: is_on_all(service, name, held.token))
        waiter = two.lock(name, ttl=8)
        entered = in_thread(lambda: waiter.acquire(timeout=patience(60)))
        wait_until(lambda: two.stats().waiting == 1)

        old = fail_over(service, how)
        since = service.await_switch(old)
        next_acquire(service, two, name + ":next", how, since)

        assert held.held and held.extend(20)
        held.check()
        assert service.primary().call("GET", name) == held.token.encode()
        assert not entered
        first = held.fence
        assert held.release()
        wait_until(lambda: entered, 20)
        assert entered == [True] and waiter.fence > first
        assert waiter.release()
        assert one.stats().losses == 0


@pytest.mark.parametrize("how", FAILOVERS)
def test_a_renewed_hold_lives_longer_than_its_lease(service, name, how):
    with interlock.connect(service.url()) as client:
        held = client.lock(name, ttl=6)
        assert held.acquire()
        wait_until(lambda: is_on_all(service, name, held.token))
        service.await_switch(fail_over(service, how))
        renewals = client.stats().renewals
        wait_until(lambda: client.stats().renewals >= renewals + 3, 20)
        assert held.held
        assert service.primary().call("PTTL", name) > 1000
        assert held.release()


@pytest.mark.parametrize("how", FAILOVERS)
def test_tasks_and_queues_go_on(service, name, how):
    async def main():
        async with aio.connect(service.url()) as client:
            held = client.lock(name, ttl=8)
            assert await held.acquire()
            queue = client.queue(name)
            await queue.push(b"before")
            await wait_for(lambda: is_on_all(service, name, held.token))
            waiter = client.lock(name, ttl=8)
            entering = asyncio.create_task(waiter.acquire(patience(60)))
            first = await queue.reserve(patience(5))
            reading = asyncio.create_task(queue.reserve(patience(60)))
            await wait_for(lambda: client.stats().waiting == 2)
            await asyncio.to_thread(await_replicas, service, name)

            old = await asyncio.to_thread(fail_over, service, how)
            since = await asyncio.to_thread(service.await_switch, old)
            other = client.lock(name + ":next", ttl=10)
            assert await other.acquire(patience(10))
            print(f"\n{how}: {1000 * (time.monotonic() - since):.0f} ms, asyncio")

            await queue.push(b"after")
            job = await asyncio.wait_for(reading, patience(20))
            assert job.data == b"after"
            assert await job.ack() and await first.ack()
            assert await held.release()
            assert await asyncio.wait_for(entering, patience(20))
            assert waiter.fence > 0
            assert await waiter.release()

    async def wait_for(condition):
        await asyncio.to_thread(wait_until, condition)

    asyncio.run(main())


def test_a_lease_shorter_than_the_failover_is_lost_at_its_deadline(service, name):
    with interlock.connect(service.url()) as client:
        news = client.notifications()
        held = client.lock(name, ttl=0.6)
        assert held.acquire()
        old = fail_over(service, "freeze")
        notification = news.get(timeout=patience(3))
        assert notification.kind == "lock_lost" and notification.lock is held
        assert not held.held and held.remaining() == 0
        service.await_switch(old)
        next_acquire(service, client, name, "lost lease", time.monotonic())


def test_a_blocked_consumer_goes_on(service, name):
    """Its dedicated connection blocks in BLMOVE on the primary that becomes a replica."""
    with (
        interlock.connect(service.url()) as client,
        recipes.Consumer(client, [name]) as consumer,
    ):
        taken = in_thread(lambda: consumer.pop(timeout=patience(30)))
        old = service.primary()
        wait_until(lambda: "cmd=blmove" in old.call("CLIENT", "LIST").decode())
        service.await_switch(fail_over(service, "ask"))
        wait_until(lambda: old.is_replica(), 40)
        service.primary().call("RPUSH", name, "message")
        wait_until(lambda: taken, 20)
        assert taken == [(name.encode(), b"message")]
        assert consumer.done()


@pytest.mark.parametrize("how", FAILOVERS)
def test_the_former_primary_comes_back_as_a_replica(service, name, how):
    """A to B and back to A, with one client all the time."""
    with interlock.connect(service.url()) as client:
        first = fail_over(service, how)
        since = service.await_switch(first)
        lock = next_acquire(service, client, name, how, since)
        fence = lock.fence
        if how == "kill":
            first.start()
        first.thaw()
        wait_until(lambda: first.is_replica(), 40)
        wait_until(lambda: first.call("ROLE")[3] == b"connected", 20)

        # The other replica must not be chosen.
        second = service.primary()
        for server in service.servers:
            if server not in (first, second):
                server.call("CONFIG", "SET", "replica-priority", "0")
        service.promote(first)
        since = service.await_switch(second)
        assert service.primary() is first
        assert lock.release()
        assert next_acquire(service, client, name, "and back", since).fence > fence


def test_a_primary_that_became_a_replica_is_an_outage(service, name):
    """No sentinel knows of another one, and the connection stays open."""
    primary = service.primary()
    (replica, *_) = [server for server in service.servers if server is not primary]
    with interlock.connect(service.url()) as client:
        lock = client.lock(name)
        assert client.ping() >= 0
        primary.call("REPLICAOF", "127.0.0.1", str(replica.port))
        back = threading.Timer(1.0, primary.call, ["REPLICAOF", "NO", "ONE"])
        back.start()
        try:
            with pytest.raises(
                interlock.ConnectionError, match="unreachable|READONLY|write"
            ):
                lock.acquire(timeout=0)
            assert lock.acquire(timeout=30)
            assert lock.release()
        finally:
            back.join()
            primary.call("REPLICAOF", "NO", "ONE")


def test_two_primaries_at_once(service, name):
    """The old primary and one sentinel are cut off with a client, then healed.

    A frozen sentinel stands for one that no news reach. The page says: exclusion is lost, the one on
    the old side finds out when it is healed, and the fences differ.
    """
    cut, *others = service.sentinels
    old = service.primary()
    inside = f"redis+sentinel://127.0.0.1:{cut.port}/mymaster"
    outside = ",".join(f"127.0.0.1:{s.port}" for s in others)
    with (
        interlock.connect(f"redis+sentinel://{outside}/mymaster") as majority,
        interlock.connect(inside) as minority,
    ):
        news = minority.notifications()
        before = minority.lock(name, ttl=30)
        assert before.acquire()
        wait_until(lambda: is_on_all(service, name, before.token))
        assert before.release()
        wait_until(lambda: all(not s.call("EXISTS", name) for s in service.servers))

        cut.freeze()
        old.freeze()
        service.await_switch(old)
        # The frozen server executes what was sent to it as soon as it is thawed.
        next_acquire(service, majority, name + ":late", "freeze", time.monotonic())
        theirs = majority.lock(name, ttl=30)
        assert theirs.acquire(timeout=patience(10))
        old.thaw()  # Sentinel leaves it a primary for 8 s
        ours = minority.lock(name, ttl=30)
        assert ours.acquire(timeout=patience(5))

        # Both are sure of it: exclusion needs one primary.
        assert ours.held and theirs.held
        assert old.call("GET", name) == ours.token.encode()
        assert len({before.fence, ours.fence, theirs.fence}) == 3
        assert before.fence < min(ours.fence, theirs.fence)

        cut.thaw()
        wait_until(lambda: old.is_replica(), 40)
        notification = news.get(timeout=patience(30))
        assert notification.lock is ours and not ours.held
        theirs.check()
        assert theirs.held and theirs.extend(30)
        assert service.primary().call("GET", name) == theirs.token.encode()


def test_a_hold_that_no_replica_has_is_lost(service, name):
    """Replication is asynchronous: two handles are sure until the first one asks."""
    old = service.primary()
    with (
        interlock.connect(service.url()) as client,
        interlock.connect(service.url()) as second,
    ):
        news = client.notifications()
        before = client.lock(name, ttl=60)
        assert before.acquire() and before.release()
        wait_until(lambda: all(not s.call("EXISTS", name) for s in service.servers))
        service.cut_replication()
        ours = client.lock(name, ttl=60)
        assert ours.acquire()
        assert not service.servers[1].call("EXISTS", name)
        old.kill()
        service.await_switch(old)
        theirs = second.lock(name, ttl=60)
        assert theirs.acquire(timeout=patience(10))
        assert ours.held and theirs.held
        assert before.fence < min(ours.fence, theirs.fence)
        assert ours.fence != theirs.fence

        assert ours.extend(60) is False
        assert news.get(timeout=patience(5)).lock is ours
        theirs.check()
        assert not ours.held and theirs.held


@pytest.mark.parametrize("wrong", ["dead", "server", "frozen", "stranger"])
def test_a_wrong_sentinel_comes_first(service, name, wrong):
    if wrong == "dead":
        first = f"127.0.0.1:{free_port()}"
    elif wrong == "server":
        first = f"127.0.0.1:{service.servers[1].port}"
    elif wrong == "frozen":
        service.sentinels[0].freeze()
        first = f"127.0.0.1:{service.sentinels[0].port}"
    else:
        service.sentinels[0].call("SENTINEL", "REMOVE", "mymaster")
        first = f"127.0.0.1:{service.sentinels[0].port}"
    with interlock.connect(service.url(first=[first])) as client:
        assert client.lock(name, ttl=5).acquire()
        begun = time.monotonic()
        assert client.lock(name + "2", ttl=5).acquire()
        assert time.monotonic() - begun < patience(0.5)
        if wrong == "dead":  # and a failover as well
            next_acquire(
                service,
                client,
                name + "3",
                "kill",
                service.await_switch(fail_over(service, "kill")),
            )


def test_without_a_sentinel_only_open_connections_go_on(service, name):
    url = service.url()
    with interlock.connect(url) as client:
        lock = client.lock(name, ttl=3)
        assert lock.acquire()
        wait_until(lambda: client.stats().renewals)  # the keeper's connection is open
        for sentinel in service.sentinels:
            sentinel.kill()
        renewals = client.stats().renewals
        wait_until(lambda: client.stats().renewals > renewals, 10)
        assert lock.release()
        with pytest.raises(interlock.ConnectionError, match="no sentinel says"):
            interlock.connect(url)


def test_sentinels_have_a_password_of_their_own(tmp_path, name):
    secret, wrong = tmp_path / "secret", tmp_path / "wrong"
    secret.write_text("sesame\n")
    wrong.write_text("barley\n")
    with Service(sentinel_password="sesame") as service:
        query = "?sentinel_password_file="
        with pytest.raises(interlock.AuthError, match="NOAUTH"):
            interlock.connect(service.url())
        with pytest.raises(interlock.AuthError, match="WRONGPASS") as failed:
            interlock.connect(service.url(query=f"{query}{wrong}"))
        assert "barley" not in str(failed.value)
        with interlock.connect(service.url(query=f"{query}{secret}")) as client:
            assert "sesame" not in client.url
            held = client.lock(name, ttl=8)
            assert held.acquire()
            wait_until(lambda: is_on_all(service, name, held.token))
            since = service.await_switch(fail_over(service, "freeze"))
            next_acquire(service, client, name + ":next", "freeze, password", since)
            assert held.release()


def test_sentinels_have_users_with_few_rights(service, name, tmp_path, caplog):
    """The rights are those of the page; news of a switch arrive with them."""
    page = (ROOT / "docs" / "topologies.md").read_text(encoding="utf-8")
    rights = re.search(r"<!-- acl: sentinels -->\n```\n(.*?)```", page, re.DOTALL)
    assert rights
    secret = tmp_path / "secret"
    secret.write_text("sesame\n")
    for sentinel in service.sentinels:
        rule = ["reset", "on", ">sesame", *rights[1].split()]
        assert sentinel.call("ACL", "SETUSER", "watch", *rule) == "OK"
    caplog.set_level(logging.INFO, logger="interlock")
    query = f"?sentinel_user=watch&sentinel_password_file={secret}"
    with interlock.connect(service.url(query=query)) as client:
        held = client.lock(name, ttl=8)
        assert held.acquire()
        wait_until(lambda: is_on_all(service, name, held.token))
        wait_until(lambda: client.stats().renewals)
        since = service.await_switch(fail_over(service, "freeze"))
        next_acquire(service, client, name + ":next", "few rights", since)
        wait_until(lambda: "sentinel: the primary of mymaster is" in caplog.text)
        assert "no news of switches" not in caplog.text
        assert held.release()


@pytest.mark.skipif(not has_tls(), reason="the server was built without TLS")
def test_all_of_it_over_tls(name):
    with Service(tls=True) as service:
        with pytest.raises(interlock.ConnectionError, match="certificate"):
            interlock.connect(
                service.url().replace(str(service.certificates.trusted), "/etc/ssl")
            )
        with interlock.connect(service.url()) as client:
            held = client.lock(name, ttl=8)
            assert held.acquire()
            wait_until(lambda: is_on_all(service, name, held.token))
            wait_until(lambda: client.stats().renewals)
            since = service.await_switch(fail_over(service, "freeze"))
            next_acquire(service, client, name + ":next", "TLS", since)
            assert held.extend(8) and held.release()


def test_databases_are_those_of_the_servers(service, name):
    with interlock.connect(service.url(db=3)) as client:
        held = client.lock(name, ttl=8)
        assert held.acquire()
        assert service.primary().call("GET", name) is None


def test_the_command_takes_such_a_url(service, name):
    command = [ROOT / "build" / "release" / "bin" / "interlock", "lock"]
    done = subprocess.run(
        [*command, "--url", service.url(), name, "--", "echo", "held"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "held\n"), done.stderr
