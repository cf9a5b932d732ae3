# SPDX-License-Identifier: MIT
"""store_*: versions by timestamp, transactions in one step, and what became of them."""

import pytest
from resp import ReplyError
from world import DAY_MS, START_US

STORE, DONE = b"ilk:store:{s}", b"ilk:store:done:{s}"
KEEP_MS, DONE_MS = 60_000, 600_000
LAST = 2**53 - 1_000_001  # include/fence_value.lua


def key_of(key):
    return b"ilk:store:key:{s}/" + key.encode()


class Store:
    """A store's scripts, by the keys of its users."""

    def __init__(self, world):
        self.world = world

    def read(self, key, at=0):
        return self.world.call("store_read", [STORE, key_of(key)], at, "", 0)

    def commit(self, txid, at=0, **writes):
        keys = [STORE, DONE, *map(key_of, writes)]
        versions = ["d" if value is None else f"v{value}" for value in writes.values()]
        return self.world.call("store_commit", keys, txid, at, "", 0, *versions)

    def outcome(self, txid, age=0):
        return self.world.call("store_outcome", [DONE, STORE], txid, age)

    def value(self, key, at=0):
        _, _, has_value, value = self.read(key, at)
        return value.decode() if has_value else None

    def fields(self, key):
        found = self.world.redis("HGETALL", key_of(key))
        return dict(zip(found[::2], found[1::2]))

    def versions(self, key):
        return len(self.fields(key)[b"versions"].split())


@pytest.fixture
def store(world):
    return Store(world)


# -- reading


def test_a_key_that_nobody_wrote_has_no_value(store):
    assert store.read("a") == ["STATE", START_US, 0, b""]


def test_timestamps_rise_within_a_microsecond_and_when_the_clock_is_set_back(
    store, world
):
    first = store.read("a")[1]
    second = store.commit("t1", a="x")[1]
    world.set_clock(START_US - 1_000_000)
    third = store.read("a")[1]

    assert (first, second, third) == (START_US, START_US + 1, START_US + 2)


def test_timestamps_rise_above_the_versions_of_a_store_that_was_lost(store, world):
    store.commit("t1", a="x")
    world.set_clock(START_US - 1_000_000)
    world.redis("DEL", STORE)

    assert store.read("a") == ["STATE", START_US + 1, 1, b"x"]
    assert store.commit("t2", a="y") == ["WRITTEN", START_US + 2]


def test_a_transaction_reads_as_of_its_time(store):
    store.commit("t1", a="old", b="old")
    at = store.read("a")[1]
    store.commit("t2", a="new", b="new")

    assert (store.value("a", at), store.value("b", at)) == ("old", "old")
    assert store.value("b") == "new"


def test_values_have_any_bytes(store, world):
    value = b"v\0\r\n\xff"
    world.call("store_commit", [STORE, DONE, key_of("a")], "t1", 0, "", 0, b"v" + value)
    assert store.read("a")[2:] == [1, value]
    store.commit("t2", b="")
    assert store.read("b")[2:] == [1, b""]


def test_a_read_after_a_minute_is_refused(store, world):
    store.commit("t1", a="x")
    at = store.read("a")[1]
    world.advance(KEEP_MS)
    assert store.value("a", at) == "x"
    world.advance(1)
    assert store.read("a", at) == ["GONE"]


# -- conflicts


def test_a_write_below_a_later_reader_is_refused(store):
    store.commit("t1", a="0")
    early, late = store.read("b")[1], store.read("a")[1]

    assert store.commit("t2", early, a="1") == ["STALE", late]
    assert store.value("a", late) == "0"
    assert store.commit("t3", late, a="2") == ["WRITTEN", late]


def test_a_later_reader_of_a_key_without_a_value_counts_too(store):
    early, late = store.read("b")[1], store.read("a")[1]

    assert store.commit("t2", early, a="1") == ["STALE", late]
    assert store.commit("t3", late, a="2") == ["WRITTEN", late]


def test_a_write_below_a_later_version_is_refused(store):
    early = store.read("b")[1]
    later = store.commit("t2", a="later")[1]

    assert store.commit("t3", early, a="early") == ["STALE", later]
    assert store.value("a") == "later"


def test_all_keys_are_written_or_none(store):
    early = store.read("b")[1]
    late = store.read("c")[1]

    assert store.commit("t1", early, a="1", b="1", c="1") == ["STALE", late]
    assert [store.value(key) for key in "abc"] == [None] * 3


def test_one_that_only_writes_is_never_late(store):
    store.read("a")
    store.commit("t1", a="1")
    store.read("a")
    assert store.commit("t2", a="2")[0] == "WRITTEN"


def test_a_commit_after_a_minute_is_refused(store, world):
    at = store.read("a")[1]
    world.advance(KEEP_MS + 1)
    assert store.commit("t1", at, a="1") == ["GONE"]
    assert store.value("a") is None


# -- former versions


def test_a_key_keeps_few_versions(store):
    for number in range(100):
        store.commit(f"t{number}", a=str(number))
    assert store.versions("a") == 64
    assert len(store.fields("a")) == 66  # `versions`, and `cut`


def test_a_version_that_was_dropped_is_not_read_as_none(store):
    store.commit("t", a="first")
    at = store.read("b")[1]
    for number in range(64):
        store.commit(f"t{number}", a=str(number))
    assert store.read("a", at) == ["STALE"]
    assert store.value("a") == "63"


