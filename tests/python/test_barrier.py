# SPDX-License-Identifier: MIT
"""Barriers, as Python sees them."""

from __future__ import annotations

import signal
import threading
import time

import interlock
import pytest
from support import patience, wait_until

PARTY = """
import interlock, os, sys
client = interlock.connect(os.environ["TEST_URL"])
barrier = client.barrier(sys.argv[1], int(sys.argv[2]))
for _ in range(int(sys.argv[3])):
    try:
        print(barrier.wait(timeout=20), flush=True)
    except interlock.BrokenError as error:
        print(error, flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@pytest.fixture
def arrived(server, name):
    """Wait until so many have arrived at the open round."""

    def wait(count):
        key = f"ilk:barrier:wait:{{{name}}}"
        wait_until(lambda: server.call("ZCARD", key) == count, 10)

    return wait


def test_processes_go_on_together_round_by_round(client, run_child, name):
    barrier = client.barrier(name, 3)
    children = [run_child(PARTY, name, "3", "20") for _ in range(2)]

    for _ in range(20):
        indexes = {barrier.wait(timeout=20)}
        indexes |= {int(child.stdout.readline()) for child in children}
        assert indexes == {0, 1, 2}
    assert barrier.waiting() == 0


def test_one_object_serves_many_threads(client, name):
    barrier, indexes = client.barrier(name, 20), []
    threads = [
        threading.Thread(target=lambda: indexes.append(barrier.wait(timeout=20)))
        for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert sorted(indexes) == list(range(20))
    assert (barrier.parties, barrier.name) == (20, name)


def test_time_that_runs_out_breaks_the_round_of_the_others(
    client, run_child, name, arrived
):
    child = run_child(PARTY, name, "3", "1")
    arrived(1)
    began = time.monotonic()

    with pytest.raises(interlock.TimeoutError, match="not full within 0.2 s"):
        client.barrier(name, 3).wait(timeout=0.2)

    assert 0.2 <= time.monotonic() - began < 0.2 + patience(0.3)
    assert child.stdout.readline().endswith("left it\n")


def test_ctrl_c_breaks_the_round_at_once(client, run_child, name, arrived):
    child, failures = run_child(PARTY, name, "3", "1"), []
    arrived(1)

    def wait():
        try:
            client.barrier(name, 3).wait(timeout=20)
        except threading.BrokenBarrierError as error:
            failures.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    arrived(2)
    child.send_signal(signal.SIGINT)

    assert child.stdout.readline() == "interrupted\n"
    thread.join(2)
    assert [type(error) for error in failures] == [interlock.BrokenError]
    assert failures[0].status == "ILK_EBROKEN"


def test_try_arrives_only_as_the_last(client, run_child, name, arrived):
    barrier = client.barrier(name, 2)
    with pytest.raises(interlock.BusyError):
        barrier.wait(timeout=0)
    assert barrier.waiting() == 0
    child = run_child(PARTY, name, "2", "1")
    arrived(1)

    assert barrier.wait(timeout=0) == 1
    assert child.stdout.readline() == "0\n"


def test_another_number_of_parties_is_refused_until_it_is_reset(
    client, run_child, name, arrived
):
    child = run_child(PARTY, name, "3", "1")
    arrived(1)
    two = client.barrier(name, 2)
    for ask in (two.wait, two.waiting):
        with pytest.raises(interlock.DiffersError, match="3 parties, not 2"):
            ask()

    two.reset()

    assert child.stdout.readline().endswith("reset the barrier\n")
    assert two.waiting() == 0


def test_close_ends_a_wait(url, name, arrived):
    client, failures = interlock.connect(url), []
    barrier = client.barrier(name, 2)

    def wait():
        try:
            barrier.wait()
        except interlock.ClosedError as error:
            failures.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    arrived(1)
    client.close()
    thread.join(5)

    assert len(failures) == 1


@pytest.mark.parametrize(
    "call, kind",
    [
        (lambda c: c.barrier("x", 0), interlock.InvalidError),
        (lambda c: c.barrier("x", 1025), interlock.InvalidError),
        (lambda c: c.barrier("x", "2"), TypeError),
        (lambda c: c.barrier("x", True), TypeError),
        (lambda c: c.barrier("", 2), interlock.InvalidError),
        (lambda c: c.barrier("x", 2, keep=-1), interlock.InvalidError),
        (lambda c: c.barrier("x", 2).wait(timeout=-1), interlock.InvalidError),
    ],
)
def test_bad_input_is_refused(client, call, kind):
    with pytest.raises(kind):
        call(client)
