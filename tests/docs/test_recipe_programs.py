# SPDX-License-Identifier: MIT
"""The programs of examples/recipes, with processes of two languages on one key.

Every program is there in every language. Where time would have to pass, the
key that knows the time is changed instead.
"""

from __future__ import annotations

import contextlib
import json
import signal

import programs
import pytest
from programs import EXAMPLES
from support import wait_until

NAMES = sorted({path.stem for path in (EXAMPLES / "recipes").glob("*.py")})


def each_pair(name):
    """Run a test with each language once as `a` and once as `b`."""
    return pytest.mark.parametrize("a, b", programs.pairs(NAMES.index(name)))


def listening(server, *channels):
    counts = server.call("PUBSUB", "NUMSUB", *channels)[1::2]
    return sum(map(int, counts))


@each_pair("broadcast")
def test_broadcast_reaches_all_waiters(stage, server, a, b):
    waiters = [stage.start(one, "recipes/broadcast", "wait", "news") for one in (a, b)]
    wait_until(lambda: listening(server, "news") == 2, programs.PATIENCE)

    heard = stage.run(a, "recipes/broadcast", "signal", "news", "hello")

    assert heard == ["2"]
    assert [waiter.end() for waiter in waiters] == [(0, ["hello"])] * 2
    assert stage.run(b, "recipes/broadcast", "signal", "news", "again") == ["0"]


@each_pair("unicast")
def test_unicast_reaches_one_waiter(stage, server, a, b):
    anna = stage.start(a, "recipes/unicast", "wait", "work", "anna")
    ben = stage.start(b, "recipes/unicast", "wait", "work", "ben")
    wait_until(lambda: listening(server, "workanna", "workben") == 2, 20)

    def signal_it(language, data):
        return stage.run(language, "recipes/unicast", "signal", "work", data)

    assert [signal_it(b, "one"), signal_it(a, "two")] == [["1"], ["1"]]
    heard = [waiter.end() for waiter in (anna, ben)]
    assert heard in (
        [(0, ["anna hears one"]), (0, ["ben hears two"])],
        [(0, ["anna hears two"]), (0, ["ben hears one"])],
    )
    assert signal_it(a, "three") == ["0"]


@each_pair("redlock")
def test_redlock_is_unlocked_by_its_token_only(stage, server, a, b):
    (line,) = stage.run(a, "recipes/redlock", "lock", "orders", "30000")
    token, validity = line.split()

    assert server.call("GET", "orders") == token.encode()
    assert 20000 < int(validity) <= 30000
    assert int(server.call("PTTL", "orders")) <= 30000
    assert stage.run(b, "recipes/redlock", "lock", "orders", "30000") == ["taken"]
    wrong = token[:-1] + ("0" if token[-1] != "0" else "1")
    assert stage.run(b, "recipes/redlock", "unlock", "orders", wrong) == ["lost"]
    assert server.call("GET", "orders") == token.encode()
    assert stage.run(b, "recipes/redlock", "unlock", "orders", token) == ["unlocked"]
    assert server.call("GET", "orders") is None
    assert stage.run(a, "recipes/redlock", "unlock", "orders", token) == ["lost"]


@each_pair("master")
def test_master_stays_it_until_it_dies(stage, server, a, b):
    first = stage.start(a, "recipes/master", "0.05")
    assert first.line() == "master"
    second = stage.start(b, "recipes/master", "0.05")
    assert second.line() == "waiting"
    term = int(server.call("GET", "master_selector"))
    wait_until(lambda: int(server.call("GET", "master_selector")) > term + 1)

    first.kill()
    server.call("DEL", "master_selector")  # as if 20 seconds had passed

    assert second.line() == "master"
    assert stage.start(a, "recipes/master", "0.05").line() == "waiting"


@each_pair("fifo_filo")
def test_fifo_and_filo_keep_their_orders(stage, a, b):
    stage.run(a, "recipes/fifo_filo", "fifo_push", "letters", "a", "b", "c d")
    stage.run(b, "recipes/fifo_filo", "filo_push", "plates", "a", "b", "c d")

    assert stage.run(b, "recipes/fifo_filo", "fifo_pop", "letters") == ["a", "b", "c d"]
    assert stage.run(a, "recipes/fifo_filo", "filo_pop", "plates") == ["c d", "b", "a"]


@each_pair("safe_fifo")
def test_safe_fifo_loses_nothing_when_a_process_is_killed(stage, server, a, b):
    stage.run(b, "recipes/safe_fifo", "push", "letters", "one", "two")
    killed = stage.start(a, "recipes/safe_fifo", "pop", "letters", "anna")
    assert killed.line() == "one"

    killed.kill()

    assert server.call("LRANGE", "anna", "0", "-1") == [b"one"]
    assert stage.run(b, "recipes/safe_fifo", "restore", "letters", "anna") == ["1"]
    for message in ("one", "two"):
        popping = stage.start(b, "recipes/safe_fifo", "pop", "letters", "ben")
        assert popping.line() == message
        popping.enter()
        assert popping.end() == (0, ["handled"])
    assert stage.run(a, "recipes/safe_fifo", "pop", "letters", "anna") == ["empty"]
    assert server.call("EXISTS", "letters", "anna", "ben") == 0


def is_full(stage, language, name):
    refused = stage.start(language, name, "seats", "1")
    status, lines = refused.end()
    return (status, lines, refused.errors) == (1, [], "full\n")


