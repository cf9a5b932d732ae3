# SPDX-License-Identifier: MIT
"""queue_push, queue_reserve and job_ack: order, leases, retries, waking."""

import copy

import pytest
from queue_world import Job, Queue, ending
from resp import ReplyError


@pytest.fixture
def queue(world):
    return Queue(world)


# -- order and shape


def test_messages_come_out_in_the_order_they_went_in(queue):
    queue.push("a", "b")
    queue.push("c")

    assert [queue.take(t) for t in ("t1", "t2", "t3")] == [[b"a"], [b"b"], [b"c"]]
    assert queue.reserve("t4") == ["EMPTY", b"", -1, queue.world.now]


def test_filo_gives_the_newest_first(world):
    queue = Queue(world, order="filo")
    queue.push("a", "b")
    queue.push("c")

    assert queue.take("t", count=3) == [b"c", b"b", b"a"]


def test_numbers_rise_and_are_returned(queue):
    assert queue.push("a", "b")[:3] == ["WRITTEN", 1, 2]
    assert queue.push("c")[:3] == ["WRITTEN", 3, 1]

    reply = queue.reserve("t", count=3)
    jobs = [Job(blob) for blob in reply[5:]]
    assert [(job.id, job.attempts) for job in jobs] == [(1, 0), (2, 0), (3, 0)]
    assert jobs[0].pushed == queue.world.now // 1000


@pytest.mark.parametrize("data", [b"", b"\0\r\n\xff 1 2 3", b"x" * (1 << 20)])
def test_any_bytes_come_back(queue, data):
    queue.push(data)

    assert queue.take("t") == [data]


def test_the_other_order_is_refused_and_nothing_written(world, queue):
    queue.push("a")
    before = world.dump()
    other = Queue(world, order="filo")

    assert other.push("b") == ["DIFFERS", b"fifo"]
    assert other.reserve("t") == ["DIFFERS", b"", 0, b"fifo"]
    assert world.dump() == before


def test_a_batch_takes_what_is_there(queue):
    queue.push("a", "b", "c")

    assert queue.take("t", count=10) == [b"a", b"b", b"c"]


def test_queues_are_read_in_order_of_priority(world):
    queue = Queue(world, b"high", b"low")
    Queue(world, b"low").push("l")
    Queue(world, b"high").push("h")

    first, second = queue.reserve("t1"), queue.reserve("t2")

    assert (first[2], Job(first[5]).data) == (0, b"h")
    assert (second[2], Job(second[5]).data) == (1, b"l")


def test_retry_is_answered_from_the_queue_that_was_taken_from(world):
    queue = Queue(world, b"high", b"low")
    Queue(world, b"low").push("l")
    first = queue.reserve("t")
    Queue(world, b"high").push("h")

    assert queue.reserve("t") == first
    assert queue.take("u") == [b"h"]


# -- pushing once


def test_push_under_a_known_request_id_changes_nothing(world, queue):
    first = queue.push("a", "b", once="r")
    before = world.dump()

    assert queue.push("a", "b", once="r")[:3] == first[:3]
    assert queue.push("something else", once="r")[:3] == first[:3]
    assert world.dump() == before


def test_request_id_is_forgotten_after_its_time(world, queue):
    queue.push("a", once="r", once_ms=5000)

    assert 0 < world.redis("PTTL", queue.once("r")) <= 5000


def test_delayed_push_is_retried_without_harm(world, queue):
    queue.push("a", once="r", delay=1000)
    before = world.dump()

    queue.push("a", once="r", delay=1000)
    assert world.dump() == before


# -- leases


def test_taken_message_is_nobody_elses(queue):
    queue.push("a")
    queue.take("t1")

    assert queue.reserve("t2")[0] == "EMPTY"
    assert queue.inspect()["taken"] == 1


def test_retried_reserve_answers_the_same_messages(world, queue):
    queue.push("a", "b", "c", "d")
    first = queue.reserve("t", count=2)
    world.advance(100)
    before = world.dump()

    again = queue.reserve("t", count=2)

    assert again[5:] == first[5:]
    assert again[3] == first[3] - 100
    assert world.dump() == before


def test_retry_finds_what_was_the_last(world, queue):
    queue.push("a")
    first = queue.reserve("t", count=5)

    assert queue.reserve("t", count=5)[5:] == first[5:]


