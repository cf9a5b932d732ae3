# SPDX-License-Identifier: MIT
"""group_*: who is in a group, and what changed since a version."""

import pytest
from resp import Connection, ReplyError
from state_world import Group, Page
from world import DAY_MS, START_US


@pytest.fixture
def group(world):
    return Group(world)


# ---- members ----------------------------------------------------------------


def test_group_that_nobody_joined_is_empty_and_has_no_key(group, world):
    page = group.read()

    assert (page.full, page.reached, page.more) == (1, 0, 0)
    assert (page.members, page.left) == ({}, [])
    assert world.dump().keys() == {b"ilk:test:now"}


def test_a_member_that_joins_is_in_with_its_data(group):
    assert group.join("a", data=b"10.0.0.1 \x00\n\xff") == ["HELD", 10000, 0, 0]
    assert group.join("b") == ["HELD", 10000, 0, 0]

    assert group.members() == {b"a": b"10.0.0.1 \x00\n\xff", b"b": b""}


def test_an_id_that_is_in_is_refused_and_nothing_written(group, world):
    group.join("t1", member_id="a")
    world.advance(1000)
    before = world.dump()

    assert group.join("t2", member_id="a") == ["BUSY", 9000]
    assert world.dump() == before


def test_retried_join_finds_itself_in_and_gets_a_fresh_lease(group, world):
    group.join("a", data=b"x")
    version = group.version
    world.advance(4000)

    assert group.join("a", data=b"x") == ["HELD", 10000, 0, 0]

    assert group.version == version
    world.advance(8000)
    assert group.members() == {b"a": b"x"}


def test_retried_join_with_other_data_publishes_them(group):
    group.join("a", data=b"x")
    assert group.join("a", data=b"y")[0] == "HELD"
    assert group.members() == {b"a": b"y"}


def test_renewed_member_stays_and_another_one_goes(group, world):
    group.join("a")
    group.join("b")
    world.advance(6000)
    assert group.renew("a") == ["HELD", 10000, 0, world.now]
    world.advance(4000)

    assert group.members() == {b"a": b""}


def test_renewal_never_shortens_and_an_extend_does(group, world):
    group.join("a", lease=10000)
    assert group.renew("a", lease=1000) == ["HELD", 10000, 0, START_US]
    assert group.renew("a", lease=1000, renews=0) == ["HELD", 1000, 0, START_US]
    world.advance(1000)
    assert group.members() == {}


def test_renewal_works_without_memory(group, world):
    group.join("a", lease=1000)
    with world.full():
        assert group.renew("a", lease=9000)[:2] == ["HELD", 9000]

    world.advance(8999)
    assert group.members() == {b"a": b""}


def test_lease_that_ended_is_not_renewed_even_if_nobody_noticed(group, world):
    group.join("a")
    world.advance(10000)

    assert group.renew("a") == ["LOST"]
    assert group.update("a", b"x") == ["LOST"]


def test_member_that_the_server_forgot_is_lost(group, world):
    group.join("a")
    world.redis("FLUSHALL")
    world.set_clock(world.now)

    assert group.renew("a") == ["LOST"]
    assert group.update("a", b"x") == ["LOST"]
    assert group.leave("a") == ["LOST"]


def test_update_changes_the_data_under_the_same_lease(group, world):
    group.join("a", data=b"x")
    world.advance(9000)

    assert group.update("a", b"y") == ["WRITTEN", 0, 0]

    assert group.members() == {b"a": b"y"}
    world.advance(1000)
    assert group.members() == {}


def test_retried_update_is_no_second_change(group):
    group.join("a", data=b"x")
    group.update("a", b"y")
    version = group.version

    assert group.update("a", b"y") == ["WRITTEN", 0, 0]
    assert group.version == version


def test_a_member_that_leaves_is_out_and_a_retry_finds_nobody(group):
    group.join("a")
    group.join("b")

    assert group.leave("a") == ["RELEASED", 0, 0]
    assert group.leave("a") == ["LOST"]
    assert group.members() == {b"b": b""}


def test_another_token_touches_nothing(group, world):
    group.join("t1", member_id="a", data=b"x")
    before = world.dump()

    assert group.update("t2", b"y", member_id="a") == ["LOST"]
    assert group.renew("t2", member_id="a") == ["LOST"]
    assert group.leave("t2", member_id="a") == ["LOST"]
    assert world.dump() == before


