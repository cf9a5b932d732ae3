# SPDX-License-Identifier: MIT
"""The ring: its promises for random nodes and keys, and its manners in Python."""

from __future__ import annotations

import bisect
import copy
import hashlib
import os
import pickle
import random
import struct
import threading

import interlock
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from interlock import aio

NAMES = st.one_of(
    st.binary(min_size=1, max_size=512),
    st.text("ab1", min_size=1, max_size=3).map(str.encode),
)
NODES = st.dictionaries(NAMES, st.integers(1, 4), min_size=1, max_size=8)
LAYOUTS = st.sampled_from(["ketama", "tooz"])
KEYS = [b"key:%d" % i for i in range(300)]
few = settings(max_examples=50, deadline=None)


def md5(data):
    return hashlib.md5(data, usedforsecurity=False)


class Plain:
    """The ring of the header, in plain Python: all points sorted, searched by bisect."""

    def __init__(self, nodes, layout):
        self.tooz = layout == "tooz"
        make = self.tooz_points if self.tooz else self.ketama_points
        self.points = sorted((p, n) for n, w in nodes.items() for p in make(n, w))

    @staticmethod
    def ketama_points(name, weight):
        for i in range(40 * weight):
            yield from struct.unpack("<4I", md5(b"%s-%d" % (name, i)).digest())

    @staticmethod
    def tooz_points(name, weight):
        hashed = md5(name)
        for _ in range(32 * weight):
            hashed.update(name)
            yield int.from_bytes(hashed.digest(), "big")

    def get(self, key):
        digest = md5(key).digest()
        if self.tooz:  # the first point above the hash
            place = int.from_bytes(digest, "big") + 1
        else:
            (place,) = struct.unpack_from("<I", digest)
        at = bisect.bisect_left(self.points, (place, b""))
        return self.points[at % len(self.points)][1]


def owners(ring):
    return {key: ring.get(key) for key in KEYS}


def moved(before, after):
    """The keys that have another node: key -> (from, to)."""
    return {
        key: (node, after[key]) for key, node in before.items() if after[key] != node
    }


# ---- promises


@few
@given(NODES, LAYOUTS)
def test_every_key_has_the_node_that_the_layout_says(nodes, layout):
    ring, plain = interlock.Ring(nodes, layout=layout), Plain(nodes, layout)

    assert owners(ring) == {key: plain.get(key) for key in KEYS}


@few
@given(NODES, LAYOUTS, NAMES, st.integers(1, 4))
def test_a_node_that_comes_takes_keys_and_moves_no_other(nodes, layout, new, weight):
    assume(new not in nodes)
    ring = interlock.Ring(nodes, layout=layout)
    before = owners(ring)

    ring.add(new, weight)

    assert {to for _, to in moved(before, owners(ring)).values()} <= {new}


@few
@given(NODES, LAYOUTS, st.data())
def test_a_node_that_leaves_loses_its_keys_and_moves_no_other(nodes, layout, data):
    assume(len(nodes) > 1)
    ring = interlock.Ring(nodes, layout=layout)
    gone = data.draw(st.sampled_from(sorted(nodes)))
    before = owners(ring)

    ring.remove(gone)

    after = owners(ring)
    assert gone not in after.values()
    assert {of for of, _ in moved(before, after).values()} <= {gone}


@few
@given(NODES, LAYOUTS, st.data(), st.integers(1, 4))
def test_a_weight_moves_keys_only_to_its_node_or_from_it(nodes, layout, data, weight):
    node = data.draw(st.sampled_from(sorted(nodes)))
    ring = interlock.Ring(nodes, layout=layout)
    before = owners(ring)

    ring.set_weight(node, weight)

    for of, to in moved(before, owners(ring)).values():
        assert (to if weight > nodes[node] else of) == node


@few
@given(NODES, LAYOUTS, st.randoms())
def test_the_order_of_changes_does_not_matter(nodes, layout, rng):
    names = list(nodes)
    rng.shuffle(names)
    ring = interlock.Ring([], layout=layout)
    for name in names:
        ring.add(name, 1)
    for name in names:
        if rng.random() < 0.5:
            ring.remove(name)
            ring.add(name, 2)
        ring.set_weight(name, nodes[name])

    assert owners(ring) == owners(interlock.Ring(nodes, layout=layout))
    assert ring.nodes == nodes


