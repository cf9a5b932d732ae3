# SPDX-License-Identifier: MIT
"""Keys that a program leaves on the server, for each way in which it can end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import interlock
import pytest
from support import Server, patience, wait_until

# Ends as its third argument says, while it holds.
PROGRAM = """
import asyncio, multiprocessing, os, sys, threading, time
import interlock
from interlock import aio

url, name, end = sys.argv[1:4]

def hold(client):
    lock = client.lock(name, ttl=60)
    assert lock.acquire(5)
    return lock

def plain():
    global client, lock
    client = interlock.connect(url)
    lock = hold(client)

def local():
    client = interlock.connect(url)
    lock = hold(client)

def elected():
    global client, election
    client = interlock.connect(url)
    election = client.election(name)
    assert election.campaign(5)

async def asynchronous():
    global client, lock
    client = await aio.connect(url)
    lock = client.lock(name, ttl=60)
    assert await lock.acquire(5)

def ends_its_child():
    plain()
    child = multiprocessing.get_context("fork").Process(target=sys.exit, args=(0,))
    child.start()
    child.join()
    pid = os.fork()
    if pid == 0:
        sys.exit(0)  # runs what is registered with atexit
    os.waitpid(pid, 0)
    assert client.inspect(name).state == "held"
    lock.check()
    os._exit(0)

ends = {
    "main": lambda: plain(),
    "function": lambda: local(),
    "elected": lambda: elected(),
    "sys.exit": lambda: (plain(), sys.exit(3)),
    "exception": lambda: (plain(), 1 / 0),
    "asyncio": lambda: asyncio.run(asynchronous()),
    "os._exit": lambda: (plain(), os._exit(4)),
    "fork": lambda: ends_its_child(),
    "detached": lambda: (plain(), lock.detach()),
}
ends[end]()
"""


def run(url, name, end):
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-Wignore", "-c", PROGRAM, url, name, end],
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done, time.monotonic() - began


@pytest.mark.parametrize(
    ("end", "status"),
    [("main", 0), ("function", 0), ("sys.exit", 3), ("exception", 1), ("asyncio", 0)],
)
def test_an_orderly_end_gives_back_what_is_held(url, other, name, end, status):
    done, _ = run(url, name, end)

    assert done.returncode == status
    assert done.stderr.count("\n") == 0 or end == "exception"
    assert "ZeroDivisionError" in done.stderr or end != "exception"
    assert other.inspect(name).state == "free"


def test_a_leader_resigns_at_its_orderly_end(url, other, name):
    done, _ = run(url, name, "elected")

    assert (done.returncode, done.stderr) == (0, "")
    assert other.election(name).campaign(0)


@pytest.mark.parametrize(("end", "status"), [("os._exit", 4), ("fork", 0)])
def test_other_ends_leave_it_to_the_lease(url, other, name, end, status):
    done, _ = run(url, name, end)

    assert (done.returncode, done.stderr) == (status, "")
    assert other.inspect(name).state == "held"


def test_a_hold_that_was_handed_over_stays(url, other, name):
    done, _ = run(url, name, "detached")

    assert (done.returncode, done.stderr) == (0, "")
    assert other.inspect(name).state == "held"


def test_a_program_that_is_killed_releases_nothing(run_child, other, name):
    child = run_child(
        "import interlock, os, signal, sys\n"
        "client = interlock.connect(os.environ['TEST_URL'])\n"
        "lock = client.lock(sys.argv[1], ttl=60)\n"
        "print(lock.acquire())\n"
        "signal.pause()\n",
        name,
    )
    assert child.stdout.readline() == "True\n"
    child.send_signal(signal.SIGTERM)  # its default action runs no code of Python
    assert child.wait(10) == -signal.SIGTERM
    assert other.inspect(name).state == "held"


@pytest.mark.parametrize("how", ["pause", "kill"])
def test_a_server_that_is_away_delays_the_end_by_a_second(tmp_path, name, how):
    program = """
import sys, time
import interlock
client = interlock.connect(sys.argv[1])
lock = client.lock(sys.argv[2])
lock.acquire()
print("held", flush=True)
sys.stdin.readline()
"""
    with Server(tmp_path) as server:
        child = subprocess.Popen(
            [sys.executable, "-c", program, server.unix_url, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert child.stdout.readline() == "held\n"
        getattr(server, how)()
        began = time.monotonic()
        _, stderr = child.communicate("\n", timeout=60)
        took = time.monotonic() - began
        server.resume()

    assert (child.returncode, stderr) == (0, "")
    assert took < patience(2)  # the interpreter needs some of it


def test_daemon_threads_of_any_kind_do_not_disturb_it(url, other, name):
    program = """
import asyncio, sys, threading, time
import interlock
from interlock import aio

url, name = sys.argv[1:3]
client = interlock.connect(url)
lock = client.lock(name, ttl=60)
lock.acquire()
kept = []

async def task():
    own = await aio.connect(url)
    mine = own.lock(name + "a", ttl=60)
    kept.append((own, mine))
    await mine.acquire()
    await own.lock(name).acquire()

def extend():
    while True:
        lock.extend()

for target in (extend, lambda: asyncio.run(task()), lambda: client.lock(name).acquire()):
    threading.Thread(target=target, daemon=True).start()
while client.inspect(name).waiting < 2:
    time.sleep(0.01)
"""
    done = subprocess.run(
        [sys.executable, "-Wignore", "-c", program, url, name],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    wait_until(lambda: other.inspect(name).state == "free")
    assert other.inspect(name + "a").state == "free"


def test_close_gives_back_and_the_next_waiter_holds(url, other, name):
    client = interlock.connect(url)
    lock, group = client.lock(name, ttl=60), client.group(name)
    member = group.join("me", ttl=60)
    assert lock.acquire(0)
    client.close()

    assert not lock.held
    assert not member.held
    assert other.lock(name).acquire(0)
    assert other.group(name).members() == {}


def test_a_child_that_was_forked_closes_its_own_holds_only(url, other, name):
    client = interlock.connect(url)
    lock = client.lock(name, ttl=60)
    assert lock.acquire(0)
    pid = os.fork()
    if pid == 0:
        mine = client.lock(name + "2", ttl=60)
        mine.acquire(0)
        client.close()
        os._exit(0)
    os.waitpid(pid, 0)

    assert other.inspect(name + "2").state == "free"
    assert other.inspect(name).state == "held"
    lock.check()
    client.close()
