# SPDX-License-Identifier: MIT
"""Waits in a process that gevent or eventlet has patched let other greenlets run."""

from __future__ import annotations

import importlib.util

import pytest

COMMON = """
import os, sys, threading, time
import interlock
client = interlock.connect(os.environ["TEST_URL"])
name = sys.argv[1]
ticks = 0
def tick():
    global ticks
    while True:
        ticks += 1
        time.sleep(0.005)
def line():
    return sys.stdin.readline()
"""

GEVENT = (
    "import gevent.monkey; gevent.monkey.patch_all(); import gevent\n"
    + COMMON
    + "spawn = gevent.spawn\n"
)
EVENTLET = (
    "import eventlet; eventlet.monkey_patch()\n" + COMMON + "spawn = eventlet.spawn\n"
)


def needs(library):
    return pytest.mark.skipif(
        importlib.util.find_spec(library) is None,
        reason=f"waits among green threads are not tried: {library} is missing",
    )


@pytest.fixture(
    params=[
        pytest.param("gevent", marks=needs("gevent")),
        pytest.param("eventlet", marks=needs("eventlet")),
    ]
)
def green(request, run_child):
    head = GEVENT if request.param == "gevent" else EVENTLET

    def run(code, *args):
        return run_child(head + code, *args)

    return run


def test_other_greenlets_run_while_one_waits(client, green, name):
    with client.lock(name):
        child = green(
            "spawn(tick)\n"
            "got = client.lock(name).acquire(0.5)\n"
            "print(got, ticks, flush=True)\n",
            name,
        )
        got, ticks = child.stdout.readline().split()

    assert got == "False"
    assert 2 < int(ticks) < 150  # 50 on an idle machine


def test_a_holder_in_the_same_thread_can_let_the_waiters_in(green, name):
    child = green(
        "order = []\n"
        "def work(n):\n"
        "    with client.lock(name):\n"
        "        order.append(n)\n"
        "        time.sleep(0.002)\n"
        "lock = client.lock(name)\n"
        "lock.acquire()\n"
        "greenlets = []\n"
        "for n in range(30):\n"
        "    greenlets.append(spawn(work, n))\n"
        "    while client.inspect(name).waiting <= n: time.sleep(0.002)\n"
        "lock.release()\n"
        "for one in greenlets: (one.get if hasattr(one, 'get') else one.wait)()\n"
        "print(order == list(range(30)), client.stats().connections <= 3)\n",
        name,
    )

    assert child.stdout.readline().split() == ["True", "True"]


def test_a_killed_greenlet_leaves_the_queue(client, green, name, waiting):
    with client.lock(name):
        child = green(
            "lock = client.lock(name)\n"
            "one = spawn(lock.acquire)\n"
            "while client.inspect(name).waiting < 1: time.sleep(0.002)\n"
            "one.kill()\n"
            "time.sleep(0.1)\n"
            "print(client.inspect(name).waiting, lock.held, flush=True)\n"
            "print(lock.acquire(10), flush=True)\n",
            name,
        )
        assert child.stdout.readline().split() == ["0", "False"]
        waiting(name, 1)

    assert child.stdout.readline().strip() == "True"


@needs("gevent")
def test_gevents_timeout_ends_a_wait(client, run_child, name, waiting):
    with client.lock(name):
        child = run_child(
            GEVENT + "lock = client.lock(name)\n"
            "try:\n"
            "    with gevent.Timeout(0.2): lock.acquire()\n"
            "except gevent.Timeout: print('timeout', flush=True)\n"
            "print(lock.acquire(10), flush=True)\n",
            name,
        )
        assert child.stdout.readline().strip() == "timeout"
        waiting(name, 1)

    assert child.stdout.readline().strip() == "True"


def test_no_thread_is_used_without_patching(client, name):
    from interlock import _greenlets

    assert _greenlets.runner(lambda: None) is None
