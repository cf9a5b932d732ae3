# SPDX-License-Identifier: MIT
"""Messages that are not done: later, again, dead, thrown away."""

import pytest
from queue_world import Job, Queue, ending


@pytest.fixture
def queue(world):
    return Queue(world)


def test_failed_message_is_the_next_again_with_its_attempt_counted(queue):
    queue.push("a", "b")
    queue.take("t")

    assert queue.finish(ending("n", "t")) == ["RELEASED", b"1"]
    job = Job(queue.reserve("u")[5])
    assert (job.data, job.attempts) == (b"a", 1)
    assert queue.inspect()["returned"] == 1


def test_untouched_message_keeps_its_attempts(queue):
    queue.push("a", "b", "c")
    queue.take("t", count=2)

    queue.finish(ending("r", "t", 1, 2))

    jobs = [Job(blob) for blob in queue.reserve("u", count=3)[5:]]
    assert [(j.data, j.attempts) for j in jobs] == [(b"a", 0), (b"b", 0), (b"c", 0)]


def test_failed_message_waits_for_its_delay(world, queue):
    queue.push("a")
    queue.take("t")
    queue.finish(ending("n", "t", delay=500))

    assert queue.reserve("u")[0] == "EMPTY"
    world.advance(500)
    assert queue.take("u") == [b"a"]


def test_retried_failure_changes_nothing(world, queue):
    queue.push("a")
    queue.take("t")
    queue.finish(ending("n", "t", delay=500))
    before = world.dump()

    assert queue.finish(ending("n", "t", delay=500)) == ["RELEASED", b"0"]
    assert world.dump() == before


def test_message_is_dead_after_its_last_attempt(world):
    queue = Queue(world, most=2)
    queue.push("a")
    for token in ("t", "u"):
        queue.take(token)
        queue.finish(ending("n", token, reason="it did not work"))

    assert queue.reserve("v")[0] == "EMPTY"
    (dead,) = queue.peek(4)
    assert dead.startswith(b"15 it did not work1 1 2 ") and dead.endswith(b" a")
    assert queue.inspect()["buried"] == 1


def test_leases_that_run_out_count_as_attempts(world):
    queue = Queue(world, most=2)
    queue.push("a", "b")
    for token in ("t", "u"):
        assert queue.take(token, lease=100, count=2) == [b"a", b"b"]
        world.advance(100)

    assert queue.reserve("v")[0] == "EMPTY"
    assert [d.split(b"1 ", 1)[0] for d in queue.peek(4)] == [
        b"17 the lease ran out"
    ] * 2
    assert queue.places() == [1, 2]


def test_buried_message_is_dead_at_once(queue):
    queue.push("a")
    queue.take("t")

    assert queue.finish(ending("d", "t", reason="no such callback")) == [
        "RELEASED",
        b"1",
    ]
    assert queue.inspect()["dead"] == 1
    assert queue.reserve("u")[0] == "EMPTY"


def test_dead_message_is_put_back_with_its_attempts_forgotten(queue):
    queue.push("a", "b")
    queue.take("t")
    queue.finish(ending("d", "t", reason="1 2 \0 3"))

    assert queue.requeue() == ["WRITTEN", 1]
    jobs = [Job(blob) for blob in queue.reserve("u", count=2)[5:]]
    assert [(j.data, j.id, j.attempts) for j in jobs] == [(b"b", 2, 0), (b"a", 1, 0)]
    assert queue.inspect()["dead"] == 0


def test_one_dead_message_is_put_back_by_its_number(queue):
    queue.push("a", "b", "c")
    queue.take("t", count=3)
    queue.finish(ending("d", "t", 1, 3))

    assert queue.requeue("2") == ["WRITTEN", 1]
    assert queue.requeue("2", once="other") == ["WRITTEN", 0]
    assert queue.peek() == [b"b"]


def test_retried_requeue_returns_the_same(world, queue):
    queue.push("a", "b", "c")
    queue.take("t", count=3)
    queue.finish(ending("d", "t", 1, 3))
    queue.requeue(count=2)
    before = world.dump()

    assert queue.requeue(count=2) == ["WRITTEN", 2]
    assert world.dump() == before


def test_requeued_messages_wake_consumers(queue):
    queue.push("a", "b")
    queue.take("t", count=2)
    queue.finish(ending("d", "t", 1, 2))
    queue.wait("u1", "u2", "u3")

    queue.requeue()

    assert queue.woken("u1", "u2", "u3") == ["u1", "u2"]


def test_delayed_messages_come_in_order_of_their_time(world, queue):
    queue.push("late", delay=2000)
    queue.push("soon", delay=1000)
    queue.push("now")

    assert queue.take("t1") == [b"now"]
    assert queue.reserve("t2")[0] == "EMPTY"
    world.advance(2000)
    assert queue.take("t3", count=2) == [b"soon", b"late"]


def test_peek_takes_nothing(world, queue):
    queue.push("a", "b", "c")
    queue.push("d", delay=1000)
    before = world.dump()

    assert queue.peek() == [b"a", b"b", b"c"]
    assert queue.peek(1, 1, 1) == [b"b"]
    assert queue.peek(2) == [b"d"]
    assert (queue.peek(4), queue.peek(1, 3)) == ([], [])
    assert world.dump() == before


def test_peek_shows_the_newest_first_when_it_is_the_next(world):
    queue = Queue(world, order="filo")
    queue.push("a", "b", "c")

    assert queue.peek(1, 0, 2) == [b"c", b"b"]
    assert queue.peek(1, 2, 5) == [b"a"]


def test_purge_deletes_the_messages_of_its_arguments(queue):
    queue.push("a", "b", "c")
    queue.push("d", delay=1000)
    queue.take("t")
    queue.finish(ending("d", "t"))

    assert queue.purge(2) == ["WRITTEN", 1]
    assert queue.purge(1) == ["WRITTEN", 2]
    assert queue.places() == [1]
    assert queue.inspect()["purged"] == 3
    assert queue.purge(4) == ["WRITTEN", 1]


def test_purge_leaves_what_is_taken_to_its_taker(queue):
    queue.push("a", "b")
    queue.take("t")

    assert queue.purge() == ["WRITTEN", 1]
    assert queue.ack(ending("a", "t")) == ["RELEASED", b"1"]


def test_queue_that_is_purged_of_everything_is_forgotten(world, queue):
    queue.push("a", once="r")
    queue.purge()

    world.redis("DEL", queue.once("r"))
    assert world.redis("KEYS", "ilk:queue*") == []


def test_inspect_counts_what_lies_where(world, queue):
    queue.push("a", "b", "c", "d")
    queue.push("e", delay=1000)
    queue.push("f", delay=10)
    queue.take("t", count=2)
    world.advance(50)

    assert queue.inspect() == {
        "ready": 2, "due": 1, "delayed": 2, "taken": 2, "dead": 0, "waiting": 0,
        "pushed": 6, "expired": 0, "returned": 0, "buried": 0, "purged": 0,
        "oldest": 50, "order": b"fifo",
    }  # fmt: skip


def test_inspect_of_a_queue_that_never_was(world, queue):
    before = world.dump()

    found = queue.inspect()

    assert set(found.values()) == {0, b""}
    assert world.dump() == before
