# SPDX-License-Identifier: MIT
"""register_*: one value with a version, and those who wait for another."""

import pytest
from resp import Connection, ReplyError
from state_world import Register
from test_inner_calls import inner_calls
from world import DAY_MS, START_US

LAST_VERSION = 2**53 - 1_000_001  # include/fence_value.lua: as the fences


@pytest.fixture
def register(world):
    return Register(world)


# -- reading and writing


def test_register_that_nobody_wrote_has_version_0_and_no_key(register, world):
    assert register.get() == ["STATE", 0, 0, b""]
    assert world.dump().keys() == {b"ilk:test:now"}


def test_set_writes_whatever_is_there_and_stays(register, world):
    assert register.set("t1", b"a\0\r\n\xff") == ["STATE", START_US, 0, 0, 0]
    world.advance(10 * DAY_MS)

    assert register.get() == ["STATE", START_US, 1, b"a\0\r\n\xff"]
    assert world.redis("PTTL", register.keys[0]) == -1


def test_empty_value_is_a_value(register):
    version = register.set("t1", b"")[1]

    assert register.get() == ["STATE", version, 1, b""]


def test_every_change_has_a_greater_version(register, world):
    seen = [register.set("t1")[1], register.set("t2", over=START_US)[1]]
    seen.append(register.delete("t3")[1])
    world.advance(5)
    seen.append(register.set("t4")[1])

    assert seen == [START_US, START_US + 1, START_US + 2, START_US + 5000]


def test_version_rises_when_the_record_and_its_memory_are_lost(register, world):
    before = register.set("t1")[1]
    world.redis("FLUSHALL")
    world.advance(1)

    assert register.set("t2")[1] > before


def test_version_rises_when_the_clock_is_set_back(register, world):
    before = register.set("t1")[1]
    world.set_clock(START_US - 1_000_000)

    assert register.set("t2")[1] == before + 1


def test_cas_writes_over_the_version_it_names(register):
    first = register.set("t1", b"a")[1]

    assert register.set("t2", b"b", over=first) == ["STATE", first + 1, 0, 0, 0]
    assert register.get() == ["STATE", first + 1, 1, b"b"]


def test_cas_over_another_version_changes_nothing_and_returns_what_is_there(
    register, world
):
    old = register.set("t1", b"a")[1]
    version = register.set("t2", b"b")[1]
    before = world.dump()

    for wrong in (old, version + 1, 0):
        assert register.set("t3", b"c", over=wrong) == ["STALE", version, 1, b"b", 0]
    assert world.dump() == before


def test_cas_over_nothing_creates(register):
    assert register.set("t1", b"a", over=5) == ["STALE", 0, 0, b"", 0]
    assert register.set("t2", b"a", over=0)[0] == "STATE"
    assert register.get()[3] == b"a"


def test_of_two_cas_over_one_version_one_is_refused(register):
    known = register.set("t1", b"0")[1]
    winner = register.set("t2", b"1", over=known)

    assert winner[0] == "STATE"
    assert register.set("t3", b"2", over=known) == ["STALE", winner[1], 1, b"1", 0]


# -- deleting


def test_delete_leaves_a_version_for_a_day(register, world):
    version = register.set("t1", b"a")[1]

    assert register.delete("t2") == ["STATE", version + 1, 0, 0, 0]

    assert register.get() == ["STATE", version + 1, 0, b""]
    assert DAY_MS - 5000 < world.redis("PTTL", register.keys[0]) <= DAY_MS


def test_delete_of_a_version_deletes_no_other(register, world):
    version = register.set("t1", b"a")[1]
    before = world.dump()

    assert register.delete("t2", version - 1) == ["STALE", version, 1, b"a", 0]
    assert world.dump() == before
    assert register.delete("t2", version)[0] == "STATE"


@pytest.mark.parametrize("deleted", [False, True])
def test_delete_without_a_value_changes_nothing(register, world, deleted):
    version = 0
    if deleted:
        register.set("t1", b"a")
        version = register.delete("t2")[1]
    before = world.dump()

    assert register.delete("t3") == ["STALE", version, 0, b"", 0]
    assert register.delete("t4", version) == ["STALE", version, 0, b"", 0]
    assert world.dump() == before


def test_value_after_a_delete_stays(register, world):
    register.set("t1", b"a")
    gone = register.delete("t2")[1]

    assert register.set("t3", b"b", over=0)[0] == "STALE"
    assert register.set("t4", b"b", over=gone)[0] == "STATE"
    assert world.redis("PTTL", register.keys[0]) == -1


# -- retries


@pytest.mark.parametrize("verb", ["set", "cas", "delete"])
def test_retry_changes_nothing_whatever_came_in_between(register, world, verb):
    known = register.set("t0", b"old")[1]
    run = {
        "set": lambda: register.set("t1", b"mine"),
        "cas": lambda: register.set("t1", b"mine", over=known),
        "delete": lambda: register.delete("t1", known),
    }[verb]
    first = run()
    register.set("t2", b"new")
    before = world.dump()

    assert run() == ["STATE", first[1], 1, 0, 0]
    assert register.get()[3] == b"new"
    assert world.dump() == before