def test_acknowledged_message_is_gone_for_good(world, queue):
    queue.push("a")
    queue.take("t")

    assert queue.ack(ending("a", "t")) == ["RELEASED", b"1"]
    assert queue.places() == []
    assert world.redis("EXISTS", queue.key("leases"), queue.key("flight")) == 0
    world.advance(60000)
    assert queue.reserve("u")[0] == "EMPTY"


def test_second_ack_finds_nothing(world, queue):
    queue.push("a")
    queue.take("t")
    queue.ack(ending("a", "t"))
    before = world.dump()

    assert queue.ack(ending("a", "t")) == ["RELEASED", b"0"]
    assert world.dump() == before


def test_message_whose_lease_ran_out_goes_to_the_next(world, queue):
    queue.push("a", "b")
    queue.take("t", lease=1000)
    world.advance(1000)

    reply = queue.reserve("u")

    job = Job(reply[5])
    assert (job.data, job.attempts) == (b"a", 1)
    assert queue.inspect()["expired"] == 1


def test_late_ack_of_a_redelivered_message_is_refused(world, queue):
    queue.push("a")
    queue.take("t", lease=1000)
    world.advance(1001)
    queue.take("u")
    before = world.dump()

    assert queue.ack(ending("a", "t")) == ["RELEASED", b"0"]
    assert queue.finish(ending("n", "t")) == ["RELEASED", b"0"]
    assert queue.extend("t") == ["LOST"]
    assert world.dump() == before
    assert queue.ack(ending("a", "u")) == ["RELEASED", b"1"]


def test_late_ack_is_taken_while_nobody_else_has_it(world, queue):
    queue.push("a")
    queue.take("t", lease=1000)
    world.advance(1001)

    assert queue.ack(ending("a", "t")) == ["RELEASED", b"1"]
    assert queue.reserve("u")[0] == "EMPTY"


NARROW = """
local wide = string
local string = setmetatable({ format = function(form, ...)
  for _, number in ipairs({ ... }) do
    if wide.find(form, "%%%d*d") and number >= 2147483648 then
      return wide.format(form, 2147483647, 0)
    end
  end
  return wide.format(form, ...)
end }, { __index = wide })
"""