def test_old_versions_are_dropped_but_for_the_last_before_a_minute(store, world):
    for number in range(5):
        store.commit(f"t{number}", a=str(number))
    world.advance(KEEP_MS + 1)
    at = store.read("b")[1]
    store.commit("t", a="new")

    assert store.versions("a") == 2
    assert store.value("a", at) == "4"


# -- deleting


def test_a_deleted_key_is_forgotten_after_two_minutes(store, world):
    store.commit("t1", a="x")
    assert world.redis("PTTL", key_of("a")) == -1
    at = store.read("a")[1]
    store.commit("t2", a=None)

    assert store.value("a") is None
    assert store.value("a", at) == "x"
    assert 0 < world.redis("PTTL", key_of("a")) <= 2 * KEEP_MS
    store.commit("t3", a="y")
    assert world.redis("PTTL", key_of("a")) == -1


def test_a_read_of_no_value_is_remembered_for_as_long_as_a_writer_may_come(
    store, world
):
    for key in ("never", "deleted"):
        store.commit("t1", deleted=None)
        world.redis("PEXPIRE", key_of(key), 100)
        early, late = store.read("other")[1], store.read(key)[1]
        assert late > early
        assert world.redis("PTTL", key_of(key)) > KEEP_MS
        assert store.commit(f"t{key}", early, **{key: "1"}) == ["STALE", late]


def test_a_read_of_an_earlier_version_leaves_the_expiry(store, world):
    store.commit("t1", a="x")
    at = store.read("b")[1]
    store.commit("t2", a=None)
    world.redis("PEXPIRE", key_of("a"), 1000)
    assert store.value("a", at) == "x"
    assert world.redis("PTTL", key_of("a")) <= 1000


# -- retries and outcomes


def test_a_retry_of_a_commit_writes_nothing_again(store):
    first = store.commit("t1", a="1")
    store.commit("t2", a="2")

    assert store.commit("t1", a="1") == first
    assert store.value("a") == "2"


def test_the_outcome_of_a_committed_one(store, world):
    store.commit("t1", a="1")
    world.advance(DONE_MS - 1)
    assert store.outcome("t1", DONE_MS - 1) == ["STATE", 1]


def test_the_outcome_of_another_one_aborts_it(store):
    assert store.outcome("t1") == ["STATE", 2]
    assert store.commit("t1", a="1") == ["REFUSED"]
    assert store.outcome("t1", 10 * DAY_MS) == ["STATE", 2]
    assert store.value("a") is None


def test_the_outcome_of_an_old_one_is_not_known(store):
    assert store.outcome("t1", 300_001) == ["STATE", 0]
    assert store.commit("t1", a="1")[0] == "WRITTEN"
    assert store.outcome("t2", 300_000) == ["STATE", 2]


def test_ids_are_forgotten_a_few_at_a_time(store, world):
    old = [
        part for number in range(300) for part in (START_US + number, f"c o{number}")
    ]
    world.redis("ZADD", DONE, *old)
    world.advance(DONE_MS + 1)
    for turn, left in ((1, 300 - 256 + 16), (2, 32)):
        for number in range(16):  # one of them removes some
            store.commit(f"new{turn}-{number}", a="x")
        assert world.redis("ZCARD", DONE) == left


# -- misuse


@pytest.mark.parametrize("bad", ["", "x", "-1", "1.5", str(2**53)])
def test_a_text_that_is_no_timestamp_is_refused_before_anything_is_written(
    store, world, bad
):
    with pytest.raises(ReplyError, match="ILKARG"):
        store.read("a", bad)
    with pytest.raises(ReplyError, match="ILKARG"):
        store.commit("t1", bad, a="x")
    with pytest.raises(ReplyError, match="ILKARG"):
        store.outcome("t1", bad)
    assert world.dump().keys() == {b"ilk:test:now"}


def test_a_commit_has_a_version_for_each_key(store, world):
    keys = [STORE, DONE, key_of("a"), key_of("b")]
    for versions in (["v1"], ["v1", "v2", "v3"], ["v1", "x"], ["v1", ""]):
        with pytest.raises(ReplyError, match="ILKARG"):
            world.call("store_commit", keys, "t1", 0, "", 0, *versions)
    with pytest.raises(ReplyError, match="ILKARG"):
        world.call("store_commit", keys[:2], "t1", 0, "", 0)
    assert world.dump().keys() == {b"ilk:test:now"}


def test_another_type_at_a_key_is_an_error_and_nothing_is_written(store, world):
    for key in (STORE, DONE, key_of("b")):
        world.redis("FLUSHALL")
        world.set_clock(START_US)
        world.redis("SET", key, "x")
        with pytest.raises(ReplyError, match="WRONGTYPE"):
            store.commit("t1", a="1", b="2")
        assert world.redis("EXISTS", key_of("a")) == 0


def test_no_timestamp_is_given_beyond_the_last_one(store, world):
    world.redis("HSET", STORE, "last", LAST)
    for call in (lambda: store.read("a"), lambda: store.commit("t1", a="1")):
        with pytest.raises(ReplyError, match="ILKFENCE"):
            call()
    assert world.redis("EXISTS", key_of("a")) == 0


def test_fields_that_make_no_sense_are_passed_over(store, world):
    world.redis("HSET", key_of("a"), "read", "x", "versions", "y z")
    world.redis("HSET", STORE, "last", "q")
    assert store.value("a") is None
    assert store.commit("t1", a="1")[0] == "WRITTEN"
    assert store.value("a") == "1"