def test_refused_cas_is_not_remembered(register):
    version = register.set("t1", b"a")[1]
    register.set("t2", b"b", over=5)

    assert register.set("t2", b"b", over=version)[:3] == ["STATE", version + 1, 0]


def test_retry_is_known_for_a_minute(register, world):
    register.set("t1")
    world.advance(60_001)
    for i in range(16):
        register.set(f"n{i}", b"new")

    tokens = world.redis("ZRANGE", register.keys[1], 0, -1)
    assert tokens == [b"n%d" % i for i in range(16)]
    assert 0 < world.redis("PTTL", register.keys[1]) <= 60_000


def fill_memory(register, world, count):
    pairs = [part for i in range(count) for part in (START_US - 9_999 + i, f"o{i}")]
    world.redis("ZADD", register.keys[1], *pairs)


def test_change_says_when_an_earlier_copy_may_be_forgotten(register, world):
    version = register.set("mine", b"a")[1]
    world.redis("DEL", register.keys[1])
    fill_memory(register, world, 9_999)
    assert register.set("t1", over=1)[4] == 0
    assert register.set("t2")[2] == 0

    assert 10_000 <= world.redis("ZCARD", register.keys[1]) < 10_016
    assert register.set("mine", b"a", over=version)[4] == 1
    assert register.delete("mine", version)[4] == 1
    assert register.set("mine", b"a")[2] == -1
    assert register.delete("t3")[2] == -1
    assert register.delete("t3")[2] == 1
    assert 10_000 <= world.redis("ZCARD", register.keys[1]) < 10_016


# -- waiting


def test_waiter_gets_another_version_at_once_and_stands_nowhere(register, world):
    version = register.set("t1", b"x")[1]
    before = world.dump()

    assert register.wait("w") == ["STATE", version, 1, b"x"]
    assert register.wait("w", known=version + 9) == ["STATE", version, 1, b"x"]
    assert world.dump() == before


def test_waiter_stands_in_line_and_only_a_look_does_not(register):
    version = register.set("t1", b"x")[1]
    assert register.wait("a", version, look=True) == ["BUSY", -1, START_US, 1]
    assert register.line() == []

    assert register.wait("a", version) == ["QUEUED", -1, START_US, 1]
    assert register.wait("a", version) == ["QUEUED", -1, START_US, 1]
    assert (register.line(), register.live()) == (["a"], ["c-a"])


def test_waiter_that_finds_a_change_leaves_the_line(register, world):
    register.wait("a")
    world.redis("HSET", register.keys[0], "version", 7, "value", "x")

    assert register.wait("a") == ["STATE", 7, 1, b"x"]
    assert register.line() == []


@pytest.mark.parametrize("verb", ["set", "cas", "delete"])
def test_change_notifies_each_client_once_and_empties_the_line(register, world, verb):
    version = register.set("t1", b"x")[1]
    register.listen("p", "q")
    for token in ("a", "b", "c"):
        register.wait(token, version, client="p.5ec")
    register.wait("d", version, client="q")

    run = {
        "set": lambda: register.set("t2", b"y"),
        "cas": lambda: register.set("t2", b"y", over=version),
        "delete": lambda: register.delete("t2", version),
    }[verb]
    assert run()[3:] == [0, 0]

    assert world.inbox("p") == [register.change(b"5ec")]
    assert world.inbox("q") == [register.change()]
    assert (register.line(), register.live()) == ([], [])
    assert register.wait("a", version, client="p.5ec")[0] == "STATE"


def test_refused_change_notifies_nobody(register, world):
    register.listen("c-w")
    register.wait("w")

    register.set("t1", over=5)
    register.delete("t2")

    assert world.inbox("c-w") == []
    assert register.line() == ["w"]


def test_waiter_whose_message_was_lost_is_gone_at_its_refresh(register):
    register.wait("a")
    assert register.refresh("state_refresh", "c-a", "a")[4:] == [3, 0, 0]
    register.set("t1")

    assert register.refresh("state_refresh", "c-a", "a")[4:] == [7, 0, 0]


def test_waiter_is_gone_after_a_flush_and_then_sees_that_nothing_is_there(
    register, world
):
    version = register.set("t1", b"x")[1]
    register.wait("a", version)
    world.redis("FLUSHALL")
    world.set_clock(START_US)

    assert register.refresh("state_refresh", "c-a", "a")[4:] == [7, 0, 0]
    assert register.wait("a", version) == ["STATE", 0, 0, b""]


def test_cancelled_waiter_leaves_the_line(register):
    register.wait("a")
    register.wait("b")

    assert register.cancel("a") == ["GONE"]
    assert register.line() == ["b"]


def test_many_clients_are_notified_bit_by_bit_and_a_retry_goes_on(register, world):
    clients = [f"c-w{i}" for i in range(5)]
    register.listen(*clients)
    for i in range(5):
        register.wait(f"w{i}")
        world.advance(1)

    assert register.set("t1", limit=2)[3:] == [3, 0]
    assert register.set("t1", limit=2)[2:] == [1, 1, 0]
    assert register.call("state_wake", 2) == ["RELEASED", 0, 0]
    assert [len(world.inbox(client)) for client in clients] == [1] * 5


