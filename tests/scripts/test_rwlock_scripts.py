# SPDX-License-Identifier: MIT
"""rwlock_*: readers together, a writer alone, nobody overtaken."""

from world import DAY_MS, READERS, START_US


def test_reader_enters_a_free_lock(world):
    assert world.read("r") == ["HELD", 10000, START_US, START_US]
    assert world.holder() == READERS
    assert world.readers() == [b"r"]
    assert world.record()[b"token"] == READERS
    assert world.record()[b"who"] == b"c-r host:r"


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
    world.queue("w")

    assert world.read("s", wait=False)[0] == "BUSY"
    world.queue("s", reads=True)

    assert world.line() == [b"w", b"s"]
    assert world.readers() == [b"r"]


def test_last_reader_hands_over_to_the_writer(world):
    world.read("r")
    world.read("s")
    world.queue("w")

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
    world.queue("r", reads=True, barge=1)
    world.expire()

    assert world.read("r", barge=1)[0] == "HELD"
    assert world.line() == []


def test_adjacent_readers_enter_together_up_to_the_writer(world):
    world.acquire("a")
    world.queue("r1", "r2", reads=True)
    world.queue("w")
    world.queue("r3", reads=True)
    fence = world.fence()

    world.release("a")

    assert world.holder() == READERS
    assert world.readers() == [b"r1", b"r2"]
    assert world.line() == [b"w", b"r3"]
    told = [world.inbox(f"c-{t}")[0].split(b" ") for t in ("r1", "r2")]
    assert [int(m[4]) for m in told] == [fence + 1, fence + 2]
    assert world.fence() == fence + 2
    assert world.inbox("c-r3") == []


def test_writer_then_next_readers(world):
    world.acquire("a")
    world.queue("r1", reads=True)
    world.queue("w")
    world.queue("r2", reads=True)
    world.release("a")
    world.read_release("r1")
    assert world.holder() == b"w"

    world.release("w")

    assert world.readers() == [b"r2"]
    assert world.line() == []


def test_dead_and_deaf_readers_are_no_hindrance(world):
    world.acquire("a")
    world.queue("dead", reads=True)
    world.advance(4000)
    world.queue("deaf", "r", reads=True)
    world.deaf("c-deaf")
    world.advance(3000)

    world.release("a")

    assert world.readers() == [b"r"]
    assert world.line() == [b"deaf"]


def test_deaf_reader_beside_readers_leaves_them_as_they_were(world):
    world.read("r", lease=1000)
    world.queue("w")
    world.read("deaf")

    world.cancel("w")

    assert world.readers() == [b"r"]
    assert world.redis("PTTL", world.name) <= 1000
    assert world.record()[b"token"] == READERS
    assert world.line() == [b"deaf"]


def test_only_deaf_readers_leave_the_key_free(world):
    world.acquire("a")
    world.read("deaf")

    assert world.release("a") == ["RELEASED", 0, 0]
    assert world.holder() is None
    assert world.readers() == []
    assert world.line() == [b"deaf"]


def test_deaf_writer_is_passed_over_by_readers_behind_it(world):
    world.acquire("a")
    world.acquire("w")
    world.queue("r", reads=True)

    world.release("a")

    assert world.holder() == READERS
    assert world.line() == [b"w"]
    assert world.record()[b"token"] == READERS


def test_readers_of_an_era_that_ended_do_not_come_back(world):
    world.read("old", lease=60000)
    world.expire()
    world.acquire("a", barge=1)
    world.queue("r", reads=True)

    world.release("a")

    assert world.readers() == [b"r"]
    assert world.read_extend("old")[0] == "LOST"


def test_newcomer_after_a_broken_era_finds_no_readers(world):
    world.read("old", lease=60000)
    world.expire()

    world.read("r", lease=1000)

    assert world.readers() == [b"r"]
    assert world.redis("PTTL", world.name) <= 1000


def test_limit_of_readers_says_more_and_refresh_lets_the_rest_in(world):
    world.acquire("a")
    world.queue("r1", "r2", "r3", "r4", "r5", reads=True)

    assert world.release("a", limit=2) == ["RELEASED", 1, 0]
    assert world.readers() == [b"r1", b"r2"]
    entry = world.entry("r5", kind="r")
    assert world.refresh("c-r5", entry, limit=2)[0] == "MORE"
    reply = world.refresh("c-r5", entry, limit=2)
    assert reply[0] == "BUSY" and reply[4] == 1
    assert len(world.readers()) == 5