@each_pair("fair_semaphore")
def test_fair_semaphore_lets_in_as_many_as_it_may(stage, server, a, b):
    name = "recipes/fair_semaphore"
    first = stage.start(a, name, "seats", "1")
    assert first.line() == "inside"
    assert is_full(stage, b, name)

    first.enter()
    assert first.end() == (0, ["mine", "released 1"])
    second = stage.start(b, name, "seats", "1")
    assert second.line() == "inside"

    (identifier,) = server.call("ZRANGE", "seats", "0", "-1")
    server.call("ZADD", "seats", "1", identifier)  # as if it had run out
    third = stage.start(a, name, "seats", "1")
    assert third.line() == "inside"
    second.enter()
    assert second.end() == (0, ["lost", "released 0"])
    third.enter()
    assert third.end() == (0, ["mine", "released 1"])


def get_inside(stage, language, name):
    """A program that is inside; with 10 ms for its lock, full may mean busy."""
    for _ in range(20):
        program = stage.start(language, name, "seats", "1")
        with contextlib.suppress(AssertionError):
            assert program.line() == "inside"
            return program
        program.kill()
        assert program.errors == "full\n"
    pytest.fail("it never got in")


@each_pair("semaphore_with_lock")
def test_semaphore_with_lock_stays_out_of_the_lock(stage, server, a, b):
    name = "recipes/semaphore_with_lock"
    server.call("SET", "lock:seats", "stranger")
    assert is_full(stage, a, name)
    assert server.call("ZCARD", "seats") == 0

    server.call("DEL", "lock:seats")
    inside = get_inside(stage, a, name)
    assert is_full(stage, b, name)
    inside.enter()

    assert inside.end() == (0, ["released 1"])
    assert server.call("EXISTS", "lock:seats") == 0


@each_pair("fifo_queue")
def test_fifo_queue_pops_what_others_pushed(stage, a, b):
    stage.run(a, "recipes/fifo_queue", "push", "chores", "sweep", "dust")

    popped = [stage.run(one, "recipes/fifo_queue", "pop", "chores") for one in (b, a)]

    assert popped == [["sweep"], ["dust"]]
    assert stage.run(b, "recipes/fifo_queue", "pop", "chores") == ["empty"]


@each_pair("delayed_queue")
def test_delayed_queue_pops_what_is_due(stage, server, a, b):
    stage.run(a, "recipes/delayed_queue", "push", "chores", "60", "water")
    stage.run(a, "recipes/delayed_queue", "push", "chores", "0", "sweep")

    assert stage.run(b, "recipes/delayed_queue", "pop", "chores") == ["sweep"]
    now, due = int(server.call("TIME")[0]), server.call("ZSCORE", "chores", "water")
    assert now + 30 < float(due) <= now + 61
    server.call("ZADD", "chores", "1", "water")  # as if a minute had passed
    assert stage.run(b, "recipes/delayed_queue", "pop", "chores") == ["water"]
    assert stage.run(a, "recipes/delayed_queue", "pop", "chores") == []


@each_pair("email_worker")
def test_email_worker_sends_what_others_queued(stage, server, a, b):
    worker = stage.start(a, "recipes/email_worker")
    stage.run(b, "recipes/email_producer", "17", "4", "97", "23")
    assert worker.line() == "sent item 4"

    stage.run(b, "recipes/email_producer", "0", "5", "97", "23")
    assert worker.line() == "failed item 5: there is no seller 0"
    wait_until(lambda: server.call("LLEN", "ilk:recipes:dead:{queue:email}") == 1)
    worker.process.send_signal(signal.SIGINT)

    assert worker.end() == (0, [])
    (dead,) = server.call("LRANGE", "ilk:recipes:dead:{queue:email}", "0", "-1")
    email = json.loads(dead)
    time = int(server.call("TIME")[0])
    assert time - 60 <= email.pop("time") <= time + 60
    assert email == {"seller_id": 0, "item_id": 5, "price": 97, "buyer_id": 23}
    assert server.call("EXISTS", "ilk:recipes:consumers:{queue:email}") == 0


@each_pair("watch_queue")
def test_watch_queue_calls_what_has_a_name(stage, server, a, b):
    tasks = ['["greet", ["Anna"]]', '["fly", []]', "nonsense", '["add", ["19", "23"]]']
    worker = stage.start(a, "recipes/watch_queue", "chores")

    stage.run(b, "recipes/fifo_queue", "push", "chores", *tasks, '["quit", []]')

    assert worker.end() == (0, ["hello Anna", "42"])
    dead = server.call("LRANGE", "ilk:recipes:dead:{chores}", "0", "-1")
    assert sorted(dead) == [b'["fly", []]', b"nonsense"]
    assert server.call("EXISTS", "chores", "ilk:recipes:consumers:{chores}") == 0


@each_pair("priorities")
def test_priorities_pop_the_most_urgent_first(stage, a, b):
    for rank, task in (("low", "sweep"), ("high", "extinguish"), ("medium", "water")):
        stage.run(b, "recipes/priorities", "push", rank, task)

    worker = stage.start(a, "recipes/priorities", "pop", "60")

    assert [worker.line() for _ in range(3)] == [
        "queue:high extinguish",
        "queue:medium water",
        "queue:low sweep",
    ]
    stage.run(b, "recipes/priorities", "push", "medium", "dust")
    assert worker.line() == "queue:medium dust"
    assert stage.run(b, "recipes/priorities", "pop", "0.1") == []


def test_every_program_is_there_in_each_language_and_listed():
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for name in NAMES:
        for ending in ("py", "lua", "c"):
            text = (EXAMPLES / "recipes" / f"{name}.{ending}").read_text()
            assert f"{name}." in text or f"./{name}" in text, f"{name}.{ending}"
        assert f"`{name}`" in readme, f"{name} is not in examples/README.md"
