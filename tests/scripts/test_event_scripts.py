# SPDX-License-Identifier: MIT
"""event_* and state_*: an event that stays, and those who wait for it."""

import pytest
from resp import Connection, ReplyError
from state_world import LIVENESS, Event
from test_inner_calls import inner_calls
from world import DAY_MS, START_US


@pytest.fixture
def event(world):
    return Event(world)


def test_event_that_nobody_set_is_clear_and_has_no_generation(event, world):
    assert event.read() == ["STATE", 0, 0, 0, b""]
    assert world.dump().keys() == {b"ilk:test:now"}


def test_set_stays_until_it_is_cleared(event, world):
    assert event.set("t1", b"a\0\r\n\xff") == ["STATE", START_US, 0, 0]
    world.advance(10 * DAY_MS)

    assert event.read() == ["STATE", START_US, 1, -1, b"a\0\r\n\xff"]
    assert world.redis("PTTL", event.keys[0]) == -1


def test_every_set_and_clear_has_a_greater_generation(event, world):
    seen = [event.set("t1")[1], event.set("t2", b"x")[1], event.clear("t3")[1]]
    world.advance(5)
    seen.append(event.set("t4")[1])

    assert seen == [START_US, START_US + 1, START_US + 2, START_US + 5000]


def test_generation_rises_when_the_record_and_its_memory_are_lost(event, world):
    before = event.set("t1")[1]
    world.redis("FLUSHALL")
    world.advance(1)

    assert event.set("t2")[1] > before


def test_generation_rises_when_the_clock_is_set_back(event, world):
    before = event.set("t1")[1]
    world.set_clock(START_US - 1_000_000)

    assert event.set("t2")[1] == before + 1


def test_clear_forgets_the_data_and_the_record_goes_after_a_day(event, world):
    event.set("t1", b"data")
    generation = event.clear("t2")[1]

    assert event.read() == ["STATE", generation, 0, 0, b""]
    assert DAY_MS - 5000 < world.redis("PTTL", event.keys[0]) <= DAY_MS


def test_clear_of_a_clear_event_changes_nothing(event, world):
    assert event.clear("t1") == ["STATE", 0, 0, 0]
    event.set("t2")
    generation = event.clear("t3")[1]
    before = world.dump()

    assert event.clear("t4") == ["STATE", generation, 0, 0]
    assert world.dump() == before


def test_set_with_a_time_ends_by_itself_and_keeps_its_generation(event, world):
    generation = event.set("t1", b"x", ttl=1000)[1]
    world.advance(400)
    assert event.read() == ["STATE", generation, 1, 600, b"x"]
    world.advance(600)

    assert event.read() == ["STATE", generation, 0, 0, b""]
    assert event.wait("w", look=True)[0] == "BUSY"
    assert world.redis("PTTL", event.keys[0]) > DAY_MS


def test_set_without_a_time_after_one_with_stays(event, world):
    event.set("t1", ttl=1000)
    event.set("t2")
    world.advance(5000)

    assert event.read()[2:4] == [1, -1]
    assert world.redis("PTTL", event.keys[0]) == -1


# -- asking again


@pytest.mark.parametrize("verb", ["set", "clear"])
def test_retry_changes_nothing_whatever_came_in_between(event, world, verb):
    event.set("t0", b"old")
    first = getattr(event, verb)("t1")
    event.set("t2", b"new")
    before = world.dump()

    assert getattr(event, verb)("t1") == first
    assert event.read()[4] == b"new"
    assert world.dump() == before


def test_retry_is_known_for_a_minute(event, world):
    event.set("t1")
    world.advance(60_001)
    for i in range(16):
        event.set(f"n{i}", b"new")

    tokens = world.redis("ZRANGE", event.keys[1], 0, -1)
    assert tokens == [b"n%d" % i for i in range(16)]
    assert 0 < world.redis("PTTL", event.keys[1]) <= 60_000


def test_of_very_many_requests_the_last_ten_thousand_are_known(event, world):
    pairs = [part for i in range(10_050) for part in (START_US - 1000 + i, f"o{i}")]
    world.redis("ZADD", event.keys[1], *pairs)

    event.set("new")

    assert world.redis("ZCARD", event.keys[1]) == 10_000
    assert world.redis("ZSCORE", event.keys[1], "new")


# -- waiting


def test_late_comer_gets_a_set_event_at_once_and_stands_nowhere(event, world):
    generation = event.set("t1", b"x")[1]
    before = world.dump()

    assert event.wait("w") == ["STATE", generation, 1, -1, b"x"]
    assert world.dump() == before


