# SPDX-License-Identifier: MIT
"""rwlock_*: readers together, a writer alone, nobody overtaken."""
from world import DAY_MS, READERS, START_US


def queue(world, *tokens, reads=False, **options):
    for token in tokens:
        world.listen(f"c-{token}")
        ask = world.read if reads else world.acquire
        assert ask(token, **options)[0] == "QUEUED"


def readers(world):
    return world.redis("ZRANGE", world.keys()[4], 0, -1)


def test_reader_enters_a_free_lock(world):
    assert world.read("r") == ["HELD", 10000, START_US, START_US]
    assert world.holder() == READERS
    assert readers(world) == [b"r"]
    assert world.record()[b"token"] == READERS
    assert world.record()[b"who"] == b"host:r"


def test_reader_joins_readers_and_the_marker_lives_with_the_latest(world):
    world.read("r", lease=60000)
    code, lease, fence, _ = world.read("s", lease=1000)

    assert (code, lease, fence) == ("HELD", 1000, START_US + 1)
    assert world.redis("PTTL", world.name) > 59000
    assert world.redis("PTTL", world.keys()[4]) > 59000
    assert world.redis("PTTL", world.keys()[1]) > 59000 + DAY_MS


def test_longer_reader_lengthens_the_marker(world):
    world.read("r", lease=1000)
    world.read("s", lease=60000)

    assert world.redis("PTTL", world.name) > 59000


def test_reader_is_busy_or_queued_behind_a_writer(world):
    world.acquire("w")

    assert world.read("r", wait=False)[0] == "BUSY"
    assert world.read("r")[0] == "QUEUED"
    assert world.read("r")[3] == 1


def test_reader_does_not_overtake_a_waiting_writer(world):
    world.read("r")
    queue(world, "w")

    assert world.read("s", wait=False)[0] == "BUSY"
    queue(world, "s", reads=True)

    assert world.line() == [b"w", b"s"]
    assert readers(world) == [b"r"]


def test_last_reader_hands_over_to_the_writer(world):
    world.read("r")
    world.read("s")
    queue(world, "w")

    assert world.read_release("r") == ["RELEASED", 0, 0]
    assert world.holder() == READERS
    assert world.read_release("s") == ["RELEASED", 0, 0]
    assert world.holder() == b"w"
    assert len(world.inbox("c-w")) == 1


def test_last_reader_leaves_only_the_record(world):
    world.read("r")

    assert world.read_release("r") == ["RELEASED", 0, 0]
    assert set(world.redis("KEYS", "*")) == {world.keys()[1], b"ilk:test:now"}


def test_barging_reader_that_enters_leaves_the_line(world):
    world.acquire("a")
    queue(world, "r", reads=True, barge=1)
    world.expire()

    assert world.read("r", barge=1)[0] == "HELD"
    assert world.line() == []


def test_adjacent_readers_enter_together_up_to_the_writer(world):
    world.acquire("a")
    queue(world, "r1", "r2", reads=True)
    queue(world, "w")
    queue(world, "r3", reads=True)
    fence = world.fence()

    world.release("a")

    assert world.holder() == READERS
    assert readers(world) == [b"r1", b"r2"]
    assert world.line() == [b"w", b"r3"]
    told = [world.inbox(f"c-{t}")[0].split(b" ") for t in ("r1", "r2")]
    assert [int(m[4]) for m in told] == [fence + 1, fence + 2]
    assert world.fence() == fence + 2
    assert world.inbox("c-r3") == []


def test_writer_then_next_readers(world):
    world.acquire("a")
    queue(world, "r1", reads=True)
    queue(world, "w")
    queue(world, "r2", reads=True)
    world.release("a")
    world.read_release("r1")
    assert world.holder() == b"w"

    world.release("w")

    assert readers(world) == [b"r2"]
    assert world.line() == []


def test_dead_and_deaf_readers_are_no_hindrance(world):
    world.acquire("a")
    queue(world, "dead", reads=True)
    world.advance(4000)
    queue(world, "deaf", "r", reads=True)
    world.deaf("c-deaf")
    world.advance(3000)

    world.release("a")

    assert readers(world) == [b"r"]
    assert world.line() == [b"deaf"]


