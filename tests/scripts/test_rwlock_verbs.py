# SPDX-License-Identifier: MIT
"""Readers one at a time: which replies they get, how they leave."""

from world import DAY_MS, START_US


def test_refresh_returns_the_hold_of_a_reader(world):
    world.acquire("a")
    world.queue("r", reads=True, lease=2000)
    world.release("a")
    world.advance(500)

    reply = world.refresh("c-r", world.entry("r", kind="r", lease=2000))

    assert reply[0] == "BUSY"
    assert reply[4:] == [1, 1500, world.fence()]


def test_refresh_frees_a_marker_without_live_readers(world):
    world.read("r", lease=60000)
    world.queue("w")
    world.read_extend("r", 60000)
    world.redis("ZADD", world.keys()[4], world.now // 1000 - 1, "r")

    assert world.refresh("c-w", world.entry("w"))[4] == 1
    assert world.holder() == b"w"


def test_refresh_frees_a_marker_when_nobody_waits(world):
    world.read("r", lease=60000)
    world.redis("ZADD", world.keys()[4], world.now // 1000 - 1, "r")

    assert world.refresh("c")[:2] == ["FREE", -2]


def test_trying_reader_frees_a_marker_it_may_not_take(world):
    world.read("r", lease=60000)
    world.redis("ZADD", world.keys()[2], 1, "2 x c-new of another version")
    world.redis("ZADD", world.keys()[3], world.now // 1000 + 5000, "c-new")
    world.redis("ZADD", world.keys()[4], world.now // 1000 - 1, "r")

    assert world.read("s", wait=False)[:2] == ["BUSY", -2]
    assert world.holder() is None


def test_trying_reader_that_lets_another_in_gets_a_fence_above(world):
    world.read("r", lease=60000)
    world.queue("w")
    world.advance(4000)
    world.queue("s", reads=True)
    world.advance(3000)

    code, _, fence, _ = world.read("t", wait=False)

    assert code == "HELD"
    assert fence > int(world.inbox("c-s")[0].split(b" ")[4])


def test_refresh_of_a_marker_lets_readers_past_a_dead_writer(world):
    world.read("r", lease=60000)
    world.queue("w")
    world.advance(4000)
    world.queue("s", reads=True)
    world.advance(3000)

    reply = world.refresh("c-s", world.entry("s", kind="r"))

    assert reply[4] == 1
    assert world.readers() == [b"s", b"r"]


def test_reader_claims_past_a_dead_writer(world):
    world.read("r", lease=60000)
    world.queue("w")
    world.advance(7000)

    code, lease, fence, _ = world.read("s")

    assert (code, lease, fence) == ("HELD", 10000, world.fence())
    assert world.line() == []


def test_trying_reader_enters_past_a_dead_writer(world):
    world.read("r", lease=60000)
    world.queue("w")
    world.advance(7000)

    assert world.read("s", wait=False)[0] == "HELD"
    assert len(world.readers()) == 2


def test_trying_reader_takes_a_free_key_whose_waiters_are_dead(world):
    world.acquire("a")
    world.queue("w")
    world.advance(7000)
    world.expire()

    assert world.read("s", wait=False)[0] == "HELD"


def test_trying_reader_hands_a_free_key_to_the_first(world):
    world.acquire("a")
    world.queue("w")
    world.expire()

    assert world.read("s", wait=False)[0] == "BUSY"
    assert world.holder() == b"w"


def test_leaving_writer_lets_the_readers_behind_it_in(world):
    world.read("r")
    world.queue("w")
    world.queue("s", reads=True)

    assert world.cancel("w") == ["GONE"]
    assert sorted(world.readers()) == [b"r", b"s"]
    assert len(world.inbox("c-s")) == 1


def test_leaving_reader_in_line_is_gone(world):
    world.acquire("a")
    world.queue("r", reads=True)

    assert world.read_cancel("r") == ["GONE"]
    assert world.line() == []
    assert world.holder() == b"a"


def test_cancelled_reader_gives_a_late_grant_back(world):
    world.acquire("a")
    world.queue("r", reads=True)
    world.queue("w")
    world.release("a")

    assert world.read_cancel("r") == ["RELEASED", 0, 0]
    assert world.holder() == b"w"
    assert world.read_cancel("r") == ["GONE"]
    assert world.holder() == b"w"


def test_cancelled_reader_on_a_free_key_hands_it_on(world):
    world.acquire("a")
    world.queue("r", reads=True)
    world.queue("w")
    world.expire()

    assert world.read_cancel("r") == ["GONE"]
    assert world.holder() == b"w"


def test_retried_read_returns_its_hold(world):
    world.read("r", lease=8000)
    world.advance(3000)

    assert world.read("r", lease=8000) == ["HELD", 5000, START_US, world.now]
    assert world.readers() == [b"r"]


def test_retried_read_after_a_lost_grant_returns_it(world):
    world.acquire("a")
    world.queue("r", reads=True)
    world.release("a")

    assert world.read("r")[:3] == ["HELD", 5000, world.fence()]


def test_reader_release_by_stranger_is_lost(world):
    world.read("r")

    assert world.read_release("x")[0] == "LOST"
    assert world.readers() == [b"r"]


def test_reader_release_of_a_writers_lock_is_lost(world):
    world.acquire("w")

    assert world.read_release("r")[0] == "LOST"
    assert world.holder() == b"w"


def test_expired_reader_that_releases_has_lost(world):
    world.read("r", lease=1000)
    world.read("s", lease=60000)
    world.advance(1000)

    assert world.read_release("r")[0] == "LOST"
    assert world.readers() == [b"s"]


def test_marker_shrinks_when_the_longest_reader_leaves(world):
    world.read("r", lease=60000)
    world.read("s", lease=1000)

    world.read_release("r")

    assert 0 < world.redis("PTTL", world.name) <= 1000


def test_expired_readers_are_purged_before_a_decision(world):
    world.read("r", lease=1000)
    world.redis("PERSIST", world.name)
    world.redis("PERSIST", world.keys()[4])
    world.advance(1000)

    assert world.read("s")[0] == "HELD"
    assert world.readers() == [b"s"]


def test_reader_extends(world):
    fence = world.read("r", lease=1000)[2]
    world.redis("PEXPIRE", world.keys()[1], 10000)

    assert world.read_extend("r", 60000) == ["HELD", 60000, fence, START_US]
    assert world.redis("PTTL", world.name) > 59000
    assert world.redis("PTTL", world.keys()[1]) > 59000 + DAY_MS


def test_expired_reader_cannot_extend(world):
    world.read("r", lease=1000)
    world.read("s", lease=60000)
    world.advance(1000)

    assert world.read_extend("r")[0] == "LOST"


def test_reader_cannot_extend_a_writers_lock(world):
    world.acquire("w")

    assert world.read_extend("w")[0] == "LOST"


def test_writers_verbs_do_not_touch_readers(world):
    world.read("r")

    assert world.extend("r")[0] == "LOST"
    assert world.release("r")[0] == "LOST"
    assert world.readers() == [b"r"]


def test_barging_reader_joins_past_a_waiting_writer(world):
    world.read("r")
    world.queue("w")

    assert world.read("s", barge=1)[0] == "HELD"
    assert world.line() == [b"w"]


def test_floor_lifts_a_readers_fence(world):
    assert world.read("r", floor=START_US + 99)[2] == START_US + 100
