# SPDX-License-Identifier: MIT
"""kv_*: values of which the newest wins, on one server and on each of a ring."""

import pytest
from resp import ReplyError
from test_inner_calls import inner_calls
from world import DAY_MS, START_US

RECORD, ONCE, NODE = b"ilk:kv:{v}/a", b"ilk:kv:once:{v}", b"ilk:kv:node"
KEPT_MS = 7 * DAY_MS
MARK_US = 60_000_000
LAST = 2**53 - 1_000_001  # include/fence_value.lua: as the fences


class KV:
    """The scripts on one key."""

    def __init__(self, world):
        self.world = world

    def put(self, token, text=b"vx", fast=0):
        return self.world.call("kv_put", [RECORD, ONCE], token, text, fast)

    def delete(self, token):
        return self.put(token, b"d")

    def get(self):
        return self.world.call("kv_get", [RECORD])

    def read(self):
        return self.world.call("kv_read", [RECORD])

    def write(self, version, token, text=b"vx", marks=0):
        return self.world.call("kv_write", [RECORD, NODE], version, token, text, marks)

    def remove(self, version, token):
        return self.world.call("kv_remove", [RECORD], version, token)

    def settle(self, version, token):
        return self.world.call("kv_settle", [RECORD], version, token)

    def node(self, version=0, pass_id="", name="own"):
        reply = self.world.call("kv_node", [NODE], version, pass_id, name)
        self.name = reply.pop()
        return reply

    def list(self, cursor="0", count=1000):
        return self.world.call("kv_list", [NODE], cursor, count)

    def move(self, server=0, cursor="", pass_id="", count=100):
        return self.world.call("kv_move", [NODE], server, cursor, pass_id, count)

    def mark(self):
        return self.world.redis("HGET", NODE, "seen")


@pytest.fixture
def kv(world):
    return KV(world)


# -- one server: reading and writing


def test_a_key_that_nobody_wrote_has_version_0_and_no_record(kv, world):
    assert kv.get() == ["STATE", 0, 0, b""]
    assert world.dump().keys() == {b"ilk:test:now"}


def test_a_value_has_any_bytes_and_stays(kv, world):
    assert kv.put("t1", b"va\0\r\n\xff") == ["WRITTEN", START_US, 0]
    world.advance(10 * DAY_MS)

    assert kv.get() == ["STATE", START_US, 1, b"a\0\r\n\xff"]
    assert world.redis("PTTL", RECORD) == -1


def test_an_empty_value_is_a_value(kv):
    version = kv.put("t1", b"v")[1]

    assert kv.get() == ["STATE", version, 1, b""]


def test_every_change_has_a_greater_version(kv, world):
    seen = [kv.put("t1")[1], kv.put("t2", fast=1)[1], kv.delete("t3")[1]]
    world.advance(5)
    seen.append(kv.put("t4")[1])

    assert seen == [START_US, START_US + 1, START_US + 2, START_US + 5000]


def test_versions_rise_when_the_clock_is_set_back(kv, world):
    kv.put("t1")
    world.set_clock(START_US - 1_000_000)

    assert kv.put("t2")[1] == START_US + 1


def test_a_deleted_key_keeps_its_version_for_a_week(kv, world):
    kv.put("t1", b"vx")

    assert kv.delete("t2") == ["WRITTEN", START_US + 1, 0]

    assert kv.get() == ["STATE", START_US + 1, 0, b""]
    assert KEPT_MS - 5000 < world.redis("PTTL", RECORD) <= KEPT_MS
    kv.put("t3", b"vy")
    assert kv.get() == ["STATE", START_US + 2, 1, b"y"]
    assert world.redis("PTTL", RECORD) == -1


def test_a_key_without_a_value_can_be_deleted(kv, world):
    assert kv.delete("t1") == ["WRITTEN", START_US, 0]
    assert kv.get() == ["STATE", START_US, 0, b""]
    assert KEPT_MS - 5000 < world.redis("PTTL", RECORD) <= KEPT_MS


# -- one server: retries


@pytest.mark.parametrize("text", [b"vmine", b"d"])
def test_a_retry_writes_nothing_whatever_came_in_between(kv, world, text):
    version = kv.put("t1", text)[1]
    kv.put("t2", b"vother")
    before = world.dump()

    assert kv.put("t1", text) == ["WRITTEN", version, 1]
    assert world.dump() == before


def test_a_retry_is_known_for_a_minute(kv, world):
    kv.put("t1")
    world.advance(60_001)
    for i in range(16):
        kv.put(f"n{i}")

    assert world.redis("ZRANGE", ONCE, 0, -1) == [b"n%d" % i for i in range(16)]
    assert 0 < world.redis("PTTL", ONCE) <= 60_000