def test_deaf_reader_beside_readers_leaves_them_as_they_were(world):
    world.read("r", lease=1000)
    queue(world, "w")
    world.read("deaf")

    world.cancel("w")

    assert readers(world) == [b"r"]
    assert world.redis("PTTL", world.name) <= 1000
    assert world.record()[b"token"] == READERS
    assert world.line() == [b"deaf"]


def test_only_deaf_readers_leave_the_key_free(world):
    world.acquire("a")
    world.read("deaf")

    assert world.release("a") == ["RELEASED", 0, 0]
    assert world.holder() is None
    assert readers(world) == []
    assert world.line() == [b"deaf"]


def test_deaf_writer_is_passed_over_by_readers_behind_it(world):
    world.acquire("a")
    world.acquire("w")
    queue(world, "r", reads=True)

    world.release("a")

    assert world.holder() == READERS
    assert world.line() == [b"w"]
    assert world.record()[b"token"] == READERS


def test_readers_of_an_era_that_ended_do_not_come_back(world):
    world.read("old", lease=60000)
    world.expire()
    world.acquire("a", barge=1)
    queue(world, "r", reads=True)

    world.release("a")

    assert readers(world) == [b"r"]
    assert world.read_extend("old") == ["LOST"]


def test_newcomer_after_a_broken_era_finds_no_readers(world):
    world.read("old", lease=60000)
    world.expire()

    world.read("r", lease=1000)

    assert readers(world) == [b"r"]
    assert world.redis("PTTL", world.name) <= 1000


def test_limit_of_readers_says_more_and_refresh_lets_the_rest_in(world):
    world.acquire("a")
    queue(world, "r1", "r2", "r3", "r4", "r5", reads=True)

    assert world.release("a", limit=2) == ["RELEASED", 1, 0]
    assert readers(world) == [b"r1", b"r2"]
    entry = world.entry("r5", kind="r")
    assert world.refresh("c-r5", entry, limit=2)[0] == "MORE"
    reply = world.refresh("c-r5", entry, limit=2)
    assert reply[0] == "BUSY" and reply[4] == 1
    assert len(readers(world)) == 5


def test_refresh_tells_a_reader_what_it_holds(world):
    world.acquire("a")
    queue(world, "r", reads=True, lease=2000)
    world.release("a")
    world.advance(500)

    reply = world.refresh("c-r", world.entry("r", kind="r", lease=2000))

    assert reply[0] == "BUSY"
    assert reply[4:] == [1, 1500, world.fence()]