def test_token_that_begins_another_one_is_another(group):
    group.join("t1", member_id="a")
    assert group.renew("t", member_id="a") == ["LOST"]


def test_id_of_a_dead_member_is_free_and_its_late_commands_are_refused(group, world):
    group.join("t1", member_id="a", data=b"old")
    world.advance(10000)

    assert group.join("t2", member_id="a", data=b"new")[0] == "HELD"

    assert group.renew("t1", member_id="a") == ["LOST"]
    assert group.leave("t1", member_id="a") == ["LOST"]
    assert group.members() == {b"a": b"new"}


# ---- changes since a version -------------------------------------------------


def test_reading_since_a_version_finds_what_changed_after_it(group):
    for token in ("a", "b", "c"):
        group.join(token)
    known = group.version
    group.join("d")
    group.leave("b")
    group.update("c", b"new")

    page = group.read(known, known)

    assert (page.full, page.more, page.base) == (0, 0, known)
    assert page.members == {b"c": b"new", b"d": b""}
    assert page.left == [b"b"]
    assert page.reached == group.version > known


def test_versions_do_not_go_back_with_the_clock(group, world):
    group.join("a")
    known = group.version
    world.set_clock(START_US - 5_000_000)
    group.join("b")

    assert group.read(known, known).members == {b"b": b""}


def test_a_member_that_left_and_came_back_has_another_token(group):
    group.join("t1", member_id="a")
    known = group.version
    group.leave("t1", member_id="a")
    group.join("t2", member_id="a")

    page = group.read(known, known)

    assert page.values == {b"a": b"1 t2 "}
    assert page.left == []


def test_flushed_group_is_read_from_the_start(group, world):
    group.join("a")
    known = group.version
    world.redis("FLUSHALL")
    world.set_clock(START_US + 1000)

    page = group.read(known, known)
    assert (page.full, page.reached, page.members) == (1, 0, {})

    group.join("b")
    page = group.read(known, known)
    assert (page.full, page.members) == (1, {b"b": b""})


def test_all_pages_together_are_the_group_whatever_changes_meanwhile(group):
    for i in range(10):
        group.join(f"m{i}")
    page = group.read(count=3)
    assert (page.full, page.more) == (1, 1)
    seen = dict(page.members)
    assert list(seen) == [b"m0", b"m1", b"m2"]
    group.leave("m1")
    group.leave("m7")
    group.update("m0", b"new")
    group.join("m10")

    while page.more:
        page = group.read(page.reached, page.base, count=3)
        assert not page.full
        for left in page.left:
            seen.pop(left, None)
        seen.update(page.members)

    assert seen == group.members()
    assert seen[b"m0"] == b"new" and b"m1" not in seen and b"m10" in seen


def test_dead_members_are_removed_by_whoever_reads_a_bounded_number_each(group, world):
    for i in range(501):
        group.join(f"m{i}")
    known = group.version
    world.advance(10000)

    page = group.read(known, known)
    assert (page.more, len(page.left)) == (1, 500)
    last = group.read(page.reached, page.base)
    assert (last.more, len(last.left)) == (0, 1)
    assert world.redis("ZCARD", group.keys[0]) == 0


def test_members_that_died_at_once_are_reported_page_by_page(group, world):
    for i in range(10):
        group.join(f"m{i}")
    known = group.version
    world.advance(10000)
    group.join("late")

    page, left, joined = group.read(known, known, count=3), [], set()
    while True:
        left += page.left
        joined |= set(page.members)
        if not page.more:
            break
        page = group.read(page.reached, page.base, count=3)

    assert sorted(left) == [b"m%d" % i for i in range(10)]
    assert joined == {b"late"}


def test_departures_are_remembered_up_to_a_number_and_then_all_is_read(group, world):
    group.join("stays")
    group.join("goes")
    known = group.version
    group.leave("goes")
    gone = [x for i in range(9999) for x in (known + 2 + i, f"x{i}")]
    world.redis("ZADD", group.keys[5], *gone)
    assert not group.read(known, known).full

    group.join("one")
    group.leave("one")

    assert world.redis("ZCARD", group.keys[5]) == 10000
    page = group.read(known, known)
    assert (page.full, page.members, page.left) == (1, {b"stays": b""}, [])