@few
@given(NODES, LAYOUTS, st.binary(max_size=100))
def test_several_nodes_of_a_key_are_different_and_next_in_turn(nodes, layout, key):
    ring = interlock.Ring(nodes, layout=layout)

    found = ring.get_n(key, len(nodes))

    assert sorted(found) == sorted(nodes)
    for node in found:
        assert ring.get(key) == node
        ring.remove(node)
        with pytest.raises(interlock.InvalidError):
            ring.get_n(key, len(ring) + 1)


@few
@given(NODES, LAYOUTS, st.floats(1, 3))
def test_bounded_loads_are_kept(nodes, layout, factor):
    ring = interlock.Ring(nodes, layout=layout)
    loads, total = dict.fromkeys(nodes, 0), sum(nodes.values())

    for placed, key in enumerate(KEYS, 1):
        own, node = ring.get(key), ring.get_bounded(key, loads, factor)
        bounds = {n: factor * placed * w / total for n, w in nodes.items()}

        assert loads[node] < bounds[node]
        assert (node == own) == (loads[own] < bounds[own])
        loads[node] += 1


def test_keys_are_spread_evenly():
    ring = interlock.Ring([f"10.0.0.{i}:11211" for i in range(10)])
    counts = dict.fromkeys(ring, 0)
    for i in range(20000):
        counts[ring.get(f"key:{i}")] += 1

    assert max(counts.values()) < 1.15 * 2000
    assert min(counts.values()) > 0.85 * 2000


# ---- the flaws of the ring with three points that does not wrap around


class ThreePoints:
    """Three points for each node, and no way from the last point to the first."""

    def __init__(self, nodes):
        self.ring = {self.place(f"{n}:{i}"): n for n in nodes for i in range(3)}

    @staticmethod
    def place(text):
        return int(md5(text.encode()).hexdigest(), 16)

    def get_node(self, key):
        for place in sorted(self.ring):
            if self.place(key) <= place:
                return self.ring[place]
        return None


def counts(get, keys):
    found = [get(key) for key in keys]
    return {node: found.count(node) for node in set(found)}


def test_the_ring_with_three_points_leaves_keys_without_a_node():
    nodes = [f"192.168.1.{i}" for i in (1, 2, 3)]
    keys = [f"key:{i}" for i in range(1000)]
    theirs, ours = ThreePoints(nodes), interlock.Ring(nodes)

    lost = [key for key in keys if theirs.get_node(key) is None]

    assert theirs.get_node("foo") == "192.168.1.2"
    assert len(lost) == 34
    assert {ours.get(key) for key in lost} == set(nodes)


def test_the_ring_with_three_points_loads_one_node_ten_times_as_much():
    nodes = [f"192.168.1.{i}" for i in range(1, 6)]
    keys = [f"key:{i}" for i in range(10000)]

    theirs = counts(ThreePoints(nodes).get_node, keys)
    ours = counts(interlock.Ring(nodes).get, keys)

    theirs.pop(None)
    assert max(theirs.values()) > 9 * min(theirs.values())
    assert max(ours.values()) < 1.5 * min(ours.values())


# ---- manners


def test_nodes_come_back_as_they_were_given():
    ring = interlock.Ring(["a", b"b", "\udcff"])

    assert {ring.get(key) for key in KEYS} == {"a", b"b", "\udcff"}
    assert ring.get("\udcff") == ring.get(b"\xff") == ring.get(bytearray(b"\xff"))
    assert ring.get("k" * 5000) == ring.get(memoryview(b"k" * 5000))
    assert list(ring) == ["a", b"b", "\udcff"]
    ring.remove(b"a")
    assert "a" not in ring and "b" in ring and b"\xff" in ring and 5 not in ring
    assert len(ring) == 2


def test_a_buffer_that_changes_does_not_change_the_ring():
    name = bytearray(b"node")
    ring = interlock.Ring([name])

    name[0] = 0

    assert ring.get("key") == b"node"
    assert ring.nodes == {b"node": 1}