def test_waiter_stands_in_line_and_only_a_look_does_not(event):
    assert event.wait("a", look=True) == ["BUSY", -1, START_US, 1, 0]
    assert event.line() == []

    assert event.wait("a") == ["QUEUED", -1, START_US, 1, 0]
    assert event.wait("a") == ["QUEUED", -1, START_US, 1, 0]
    assert (event.line(), event.live()) == (["a"], ["c-a"])


def test_set_wakes_each_client_once_and_empties_the_wait_queue(event, world):
    event.listen("p", "q")
    for token in ("a", "b", "c"):
        event.wait(token, client="p")
    event.wait("d", client="q")

    assert event.set("t1", b"x")[2:] == [0, 0]

    assert world.inbox("p") == world.inbox("q") == [event.change()]
    assert (event.line(), event.live()) == ([], [])
    assert event.wait("a", client="p")[0] == "STATE"


def test_a_change_repeats_the_secret_of_each_client(event, world):
    event.listen("p", "q")
    event.wait("a", client="p.5ec")
    event.wait("b", client="p.5ec")
    event.wait("c", client="q.f00")

    event.set("t1")

    assert world.inbox("p") == [event.change(b"5ec")]
    assert world.inbox("q") == [event.change(b"f00")]


def test_waiter_whose_message_was_lost_is_gone_at_its_refresh(event):
    event.wait("a")
    assert event.refresh("state_refresh", "c-a", "a")[4:] == [3, 0, 0]
    event.set("t1")

    assert event.refresh("state_refresh", "c-a", "a")[4:] == [7, 0, 0]


def test_waiter_is_gone_after_a_flush(event, world):
    event.wait("a")
    world.redis("FLUSHALL")
    world.set_clock(START_US)

    assert event.refresh("state_refresh", "c-a", "a")[4:] == [7, 0, 0]


def test_refresh_never_asks_for_a_claim(event):
    event.wait("a")

    assert event.refresh("state_refresh", "c-a", "a")[:4] == ["BUSY", -1, START_US, 1]


def test_cancelled_waiter_leaves_the_line(event):
    event.wait("a")
    event.wait("b")

    assert event.cancel("a") == ["GONE"]
    assert event.cancel("a") == ["GONE"]
    assert event.line() == ["b"]


def test_clear_wakes_those_that_wait_for_a_change_with_the_state(event, world):
    known = event.set("t1", b"x")[1]
    event.listen("c-w")
    assert event.wait("w", known=known)[0] == "QUEUED"

    generation = event.clear("t2")[1]

    assert world.inbox("c-w") == [event.change()]
    assert event.wait("w", known=known) == ["STATE", generation, 0, 0, b""]


def test_change_that_came_before_is_returned_at_once(event):
    old = event.set("t1")[1]
    generation = event.set("t2", b"x")[1]

    assert event.wait("w", known=old) == ["STATE", generation, 1, -1, b"x"]
    assert event.wait("w", known=0)[0] == "STATE"
    assert event.wait("w", known=generation)[0] == "QUEUED"


def test_change_is_waited_for_past_a_lost_record(event, world):
    known = event.set("t1")[1]
    world.redis("DEL", event.keys[0])

    assert event.wait("w", known=known)[0] == "QUEUED"


def test_many_clients_are_woken_bit_by_bit(event, world):
    clients = [f"c-w{i}" for i in range(5)]
    event.listen(*clients)
    for i in range(5):
        event.wait(f"w{i}")
        world.advance(1)

    assert event.set("t1", limit=2)[2:] == [3, 0]
    assert event.call("state_wake", 2) == ["RELEASED", 1, 0]
    assert event.call("state_wake", 2) == ["RELEASED", 0, 0]
    assert [len(world.inbox(client)) for client in clients] == [1] * 5


def test_retry_of_a_set_wakes_those_that_are_left(event):
    for i in range(3):
        event.wait(f"w{i}")

    first = event.set("t1", limit=2)

    assert first[2:] == [1, 0]
    assert event.set("t1", limit=2) == ["STATE", first[1], 0, 0]
    assert event.live() == []


def test_waiters_that_come_again_meanwhile_are_woken_last(event, world):
    event.listen("c-quick", "c-slow")
    event.wait("quick")
    world.advance(1)
    event.wait("slow")
    generation = event.set("t1", limit=1)[1]
    world.advance(1)
    assert event.wait("quick", known=generation)[0] == "QUEUED"

    assert event.call("state_wake", 1) == ["RELEASED", 1, 0]

    assert len(world.inbox("c-slow")) == len(world.inbox("c-quick")) == 1
    assert event.live() == ["c-quick"]