def test_pages_of_all_members_end_although_the_floor_is_above_them(group, world):
    for i in range(5):
        group.join(f"m{i}")
    version = group.version
    world.redis("HSET", group.keys[1], b"", f"{version} {version}")

    page, seen = group.read(count=2), []
    for _ in range(5):
        seen += page.members
        if not page.more:
            break
        page = group.read(page.reached, page.base, count=2)

    assert sorted(seen) == [b"m0", b"m1", b"m2", b"m3", b"m4"]


def test_keys_go_a_day_after_the_longest_lease(group, world):
    group.join("a", lease=100_000)
    group.join("b", lease=1000)
    group.leave("b")

    left = {
        world.redis("PTTL", key) for key in group.keys if key not in group.keys[2:4]
    }
    assert min(left) > DAY_MS + 90_000
    assert max(left) <= DAY_MS + 100_000


def test_renewal_keeps_a_group_that_nobody_joins_or_leaves(group, world):
    group.join("a")
    for key in group.keys:
        world.redis("PEXPIRE", key, 1000)

    group.renew("a")

    assert world.redis("PTTL", group.keys[0]) > DAY_MS
    assert world.redis("PTTL", group.keys[1]) > DAY_MS


# ---- waiting ----------------------------------------------------------------


def test_watcher_without_a_version_gets_all_members_at_once(group, world):
    group.join("a")
    world.redis("ZADD", group.wait_key, 1, group.entry("w"))
    page = Page(group.watch("w", known=0, base=-1))
    assert (page.full, page.members) == (1, {b"a": b""})
    assert group.line() == []


def test_watcher_waits_and_gets_one_message_for_a_change(group, world):
    group.listen("p", "q")
    assert group.watch("w", client="p") == ["QUEUED", -1, START_US, 1]
    assert group.watch("v", client="p") == ["QUEUED", -1, START_US, 1]
    assert group.watch("u", client="q") == ["QUEUED", -1, START_US, 1]

    assert group.join("a") == ["HELD", 10000, 0, 0]

    assert world.inbox("p") == world.inbox("q") == [group.change()]
    assert group.line() == group.live() == []
    assert Page(group.watch("w", client="p")).members == {b"a": b""}


@pytest.mark.parametrize("change", ["join", "update", "leave", "death", "replacement"])
def test_each_kind_of_change_wakes(group, world, change):
    group.listen("c-w")
    group.join("a", data=b"x")
    known = group.version
    assert group.watch("w", known) == ["QUEUED", 10000, START_US, 1]

    if change == "join":
        group.join("b")
    elif change == "update":
        group.update("a", b"y")
    elif change == "leave":
        group.leave("a")
    else:
        world.advance(10000)
        if change == "death":
            group.read()
        else:
            group.join("b", member_id="a")

    assert world.inbox("c-w") == [group.change()]
    page = Page(group.watch("w", known))
    assert page.values or page.left == [b"a"]


def test_look_without_waiting_says_when_the_next_lease_ends(group, world):
    group.join("a")
    group.join("b", lease=4000)
    world.advance(1000)

    assert group.watch("w", group.version, look=True) == ["BUSY", 3000, world.now, 1]
    assert group.line() == []


def test_retry_of_a_change_notifies_those_who_are_left(group):
    group.join("a", data=b"x")
    known = group.version
    for i in range(3):
        group.watch(f"w{i}", known)

    assert group.update("a", b"y", limit=2) == ["WRITTEN", 1, 0]
    assert group.update("a", b"y", limit=2) == ["WRITTEN", 0, 0]
    assert group.live() == []


def test_join_says_how_many_clients_are_left_to_notify(group):
    for i in range(3):
        group.watch(f"w{i}")
    assert group.join("a", limit=2) == ["HELD", 10000, 1, 0]
    assert group.call("state_wake", 2) == ["RELEASED", 0, 0]


def test_refresh_removes_the_dead_and_says_who_has_to_ask_again(group, world):
    group.join("a")
    known = group.version
    group.watch("w", known)
    assert group.refresh("group_refresh", "c-w", "w") == [
        *("BUSY", 10000, START_US, 1),
        *(3, 0, 0),
    ]
    world.advance(10000)

    reply = group.refresh("group_refresh", "c-w", "w")

    assert reply == ["BUSY", -1, world.now, 1, 7, 0, 0]
    assert Page(group.watch("w", known)).left == [b"a"]