def test_refresh_frees_a_marker_without_live_readers(world):
    world.read("r", lease=60000)
    queue(world, "w")
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
    world.acquire("w")
    world.redis("ZADD", world.keys()[4], world.now // 1000 - 1, "r")

    assert world.read("s", wait=False)[:2] == ["BUSY", -2]
    assert world.holder() is None


def test_trying_reader_that_lets_another_in_gets_a_fence_above(world):
    world.read("r", lease=60000)
    queue(world, "w")
    world.advance(4000)
    queue(world, "s", reads=True)
    world.advance(3000)

    code, _, fence, _ = world.read("t", wait=False)

    assert code == "HELD"
    assert fence > int(world.inbox("c-s")[0].split(b" ")[4])


def test_refresh_of_a_marker_lets_readers_past_a_dead_writer(world):
    world.read("r", lease=60000)
    queue(world, "w")
    world.advance(4000)
    queue(world, "s", reads=True)
    world.advance(3000)

    reply = world.refresh("c-s", world.entry("s", kind="r"))

    assert reply[4] == 1
    assert readers(world) == [b"s", b"r"]


def test_reader_claims_past_a_dead_writer(world):
    world.read("r", lease=60000)
    queue(world, "w")
    world.advance(7000)

    code, lease, fence, _ = world.read("s")

    assert (code, lease, fence) == ("HELD", 10000, world.fence())
    assert world.line() == []


def test_trying_reader_enters_past_a_dead_writer(world):
    world.read("r", lease=60000)
    queue(world, "w")
    world.advance(7000)

    assert world.read("s", wait=False)[0] == "HELD"
    assert len(readers(world)) == 2


def test_trying_reader_takes_a_free_key_whose_waiters_are_dead(world):
    world.acquire("a")
    queue(world, "w")
    world.advance(7000)
    world.expire()

    assert world.read("s", wait=False)[0] == "HELD"


def test_trying_reader_hands_a_free_key_to_the_first(world):
    world.acquire("a")
    queue(world, "w")
    world.expire()

    assert world.read("s", wait=False)[0] == "BUSY"
    assert world.holder() == b"w"


def test_leaving_writer_lets_the_readers_behind_it_in(world):
    world.read("r")
    queue(world, "w")
    queue(world, "s", reads=True)

    assert world.cancel("w") == ["GONE"]
    assert sorted(readers(world)) == [b"r", b"s"]
    assert len(world.inbox("c-s")) == 1


def test_leaving_reader_in_line_is_gone(world):
    world.acquire("a")
    queue(world, "r", reads=True)

    assert world.read_cancel("r") == ["GONE"]
    assert world.line() == []
    assert world.holder() == b"a"


def test_cancelled_reader_gives_a_late_grant_back(world):
    world.acquire("a")
    queue(world, "r", reads=True)
    queue(world, "w")
    world.release("a")

    assert world.read_cancel("r") == ["RELEASED", 0, 0]
    assert world.holder() == b"w"
    assert world.read_cancel("r") == ["GONE"]
    assert world.holder() == b"w"


def test_cancelled_reader_on_a_free_key_hands_it_on(world):
    world.acquire("a")
    queue(world, "r", reads=True)
    queue(world, "w")
    world.expire()

    assert world.read_cancel("r") == ["GONE"]
    assert world.holder() == b"w"


def test_retried_read_is_told_of_its_hold(world):
    world.read("r", lease=8000)
    world.advance(3000)

    assert world.read("r", lease=8000) == ["HELD", 5000, START_US, world.now]
    assert readers(world) == [b"r"]


def test_retried_read_after_a_lost_grant_is_told_of_it(world):
    world.acquire("a")
    queue(world, "r", reads=True)
    world.release("a")

    assert world.read("r")[:3] == ["HELD", 5000, world.fence()]


def test_reader_release_by_stranger_is_lost(world):
    world.read("r")

    assert world.read_release("x") == ["LOST"]
    assert readers(world) == [b"r"]


def test_reader_release_of_a_writers_lock_is_lost(world):
    world.acquire("w")

    assert world.read_release("r") == ["LOST"]
    assert world.holder() == b"w"


def test_expired_reader_that_releases_has_lost(world):
    world.read("r", lease=1000)
    world.read("s", lease=60000)
    world.advance(1000)

    assert world.read_release("r") == ["LOST"]
    assert readers(world) == [b"s"]


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
    assert readers(world) == [b"s"]


def test_reader_extends(world):
    fence = world.read("r", lease=1000)[2]

    assert world.read_extend("r", 60000) == ["HELD", 60000, fence, START_US]
    assert world.redis("PTTL", world.name) > 59000
    assert world.redis("PTTL", world.keys()[1]) > 59000 + DAY_MS


def test_expired_reader_cannot_extend(world):
    world.read("r", lease=1000)
    world.read("s", lease=60000)
    world.advance(1000)

    assert world.read_extend("r") == ["LOST"]


def test_reader_cannot_extend_a_writers_lock(world):
    world.acquire("w")

    assert world.read_extend("w") == ["LOST"]


def test_writers_verbs_do_not_touch_readers(world):
    world.read("r")

    assert world.extend("r") == ["LOST"]
    assert world.release("r") == ["LOST"]
    assert readers(world) == [b"r"]


def test_barging_reader_joins_past_a_waiting_writer(world):
    world.read("r")
    queue(world, "w")

    assert world.read("s", barge=1)[0] == "HELD"
    assert world.line() == [b"w"]


def test_floor_lifts_a_readers_fence(world):
    assert world.read("r", floor=START_US + 99)[2] == START_US + 100
