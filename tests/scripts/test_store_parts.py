# SPDX-License-Identifier: MIT
"""store_*: what one of several servers does about a transaction that writes on some of
them."""

import pytest
from resp import ReplyError
from test_store_scripts import DONE, DONE_MS, KEEP_MS, STORE, Store, key_of
from world import START_US

LIST = "0123abcd"
PLACE = f"1 3 {LIST}"
TXID, OTHER = "t1", "t2"


def packed(keys):
    return b"".join(b"%d:%s" % (len(key_of(key)), key_of(key)) for key in keys)


def busy(at, age_ms, *keys):
    """The reply to a client that meets an intent of TXID."""
    return ["BUSY", at, TXID.encode(), age_ms, packed(keys)]


class Part(Store):
    """A store's scripts at the second of three servers."""

    def read(self, key, at=0, above=0, place=PLACE):
        keys = [STORE, key_of(key)]
        return self.world.call("store_read", keys, at, place, above)

    def send(self, script, txid, at, above, place, writes):
        keys = [STORE, DONE, *map(key_of, writes)]
        versions = ["d" if value is None else f"v{value}" for value in writes.values()]
        if script == "store_prepare":
            versions = [packed(writes), *versions]
        return self.world.call(script, keys, txid, at, place, above, *versions)

    def commit(self, txid, at=0, above=0, place=PLACE, **writes):
        return self.send("store_commit", txid, at, above, place, writes)

    def prepare(self, txid, at=0, above=0, place=PLACE, **writes):
        return self.send("store_prepare", txid, at, above, place, writes)

    def decide(self, txid, at=START_US, place=PLACE):
        return self.world.call(
            "store_decide", [DONE, STORE], txid, at, place, packed("a")
        )

    def left(self):
        return self.world.call("store_left", [STORE])

    def finish(self, txid, is_committed, *keys):
        keys = [STORE, DONE, *map(key_of, keys)]
        return self.world.call("store_finish", keys, txid, int(is_committed))

    def forget(self, txid):
        return self.world.call("store_forget", [STORE], txid)


@pytest.fixture
def part(world):
    return Part(world)


# -- timestamps


def test_each_server_gives_numbers_of_its_own(part, world):
    given = [part.read("a")[1] for _ in range(3)]
    assert [number % 3 for number in given] == [1, 1, 1]
    assert given[0] < given[1] < given[2]
    world.advance(1)
    assert part.commit(TXID, a="x")[1] % 3 == 1


def test_a_timestamp_rises_above_what_the_caller_has_seen(part):
    ahead = START_US + 3_600_000_000
    assert ahead < part.read("a", above=ahead)[1] <= ahead + 3
    assert part.commit(TXID, above=2 * ahead, a="x")[1] > 2 * ahead
    assert part.prepare(OTHER, above=3 * ahead, b="x")[1] > 3 * ahead


# -- a commit


def test_an_intent_becomes_a_version(part):
    _, at = part.prepare(TXID, a="new", b="new")
    assert part.value("a", at - 1) is None
    assert part.decide(TXID, at) == ["WRITTEN"]
    assert part.finish(TXID, True, "a", "b") == ["WRITTEN", 2]
    assert (part.value("a", at), part.value("b", at)) == ("new", "new")
    assert part.value("a", at - 1) is None


def test_an_intent_is_dropped(part, world):
    part.commit("t0", a="old")
    part.prepare(TXID, a="new", b="new")
    assert part.finish(TXID, False, "a", "b") == ["WRITTEN", 2]
    assert (part.value("a"), part.value("b")) == ("old", None)
    assert world.redis("PTTL", key_of("b")) > 0
    assert world.redis("PTTL", key_of("a")) == -1


def test_an_intent_does_not_end_by_time(part, world):
    part.read("a")  # so that the key would end
    part.prepare(TXID, a="x")
    world.advance(10 * DONE_MS)
    assert world.redis("PTTL", key_of("a")) == -1
    assert part.finish(TXID, True, "a") == ["WRITTEN", 1]
    assert part.value("a") == "x"


def test_a_deleted_key_is_a_version_too(part, world):
    part.commit("t0", a="old")
    part.prepare(TXID, a=None)
    part.finish(TXID, True, "a")
    assert part.value("a") is None
    assert world.redis("PTTL", key_of("a")) > 0


def test_a_repeated_prepare_finds_the_intents(part):
    first = part.prepare(TXID, a="x", b="x")
    assert part.prepare(TXID, a="x", b="x") == first
    part.finish(TXID, True, "a", "b")
    assert part.prepare(TXID, a="x", b="x") == first
    assert part.finish(TXID, True, "a", "b") == ["WRITTEN", 0]
    assert part.versions("a") == 1


def test_a_prepare_that_comes_after_the_end_is_refused(part):
    part.finish(TXID, False, "a")
    assert part.prepare(TXID, a="x") == ["REFUSED"]
    assert b"intent" not in part.fields("a")


# -- what others do about an intent


def test_a_later_reader_waits_and_an_earlier_one_does_not(part):
    part.commit("t0", a="old")
    early = part.read("b")[1]
    _, at = part.prepare(TXID, a="new")
    assert part.value("a", early) == "old"
    assert part.read("a", at + 5) == busy(at, 0, "a")
    assert part.read("a") == busy(at, 0, "a")