def test_a_set_costs_what_its_clients_cost_not_its_waiters(real_world):
    event = Event(real_world)
    for i in range(300):
        event.wait(f"w{i}", client="p")

    calls = inner_calls(real_world, lambda: event.set("t1"))

    assert calls["publish"] == 1
    assert sum(calls.values()) <= 14  # every sixteenth removes old requests


# -- refusals


def test_a_set_ends_a_wait_in_the_queue_though_a_clear_follows(event, world):
    event.set("t1")
    since = event.clear("t2")[1]
    assert event.wait("w") == ["QUEUED", -1, START_US, 1, since]

    event.set("t3", b"gone")
    generation = event.clear("t4")[1]

    assert event.wait("w", since=since) == ["STATE", generation, 0, 0, b""]
    assert event.wait("later") == ["QUEUED", -1, START_US, 1, generation]


def test_a_set_before_the_wait_was_in_the_queue_does_not_end_it(event):
    event.set("t1")
    since = event.clear("t2")[1]

    assert event.wait("w", since=since)[0] == "QUEUED"
    assert event.clear("t3")[1] == since
    assert event.wait("w", since=since)[0] == "QUEUED"


@pytest.mark.parametrize(
    "script, args",
    [
        ("event_set", ("", b"", 0, 1)),
        ("event_set", ("t", b"", -1, 1)),
        ("event_set", ("t", b"", 0, 0)),
        ("event_clear", ("", 1)),
        ("event_clear", ("t", "x")),
        ("event_wait", (b"no entry", "c", 1, 1, "t", "", "")),
        ("event_wait", (b"1 x c o1 t 1 1 h", "c", 1, 1, "t", "", "")),
        ("event_wait", (b"1 o other o1 t 1 1 h", "c", 1, 1, "t", "", "")),
        ("event_wait", (b"", "c", 1, 1, "t", "-1", "")),
        ("event_wait", (b"", "c", 0, 1, "t", "", "")),
        ("event_wait", (b"", "c", 1, 1, "t", "", "-1")),
        ("state_wake", (0,)),
        ("state_refresh", ("c", 0, 1, 1, 0)),
        ("state_refresh", ("c", 1, 1, 1, 1)),
    ],
)
def test_misuse_is_refused_and_nothing_written(event, world, script, args):
    before = world.dump()

    with pytest.raises(ReplyError, match="ILKARG"):
        event.call(script, *args)
    assert world.dump() == before


def test_wrong_type_is_refused_and_nothing_written(event, world):
    world.redis("SET", event.keys[0], "x")
    before = world.dump()

    for ask in (
        lambda: event.set("t"),
        lambda: event.clear("t"),
        event.read,
        lambda: event.wait("t"),
    ):
        with pytest.raises(ReplyError, match="WRONGTYPE"):
            ask()
    assert world.dump() == before


@pytest.fixture
def full(world):
    """Call it to make the server refuse whatever needs memory."""
    yield lambda: world.redis("CONFIG", "SET", "maxmemory", "1")
    world.redis("CONFIG", "SET", "maxmemory", "0")


def test_without_memory_nothing_is_set_and_nobody_enqueued(event, world, full):
    before = world.dump()
    full()

    for ask in (lambda: event.set("t"), lambda: event.wait("t")):
        with pytest.raises(ReplyError, match="OOM"):
            ask()
    assert world.dump() == before


def test_without_memory_a_set_event_can_be_cleared(event, full):
    event.set("t1", b"x")
    full()

    assert event.clear("t2")[0] == "STATE"
    assert event.read()[2] == 0


def test_without_the_right_to_publish_the_change_is_made_and_said(event, world):
    event.listen("c-w")
    event.wait("w")
    world.redis(
        "ACL", "SETUSER", "mute", "on", "nopass", "+@all", "~*", "resetchannels"
    )
    mute = Connection(world.path)
    mute("AUTH", "mute", "x")
    reply = world.call("event_set", event.keys, "t", b"", 0, 1, via=mute)
    mute.close()
    world.redis("ACL", "DELUSER", "mute")

    assert reply[2:] == [0, 1]
    assert event.read()[2] == 1
    assert event.refresh("state_refresh", "c-w", "w")[4] == 7


def test_liveness_expires_the_line(event, world):
    event.wait("a")

    for key in event.keys[2:]:
        assert 0 < world.redis("PTTL", key) <= LIVENESS * 10
