# SPDX-License-Identifier: MIT
"""Groups in stores that keep them: members, watchers, deaths, lost replies, restarts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import interlock
import pytest
from cluster import PATIENCE, Background, until
from etcd_store import Etcd
from interlock import GroupChange
from member import Member
from store import BRIEF_S, Store
from store_network import between
from zookeeper_store import CHROOT, ZooKeeper

REFRESH_S = 2.0
SOON_S = 1.5 * PATIENCE  # before any refresh
TTL = 3.0
LONG_TTL = 60.0
DOWN = {"up": False, "down": True}  # replies are lost
AT_ONCE = {("zookeeper", "join"), ("etcd", "leave")}  # the first step does it
MANY = 1000  # members that one process is to have
PAGE = 1000  # members in a reply


@pytest.fixture(autouse=True)
def keeps_groups(kind: type[Store]) -> None:
    if "group" not in kind.offers:
        pytest.skip(f"{kind.scheme} offers no groups")


class Followed:
    """A watch in a thread, on a client of its own: what it has seen, and when."""

    def __init__(self, url: str, name: str):
        self.client = interlock.connect(url)
        self.changes: list[tuple[float, GroupChange]] = []
        self.watch = self.client.group(name).watch()
        self.thread = threading.Thread(target=self.follow, daemon=True)
        self.thread.start()
        until(lambda: self.changes, what="who is in")

    def follow(self) -> None:
        try:
            for change in self.watch:
                self.changes.append((time.monotonic(), change))
        except interlock.Error:
            pass  # it was cancelled

    @property
    def members(self) -> dict[str, bytes]:
        return self.changes[-1][1].members

    def await_members(self, expected: dict[str, bytes], seconds: float = 30) -> float:
        """When it has seen them."""
        until(lambda: self.members == expected, seconds, f"{expected}")
        return self.changes[-1][0]

    def joined(self) -> list[str]:
        return [one for _, change in self.changes for one in sorted(change.joined)]

    def left(self) -> list[str]:
        return [one for _, change in self.changes for one in sorted(change.left)]

    def close(self) -> None:
        self.watch.cancel()
        self.thread.join(30)
        self.client.close()


def await_wait(followed: Followed) -> None:
    """It waits at the client, and the store watches."""
    until(lambda: followed.client.stats().waiting == 1, what="a waiter")
    time.sleep(0.3)


def slack(store: Store) -> float:
    return store.slack_s + REFRESH_S


def key_of(name: str) -> str:
    return f"ilk:group:{{{name}}}"


def remove_member(store: Store, name: str, member: str) -> None:
    """As an operator does it."""
    if isinstance(store, Etcd):
        assert store.ctl("del", f"{key_of(name)}/{member}").strip() == "1"
    elif isinstance(store, ZooKeeper):
        store.shell("delete", f"{CHROOT}/{key_of(name)}/{member}")
    else:
        pytest.skip("the table has it for Redis")


# ---- members ----------------------------------------------------------------------


def test_members_join_update_and_leave(
    client: interlock.Client, other: interlock.Client, name: str
) -> None:
    ours, theirs = client.group(name), other.group(name)
    assert ours.members() == {}

    one = ours.join("one", b"10.0.0.1", ttl=LONG_TTL)
    two = theirs.join("two", ttl=LONG_TTL)
    assert ours.members() == theirs.members() == {"one": b"10.0.0.1", "two": b""}
    one.update(b"10.0.0.2")
    assert theirs.members()["one"] == b"10.0.0.2"

    assert two.leave() is True
    assert ours.members() == {"one": b"10.0.0.2"}
    assert one.held and not two.held
    assert one.leave() is True
    assert theirs.members() == {}


def test_an_id_that_is_in_is_refused(
    client: interlock.Client, other: interlock.Client, name: str
) -> None:
    first = client.group(name).join("a", b"first", ttl=LONG_TTL)
    for group in (client.group(name), other.group(name)):
        with pytest.raises(interlock.HeldError, match="a member with this id"):
            group.join("a", b"second", ttl=LONG_TTL)
    assert other.group(name).members() == {"a": b"first"}
    assert first.held and first.leave()

    second = other.group(name).join("a", b"second", ttl=LONG_TTL)
    assert client.group(name).members() == {"a": b"second"}
    assert second.leave()


def test_only_one_of_many_gets_an_id(store: Store, name: str) -> None:
    clients = [interlock.connect(store.url()) for _ in range(4)]
    try:

        def join(turn: int) -> interlock.Member | None:
            try:
                return clients[turn % 4].group(name).join("a", b"%d" % turn)
            except interlock.HeldError:
                return None

        with ThreadPoolExecutor(16) as pool:
            members = [one for one in pool.map(join, range(16)) if one]
        assert len(members) == 1
        assert set(clients[0].group(name).members()) == {"a"}
    finally:
        for client in clients:
            client.close()


def test_groups_and_ids_of_any_bytes_have_nothing_in_common(
    client: interlock.Client, other: interlock.Client, name: str
) -> None:
    tagged = f"{{{name}}}"  # a name that has braces is in its key as it is
    names = [name, f"{name}/a", f"{name}%2Fa", f"{name}/a/b", f"{name}}}x"]
    names += [tagged, f"{tagged}/b", f"{tagged}%2Fb", f"{tagged}/b/c"]
    ids: list[str | bytes] = [
        "a",
        "a/b",
        "b/c",
        "..",
        "%2F",
        "a b",
        b"\xff\0\n",
        "x" * 512,
    ]
    members = [
        client.group(one).join(id, one.encode(), ttl=LONG_TTL)
        for one in names
        for id in ids
    ]
    for one in names:
        found = other.group(one).members()
        assert len(found) == len(ids)
        assert set(found.values()) == {one.encode()}
    assert b"\xff\0\n".decode("utf-8", "surrogateescape") in found
    for member in members:
        assert member.leave()
    for one in names:
        assert other.group(one).members() == {}


def test_a_large_text_comes_through(
    client: interlock.Client, other: interlock.Client, name: str
) -> None:
    data = bytes(range(256)) * 16
    member = client.group(name).join("a", data, ttl=LONG_TTL)
    assert other.group(name).members() == {"a": data}
    member.update(data[::-1])
    assert other.group(name).members() == {"a": data[::-1]}
    member.leave()


def test_a_member_outlasts_its_lease_while_it_is_renewed(
    client: interlock.Client, other: interlock.Client, name: str
) -> None:
    member = client.group(name).join("a", ttl=TTL)
    ends = time.monotonic() + 2 * TTL + 2
    while time.monotonic() < ends:
        assert member.held
        assert set(other.group(name).members()) == {"a"}
        time.sleep(0.2)
    assert member.leave()


# ---- watching ---------------------------------------------------------------------


def test_a_watcher_sees_who_joins_and_leaves_without_polling(
    store: Store, client: interlock.Client, name: str
) -> None:
    group = client.group(name)
    first = group.join("first", b"1", ttl=LONG_TTL)
    followed = Followed(store.url(), name)
    assert followed.members == {"first": b"1"}
    await_wait(followed)

    steps: list[tuple[Callable[[], object], dict[str, bytes]]] = [
        (lambda: group.join("a", b"x", ttl=LONG_TTL), {"first": b"1", "a": b"x"}),
        (lambda: first.update(b"2"), {"first": b"2", "a": b"x"}),
        (lambda: first.leave(), {"a": b"x"}),
        (lambda: group.join("first", b"3", ttl=LONG_TTL), {"first": b"3", "a": b"x"}),
    ]
    for step, expected in steps:
        began = time.monotonic()
        step()
        assert followed.await_members(expected) - began < SOON_S
    assert followed.joined() == ["first", "a", "first"]
    assert followed.left() == ["first"]
    assert [sorted(change.updated) for _, change in followed.changes][2] == ["first"]
    followed.close()


def test_a_member_that_was_replaced_is_both(
    client: interlock.Client, other: interlock.Client, name: str
) -> None:
    watch = other.group(name).watch(timeout=30)
    assert next(watch).members == {}
    member = client.group(name).join("a", b"1", ttl=LONG_TTL)
    assert next(watch).joined == {"a"}
    member.leave()
    client.group(name).join("a", b"2", ttl=LONG_TTL)
    until(lambda: other.group(name).members() == {"a": b"2"})

    found = next(watch)
    if not found.joined:  # it was quick
        assert found.left == {"a"}
        found = next(watch)
        assert found == GroupChange(
            frozenset("a"), frozenset(), {"a": b"2"}, frozenset()
        )
        return
    assert found.left == found.joined == {"a"}
    assert found.members == {"a": b"2"}


def test_no_change_is_missed_while_the_watch_begins(store: Store, name: str) -> None:
    with interlock.connect(store.url()) as client:
        for turn in range(20):
            group = client.group(f"{name}-{turn}")
            with interlock.connect(store.url()) as other:
                watch = other.group(f"{name}-{turn}").watch(timeout=30)
                joins = Background(partial(group.join, "a", ttl=LONG_TTL))
                time.sleep(turn * 0.002)
                while "a" not in next(watch).members:
                    pass
                began = time.monotonic()
                joins.result().leave()
                assert next(watch).left == {"a"}
                assert time.monotonic() - began < SOON_S


def test_watchers_of_one_client_see_every_change_each(
    client: interlock.Client, other: interlock.Client, name: str
) -> None:
    watches = [client.group(name).watch(timeout=30) for _ in range(5)]
    for watch in watches:
        assert next(watch).members == {}
    members = [other.group(name).join(f"m{i}", ttl=LONG_TTL) for i in range(10)]
    for watch in watches:
        joined: set[str] = set()
        while len(joined) < 10:
            joined |= next(watch).joined
    for member in members[:5]:
        member.leave()
    for watch in watches:
        while len(next(watch).members) > 5:
            pass
    assert client.group(name).watch(timeout=0).get(0)
    for watch in watches:
        assert watch.get(timeout=0) is None


def test_a_watch_that_comes_back_later_has_missed_nothing(
    client: interlock.Client, other: interlock.Client, name: str
) -> None:
    """The client has dropped what it knew of the group meanwhile."""
    watch = client.group(name).watch(timeout=30)
    group = other.group(name)
    first, second = group.join("a", ttl=LONG_TTL), group.join("b", ttl=LONG_TTL)
    assert set(next(watch).members) == {"a", "b"}
    first.leave()
    second.update(b"new")
    group.join("c", ttl=LONG_TTL)
    time.sleep(2.5)

    found = next(watch)
    seen = [sorted(some) for some in (found.joined, found.left, found.updated)]
    assert seen == [["c"], ["a"], ["b"]]


def test_a_ring_follows_the_members(
    client: interlock.Client, other: interlock.Client, name: str
) -> None:
    one = client.group(name).join("one", ttl=LONG_TTL)
    two = client.group(name).join("two", ttl=LONG_TTL)
    ring = other.group(name).ring()
    assert set(ring.nodes) == {"one", "two"}
    keys = [f"user:{i}" for i in range(1000)]
    before = {key: ring.get(key) for key in keys}

    three = client.group(name).join("three", ttl=LONG_TTL)
    found = ring.refresh()
    assert found and found.joined == {"three"}
    moved = {key for key in keys if ring.get(key) != before[key]}
    assert moved and {ring.get(key) for key in moved} == {"three"}

    three.leave()
    found = ring.refresh(timeout=30)
    assert found and found.left == {"three"}
    assert all(ring.get(key) == before[key] for key in keys)
    assert ring.refresh() is None
    assert one.leave() and two.leave()


# ---- deaths -----------------------------------------------------------------------


def test_a_killed_member_is_out_when_its_lease_has_ended(
    brief: Store, join: Callable[[str], Member], name: str
) -> None:
    followed = Followed(brief.url(), name)
    member = join(brief.url())
    assert member.ask("join", name, "child", TTL)
    followed.await_members({"child": b""})
    time.sleep(TTL + 1)  # it is renewed
    assert followed.members == {"child": b""}

    member.kill()
    killed_at = time.monotonic()

    lease = max(TTL, BRIEF_S) if brief.scheme == "zookeeper" else TTL
    left_at = followed.await_members({}, lease + slack(brief) + 10)
    assert left_at - killed_at < (lease + slack(brief)) * PATIENCE
    assert left_at - killed_at > 1  # its lease had to end
    assert followed.client.group(name).members() == {}
    followed.close()


def test_a_frozen_member_is_replaced_and_finds_out(
    brief: Store, join: Callable[[str], Member], name: str
) -> None:
    with interlock.connect(brief.url()) as client:
        group = client.group(name)
        member = join(brief.url())
        assert member.ask("join", name, "a", TTL)
        member.freeze()
        until(lambda: group.members() == {}, 30, "its end")
        successor = group.join("a", b"successor", ttl=LONG_TTL)
        member.thaw()

        assert member.ask("lost", 15 * PATIENCE) == "member_lost"
        assert member.ask("leave") is False
        assert group.members() == {"a": b"successor"}
        assert successor.held and successor.leave()


def test_a_member_that_an_operator_removed_is_lost(
    store: Store, client: interlock.Client, other: interlock.Client, name: str
) -> None:
    news = client.notifications()
    watch = other.group(name).watch(timeout=30)
    assert next(watch).members == {}
    member = client.group(name).join("a", ttl=TTL)
    assert next(watch).joined == {"a"}

    remove_member(store, name, "a")

    assert next(watch).left == {"a"}
    notification = news.get(TTL + 5 * PATIENCE)
    assert notification and notification.kind == "member_lost"
    assert not member.held
    with pytest.raises(interlock.LostError):
        member.update(b"x")
    assert member.leave() is False


def test_a_successor_is_not_touched_by_who_was_removed(
    store: Store, client: interlock.Client, other: interlock.Client, name: str
) -> None:
    member = client.group(name).join("a", b"1", ttl=LONG_TTL)
    remove_member(store, name, "a")
    successor = other.group(name).join("a", b"2", ttl=LONG_TTL)
    with pytest.raises(interlock.LostError):
        member.update(b"3")
    assert member.leave() is False
    assert other.group(name).members() == {"a": b"2"}
    assert successor.leave()


def join_soon(group: interlock.Group, id: str) -> None:
    """When there is a server again."""

    def joins() -> interlock.Member | None:
        try:
            return group.join(id, ttl=LONG_TTL)
        except (interlock.ConnectionError, interlock.NoQuorumError):
            return None

    assert until(joins, 60, "a server")


# ---- faults -----------------------------------------------------------------------


def test_members_and_watchers_outlast_a_restart(own: Store, name: str) -> None:
    followed = Followed(own.url(), name)
    with interlock.connect(own.url()) as client:
        group = client.group(name)
        member = group.join("a", b"1", ttl=LONG_TTL)
        followed.await_members({"a": b"1"})
        await_wait(followed)
        own.restart()

        join_soon(group, "b")
        followed.await_members({"a": b"1", "b": b""})
        member.update(b"2")
        followed.await_members({"a": b"2", "b": b""})
        assert member.held and member.leave()
        followed.await_members({"b": b""})
    assert followed.joined() == ["a", "b"]
    followed.close()


@pytest.mark.parametrize("kind", ["etcd", "zookeeper"], indirect=True, scope="session")
def test_members_and_watchers_outlast_a_leader(kind: type[Store], name: str) -> None:
    with kind(3) as three:
        assert isinstance(three, (Etcd, ZooKeeper))
        followed = Followed(three.url(), name)
        with interlock.connect(three.url()) as client:
            group = client.group(name)
            member = group.join("a", b"1", ttl=LONG_TTL)
            followed.await_members({"a": b"1"})
            await_wait(followed)
            three.leader().kill()

            join_soon(group, "b")
            followed.await_members({"a": b"1", "b": b""}, 60)
            assert member.held and member.leave()
            followed.await_members({"b": b""}, 60)
        assert followed.joined() == ["a", "b"]
        followed.close()


def test_a_change_while_the_watch_was_interrupted_is_seen(
    store: Store, client: interlock.Client, name: str
) -> None:
    group = client.group(name)
    gone = group.join("gone", ttl=LONG_TTL)
    with between(store) as network:
        followed = Followed(network.url("a"), name)
        await_wait(followed)
        network.fault("a", "refuse")
        network.fault("a", "cut")
        gone.leave()
        group.join("come", ttl=LONG_TTL)
        time.sleep(0.5)
        began = time.monotonic()
        network.heal()

        assert followed.await_members({"come": b""}) - began < 20 * PATIENCE
        assert (followed.joined(), followed.left()) == (["gone", "come"], ["gone"])
        followed.close()


@pytest.mark.parametrize("verb", ["join", "update", "leave"])
def test_a_request_whose_reply_was_lost_is_made_once(
    store: Store, other: interlock.Client, name: str, verb: str
) -> None:
    theirs = other.group(name)
    with between(store) as network, interlock.connect(network.url("a")) as client:
        group = client.group(name)
        warm = group.join("warm", ttl=LONG_TTL)
        warm.update(b"1")  # a Redis has all scripts then
        warm.leave()
        member = None if verb == "join" else group.join("a", b"1", ttl=LONG_TTL)
        followed = Followed(store.url(), name)
        expected = {"join": {"a": b"2"}, "update": {"a": b"2"}, "leave": {}}[verb]
        network.fault("a", "dead", **DOWN)

        def request() -> object:
            if not member:
                return group.join("a", b"2", ttl=LONG_TTL)
            if verb == "leave":
                return member.leave()
            member.update(b"2")
            return member

        asked = Background(request)
        if (store.scheme, verb) in AT_ONCE or store.scheme == "redis":
            followed.await_members(expected)
        else:
            time.sleep(1)  # its first step has no reply
        network.fault("a", "cut")
        network.heal()

        result = asked.result()
        if verb == "leave":
            assert result is True
        else:
            assert isinstance(result, interlock.Member) and result.held
        followed.await_members(expected)
        assert theirs.members() == expected
        assert followed.joined().count("a") == 1
        followed.close()


def test_nobody_is_in_twice_or_lost_when_replies_are_lost(
    store: Store, client: interlock.Client, name: str
) -> None:
    expected: dict[str, bytes] = {}
    followed = Followed(store.url(), name)
    with between(store) as network, interlock.connect(network.url("a")) as cut:
        network.fault("ab", "delay", seconds=0.01)
        group = cut.group(name)
        for turn in range(16):
            joins = Background(partial(group.join, f"m{turn}", b"1", LONG_TTL))
            time.sleep(0.004 * turn)  # in each of its steps
            if turn % 2:
                network.fault("a", "cut")
            else:
                network.fault("a", "late", **{"for": 0.3})
            member = joins.result()
            if turn % 3 == 0:
                assert member.leave()
            else:
                member.update(b"2")
                expected[f"m{turn}"] = b"2"
        network.heal()
        time.sleep(0.5)  # what was late has come
        assert client.group(name).members() == expected
        followed.await_members(expected)
        assert sorted(followed.joined()) == sorted(set(followed.joined()))
        followed.close()


# ---- many -------------------------------------------------------------------------


def test_a_thousand_members_of_one_process_share_its_connections(
    store: Store, other: interlock.Client, name: str
) -> None:
    ttl = 12.0
    with between(store) as network, interlock.connect(network.url("a")) as client:
        group = client.group(name)
        news = client.notifications()
        with ThreadPoolExecutor(32) as pool:
            members = list(
                pool.map(lambda i: group.join(f"m{i}", b"x", ttl=ttl), range(MANY))
            )
        assert network.links() <= 2
        more = [other.group(name).join(f"n{i}", ttl=LONG_TTL) for i in range(50)]
        assert len(more) + MANY > PAGE

        watch = other.group(name).watch(timeout=30)
        assert len(next(watch).members) == MANY + 50
        time.sleep(ttl)  # all are renewed, each few seconds
        assert all(member.held for member in members)
        assert news.get(0) is None
        assert len(other.group(name).members()) == MANY + 50
        assert network.links() <= 2

        with ThreadPoolExecutor(32) as pool:
            assert all(pool.map(lambda member: member.leave(), members))
        while len(next(watch).members) > 50:
            pass


# ---- the stores' own tools ----------------------------------------------------------


@pytest.mark.parametrize("kind", ["etcd"], indirect=True, scope="session")
def test_etcdctl_sees_each_member_under_a_lease_of_its_own(
    store: Store, client: interlock.Client, name: str
) -> None:
    assert isinstance(store, Etcd)
    before = set(store.leases())
    members = [client.group(name).join(id, b"data", ttl=LONG_TTL) for id in "ab"]
    prefix = f"{key_of(name)}/"

    assert store.keys(prefix) == [f"{prefix}a", f"{prefix}b"]
    shown = store.ctl("get", "--print-value-only", f"{prefix}a").strip()
    assert shown == f"1 {members[0].token} data"
    leases = set(store.leases()) - before
    assert len(leases) == 2
    members[0].leave()
    assert len(set(store.leases()) - before) == 1
    store.ctl("lease", "revoke", (set(store.leases()) - before).pop())
    assert members[1].leave() is False


@pytest.mark.parametrize("kind", ["etcd"], indirect=True, scope="session")
def test_a_key_that_etcdctl_wrote_is_no_member(
    store: Store, client: interlock.Client, name: str
) -> None:
    assert isinstance(store, Etcd)
    store.ctl("put", f"{key_of(name)}/a", "strange")
    group = client.group(name)
    assert group.members() == {}
    with pytest.raises(interlock.WrongTypeError):
        group.join("a")
    assert group.join("b", ttl=LONG_TTL).leave()


@pytest.mark.parametrize("kind", ["zookeeper"], indirect=True, scope="session")
def test_zkcli_sees_each_member_as_an_ephemeral_node(
    store: Store, client: interlock.Client, name: str
) -> None:
    assert isinstance(store, ZooKeeper)
    member = client.group(name).join("a/b", b"data", ttl=LONG_TTL)
    path = f"{CHROOT}/{key_of(name)}"
    shown = store.shell("ls", path).splitlines()
    assert "[a%2Fb]" in shown
    shown = store.shell("get", "-s", f"{path}/a%2Fb").splitlines()
    assert f"1 {member.token} data" in shown
    owner = next(line for line in shown if line.startswith("ephemeralOwner"))
    assert owner != "ephemeralOwner = 0x0"
    member.leave()


@pytest.mark.parametrize("kind", ["zookeeper"], indirect=True, scope="session")
def test_a_member_ends_with_its_client(store: Store, name: str) -> None:
    followed = Followed(store.url(), name)
    with interlock.connect(store.url()) as client:
        client.group(name).join("a", ttl=LONG_TTL)
        followed.await_members({"a": b""})
    followed.await_members({}, SOON_S * 2)
    followed.close()