def test_weights_are_a_mapping_of_nodes_or_beside_them():
    for ring in (
        interlock.Ring({"a": 3, "b": 1}),
        interlock.Ring(["a", "b"], weights={b"a": 3}),
    ):
        assert ring.nodes == {"a": 3, "b": 1}
    share = sum(ring.get(key) == "a" for key in KEYS) / len(KEYS)
    assert 0.65 < share < 0.85


def test_points_by_shares_move_keys_of_others():
    """The points of libketama, and why they are not the default."""
    nodes = {"a": 1, "b": 1, "c": 1}
    fixed, shares = interlock.Ring(nodes), interlock.Ring(nodes, weights="ketama")
    assert owners(fixed) == owners(shares)
    before = owners(fixed)

    fixed.set_weight("a", 2)
    shares.set_weight("a", 2)

    others = {("b", "c"), ("c", "b")}
    assert not others & set(moved(before, owners(fixed)).values())
    assert others & set(moved(before, owners(shares)).values())


def test_it_is_pickled_and_copied():
    ring = interlock.Ring({"a": 2, b"b": 1}, layout="tooz")

    for other in (pickle.loads(pickle.dumps(ring)), copy.copy(ring)):
        assert owners(other) == owners(ring)
        other.add("c")
        assert len(ring) == 2
    shares = pickle.loads(pickle.dumps(interlock.Ring({"a": 9}, weights="ketama")))
    shares.add("b", 9)
    assert owners(shares) == owners(interlock.Ring(["a", "b"]))


def test_it_is_the_same_for_tasks():
    assert aio.Ring is interlock.Ring


