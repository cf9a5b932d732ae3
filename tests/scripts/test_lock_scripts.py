# SPDX-License-Identifier: MIT
"""lock_*: taking, giving up, extending, breaking, looking; no line yet."""

import pytest
from resp import ReplyError
from world import DAY_MS, READERS, START_US


def test_free_lock_is_taken(world):
    reply = world.acquire("a")

    assert reply == ["HELD", 10000, START_US, START_US]
    assert world.holder() == b"a"
    assert 9000 < world.redis("PTTL", world.name) <= 10000
    assert world.record() == {
        b"fence": b"%d" % START_US,
        b"token": b"a",
        b"since": b"%d" % (START_US // 1000),
        b"who": b"c-a host:a",
        b"born": b"%d" % START_US,
        b"kept": b"%d" % (START_US // 1000 + 10000 + DAY_MS),
    }


def test_try_on_held_lock_is_busy_and_leaves_no_entry(world):
    world.acquire("a")

    code, pttl, now, ours = world.acquire("b", wait=False)

    assert (code, now, ours) == ("BUSY", START_US, 1)
    assert 9000 < pttl <= 10000
    assert world.line() == []


def test_waiter_on_held_lock_is_queued(world):
    world.acquire("a")

    code, pttl, _, ours = world.acquire("b")

    assert (code, ours) == ("QUEUED", 1)
    assert 9000 < pttl <= 10000
    assert world.line() == [b"b"]


def test_foreign_holder_is_not_ours(world):
    world.redis("SET", world.name, "stranger", "PX", 5000)

    assert world.acquire("b", wait=False)[3] == 0
    assert world.acquire("b")[3] == -5
    assert world.acquire("c", wait=False)[3] == 0


def test_foreign_holder_without_expiry_shows_minus_one(world):
    world.redis("SET", world.name, "stranger")

    assert world.acquire("b", wait=False)[:2] == ["BUSY", -1]


def test_foreign_holder_after_ours_is_not_ours(world):
    world.acquire("a")
    world.release("a")
    world.redis("SET", world.name, "stranger", "PX", 5000)

    assert world.acquire("b")[3] == -5
    assert world.acquire("c", wait=False)[3] == 0


def test_reader_marker_is_busy_and_ours(world):
    world.read("r")

    assert world.acquire("b", wait=False)[0] == "BUSY"
    assert world.acquire("b", wait=False)[3] == 1


def test_reader_marker_is_ours_without_a_record(world):
    world.read("r")
    world.redis("DEL", world.keys()[1])

    assert world.acquire("b", wait=False)[3] == 1


def test_retried_acquire_returns_its_hold(world):
    first = world.acquire("a")
    world.advance(50)

    again = world.acquire("a")

    assert again[0] == "HELD" and again[2] == first[2]
    assert again[1] <= 10000
    assert world.line() == []


def test_retried_acquire_without_record_gets_a_new_fence(world):
    world.acquire("a")
    world.redis("DEL", world.keys()[1])
    world.advance(5)

    assert world.acquire("a")[2] == START_US + 5000
    assert world.record()[b"token"] == b"a"


def test_release_frees_and_leaves_only_the_record(world):
    world.acquire("a")

    assert world.release("a") == ["RELEASED", 0, 0]
    assert set(world.redis("KEYS", "*")) == {world.keys()[1], b"ilk:test:now"}


def test_release_by_stranger_is_refused(world):
    world.acquire("a")

    assert world.release("b")[0] == "LOST"
    assert world.holder() == b"a"


def test_retried_release_is_lost_and_touches_nobody(world):
    world.acquire("a")
    world.release("a")
    world.acquire("b")

    assert world.release("a")[0] == "LOST"
    assert world.holder() == b"b"


def test_extend_sets_the_lease(world):
    fence = world.acquire("a", lease=1000)[2]
    world.redis("PEXPIRE", world.keys()[1], 10000)

    assert world.extend("a", 60000) == ["HELD", 60000, fence, START_US]
    assert world.redis("PTTL", world.name) > 59000
    assert world.redis("PTTL", world.keys()[1]) > 59000 + DAY_MS


def test_extend_may_shorten(world):
    world.acquire("a", lease=60000)
    world.extend("a", 1000)

    assert 0 < world.redis("PTTL", world.name) <= 1000


def test_extend_by_stranger_is_lost(world):
    world.acquire("a", lease=1000)

    assert world.extend("b")[0] == "LOST"
    assert world.redis("PTTL", world.name) <= 1000


def test_extend_of_free_lock_is_lost(world):
    assert world.extend("a")[0] == "LOST"
    assert world.holder() is None


def test_extend_of_a_foreign_hold_has_no_fence(world):
    world.acquire("a")
    world.release("a")
    world.redis("SET", world.name, "stranger", "PX", 5000)

    assert world.extend("stranger")[:3] == ["HELD", 10000, 0]


def test_break_takes_the_lock_from_its_holder(world):
    world.acquire("a")

    assert world.break_lock("a") == ["RELEASED", 0, 0]
    assert world.holder() is None


def test_break_of_another_token_is_lost(world):
    world.acquire("a")

    assert world.break_lock("b") == ["LOST"]
    assert world.holder() == b"a"


def test_break_of_anybody_takes_foreign_holders_too(world):
    world.redis("SET", world.name, "stranger")

    assert world.break_lock()[0] == "RELEASED"
    assert world.holder() is None


def test_break_of_free_lock_is_lost(world):
    assert world.break_lock() == ["LOST"]


def test_break_of_readers_removes_all(world):
    world.read("r")
    world.read("s")

    assert world.break_lock()[0] == "RELEASED"
    assert world.holder() is None
    assert world.redis("EXISTS", world.keys()[4]) == 0


def test_break_of_one_reader_leaves_the_others(world):
    world.read("r", lease=60000)
    world.read("s", lease=1000)

    assert world.break_lock("r")[0] == "RELEASED"
    assert world.holder() == READERS
    assert world.redis("PTTL", world.name) <= 1000
    assert world.break_lock("s")[0] == "RELEASED"
    assert world.holder() is None


def test_inspect_of_an_unknown_name_is_free(world):
    assert world.inspect() == [
        "FREE",
        b"none",
        b"",
        -2,
        START_US,
        0,
        b"",
        0,
        b"",
        0,
        0,
        b"",
        0,
    ]


def test_inspect_shows_holder_and_line(world):
    fence = world.acquire("a")[2]
    world.acquire("b")
    world.acquire("c")

    reply = world.inspect(1)

    assert reply[:3] == ["HELD", b"string", b"a"]
    assert 9000 < reply[3] <= 10000
    assert reply[4:13] == [
        START_US,
        fence,
        b"a",
        START_US // 1000,
        b"c-a host:a",
        2,
        0,
        b"",
        0,
    ]
    assert reply[13:] == [world.entry("b"), 0]


def test_inspect_lists_all_up_to_its_limit_and_none_for_zero(world):
    world.acquire("a")
    world.acquire("b")
    world.acquire("c")

    assert world.inspect(0)[13:] == []
    assert world.inspect(9)[13:] == [world.entry("b"), 0, world.entry("c"), 0]


def waiting(world):
    """The waiters that an inspection lists: token -> ms."""
    found = world.inspect()[13:]
    return {e.split(b" ")[4].decode(): ms for e, ms in zip(found[::2], found[1::2])}


def test_inspect_returns_how_long_each_has_waited(world):
    world.acquire("a")
    world.acquire("b")
    world.advance(1500)
    world.acquire("c")
    world.advance(20)

    assert waiting(world) == {"b": 1520, "c": 20}
    assert [int(x) for x in world.tickets()] == [START_US, START_US + 1_500_000]


def test_a_second_waiter_of_a_client_has_its_own_time(world):
    """By the path without enqueue()."""
    world.acquire("a")
    world.acquire("b", client="c", liveness=6000)
    world.advance(300)
    world.acquire("c", client="c", liveness=6000)
    world.advance(10)

    assert waiting(world) == {"b": 310, "c": 10}


def test_order_stays_when_the_clock_is_set_back(world):
    world.acquire("a")
    world.acquire("b")
    world.acquire("c", client="c-b")
    world.set_clock(world.now - 60_000_000)
    world.acquire("d")
    world.acquire("e", client="c-b")

    assert world.line() == [b"b", b"c", b"d", b"e"]
    assert waiting(world) == {"b": 0, "c": 0, "d": 0, "e": 0}


def test_a_ticket_that_is_no_time_says_nothing(world):
    """An earlier version began with 1."""
    world.acquire("a")
    for ticket, token in enumerate(("b", "c"), 1):
        world.redis("ZADD", world.keys()[2], ticket, world.entry(token))
    world.acquire("d")
    world.advance(40)

    assert waiting(world) == {"b": -1, "c": -1, "d": 40}


def test_inspect_names_all_live_readers(world):
    world.read("r", lease=1000)
    fence = world.read("s", lease=60000)[2]
    world.listen("c-t")
    world.advance(1000)

    reply = world.inspect()

    assert reply[2] == READERS
    assert reply[10:13] == [1, b"", 1]
    assert reply[13:] == [b"s", b"c-s host:s", fence, START_US // 1000, 59000]

    world.read("u", lease=70000)
    assert world.inspect()[18:20] == [b"u", b"c-u host:u"]
    assert world.inspect(1)[10:14] == [2, b"", 1, b"s"]
    assert [f for f in world.record() if f[:1] == b"+"] == [b"+s", b"+u"]


def test_readers_that_were_let_in_together_are_named(world):
    world.acquire("a")
    world.queue("r", "s", reads=True)
    world.release("a")

    reply = world.inspect()

    assert reply[10:13] == [2, b"", 2]
    assert [reply[14], reply[19]] == [b"c-r host:r", b"c-s host:s"]


def test_readers_leave_no_fields_behind(world):
    world.read("r")
    world.read("s")
    world.read("t")
    world.read_release("r")
    world.read_cancel("s")
    world.break_lock("t")

    assert [f for f in world.record() if f[:1] == b"+"] == []


def test_fields_of_readers_that_all_died_are_removed_by_the_next(world):
    for number in range(20):
        world.read(f"r{number}")
    world.redis("DEL", world.name)
    world.advance(20000)

    world.read("next")

    assert [f for f in world.record() if f[:1] == b"+"] == [b"+next"]


def test_inspect_of_no_lock_returns_the_type(world):
    world.redis("RPUSH", world.name, "x")

    assert world.inspect()[:3] == ["HELD", b"list", b""]


def test_inspect_writes_nothing(world):
    world.read("r", lease=10000)
    world.advance(20000)
    before = world.dump()

    world.inspect()

    assert world.dump() == before


@pytest.mark.parametrize(
    "position, value",
    [
        (1, "0"),
        (1, "-5"),
        (1, "x"),
        (1, "1.5"),
        (1, "9007199254740992"),
        (1, "nan"),
        (3, "-1"),
        (7, "0"),
        (8, "0"),
        (9, "0"),
        (0, ""),
        (0, READERS),
    ],
)
def test_misuse_is_named_and_writes_nothing(world, position, value):
    args = ["a", 1000, "who", 0, "", "c", 0, 6000, 5000, 16]
    args[position] = value
    if position > 5:  # they are for a lock that is held or waited for
        world.acquire("b")
    before = world.dump()

    with pytest.raises(ReplyError, match=f"^ILKARG argument {position + 1} "):
        world.run("lock_acquire", world.keys(), *args)
    assert world.dump() == before


@pytest.mark.parametrize(
    "entry",
    [
        "nonsense",
        "2 x c-b w b 1000 1 h",
        "1 r c-b w b 1000 1 h",
        "1 x other w b 1000 1 h",
        "1 x c-b w other 1000 1 h",
        "1 x c-b w b ms 1 h",
    ],
)
def test_entry_that_is_not_the_callers_is_refused(world, entry):
    world.acquire("a")
    before = world.dump()

    with pytest.raises(ReplyError, match="^ILKARG no entry"):
        world.run(
            "lock_acquire",
            world.keys(),
            "b",
            1000,
            "h",
            0,
            entry,
            "c-b",
            0,
            6000,
            5000,
            16,
        )
    assert world.dump() == before


@pytest.mark.parametrize(
    "script, keys, args",
    [
        ("lock_release", 5, ["a", 0, 6000, "x", 16]),
        ("lock_release", 5, ["a", 0, 6000]),
        ("lock_cancel", 5, ["e", "", 1, 16, 0, 6000]),
        ("lock_extend", 2, ["a", "0", "0"]),
        ("lock_extend", 2, [READERS, "5", "0"]),
        ("lock_extend", 2, ["a", "5", "x"]),
        ("lock_break", 5, ["a", "0", 16, 6000, "r"]),
        ("lock_inspect", 5, ["-1"]),
        ("lock_refresh", 5, ["c", 6000, 5000, 16, 2, "1 x c w t 1 1 h"]),
        ("lock_refresh", 5, ["c", 6000, 5000, 16, 1, "junk"]),
        ("rwlock_acquire", 5, ["", 1, "h", 0, "", "c", 0, 6000, 5000, 16]),
        ("rwlock_release", 5, ["a", 0, 16, 6000]),
        ("rwlock_cancel", 5, ["e", "a", 0, 16, 6000]),
        ("rwlock_extend", 3, ["a", "0", "0"]),
        ("many_acquire", 5, ["a", 0, "h", 0]),
        ("many_acquire", 4, ["a", 5, "h", 0]),
        ("many_release", 4, ["a", 5, 5, 5]),
        ("many_extend", 4, ["a", 5, 0, 0]),
        ("many_release", 5, ["a", 0, 5, 5]),
        ("many_extend", 5, ["a", 5, 0, -1]),
        ("redisson_acquire", 5, ["", 1, "h", 0, "", "c", 0, 1, 1, 1]),
        ("redisson_release", 5, ["", "ch", 1, 1, 1, ""]),
        ("redisson_cancel", 5, ["e", "", "ch", 1, 1, 1]),
        ("redisson_extend", 2, ["o", "0", "0"]),
        ("redisson_refresh", 5, ["c", 6000, 5000, 16, 1, "junk"]),
        ("guard_set", 2, ["-1", "v"]),
        ("guard_get", 2, ["-1"]),
        ("guard_get", 2, ["9007199254740992"]),
    ],
)
def test_misuse_of_every_script_is_refused(world, script, keys, args):
    world.acquire("a")
    world.queue("b")
    world.advance(1)
    before = world.dump()

    with pytest.raises(ReplyError, match="^ILKARG "):
        world.run(script, world.keys(keys), *args)
    assert world.dump() == before


@pytest.mark.parametrize(
    "name",
    [
        b"a\0b",
        b"a\r\nb",
        b"\xff\xfe",
        b"{}",
        b"x}{t",
        b"{tag}x",
        b" ",
        b"%s%d%",
        b"-" * 512,
    ],
)
def test_names_may_hold_any_bytes(world, name):
    world.name = name
    world.listen("c-b")
    world.acquire("a")
    world.acquire("b")

    assert world.release("a") == ["RELEASED", 0, 0]
    assert world.holder() == b"b"
    (message,) = world.inbox("c-b")
    assert message.split(b" ", 7)[7] == name


def test_any_wait_queue_can_be_inspected(world):
    world.acquire("a")
    world.acquire("b")
    world.advance(30)
    world.acquire("c")
    before = world.dump()

    def inspect(count):
        return world.call("state_inspect", [world.keys()[2]], count)

    assert inspect(9) == ["STATE", 2, world.entry("b"), 30, world.entry("c"), 0]
    assert inspect(0) == ["STATE", 2]
    assert world.dump() == before
