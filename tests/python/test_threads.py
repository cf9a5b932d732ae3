# SPDX-License-Identifier: MIT
"""Many threads in one process."""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys
import threading
import time

import interlock
import pytest


def run_threads(count, work):
    errors = []

    def guarded(number):
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert errors == []


def test_one_at_a_time(client, name):
    inside, count = [], 0

    def work(number):
        nonlocal count
        for _ in range(20):
            with client.lock(name, ttl=10):
                inside.append(number)
                assert inside == [number]
                value = count
                time.sleep(0)
                count = value + 1
                inside.remove(number)

    run_threads(8, work)
    assert count == 160


def test_other_threads_run_while_one_waits(client, other, name):
    ticks = 0
    with client.lock(name):
        thread = threading.Thread(target=lambda: other.lock(name).acquire(0.5))
        thread.start()
        while thread.is_alive():
            ticks += 1
            time.sleep(0.001)

    assert ticks > 10  # hundreds on an idle machine


def test_waiters_need_no_connections_of_their_own(client, other, name, waiting):
    def work():
        with contextlib.suppress(interlock.ClosedError):
            other.lock(name).acquire(60)

    with client.lock(name):
        threads = [threading.Thread(target=work) for _ in range(50)]
        for thread in threads:
            thread.start()
        waiting(name, 50)

        assert other.stats().waiting == 50
        assert other.stats().connections <= 6  # up to four of them for calls
        other.close()
        for thread in threads:
            thread.join(5)


@pytest.fixture
def quick_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


ALLOWED = (
    interlock.HeldError,
    interlock.NotOwnedError,
    interlock.CancelledError,
    interlock.LostError,
    interlock.ConnectionError,  # no reply within the 0.01 s of a try
)


def test_one_handle_in_many_threads_does_not_break(client, other, name, quick_switches):
    """Against the rules, so some calls are refused; nothing worse may happen."""
    seed = random.randrange(2**32)
    print("seed", seed)
    shared = client.lock(name, ttl=5)
    verbs = [
        lambda: shared.acquire(0),
        lambda: shared.acquire(0.01),
        shared.release,
        shared.check,
        shared.cancel,
        lambda: shared.extend(5),
        shared.detach,
        lambda: (shared.held, shared.remaining(), shared.fence, shared.token),
        lambda: repr(shared),
    ]

    def work(number):
        choice = random.Random(seed + number)
        end = time.monotonic() + 2
        while time.monotonic() < end:
            with contextlib.suppress(*ALLOWED):
                choice.choice(verbs)()

    run_threads(6, work)
    client.close()
    assert other.lock(name).acquire(10)


def test_two_threads_cannot_both_acquire_one_handle(client, other, name):
    lock, outcomes = client.lock(name), []
    holder = other.lock(name)
    assert holder.acquire(0)

    def work():
        try:
            outcomes.append(lock.acquire(2))
        except interlock.HeldError:
            outcomes.append("held")

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    holder.release()
    for thread in threads:
        thread.join(5)

    assert sorted(map(str, outcomes)) == ["True", "held"]
    assert lock.release()


def test_daemon_threads_inside_a_wait_are_silent_when_the_interpreter_ends(url, name):
    program = """
import atexit, sys, threading, time

threads = []
# What is registered before the import runs after the clients were closed.
atexit.register(lambda: [thread.join() for thread in threads])
import interlock

client = interlock.connect(sys.argv[1])
name = sys.argv[2]
held = client.lock(name)
held.acquire()

def notified():
    for notification in client.notifications():
        pass

def cleaning_up():
    try:
        client.lock(name).acquire()
    finally:
        client.queue(name).push(b"never sent")

waits = [
    lambda: client.lock(name).acquire(),
    lambda: client.event(name).wait(),
    lambda: client.register(name).wait(0),
    lambda: client.queue(name).pop(timeout=None),
    lambda: client.signal(name).wait(),
    lambda: list(client.election(name + "2").observe(vacant=True)),
    notified,
    cleaning_up,
]
threads += [threading.Thread(target=wait, daemon=True) for wait in waits]
for thread in threads:
    thread.start()
while client.stats().waiting < 2:
    time.sleep(0.01)
print("end")
"""
    done = subprocess.run(
        [sys.executable, "-Wignore", "-c", program, url, name],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")