def test_refresh_of_a_group_with_more_dead_members_is_due_at_once(group, world):
    for i in range(501):
        group.join(f"m{i}")
    world.advance(20000)
    assert group.refresh("group_refresh", "c-w")[1] == 0
    assert group.refresh("group_refresh", "c-w")[1] == -1


def test_cancel_leaves_the_wait_queue(group):
    group.watch("w")
    entry = group.entry("w")
    assert group.call("state_cancel", entry, "w", 5000, 64, 6000) == ["GONE"]
    assert group.line() == []


# ---- refusals ---------------------------------------------------------------


@pytest.mark.parametrize(
    "script, args",
    [
        ("group_join", ("", "t", "", 1, 1)),
        ("group_join", ("x" * 513, "t", "", 1, 1)),
        ("group_join", ("a", "", "", 1, 1)),
        ("group_join", ("a", "t 1", "", 1, 1)),
        ("group_join", ("a", "t", "x" * 4097, 1, 1)),
        ("group_join", ("a", "t", "", 0, 1)),
        ("group_join", ("a", "t", "", 1, 0)),
        ("group_update", ("a", "t", "x" * 4097, 1)),
        ("group_update", ("", "t", "", 1)),
        ("group_leave", ("a", "", 1)),
        ("group_renew", ("a", "t", 0, 1)),
        ("group_read", (-1, -1, 1, 1)),
        ("group_read", (0, -2, 1, 1)),
        ("group_read", (0, -1, 0, 1)),
        ("group_watch", (b"no entry", "c", 1, 1, "t", 0, 0, 1, 1)),
        ("group_watch", (b"", "c", 1, 1, "t", 1.5, 0, 1, 1)),
        ("group_refresh", ("c", 1, 1, 1, 2)),
    ],
)
def test_misuse_is_refused_and_nothing_written(group, world, script, args):
    before = world.dump()

    with pytest.raises(ReplyError, match="ILKARG"):
        group.call(script, *args)
    assert world.dump() == before


@pytest.mark.parametrize("place", [0, 1, 4, 5])
def test_wrong_type_is_refused_and_nothing_written(group, world, place):
    group.join("old")
    group.join("gone")
    group.leave("gone")
    world.advance(10000)
    world.redis("SET", group.keys[place], "x")
    before = world.dump()

    for ask in (lambda: group.join("t"), group.read, lambda: group.leave("old")):
        with pytest.raises(ReplyError, match="WRONGTYPE"):
            ask()
    assert world.dump() == before


def test_without_memory_nobody_joins_but_members_leave(group, world):
    group.join("a", lease=20000)
    group.join("dead")
    world.advance(10000)
    world.redis("CONFIG", "SET", "maxmemory", "1")
    try:
        with pytest.raises(ReplyError, match="OOM"):
            group.join("c")
        assert group.leave("a") == ["RELEASED", 0, 0]
        assert group.read().members == {}
    finally:
        world.redis("CONFIG", "SET", "maxmemory", "0")


@pytest.fixture
def silenced(world):
    """A user who may not PUBLISH to anybody's inbox."""
    world.redis(
        "ACL", "SETUSER", "silenced", "on", ">s", "~*", "+@all", "resetchannels"
    )
    connection = Connection(world.path)
    connection("AUTH", "silenced", "s")
    yield connection
    connection.close()
    world.redis("ACL", "DELUSER", "silenced")


def test_nobody_joins_whose_user_may_not_publish_to_those_who_watch(
    group, world, silenced
):
    group.watch("w")
    assert group.join("a", via=silenced) == ["REFUSED"]
    assert group.members() == {}


def test_whose_user_may_not_publish_still_updates_and_leaves(group, silenced):
    group.join("a", data=b"x")
    group.watch("w", group.version)
    assert group.update("a", b"y", via=silenced) == ["WRITTEN", 0, 1]
    group.watch("w", group.version)
    assert group.leave("a", via=silenced) == ["RELEASED", 0, 1]
    assert group.members() == {}