def test_a_put_says_when_an_earlier_copy_may_be_forgotten(kv, world):
    old = [part for i in range(9_999) for part in (START_US - 9_999 + i, f"o{i}")]
    world.redis("ZADD", ONCE, *old)

    assert kv.put("t1")[2] == 0
    assert 10_000 <= world.redis("ZCARD", ONCE) < 10_016
    assert kv.put("t2")[2] == -1
    assert kv.put("t2")[2] == 1
    assert 10_000 <= world.redis("ZCARD", ONCE) < 10_016


# -- one server of a ring: the newest wins


def test_a_copy_is_read_with_its_token_and_the_time(kv, world):
    assert kv.read() == ["STATE", 0, b"", 0, b"", START_US]
    kv.write(7, "t1", b"va")
    world.advance(1)

    assert kv.read() == ["STATE", 7, b"t1", 1, b"a", START_US + 1000]
    kv.write(8, "t2", b"d")
    assert kv.read() == ["STATE", 8, b"t2", 0, b"", START_US + 1000]


def test_the_greater_version_wins_in_either_order(kv, world):
    copies = [(7, "t9", b"vold"), (8, "t1", b"vnew")]
    found = []
    for order in (copies, copies[::-1]):
        world.redis("DEL", RECORD)
        replies = [kv.write(*one) for one in order]
        found.append(kv.read()[1:5])
    assert found == [[8, b"t1", 1, b"new"]] * 2
    assert replies == [["WRITTEN"], ["STALE", 8]]


def test_of_equal_versions_the_greater_token_wins_in_either_order(kv, world):
    copies = [(7, "t1", b"vone"), (7, "t2", b"d")]
    found = []
    for order in (copies, copies[::-1]):
        world.redis("DEL", RECORD)
        replies = [kv.write(*one) for one in order]
        found.append(kv.read()[1:5])
    assert found == [[7, b"t2", 0, b""]] * 2
    assert replies == [["WRITTEN"], ["STALE", 7]]


def test_a_stale_write_changes_nothing(kv, world):
    kv.write(8, "t2", b"vnew")
    before = world.dump()

    assert kv.write(7, "t9", b"vold", 1) == ["STALE", 8]
    assert world.dump() == before


def test_a_repeated_write_is_written(kv, world):
    kv.write(7, "t1", b"d")
    world.advance(DAY_MS)
    before = world.redis("PTTL", RECORD)

    assert kv.write(7, "t1", b"d") == ["WRITTEN"]
    assert world.redis("PTTL", RECORD) <= before


def test_a_deleted_copy_is_kept_for_a_week_after_all_servers_have_it(kv, world):
    kv.write(7, "t1", b"d")
    assert world.redis("PTTL", RECORD) == -1
    assert kv.settle(7, "t1") == ["WRITTEN"]
    assert KEPT_MS - 5000 < world.redis("PTTL", RECORD) <= KEPT_MS
    kv.write(8, "t2", b"vx")
    assert world.redis("PTTL", RECORD) == -1


def test_a_deleted_copy_is_settled_once(kv, world):
    kv.write(7, "t1", b"d")
    kv.settle(7, "t1")
    world.redis("PEXPIRE", RECORD, 1000)
    assert kv.settle(7, "t1") == ["WRITTEN"]
    assert world.redis("PTTL", RECORD) <= 1000


def test_only_the_deleted_copy_of_that_version_is_settled(kv, world):
    assert kv.settle(7, "t1") == ["STALE", 0]
    kv.write(7, "t1", b"vx")
    assert kv.settle(7, "t1") == ["STALE", 7]
    kv.write(8, "t2", b"d")
    assert kv.settle(7, "t1") == ["STALE", 8]
    assert kv.settle(8, "t1") == ["STALE", 8]
    assert world.redis("PTTL", RECORD) == -1


def test_a_server_keeps_its_first_name(kv, world):
    kv.node(name="first")
    kv.node(5, name="second")
    assert kv.name == b"first"
    world.redis("DEL", NODE)
    kv.node(name="third")
    assert kv.name == b"third"


def test_a_copy_is_removed_only_if_it_is_still_that_version(kv, world):
    kv.write(7, "t1", b"vx")
    before = world.dump()

    assert kv.remove(6, "t1") == ["STALE", 7]
    assert kv.remove(7, "t0") == ["STALE", 7]
    assert world.dump() == before
    assert kv.remove(7, "t1") == ["GONE"]
    assert kv.remove(7, "t1") == ["GONE"]
    assert world.redis("EXISTS", RECORD) == 0


# -- a server's mark


