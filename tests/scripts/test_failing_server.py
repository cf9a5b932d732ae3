# SPDX-License-Identifier: MIT
"""Wrong types, no memory, missing rights: refused whole, never half-way."""

import pytest
from resp import Connection, ReplyError
from world import READERS, keys_of

CALLS = {
    "lock_acquire": lambda w: w.acquire("b"),
    "lock_acquire try": lambda w: w.acquire("b", wait=False),
    "lock_acquire barge": lambda w: w.acquire("b", barge=1),
    "lock_release": lambda w: w.release("b"),
    "lock_cancel": lambda w: w.cancel("b"),
    "lock_extend": lambda w: w.extend("b"),
    "lock_refresh": lambda w: w.refresh("c-b", w.entry("b")),
    "lock_break": lambda w: w.break_lock("b"),
    "lock_break anybody": lambda w: w.break_lock(),
    "rwlock_acquire": lambda w: w.read("b"),
    "rwlock_release": lambda w: w.read_release("b"),
    "rwlock_cancel": lambda w: w.read_cancel("b"),
    "rwlock_extend": lambda w: w.read_extend("b"),
    "many_acquire": lambda w: w.call("many_acquire", w.keys(), "b", 1000, "h", 0),
    "many_release": lambda w: w.call("many_release", w.keys(), "b", 1, 1, 1),
    "many_extend": lambda w: w.call("many_extend", w.keys(), "b", 1, 0, 0),
}


@pytest.mark.parametrize(
    "make",
    [("RPUSH", "x"), ("HSET", "owner", "1"), ("SADD", "x"), ("ZADD", "1", "x")],
    ids=lambda make: make[0],
)
@pytest.mark.parametrize("call", CALLS)
def test_wrong_type_at_the_key_is_raised_and_nothing_written(world, call, make):
    world.redis(make[0], world.name, *make[1:])
    before = world.dump()

    with pytest.raises(ReplyError, match="WRONGTYPE"):
        CALLS[call](world)
    assert world.dump() == before


def test_wrong_type_at_one_of_many_writes_nothing(world):
    keys = keys_of(b"a") + keys_of(b"b")
    world.redis("RPUSH", b"b", "x")
    before = world.dump()

    with pytest.raises(ReplyError, match="WRONGTYPE"):
        world.call("many_acquire", keys, "t", 1000, "h", 0)
    assert world.dump() == before


def test_wrong_type_at_the_record_leaves_no_lock(world):
    world.redis("SET", world.keys()[1], "not a hash")

    with pytest.raises(ReplyError, match="WRONGTYPE"):
        world.acquire("a")
    assert world.holder() is None


# -- no memory


@pytest.fixture
def full(world):
    """Call it to make the server refuse whatever needs memory."""
    yield lambda: world.redis("CONFIG", "SET", "maxmemory", "1")
    world.redis("CONFIG", "SET", "maxmemory", "0")


@pytest.mark.parametrize(
    "call",
    [
        "lock_acquire",
        "lock_acquire try",
        "lock_acquire barge",
        "rwlock_acquire",
        "many_acquire",
    ],
)
def test_without_memory_nothing_is_acquired(world, full, call):
    before = world.dump()
    full()

    with pytest.raises(ReplyError, match="OOM"):
        CALLS[call](world)
    assert world.dump() == before


def test_without_memory_nobody_is_enqueued(world, full):
    world.acquire("a")
    before = world.dump()
    full()

    for ask in (world.acquire, world.read):
        with pytest.raises(ReplyError, match="OOM"):
            ask("b")
    assert world.dump() == before


def test_without_memory_release_works_and_hands_over(world, full):
    world.acquire("a")
    world.listen("c-b")
    world.acquire("b")
    full()

    assert world.release("a") == ["RELEASED", 0, 0]
    assert world.holder() == b"b"
    assert len(world.inbox("c-b")) == 1


@pytest.mark.parametrize("kind", ["x", "r"])
def test_without_memory_a_free_key_is_handed_on_later(world, full, kind):
    world.acquire("a")
    world.listen("c-b")
    ask = world.read if kind == "r" else world.acquire
    ask("b")
    world.expire()
    full()

    world.cancel("z")
    world.redis("CONFIG", "SET", "maxmemory", "0")
    held = world.holder()
    assert held in (None, b"b", READERS)
    assert len(world.inbox("c-b")) == (held is not None)
    assert world.line() == ([] if held else [b"b"])
    world.refresh("c-b", world.entry("b", kind=kind))
    assert world.holder() == (READERS if kind == "r" else b"b")


def test_without_memory_extend_break_and_readers_work(world, full):
    world.acquire("a")
    world.listen("c-r")
    world.read("r")
    full()

    assert world.extend("a")[0] == "HELD"
    assert world.break_lock("a")[0] == "RELEASED"
    assert world.holder() == READERS
    assert world.read_release("r")[0] == "RELEASED"