def test_it_says_what_it_is():
    assert repr(interlock.Ring(["a", "b"])) == "<interlock.Ring ketama of 2 nodes>"


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: interlock.Ring("ab"), TypeError, "several names, got str"),
        (lambda: interlock.Ring(b"ab"), TypeError, "several names, got bytes"),
        (lambda: interlock.Ring([1]), TypeError, "node must be str or bytes, got int"),
        (lambda: interlock.Ring(5), TypeError, "not iterable"),
        (lambda: interlock.Ring(["a", b"a"]), ValueError, "has the node 'a' already"),
        (lambda: interlock.Ring([""]), ValueError, "1 to 512 bytes, got 0"),
        (lambda: interlock.Ring(["n" * 513]), ValueError, "1 to 512 bytes, got 513"),
        (lambda: interlock.Ring(["\ud800"]), ValueError, "node is not valid text"),
        (
            lambda: interlock.Ring(["a"], layout="jump"),
            ValueError,
            "'ketama' or 'tooz'",
        ),
        (lambda: interlock.Ring(["a"], weights="equal"), ValueError, "got 'equal'"),
        (lambda: interlock.Ring(["a"], weights=[1]), TypeError, "one mapping"),
        (lambda: interlock.Ring({"a": 1}, weights={"a": 1}), TypeError, "one mapping"),
        (
            lambda: interlock.Ring(["a"], weights={"b": 1}),
            ValueError,
            "'b', which is no",
        ),
        (
            lambda: interlock.Ring(["a"], layout="tooz", weights="ketama"),
            ValueError,
            "needs layout='ketama'",
        ),
        (lambda: interlock.Ring({"a": 0}), ValueError, "from 1 to 1000000, got 0"),
        (lambda: interlock.Ring({"a": -1}), ValueError, "got -1"),
        (lambda: interlock.Ring({"a": 1000001}), ValueError, "got 1000001"),
        (lambda: interlock.Ring({"a": 10**30}), ValueError, "from 1 to 1000000"),
        (lambda: interlock.Ring({"a": 26215}), ValueError, "4194400 points"),
        (lambda: interlock.Ring({"a": 1.5}), TypeError, "weight must be int"),
        (lambda: interlock.Ring({"a": True}), TypeError, "weight must be int"),
        (lambda: interlock.Ring().get("k"), ValueError, "the ring has no nodes"),
        (lambda: interlock.Ring().get_n("k", 1), ValueError, "the ring has no nodes"),
        (lambda: interlock.Ring().get_bounded("k", {}), ValueError, "has no nodes"),
        (lambda: interlock.Ring(["a"]).get(1), TypeError, "key must be str or bytes"),
        (lambda: interlock.Ring(["a"]).get("\ud800"), ValueError, "key is not valid"),
        (lambda: interlock.Ring(["a"]).get_n("k", 2), ValueError, "1 to 1, .* got 2"),
        (lambda: interlock.Ring(["a"]).get_n("k", 0), ValueError, "got 0"),
        (lambda: interlock.Ring(["a"]).get_n("k", 10**9), ValueError, "n must be"),
        (lambda: interlock.Ring(["a"]).get_n("k", "1"), TypeError, "n must be int"),
        (lambda: interlock.Ring(["a"]).add("a", 2), ValueError, "'a' already"),
        (lambda: interlock.Ring(["a"]).add("b", 0), ValueError, "weight must be"),
        (lambda: interlock.Ring(["a"]).remove("b"), ValueError, "has no node 'b'"),
        (lambda: interlock.Ring(["a"]).set_weight("b", 2), ValueError, "no node 'b'"),
        (lambda: interlock.Ring(["a"]).get_bounded("k", [1]), TypeError, "a mapping"),
        (
            lambda: interlock.Ring(["a"]).get_bounded("k", {"a": -1}),
            ValueError,
            "a load must be from 0",
        ),
        (
            lambda: interlock.Ring(["a"]).get_bounded("k", {"a": 0.5}),
            TypeError,
            "a load must be int",
        ),
        (
            lambda: interlock.Ring(["a"]).get_bounded("k", {}, 0.9),
            ValueError,
            "1 or more",
        ),
        (
            lambda: interlock.Ring(["a"]).get_bounded("k", {}, float("nan")),
            ValueError,
            "finite",
        ),
        (
            lambda: interlock.Ring(["a"]).get_bounded("k", {}, "2"),
            TypeError,
            "a number",
        ),
    ],
)
def test_bad_input_is_refused(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_loads_of_other_nodes_are_ignored():
    ring = interlock.Ring(["a", "b"])
    own = ring.get("key")

    assert ring.get_bounded("key", {"gone": 1000, own.encode(): 0}) == own
    assert ring.get_bounded("key", {own: 10}) != own


def test_a_ring_that_was_refused_is_not_used():
    ring = interlock.Ring.__new__(interlock.Ring)

    for use in (lambda: ring.get("key"), lambda: len(ring), lambda: ring.add("a")):
        with pytest.raises(AttributeError, match="not initialised"):
            use()
    for wrong in ((1,), (1, 2), (0, (None, ())), ("x", (None, ())), (1, ())):
        with pytest.raises((TypeError, IndexError, SystemError, ValueError)):
            ring._settle(*wrong)


def test_a_change_that_fails_changes_nothing():
    ring = interlock.Ring(["a", "b"])
    before = owners(ring)
    for change in (lambda: ring.add("b"), lambda: ring.add("c", 1000000)):
        with pytest.raises(interlock.InvalidError):
            change()

    assert owners(ring) == before
    assert ring.nodes == {"a": 1, "b": 1}


def test_threads_read_while_others_change():
    ring = interlock.Ring([str(i) for i in range(10)])
    fixed, wrong, over = owners(ring), [], threading.Event()

    def read():
        while not over.is_set():
            for key in random.sample(KEYS, 50):
                if ring.get(key) not in (fixed[key], "a", "b"):
                    wrong.append(key)
                if len(set(ring.get_n(key, 3))) != 3:
                    wrong.append(key)

    def change(node):
        for _ in range(100):
            ring.add(node)
            ring.remove(node)

    readers = [threading.Thread(target=read) for _ in range(3)]
    writers = [threading.Thread(target=change, args=(node,)) for node in "ab"]
    for thread in (*readers, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    over.set()
    for thread in readers:
        thread.join()

    assert wrong == []
    assert owners(ring) == fixed


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_goes_on_with_its_copy():
    ring = interlock.Ring(["a", "b"])

    child = os.fork()
    if child == 0:
        ring.add("c")
        os._exit(0 if {ring.get(key) for key in KEYS} == {"a", "b", "c"} else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(ring) == 2
