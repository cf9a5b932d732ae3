# SPDX-License-Identifier: MIT
"""Groups, as Python sees them: members, changes, and what is lost."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import time

import interlock
import pytest
from interlock import GroupChange
from support import in_child, patience, raise_after, wait_until

MEMBER = """
import interlock, os, sys, time
client = interlock.connect(os.environ["TEST_URL"])
member = client.group(sys.argv[1]).join(sys.argv[2], ttl=0.5)
print("joined", flush=True)
while member.held:
    time.sleep(0.01)
print("lost", member.leave(), flush=True)
"""


def change(joined=(), left=(), members=(), updated=()):
    sets = (frozenset(some) for some in (joined, left, updated))
    joined, left, updated = sets
    return GroupChange(joined, left, dict(members), updated)


# ---- members ----------------------------------------------------------------


def test_members_join_update_and_leave(client, other, name):
    ours, theirs = client.group(name), other.group(name)
    assert ours.members() == {}

    one = ours.join("one", b"10.0.0.1")
    two = theirs.join("two")
    assert theirs.members() == {"one": b"10.0.0.1", "two": b""}
    one.update(b"10.0.0.2")
    assert theirs.members()["one"] == b"10.0.0.2"

    assert two.leave() is True
    assert ours.members() == {"one": b"10.0.0.2"}
    assert one.held and not two.held
    assert 9 < one.remaining() <= 10 and two.remaining() == 0.0
    assert one.leave()
    assert ours.members() == {}


def test_an_id_that_is_in_is_refused(client, other, name):
    first = client.group(name).join("a")
    with pytest.raises(interlock.HeldError, match="a member with this id"):
        other.group(name).join("a")
    first.leave()
    other.group(name).join("a").leave()


def test_ids_are_text_whatever_their_bytes(client, name):
    group = client.group(name)
    raw, text = group.join(b"\xff\x00id", b"\xff"), group.join("ä")
    assert group.members() == {"\udcff\x00id": b"\xff", "ä": b""}
    assert (raw.id, text.id) == ("\udcff\x00id", "ä")
    with pytest.raises(interlock.HeldError):
        group.join("\udcff\x00id")


def test_a_block_leaves_at_its_end(client, name):
    group = client.group(name)
    with group.join("a") as member:
        assert member.held and "a" in group.members()
        member.check()
    assert group.members() == {}
    with pytest.raises(interlock.NotOwnedError):
        member.check()
    with pytest.raises(interlock.NotOwnedError):
        member.leave()
    with pytest.raises(ZeroDivisionError), group.join("a"):
        1 / 0  # noqa: B018
    assert group.members() == {}
    with group.join("a") as member:
        member.leave()


def test_a_member_that_was_lost_says_so(client, server, name):
    group = client.group(name)
    member = group.join("a", ttl=0.3)
    server.call("DEL", f"ilk:group:{{{name}}}")
    notification = client.notifications().get(patience(5))

    assert notification.kind == "member_lost"
    assert notification.lock is member and notification.id == member.number
    assert isinstance(notification.error, interlock.LostError)
    assert not member.held
    with pytest.raises(interlock.LostError):
        member.check()
    with pytest.raises(interlock.LostError):
        member.update(b"x")
    assert member.leave() is False


def test_a_block_whose_member_was_lost_raises(client, server, name):
    group = client.group(name)
    lost = pytest.raises(interlock.LostError, match="was lost inside its block")
    with lost, group.join("a"):
        server.call("DEL", f"ilk:group:data:{{{name}}}")


def test_a_member_stays_in_when_its_object_is_dropped(client, other, server, name):
    def end():
        return server.call("ZSCORE", f"ilk:group:{{{name}}}", "a")

    client.group(name).join("a", ttl=2)
    gc.collect()
    first = end()
    wait_until(lambda: end() > first)  # it has been renewed
    assert other.group(name).members() == {"a": b""}


def test_members_that_were_lost_do_not_pile_up(client, server, name):
    group = client.group(name)
    for i in range(200):
        group.join(f"m{i}", ttl=30).leave()
    assert len(client._joined) == 0
    for i in range(100):
        group.join(f"m{i}", ttl=0.5)
    server.call("DEL", f"ilk:group:{{{name}}}")
    wait_until(lambda: not any(one.held for one in client._joined._members))
    for i in range(100):
        group.join(f"n{i}")
    assert len(client._joined) < 180


def test_a_member_that_joins_while_lost_ones_are_dropped_is_kept():
    class Joined:
        def __init__(self, held):
            self._held = held

        @property
        def held(self):
            if self is lost:
                members._members.add(late)  # as another thread
            return self._held

    members = interlock._joined_members.JoinedMembers()
    lost, late = Joined(False), Joined(True)
    kept = [Joined(True) for _ in range(20)]
    for one in [lost, *kept]:
        members.add(one)

    assert members._members == {late, *kept}


def test_a_killed_member_is_out_when_its_lease_has_ended(client, run_child, name):
    changes = client.group(name).watch(timeout=patience(10))
    assert next(changes) == change()
    child = run_child(MEMBER, name, "child")
    assert child.stdout.readline() == "joined\n"
    assert next(changes) == change(joined=["child"], members={"child": b""})

    child.kill()

    killed_at = time.monotonic()
    assert next(changes) == change(left=["child"])
    assert time.monotonic() - killed_at < patience(1.5)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda group: group.join(""), interlock.InvalidError),
        (lambda group: group.join("x" * 513), interlock.InvalidError),
        (lambda group: group.join(7), TypeError),
        (lambda group: group.join("a", "text"), TypeError),
        (lambda group: group.join("a", b"x" * 4097), interlock.InvalidError),
        (lambda group: group.join("a", ttl=0), interlock.InvalidError),
        (lambda group: group.join("a", ttl=-1), interlock.InvalidError),
        (lambda group: group.join("a", ttl="1"), TypeError),
        (lambda group: group.watch(timeout=-1), interlock.InvalidError),
        (lambda group: group.ring("modulo"), interlock.InvalidError),
        (lambda group: group.ring().refresh(-1), interlock.InvalidError),
        (lambda group: group.ring().refresh("1"), TypeError),
        (lambda group: group.ring().get("key"), interlock.InvalidError),
        (lambda group: group.join("a").update("text"), TypeError),
        (lambda group: group.client.group(""), interlock.InvalidError),
        (lambda group: group.client.group("ilk:x"), interlock.InvalidError),
        (lambda group: group.client.group(None), TypeError),
    ],
)
def test_senseless_arguments_are_refused(client, name, wrong, error):
    with pytest.raises(error):
        wrong(client.group(name))


def test_a_child_process_does_not_hold_what_its_parent_holds(client, name):
    member = client.group(name).join("a")

    def work():
        assert not member.held
        try:
            member.leave()
        except interlock.ForkedError:
            return "refused"

    assert in_child(work) == "refused"
    member.check()
    assert member.leave()


# ---- changes ----------------------------------------------------------------


def test_the_first_change_is_everybody_and_the_iteration_ends(client, name):
    group = client.group(name)
    assert list(group.watch(timeout=0)) == [change()]
    group.join("a", b"x")
    assert list(group.watch(timeout=0.05)) == [
        change(joined=["a"], members={"a": b"x"})
    ]


def test_each_change_is_reported_with_all_members(client, other, name):
    group, changes = client.group(name), other.group(name).watch(timeout=5)
    assert next(changes) == change()
    a = group.join("a", b"1")
    assert next(changes) == change(joined=["a"], members={"a": b"1"})
    a.update(b"2")
    assert next(changes) == change(updated=["a"], members={"a": b"2"})
    group.join("b")
    assert next(changes) == change(joined=["b"], members={"a": b"2", "b": b""})
    a.leave()
    group.join("a", b"3")
    found = changes.get()
    while found.members.get("a") != b"3":
        found = changes.get()
    assert "a" in found.joined
    assert changes.get(timeout=0) is None


def test_an_interrupted_watch_loses_no_change(client, other, name, monkeypatch):
    watch = client.group(name).watch()
    assert watch.get(0).members == {}
    member = other.group(name).join(id="one", data=b"1")
    raise_after(monkeypatch, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        watch.get(5)

    change = watch.get(0)
    assert (change.joined, change.members) == ({"one"}, {"one": b"1"})
    member.leave()
    assert watch.get(5).left == {"one"}
    assert watch.get(0) is None


def test_a_change_cannot_be_changed(client, name):
    found = next(client.group(name).watch())
    with pytest.raises(AttributeError):
        found.joined = frozenset()


def test_iterators_of_one_object_see_every_change_each(client, other, name):
    group = client.group(name)
    seen = [[], []]

    def follow(into):
        for found in group.watch(timeout=patience(10)):
            into.append(found)
            if "last" in found.members:
                return

    threads = [threading.Thread(target=follow, args=(into,)) for into in seen]
    for thread in threads:
        thread.start()
    wait_until(lambda: all(seen))
    for i in range(20):
        other.group(name).join(f"m{i}")
    other.group(name).join("last")
    for thread in threads:
        thread.join(patience(20))

    everybody = {f"m{i}" for i in range(20)} | {"last"}
    for into in seen:
        assert set(into[-1].members) == everybody
        assert set().union(*(found.joined for found in into)) == everybody


def test_a_watch_is_cancelled_from_another_thread(client, name, server):
    changes = client.group(name).watch()
    next(changes)
    errors = []

    def follow():
        try:
            next(changes)
        except interlock.CancelledError as error:
            errors.append(error)

    thread = threading.Thread(target=follow)
    thread.start()
    key = f"ilk:group:wait:{{{name}}}"
    wait_until(lambda: server.call("ZCARD", key) == 1)
    changes.cancel()
    thread.join(patience(5))
    assert len(errors) == 1


def test_closing_the_client_ends_the_iteration(url, server, name):
    with interlock.connect(url) as own:
        changes = own.group(name).watch()
        next(changes)
        rest = []
        thread = threading.Thread(target=lambda: rest.extend(changes))
        thread.start()
        key = f"ilk:group:wait:{{{name}}}"
        wait_until(lambda: server.call("ZCARD", key) == 1)
    thread.join(patience(5))
    assert not thread.is_alive() and rest == []


# ---- rings ------------------------------------------------------------------

KEYS = [f"user:{i}" for i in range(2000)]


def nodes_of(ring):
    return {key: ring.get(key) for key in KEYS}


def moved(before, after):
    return {key for key in KEYS if before[key] != after[key]}


@pytest.mark.parametrize("layout", ["ketama", "tooz"])
def test_a_ring_has_the_members_and_follows_them(client, other, name, layout):
    group, theirs = client.group(name), other.group(name)
    for one in ("a", "b", "c"):
        theirs.join(one)
    ring = group.ring(layout)
    assert ring.nodes == {"a": 1, "b": 1, "c": 1}
    of_three = nodes_of(ring)
    assert of_three == nodes_of(interlock.Ring(["c", "b", "a"], layout))

    d = theirs.join("d")
    assert nodes_of(ring) == of_three
    assert ring.refresh().joined == {"d"}
    of_four = nodes_of(ring)
    d.leave()
    assert ring.refresh().left == {"d"}

    assert nodes_of(ring) == of_three
    assert 300 < len(moved(of_three, of_four)) < 900
    assert {of_four[key] for key in moved(of_three, of_four)} == {"d"}
    assert ring.refresh() is None
    assert set(ring.get_n("user:7", 3)) == {"a", "b", "c"}
    assert ring.get_bounded("user:7", {"a": 5, "b": 5}) == "c"


def test_a_member_that_dies_leaves_its_keys_to_the_others(client, run_child, name):
    group = client.group(name)
    group.join("ours")
    child = run_child(MEMBER, name, "theirs")
    assert child.stdout.readline() == "joined\n"
    ring = group.ring()
    before = nodes_of(ring)
    assert set(before.values()) == {"ours", "theirs"}

    child.kill()
    killed_at = time.monotonic()
    while "theirs" in ring:
        assert ring.refresh(timeout=patience(10)) is not None

    assert time.monotonic() - killed_at < patience(1.5)
    assert {before[key] for key in moved(before, nodes_of(ring))} == {"theirs"}
    assert set(nodes_of(ring).values()) == {"ours"}


def test_other_data_and_a_successor_move_no_key(client, other, name):
    group = other.group(name)
    a, _ = group.join("a", b"1"), group.join("b")
    ring = client.group(name).ring()
    before, nodes = nodes_of(ring), ring._nodes

    a.update(b"2")
    assert ring.refresh().updated == {"a"}
    assert ring._nodes is nodes
    a.leave()
    group.join("a", b"3")
    while (found := ring.refresh()) is not None:
        assert found.members["a"] == b"3"

    assert nodes_of(ring) == before


def test_ids_are_nodes_whatever_their_bytes(client, name):
    group = client.group(name)
    ids = [b"\xff\x00id", "ä", b"x" * 512]
    members = [group.join(one) for one in ids]
    ring = group.ring()
    assert set(ring) == set(group.members())
    assert all(one.id in ring for one in members)
    assert nodes_of(ring) == {
        key: node if isinstance(node, str) else node.decode("utf-8", "surrogateescape")
        for key, node in nodes_of(interlock.Ring(ids)).items()
    }


def test_lookups_go_on_while_another_thread_refreshes(client, other, name):
    group = other.group(name)
    group.join("always")
    ring = client.group(name).ring()
    found, failures = set(), []
    ended = threading.Event()

    def look_up():
        try:
            while not ended.is_set():
                found.update(ring.get_n("user:7", 1), map(ring.get, KEYS[:50]))
        except BaseException as error:
            failures.append(error)

    def follow():
        try:
            while "last" not in ring:
                ring.refresh(timeout=patience(10))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=one) for one in (look_up, look_up, follow)]
    for thread in threads:
        thread.start()
    for i in range(30):
        with group.join(f"m{i}"):
            wait_until(lambda: ring.get("user:7") is not None)
    group.join("last")
    threads[-1].join(patience(20))
    ended.set()
    for thread in threads:
        thread.join(patience(20))

    assert not failures
    assert set(ring) == {"always", "last"}
    assert "always" in found


def test_a_ring_without_its_server_stays_as_it_was(url, server, name):
    with interlock.connect(url) as client:
        group = client.group(name)
        group.join("a")
        ring = group.ring()
    with pytest.raises(interlock.ClosedError):
        ring.refresh()
    with pytest.raises(interlock.ClosedError):
        group.ring()
    assert ring.get("user:7") == "a"


def test_a_refresh_that_failed_on_the_ring_is_made_up_for(
    client, other, name, monkeypatch
):
    ring = client.group(name).ring()
    other.group(name).join("a")
    with monkeypatch.context() as patched:
        patched.setattr(interlock.ring, "c_names", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            ring.refresh()
    assert len(ring) == 0

    assert ring.refresh() is None
    assert list(ring) == ["a"]


def test_a_refresh_is_cancelled_from_another_thread(client, server, name):
    ring = client.group(name).ring()
    caught = []

    def follow():
        try:
            ring.refresh(timeout=None)
        except interlock.CancelledError as error:
            caught.append(error)

    thread = threading.Thread(target=follow)
    thread.start()
    key = f"ilk:group:wait:{{{name}}}"
    wait_until(lambda: server.call("ZCARD", key) == 1)
    ring.cancel()
    thread.join(patience(5))
    assert len(caught) == 1


def test_a_ring_of_a_group_is_changed_by_its_members_only(client, name):
    ring = client.group(name).ring()
    for change_it in ("add", "remove", "set_weight"):
        assert not hasattr(ring, change_it)
    for duplicate in (copy.copy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be pickled or copied"):
            duplicate(ring)
    assert repr(ring) == f"<interlock.GroupRing {name!r} ketama of 0 nodes>"


def test_a_child_process_has_a_ring_of_its_own(client, other, name):
    group = client.group(name)
    group.join("a")
    ring = group.ring()
    other.group(name).join("b")

    def work():
        return sorted(ring), sorted(ring.refresh(patience(5)).joined), sorted(ring)

    assert in_child(work) == "(['a'], ['b'], ['a', 'b'])"
    assert list(ring) == ["a"]
    assert ring.refresh().joined == {"b"}


# ---- names and objects ------------------------------------------------------


def test_names_in_use_are_listed_and_offered(client, name):
    assert client.offers("group")
    assert name not in client.ls(kind="group")
    member = client.group(name).join("a")
    assert name in client.ls(kind="group")
    member.leave()
    assert name not in client.ls(kind="group")


def test_objects_show_what_they_are(client, name):
    group = client.group(name)
    member = group.join("a")
    assert repr(group) == f"<interlock.Group {name!r}>"
    assert repr(member).startswith(f"<interlock.Member 'a' of {name!r} remaining=")
    member.leave()
    assert repr(member) == f"<interlock.Member 'a' of {name!r} not in>"
    assert (group.name, group.client) == (name, client)
    assert len(member.token) == 32
