# SPDX-License-Identifier: MIT
"""Countdown latches, as Python sees them."""

from __future__ import annotations

import threading

import interlock
import pytest
from support import patience, wait_until

WORKER = """
import interlock, os, sys
client = interlock.connect(os.environ["TEST_URL"])
print(client.latch(sys.argv[1], int(sys.argv[2])).count_down(), flush=True)
"""


def test_it_opens_when_all_workers_are_done(client, run_child, server, name):
    latch = client.latch(name, 3)
    answers = []
    threads = [
        threading.Thread(
            target=lambda: answers.append(latch.wait(timeout=patience(20)))
        )
        for _ in range(10)
    ]
    for thread in threads:
        thread.start()
    key = f"ilk:latch:wait:{{{name}}}"
    wait_until(lambda: server.call("ZCARD", key) == 10, 10)

    left = [run_child(WORKER, name, "3").stdout.readline() for _ in range(3)]

    for thread in threads:
        thread.join(patience(10))
    assert left == ["2\n", "1\n", "0\n"]
    assert answers == [True] * 10
    assert latch.wait(timeout=0) is True
    assert latch.count() == 0


def test_wait_that_is_not_over_in_time_is_false(client, name):
    latch = client.latch(name, 1)

    assert latch.wait(timeout=0) is False
    assert latch.wait(timeout=0.05) is False


def test_another_count_is_refused_until_it_is_reset(client, other, name):
    client.latch(name, 3).count_down(2)
    four = other.latch(name, 4)
    for ask in (four.count, four.count_down, four.wait):
        with pytest.raises(interlock.DiffersError, match="from 3, not 4"):
            ask()

    four.reset()

    assert four.count() == 4
    assert four.count_down(9) == 0


@pytest.mark.parametrize(
    "call, kind",
    [
        (lambda c: c.latch("x", 0), interlock.InvalidError),
        (lambda c: c.latch("x", -1), interlock.InvalidError),
        (lambda c: c.latch("x", 10**9 + 1), interlock.InvalidError),
        (lambda c: c.latch("x", 1.0), TypeError),
        (lambda c: c.latch("x", True), TypeError),
        (lambda c: c.latch("", 1), interlock.InvalidError),
        (lambda c: c.latch("x", 1, keep=0), interlock.InvalidError),
        (lambda c: c.latch("x", 1).count_down(0), interlock.InvalidError),
        (lambda c: c.latch("x", 1).count_down("1"), TypeError),
        (lambda c: c.latch("x", 1).wait(timeout=-1), interlock.InvalidError),
    ],
)
def test_bad_input_is_refused(client, call, kind):
    with pytest.raises(kind):
        call(client)


def test_it_says_what_it_is(client, name):
    assert repr(client.latch(name, 1)) == f"<interlock.Latch {name!r}>"