def test_a_set_costs_what_its_clients_cost_not_its_waiters(real_world):
    register = Register(real_world)
    for i in range(300):
        register.wait(f"w{i}", client="p")

    calls = inner_calls(real_world, lambda: register.set("t1"))

    assert calls["publish"] == 1
    assert sum(calls.values()) <= 14


# -- refusals


@pytest.mark.parametrize(
    "version", [str(LAST_VERSION), str(2**53 - 1), "junk", "-1", ""]
)
def test_no_version_is_used_twice_when_none_can_rise(register, world, version):
    world.redis("HSET", register.keys[0], "version", version, "value", "x")
    before = world.dump()

    for ask in (
        lambda: register.set("t1", b"y"),
        lambda: register.set("t2", b"y", over=LAST_VERSION),
        lambda: register.delete("t3"),
    ):
        with pytest.raises(ReplyError, match="ILKFENCE no version can rise above"):
            ask()
    assert world.dump() == before


def test_the_last_version_can_be_read(register, world):
    world.redis("HSET", register.keys[0], "version", LAST_VERSION - 1, "value", "x")

    assert register.set("t1", b"y")[1] == LAST_VERSION
    assert register.get() == ["STATE", LAST_VERSION, 1, b"y"]
    assert register.wait("w", LAST_VERSION)[0] == "QUEUED"


@pytest.mark.parametrize("version", [str(2**53 - 1), "junk"])
def test_a_record_without_a_version_is_an_error_for_readers_too(
    register, world, version
):
    world.redis("HSET", register.keys[0], "version", version, "value", "x")

    for ask in (register.get, lambda: register.wait("w")):
        with pytest.raises(ReplyError, match="ILKFENCE"):
            ask()


@pytest.mark.parametrize(
    "script, args",
    [
        ("register_set", ("", "", b"", 1)),
        ("register_set", ("t", "-1", b"", 1)),
        ("register_set", ("t", 2**53, b"", 1)),
        ("register_set", ("t", "x", b"", 1)),
        ("register_set", ("t", "", b"", 0)),
        ("register_delete", ("", "", 1)),
        ("register_delete", ("t", "1.5", 1)),
        ("register_delete", ("t", "", "x")),
        ("register_wait", (b"no entry", "c", 1, 1, "t", 0)),
        ("register_wait", (b"1 x c o1 t 1 1 h", "c", 1, 1, "t", 0)),
        ("register_wait", (b"1 o other o1 t 1 1 h", "c", 1, 1, "t", 0)),
        ("register_wait", (b"", "c", 1, 1, "t", "")),
        ("register_wait", (b"", "c", 0, 1, "t", 0)),
    ],
)
def test_misuse_is_refused_and_nothing_written(register, world, script, args):
    before = world.dump()

    with pytest.raises(ReplyError, match="ILKARG"):
        register.call(script, *args)
    assert world.dump() == before


@pytest.mark.parametrize("key", [0, 1])
def test_wrong_type_is_refused_and_nothing_written(register, world, key):
    world.redis("SET", register.keys[key], "x")
    before = world.dump()

    for ask in (lambda: register.set("t"), lambda: register.delete("t")):
        with pytest.raises(ReplyError, match="WRONGTYPE"):
            ask()
    if key == 0:
        for ask in (register.get, lambda: register.wait("t")):
            with pytest.raises(ReplyError, match="WRONGTYPE"):
                ask()
    assert world.dump() == before


@pytest.fixture
def full(world):
    """Call it to make the server refuse whatever needs memory."""
    yield lambda: world.redis("CONFIG", "SET", "maxmemory", "1")
    world.redis("CONFIG", "SET", "maxmemory", "0")


def test_without_memory_nothing_is_written_and_nobody_enqueued(register, world, full):
    before = world.dump()
    full()

    for ask in (lambda: register.set("t"), lambda: register.wait("t")):
        with pytest.raises(ReplyError, match="OOM"):
            ask()
    assert world.dump() == before


def test_without_memory_a_value_can_be_deleted(register, full):
    version = register.set("t1", b"x")[1]
    full()

    assert register.delete("t2", version)[0] == "STATE"
    assert register.get()[2] == 0


def test_without_the_right_to_publish_the_change_is_made_and_said(register, world):
    register.listen("c-w")
    register.wait("w")
    world.redis(
        "ACL", "SETUSER", "mute", "on", "nopass", "+@all", "~*", "resetchannels"
    )
    mute = Connection(world.path)
    mute("AUTH", "mute", "x")
    reply = world.call("register_set", register.keys, "t", "", b"v", 1, via=mute)
    mute.close()
    world.redis("ACL", "DELUSER", "mute")

    assert reply[3:] == [0, 1]
    assert register.get()[3] == b"v"
    assert register.refresh("state_refresh", "c-w", "w")[4] == 7