def test_a_server_without_a_mark_has_0(kv, world):
    assert kv.node() == ["STATE", 0, START_US]
    assert kv.mark() is None


def test_a_mark_rises_and_never_falls(kv):
    assert kv.node(7) == ["STATE", 7, START_US]
    assert kv.node(5) == ["STATE", 7, START_US]
    assert kv.node() == ["STATE", 7, START_US]


def test_a_pass_raises_the_mark_of_a_server_that_knows_it(kv, world):
    assert kv.node(0, "p1") == ["STATE", 0, START_US]
    assert kv.node(9, "p1") == ["STATE", 9, START_US]
    assert kv.node(11, "p0") == ["STATE", 9, START_US]
    kv.node(0, "p2")
    world.redis("DEL", NODE)
    assert kv.node(12, "p2") == ["STATE", 0, START_US]
    assert kv.mark() is None


def test_a_write_raises_a_mark_that_is_a_minute_old(kv):
    kv.node(MARK_US)
    kv.write(2 * MARK_US, "t1", b"vx", 1)
    assert kv.mark() == b"%d" % MARK_US
    kv.write(2 * MARK_US + 1, "t2", b"vx", 0)
    assert kv.mark() == b"%d" % MARK_US
    kv.write(2 * MARK_US + 2, "t3", b"vx", 1)
    assert kv.mark() == b"%d" % (2 * MARK_US + 2)


def test_a_delete_raises_the_mark_at_once(kv):
    kv.node(7)
    kv.write(8, "t1", b"d", 0)
    assert kv.mark() == b"7"
    kv.write(9, "t2", b"d", 1)
    assert kv.mark() == b"9"


def test_a_repeated_write_raises_the_mark(kv):
    kv.node(7)
    kv.write(9, "t1", b"d", 0)
    kv.write(9, "t1", b"d", 1)
    assert kv.mark() == b"9"


@pytest.mark.parametrize("text", [b"vx", b"d"])
def test_a_write_gives_no_mark_to_a_server_that_was_wiped(kv, world, text):
    kv.node(MARK_US)
    world.redis("DEL", NODE, RECORD)
    kv.write(3 * MARK_US, "t1", text, 1)
    assert kv.node()[1] == 0


# -- the records of a server


def test_records_of_all_names_are_listed_and_no_other_key(kv, world):
    records = {
        b"ilk:kv:{v}/a",
        b"ilk:kv:{v}/",
        b"ilk:kv={x}y/a/1",
        b"ilk:kv~x}y/a/1",
        b"ilk:kv:{\xff}/\0",
    }
    others = [b"ilk:kv:once:{v}", NODE, b"ilk:kv", b"ilk:kvx:{v}/a", b"kv:{v}/a"]
    for key in [*records, *others]:
        world.redis("SET", key, "x")

    found = kv.list()

    assert found[:2] == ["STATE", b"0"]
    assert set(found[2:]) == records


def test_records_are_listed_some_at_a_time(kv, world, request):
    wanted = {b"ilk:kv:{v}/%d" % number for number in range(300)}
    for key in wanted:
        world.redis("SET", key, "x")
    found, cursor, calls = set(), "0", 0
    while calls == 0 or cursor != b"0":
        _, cursor, *keys = kv.list(cursor, 10)
        found.update(keys)
        calls += 1
    assert found == wanted
    # tests/sim/store.lua has one page.
    assert calls > 5 or request.config.getoption("store", False)


# -- moving


@pytest.mark.parametrize("where", [(), (0, "7", "p", 1)])
def test_a_single_server_has_all_values_where_they_belong(kv, world, where):
    kv.put("t1")
    before = world.dump()

    assert kv.move(*where) == ["STATE", 1, 1, b"", b"", 0, 0, 0]
    assert world.dump() == before


# -- costs


def test_a_put_makes_eight_calls_and_a_get_one(real_world):
    kv = KV(real_world)
    kv.put("t1")

    assert inner_calls(real_world, kv.get) == {"hmget": 1}
    calls = inner_calls(real_world, lambda: kv.put("t2"))
    assert sum(calls.values()) in (8, 10)  # every sixteenth removes old requests


# -- refusals


@pytest.mark.parametrize("version", [str(LAST), str(2**53 - 1), "junk", "-1", ""])
def test_no_version_is_used_twice_when_none_can_rise(kv, world, version):
    world.redis("HSET", RECORD, "version", version, "value", "x")
    before = world.dump()

    for text in (b"vy", b"d"):
        with pytest.raises(ReplyError, match="ILKFENCE no version can rise above"):
            kv.put("t1", text)
    assert world.dump() == before