def test_an_intent_leads_to_all_keys_until_its_end(part, world):
    _, at = part.prepare(TXID, a="new", b="new")
    world.advance(2000)
    for key in ("a", "b"):
        assert part.read(key) == busy(at, 2000, "a", "b")
    assert f"intents:{TXID}".encode() in world.redis("HKEYS", STORE)
    part.finish(TXID, True, "a", "b")
    assert f"intents:{TXID}".encode() not in world.redis("HKEYS", STORE)


def test_a_later_writer_waits_and_an_earlier_one_is_refused(part):
    early = part.read("b")[1]
    _, at = part.prepare(TXID, a="new")
    for write in (part.commit, part.prepare):
        assert write(OTHER, early, a="x") == ["STALE", at]
        assert write(OTHER, at + 5, a="x") == busy(at, 0, "a")
        assert write(OTHER, a="x") == busy(at, 0, "a")
    assert part.prepare(OTHER, a="x", c="x") == busy(at, 0, "a")
    assert b"intent" not in part.fields("c")


def test_a_prepare_is_refused_as_a_commit_is(part, world):
    early, late = part.read("b")[1], part.read("a")[1]
    assert part.prepare(TXID, early, a="x", c="x") == ["STALE", late]
    later = part.commit("t0", d="later")[1]
    assert part.prepare(TXID, early, d="x") == ["STALE", later]
    world.advance(KEEP_MS + 1)
    assert part.prepare(TXID, early, c="x") == ["GONE"]
    assert b"intent" not in part.fields("c")


# -- decisions


def test_one_decision(part):
    assert part.decide(TXID) == ["WRITTEN"]
    assert part.decide(TXID) == ["WRITTEN"]
    assert part.outcome(TXID) == ["STATE", 1]
    assert part.outcome(OTHER) == ["STATE", 2]
    assert part.decide(OTHER) == ["REFUSED"]


def test_a_decision_outlives_the_memory_of_those_that_are_done(part, world):
    part.decide(TXID)
    world.advance(2 * DONE_MS)
    world.redis("DEL", DONE)
    assert part.outcome(TXID) == ["STATE", 1]
    assert part.forget(TXID) == ["GONE"]
    assert part.forget(TXID) == ["GONE"]
    assert part.outcome(TXID) == ["STATE", 2]


def test_a_decision_that_comes_after_a_minute_is_refused(part, world):
    world.advance(KEEP_MS)
    assert part.decide(TXID) == ["WRITTEN"]
    world.advance(1)
    assert part.decide(OTHER) == ["REFUSED"]
    assert part.outcome(OTHER) == ["STATE", 2]
    assert part.prepare(OTHER, a="x") == ["REFUSED"]


def test_a_decision_is_not_revived_when_its_abort_is_forgotten(part, world):
    _, at = part.prepare(TXID, a="x")
    assert part.outcome(TXID) == ["STATE", 2]
    part.finish(TXID, False, "a")
    world.advance(2 * DONE_MS)
    world.redis("DEL", DONE)
    assert part.decide(TXID, at) == ["REFUSED"]


def test_a_late_copy_of_a_decision_finds_it_while_others_do_not_know(part, world):
    part.decide(TXID)
    world.advance(2 * DONE_MS)
    world.redis("DEL", DONE)
    assert part.decide(TXID) == ["WRITTEN"]


# -- which servers


def test_other_servers_are_refused(part, world):
    part.commit(TXID, a="x")
    for place in ("", "0 2 ffff", f"1 3 {LIST}0"):
        with pytest.raises(ReplyError, match="ILKDIFFERS.*several servers"):
            part.read("a", place=place)
        with pytest.raises(ReplyError, match="ILKDIFFERS"):
            part.commit(OTHER, place=place, a="y")
    for place in ("0 2 ffff", f"1 3 {LIST}0"):
        with pytest.raises(ReplyError, match="ILKDIFFERS"):
            part.prepare(OTHER, place=place, a="y")
        with pytest.raises(ReplyError, match="ILKDIFFERS"):
            part.decide(OTHER, place=place)
        with pytest.raises(ReplyError, match="ILKDIFFERS"):
            part.read("a", START_US, place=place)
    assert part.value("a") == "x"


def test_a_store_of_one_server_is_no_part(part):
    part.commit(TXID, place="", a="x")
    with pytest.raises(ReplyError, match="ILKDIFFERS.*this server alone"):
        part.read("a")
    with pytest.raises(ReplyError, match="ILKDIFFERS"):
        part.prepare(OTHER, a="y")


@pytest.mark.parametrize("place", ["x", "3 3 ab", "1 3", "1 3 xy", "-1 3 ab"])
def test_a_place_that_is_none(part, world, place):
    for call in (part.read, part.decide):
        with pytest.raises(ReplyError, match="ILKARG"):
            call("a", place=place)
    for call in (part.commit, part.prepare):
        with pytest.raises(ReplyError, match="ILKARG"):
            call(TXID, place=place, a="x")
    assert world.dump().keys() == {b"ilk:test:now"}


def test_a_decision_that_is_left_is_found_after_two_minutes(part, world):
    part.decide(TXID)
    world.advance(119999)
    assert part.left() == ["STATE", b"", b""]
    world.advance(1)
    assert part.left() == ["STATE", TXID.encode(), packed("a")]
    part.forget(TXID)
    assert part.left() == ["STATE", b"", b""]
    assert part.outcome(TXID) == ["STATE", 1]