def test_without_memory_readers_renew_and_extend(world, full):
    world.read("r")
    world.read("s", lease=3000)
    full()

    assert world.read_extend("r", 20000, renews=1)[:2] == ["HELD", 20000]
    assert world.redis("PTTL", world.name) > 10000
    assert world.read_extend("r", 5000)[:2] == ["HELD", 5000]
    assert 3000 < world.redis("PTTL", world.name) <= 5000
    assert world.read_extend("s", 4000, renews=1)[:2] == ["HELD", 4000]


def test_without_memory_many_holds_are_confirmed(world, full):
    world.call("many_acquire", world.keys(), "b", 1000, "h", 0)
    fence = world.fence() + 7
    full()

    reply = world.call("many_extend", world.keys(), "b", 9000, 0, fence)

    assert reply[:2] == ["HELD", 9000]
    assert world.fence() == fence


def test_without_memory_a_try_on_a_free_key_is_busy_or_refused_whole(world, full):
    world.acquire("a")
    world.acquire("b")
    world.expire()
    full()

    assert world.acquire("n", wait=False)[0] == "BUSY"
    assert world.holder() is None
    assert world.line() == [b"b"]


# -- rights


@pytest.fixture
def mute(world):
    """A connection whose user may do everything but publish."""
    world.redis("ACL", "SETUSER", "mute", "on", ">pw", "~*", "+@all", "resetchannels")
    connection = Connection(world.path)
    connection("AUTH", "mute", "pw")
    yield connection
    connection.close()
    world.redis("ACL", "DELUSER", "mute")


def test_release_without_the_right_to_publish_releases(world, mute):
    world.listen("c-b", "c-c")
    world.acquire("a")
    world.acquire("b")
    world.acquire("c")
    fence = world.fence()

    assert world.release("a", via=mute) == ["RELEASED", 0, 1]
    assert world.holder() is None
    assert world.line() == [b"b", b"c"]
    assert world.record()[b"token"] == b""
    assert world.fence() > fence
    assert world.inbox("c-b") == []
    assert world.refresh("c-c", world.entry("c"))[0] == "BUSY"
    assert world.holder() == b"b"


def test_barging_release_without_the_right_to_publish_releases(world, mute):
    world.listen("c-b")
    world.acquire("a")
    world.acquire("b")

    assert world.release("a", barge=1, via=mute) == ["RELEASED", 0, 1]
    assert world.holder() is None
    assert world.line() == [b"b"]


def test_readers_are_not_let_in_without_the_right_to_publish(world, mute):
    world.listen("c-r")
    world.acquire("a")
    world.read("r")

    assert world.release("a", via=mute) == ["RELEASED", 0, 1]
    assert world.redis("EXISTS", world.name, world.keys()[4]) == 0
    assert world.line() == [b"r"]


def test_wake_entries_stay_without_the_right_to_publish(world, mute):
    world.listen("c-b")
    world.acquire("a")
    world.acquire("b", kind="w")

    assert world.release("a", via=mute) == ["RELEASED", 0, 1]
    assert world.line() == [b"b"]


def test_redisson_release_without_the_right_to_publish_releases(world, mute):
    world.acquire("a:1", script="redisson_acquire")

    reply = world.call(
        "redisson_release", world.keys(), "a:1", b"channel", 5000, 16, 6000, via=mute
    )

    assert reply == ["RELEASED", 0, 1]
    assert world.redis("EXISTS", world.name) == 0


def test_many_release_without_the_right_to_publish_releases(world, mute):
    world.listen("c-b")
    world.acquire("a")
    world.acquire("b")

    reply = world.call("many_release", world.keys(), "a", 5000, 16, 6000, via=mute)

    assert reply == ["RELEASED", 0, 1]
    assert world.holder() is None


@pytest.mark.parametrize(
    "kind, missing",
    [
        ("x", "set"),
        ("x", "hset"),
        ("x", "pexpire"),
        ("r", "zadd"),
        ("r", "hset"),
        ("r", "set"),
    ],
)
def test_hand_over_that_may_not_be_written_is_given_up(world, kind, missing):
    world.redis(
        "ACL",
        "SETUSER",
        "half",
        "on",
        ">pw",
        "~*",
        "+@all",
        f"-{missing}",
        "allchannels",
    )
    half = Connection(world.path)
    half("AUTH", "half", "pw")
    world.listen("c-b")
    world.acquire("a")
    world.redis("PEXPIRE", world.keys()[1], 10000)
    (world.read if kind == "r" else world.acquire)("b")
    world.advance(1)  # with that, a release hands over by its short way
    if missing == "pexpire":
        world.redis("HDEL", world.keys()[1], "kept")

    reply = world.release("a", via=half)

    half.close()
    world.redis("ACL", "DELUSER", "half")
    assert reply == ["RELEASED", 0, 0]
    assert world.redis("EXISTS", world.name, world.keys()[4]) == 0
    assert world.line() == [b"b"]
    assert world.inbox("c-b") == []
    assert world.record()[b"token"] != b"b"
