# SPDX-License-Identifier: MIT
"""The examples of the primitives, with processes of two languages.

The lock's, which more languages have, are run by tests/interop.
"""

from __future__ import annotations

import signal

import programs
import pytest
from programs import EXAMPLES, PATIENCE
from support import wait_until

NAMES = sorted({path.stem for path in EXAMPLES.glob("*.py")} - {"lock", "recipes"})


def each_pair(name):
    """Run a test with each language once as `a` and once as `b`."""
    return pytest.mark.parametrize("a, b", programs.pairs(NAMES.index(name)))


def in_line(server, kind, name):
    """How many wait there."""
    return server.call("ZCARD", f"ilk:{kind}:wait:{{{name}}}")


@each_pair("semaphore")
def test_semaphore_lets_two_in_and_the_third_later(stage, server, a, b):
    inside = [stage.start(one, "semaphore") for one in (a, b)]
    fences = [int(one.line().removeprefix("fence ")) for one in inside]
    third = stage.start(a, "semaphore")
    wait_until(lambda: in_line(server, "semaphore", "printers") == 1, PATIENCE)

    inside[1].enter()

    assert inside[1].end() == (0, []), inside[1].errors
    assert int(third.line().removeprefix("fence ")) > max(fences)
    for one in (inside[0], third):
        one.enter()
        assert one.end() == (0, [])


@each_pair("election")
def test_election_has_one_leader_and_wakes_observers(stage, server, a, b):
    observers = [stage.start(one, "election") for one in (a, b)]
    first = stage.start(a, "election", "here:80")
    term = int(first.line().removeprefix("term "))
    assert [one.line() for one in observers] == ["here:80 leads"] * 2
    second = stage.start(b, "election", "there:80")
    wait_until(lambda: in_line(server, "election", "cron") == 1, PATIENCE)

    first.enter()

    assert first.end() == (0, [])
    assert int(second.line().removeprefix("term ")) > term
    assert [one.line() for one in observers] == ["there:80 leads"] * 2
    second.enter()
    assert second.end() == (0, [])


@each_pair("event")
def test_event_is_seen_by_who_waits_and_who_comes_late(stage, server, a, b):
    early = [stage.start(one, "event") for one in (a, b)]
    wait_until(lambda: in_line(server, "event", "ready") == 2, PATIENCE)

    stage.run(a, "event", "version 7")

    assert [one.end() for one in early] == [(0, ["version 7"])] * 2
    assert stage.run(b, "event") == ["version 7"]


@each_pair("barrier")
def test_barrier_opens_when_all_are_there(stage, server, a, b):
    waiting = [stage.start(one, "barrier") for one in (a, b)]
    wait_until(lambda: in_line(server, "barrier", "phase") == 2, PATIENCE)
    assert all(one.process.poll() is None for one in waiting)

    (last,) = stage.run(b, "barrier")

    assert last == "arrived as number 2"
    assert sorted(one.end()[1] for one in waiting) == [
        ["arrived as number 0"],
        ["arrived as number 1"],
    ]


@each_pair("latch")
def test_latch_is_waited_for_until_nothing_is_left(stage, server, a, b):
    waiting = [stage.start(one, "latch", "wait") for one in (a, b)]
    wait_until(lambda: in_line(server, "latch", "parts") == 2, PATIENCE)

    assert stage.run(a, "latch", "done") == ["1"]
    assert in_line(server, "latch", "parts") == 2
    assert stage.run(b, "latch", "done") == ["0"]

    assert [one.end() for one in waiting] == [(0, ["all done"])] * 2
    assert stage.run(a, "latch", "wait") == ["all done"]


@each_pair("ring")
def test_ring_is_the_same_for_all(stage, a, b):
    keys = [f"user:{i}" for i in range(20)]

    found = stage.run(a, "ring", *keys)

    assert found == stage.run(b, "ring", *keys)
    assert found[7] == "user:7 cache2 cache3"


@each_pair("worker")
def test_worker_does_what_others_pushed(stage, server, a, b):
    worker = stage.start(a, "worker")
    stage.run(b, "worker", "Anna", "Ben")
    stage.run(a, "worker", "Cleo")

    assert [worker.line() for _ in range(3)] == [
        "hello Anna",
        "hello Ben",
        "hello Cleo",
    ]
    # A task that is interrupted behind its print is not settled, and comes again.
    wait_until(lambda: in_line(server, "queue", "greetings") == 1, PATIENCE)
    worker.process.send_signal(signal.SIGINT)

    assert worker.end() == (0, [])
    parts = ("ready", "leases", "delayed", "dead")
    keys = [f"ilk:queue:{part}:{{greetings}}" for part in parts]
    assert server.call("EXISTS", *keys) == 0


@each_pair("signals")
def test_signal_is_for_one_or_for_all(stage, server, a, b):
    waiting = [stage.start(a, "signals", "wait", "doors")]
    wait_until(lambda: in_line(server, "signal", "doors") == 1, PATIENCE)
    for one in (b, a):
        waiting.append(stage.start(one, "signals", "wait", "doors"))
    wait_until(lambda: in_line(server, "signal", "doors") == 3, PATIENCE)

    assert stage.run(b, "signals", "one", "doors", "first") == ["1"]
    assert waiting[0].end() == (0, ["first"])
    assert in_line(server, "signal", "doors") == 2
    assert stage.run(a, "signals", "all", "doors", "others") == ["2"]

    assert [one.end() for one in waiting[1:]] == [(0, ["others"])] * 2
    assert stage.run(b, "signals", "one", "doors", "nobody") == ["0"]


def test_every_example_is_there_in_each_language_and_listed():
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for name in NAMES:
        for ending in ("py", "lua", "c"):
            assert (EXAMPLES / f"{name}.{ending}").exists(), f"{name}.{ending}"
        assert f"`{name}`" in readme, f"{name} is not in examples/README.md"