@pytest.mark.parametrize("lease", [1000, 1007, 86_400_000])
def test_lease_is_right_on_a_server_of_32_bits(world, queue, lease):
    """Its Lua has integers of 32 bits in string.format."""
    script = copy.copy(world.scripts["queue_reserve"])
    script.text = NARROW + script.text
    world.scripts = {**world.scripts, "queue_reserve": script}
    queue.push("a")

    assert queue.take("t", lease=lease) == [b"a"]

    score = world.redis("ZSCORE", queue.key("leases"), "t")
    assert int(score) == (world.now // 1000 + lease) * 512 + 1


def test_lease_of_which_some_messages_were_returned_is_lost(world, queue):
    queue.push(*["x"] * 100)
    queue.take("t", count=100, lease=1000)
    world.advance(1000)
    queue.take("u")  # one call returns 64 of them

    assert queue.inspect()["expired"] == 64
    assert queue.extend("t") == ["LOST"]
    assert queue.extend("t", renews=1) == ["LOST"]
    for i in range(99):
        queue.take(f"v{i}")
    assert queue.inspect()["taken"] == 100


def test_extended_lease_keeps_the_message(world, queue):
    queue.push("a")
    queue.take("t", lease=1000)

    assert queue.extend("t", 5000) == ["HELD", 5000, 0, world.now]
    world.advance(4999)
    assert queue.reserve("u")[0] == "EMPTY"
    world.advance(1)
    assert queue.take("u") == [b"a"]


def test_batch_keeps_its_order_when_it_comes_back(world, queue):
    for order in ("fifo", "filo"):
        each = Queue(world, order.encode(), order=order)
        each.push("a", "b", "c", "d", "e")
        taken = each.take(f"t-{order}", count=4, lease=1000)
        world.advance(1000)

        assert each.take(f"u-{order}", count=4) == taken


def test_only_what_is_open_of_a_batch_comes_back(world, queue):
    queue.push("a", "b", "c")
    queue.take("t", count=3, lease=1000)
    queue.ack(ending("a", "t", 2, count=0))
    world.advance(1000)

    assert queue.take("u", count=3) == [b"a", b"c"]


def test_lease_goes_with_the_last_of_a_batch(world, queue):
    queue.push("a", "b", "c")
    queue.take("t", count=3)
    queue.ack(ending("a", "t", 1, count=0))
    queue.ack(ending("a", "t", 3, count=3))
    assert world.redis("ZCARD", queue.key("leases")) == 1

    assert queue.ack(ending("a", "t", 2, count=3)) == ["RELEASED", b"1"]
    assert world.redis("ZCARD", queue.key("leases")) == 0


def test_whole_batch_is_acknowledged_at_once(world, queue):
    queue.push("a", "b", "c")
    queue.take("t", count=3)

    assert queue.ack(ending("a", "t", 1, 3)) == ["RELEASED", b"3"]
    assert world.redis("EXISTS", queue.key("leases"), queue.key("flight")) == 0


def test_taking_for_good_leaves_nothing(world, queue):
    queue.push("a")

    assert queue.take("t", lease=0) == [b"a"]
    assert queue.places() == []
    assert world.redis("EXISTS", queue.key("leases")) == 0


# -- endings with the next question


def test_ack_travels_with_the_next_reserve(queue):
    queue.push("a", "b")
    queue.take("t")

    reply = queue.reserve("u", ending("a", "t"))

    assert (reply[1], Job(reply[5]).data) == (b"1", b"b")
    assert queue.places() == [2]


def test_ack_is_done_when_there_is_nothing_to_take(queue):
    queue.push("a")
    queue.take("t")

    assert queue.reserve("u", ending("a", "t"))[:2] == ["EMPTY", b"1"]
    assert queue.places() == []


def test_retry_of_both_answers_the_same_messages(world, queue):
    queue.push("a", "b")
    queue.take("t")
    first = queue.reserve("u", ending("a", "t"))
    before = world.dump()

    again = queue.reserve("u", ending("a", "t"))

    assert (again[1], again[5:]) == (b"0", first[5:])
    assert world.dump() == before


def test_endings_reach_the_queue_they_belong_to(world):
    queue = Queue(world, b"high", b"low")
    low = Queue(world, b"low")
    low.push("l")
    queue.take("t")

    reply = queue.reserve("u", ending("a", "t", queue=1))

    assert reply[:2] == ["EMPTY", b"1"]
    assert low.places() == []


def test_misuse_is_refused_before_anything_is_written(world, queue):
    queue.push("a", "b")
    queue.take("t")
    before = world.dump()

    for item in (
        "",
        "x 0 t 1 1 1 0 ",
        ending("a", "t", queue=1),
        ending("a", "t", 2, 1),
    ):
        with pytest.raises(ReplyError, match="ILKARG"):
            queue.reserve("u", ending("a", "t"), item)
        with pytest.raises(ReplyError, match="ILKARG"):
            queue.ack(ending("a", "t"), item)
    with pytest.raises(ReplyError, match="ILKARG"):
        queue.ack(ending("n", "t"))
    with pytest.raises(ReplyError, match="ILKARG"):
        queue.reserve("u", count=257)
    with pytest.raises(ReplyError, match="ILKARG"):
        Queue(world, order="random").push("a")
    assert world.dump() == before


@pytest.mark.parametrize("order", ["fifo", "filo"])
def test_messages_that_are_due_together_keep_their_order(world, order):
    queue = Queue(world, order=order)
    data = [b"%d" % i for i in range(40)]
    queue.push(*data[:12], delay=1000)
    for one in data[12:30]:
        queue.push(one, delay=1000)
    world.advance(400)
    queue.push(*data[30:], delay=600)
    assert queue.peek(2, count=50) == data

    world.advance(599)
    assert queue.reserve("t")[0] == "EMPTY"
    world.advance(1)
    taken = queue.take("t", count=40)
    assert taken == (data if order == "fifo" else data[::-1])

    queue.finish(ending("n", "t", 1, 40, delay=1000))
    world.advance(1000)
    assert queue.take("u", count=40) == taken


def test_more_than_keep_their_order_are_due_no_later(world):
    queue = Queue(world)
    for _ in range(5):
        queue.push(*["x"] * 250, delay=1000)
    world.advance(999)
    assert queue.inspect()["due"] == 0
    world.advance(1)

    assert queue.inspect()["due"] == 1250


def test_time_until_a_delayed_message_is_whole(world):
    queue = Queue(world)
    queue.push("a", delay=1000)
    queue.wait("t")

    assert queue.reserve("t", wait=True)[2] == 1000
    assert queue.push("b", delay=1000)[3] == 1  # as due as the first
    assert queue.reserve("t", wait=True)[2] == 1000
    assert queue.push("c", delay=1001)[3] == 0