def test_the_last_version_can_be_read(kv, world):
    world.redis("HSET", RECORD, "version", LAST - 1, "value", "x")

    assert kv.put("t1", b"vy")[1] == LAST
    assert kv.get() == ["STATE", LAST, 1, b"y"]


@pytest.mark.parametrize("version", [str(2**53 - 1), "junk"])
def test_a_record_without_a_version_is_an_error(kv, world, version):
    world.redis("HSET", RECORD, "version", version, "value", "x")
    before = world.dump()

    for ask in (
        kv.get,
        kv.read,
        lambda: kv.write(7, "t"),
        lambda: kv.remove(7, "t"),
    ):
        with pytest.raises(ReplyError, match="ILKFENCE"):
            ask()
    assert world.dump() == before


def test_a_mark_that_makes_no_sense_is_none(kv, world):
    world.redis("HSET", NODE, "seen", "junk")
    assert kv.node() == ["STATE", 0, START_US]
    assert kv.node(7) == ["STATE", 7, START_US]


@pytest.mark.parametrize(
    ("script", "keys", "args"),
    [
        ("kv_put", [RECORD, ONCE], ("", b"vx", 0)),
        ("kv_put", [RECORD, ONCE], ("t", b"", 0)),
        ("kv_put", [RECORD, ONCE], ("t", b"x", 0)),
        ("kv_put", [RECORD, ONCE], ("t", b"dx", 0)),
        ("kv_put", [RECORD, ONCE], ("t", b"vx", "")),
        ("kv_put", [RECORD, ONCE], ("t", b"vx", -1)),
        ("kv_write", [RECORD, NODE], (0, "t", b"vx", 0)),
        ("kv_write", [RECORD, NODE], (2**53, "t", b"vx", 0)),
        ("kv_write", [RECORD, NODE], (1.5, "t", b"vx", 0)),
        ("kv_write", [RECORD, NODE], (1, "t", b"x", 0)),
        ("kv_write", [RECORD, NODE], (1, "t", b"vx", "x")),
        ("kv_remove", [RECORD], (-1, "t")),
        ("kv_remove", [RECORD], ("x", "t")),
        ("kv_node", [NODE], (-1, "", "n")),
        ("kv_node", [NODE], ("x", "", "n")),
        ("kv_settle", [RECORD], (0, "t")),
        ("kv_settle", [RECORD], ("x", "t")),
        ("kv_list", [NODE], ("0", 0)),
        ("kv_list", [NODE], ("0", "x")),
    ],
)
def test_misuse_is_refused_and_nothing_written(world, script, keys, args):
    before = world.dump()

    with pytest.raises(ReplyError, match="ILKARG"):
        world.call(script, keys, *args)
    assert world.dump() == before


@pytest.mark.parametrize("key", [RECORD, ONCE])
def test_another_type_at_a_key_is_refused_and_nothing_written(kv, world, key):
    world.redis("SET", key, "x")
    before = world.dump()

    for ask in (lambda: kv.put("t"), lambda: kv.delete("t")):
        with pytest.raises(ReplyError, match="WRONGTYPE"):
            ask()
    if key == RECORD:
        for ask in (
            kv.get,
            kv.read,
            lambda: kv.write(7, "t"),
            lambda: kv.remove(7, "t"),
        ):
            with pytest.raises(ReplyError, match="WRONGTYPE"):
                ask()
    assert world.dump() == before


def test_another_type_at_the_mark_is_refused_and_nothing_written(kv, world):
    world.redis("SET", NODE, "x")
    before = world.dump()

    for ask in (
        kv.node,
        lambda: kv.node(7),
        lambda: kv.node(0, "p"),
        lambda: kv.write(7, "t", b"vx", 1),
        lambda: kv.write(7, "t", b"d", 1),
    ):
        with pytest.raises(ReplyError, match="WRONGTYPE"):
            ask()
    assert world.dump() == before


@pytest.fixture
def full(world):
    """Call it to make the server refuse whatever needs memory."""
    yield lambda: world.redis("CONFIG", "SET", "maxmemory", "1")
    world.redis("CONFIG", "SET", "maxmemory", "0")


def test_without_memory_nothing_is_written(kv, world, full):
    before = world.dump()
    full()

    for ask in (lambda: kv.put("t"), lambda: kv.write(7, "t")):
        with pytest.raises(ReplyError, match="OOM"):
            ask()
    assert world.dump() == before


@pytest.mark.parametrize("verb", ["put", "write"])
def test_without_memory_a_key_can_be_deleted(kv, full, verb):
    kv.put("t1")
    full()

    if verb == "put":
        assert kv.delete("t2")[0] == "WRITTEN"
    else:
        assert kv.write(START_US + 1, "t2", b"d") == ["WRITTEN"]
    assert kv.get()[2] == 0
