# SPDX-License-Identifier: MIT
"""A signal that was counted is not lost with the process or the connection that
it was sent to."""

from __future__ import annotations

import signal
from threading import Thread

import interlock
import pytest
from support import patience, wait_until

WAIT_ONCE = """
import interlock, os, sys
with interlock.connect(os.environ["TEST_URL"]) as client:
    print(client.signal(sys.argv[1]).wait(timeout=60))
"""


@pytest.fixture
def entries(server, name):
    """How many wait for the signal, in the order in which they came."""
    return lambda: int(server.call("ZCARD", f"ilk:signal:wait:{{{name}}}"))


@pytest.fixture
def connections(server):
    """The ids of all connections, without the one that looks."""

    def ids():
        lines = server.call("CLIENT", "LIST").decode().splitlines()
        fields = [dict(f.split("=", 1) for f in line.split()) for line in lines]
        return {f["id"] for f in fields if f["cmd"] != "client|list"}

    return ids


@pytest.fixture
def frozen(run_child, entries, name):
    """A process that waits first, and is stopped."""
    child = run_child(WAIT_ONCE, name)
    wait_until(lambda: entries() == 1, patience(10))
    child.send_signal(signal.SIGSTOP)
    return child


def test_the_next_waiter_gets_what_a_killed_process_had(frozen, client, entries, name):
    survivor = client.signal(name)
    survivor.listen()
    assert entries() == 2
    with interlock.connect(client.url) as sender:
        assert sender.signal(name).notify_one(b"work") == 1

    frozen.kill()

    assert survivor.wait(timeout=patience(20)) == b"work"


def test_a_frozen_process_gets_it_over_new_connections(
    server, client, connections, entries, run_child, name
):
    sender = client.signal(name)
    before = connections()
    child = run_child(WAIT_ONCE, name)
    wait_until(lambda: entries() == 1, patience(10))
    child.send_signal(signal.SIGSTOP)

    assert sender.notify_one(b"work") == 1
    for number in connections() - before:
        server.call("CLIENT", "KILL", "ID", number)
    child.send_signal(signal.SIGCONT)

    assert child.stdout.readline() == "b'work'\n"
    given = f"ilk:signal:given:{{{name}}}"
    wait_until(lambda: server.call("EXISTS", given) == 0, patience(10))


def test_a_signal_is_given_once_to_each_of_many(client, other, name):
    threads, rounds = 8, 25
    sender = other.signal(name)
    received = []

    def wait_often():
        own = client.signal(name)
        for _ in range(rounds):
            received.append(own.wait(timeout=patience(20)))

    waiters = [Thread(target=wait_often) for _ in range(threads)]
    for waiter in waiters:
        waiter.start()
    sent = 0
    while sent < threads * rounds:
        sent += sender.notify_one(b"%d" % sent)
    for waiter in waiters:
        waiter.join()

    assert sorted(int(data) for data in received) == list(range(sent))
