# SPDX-License-Identifier: MIT
"""Names are bytes, and those that look alike in a store's keys do not meet."""

from __future__ import annotations

import contextlib
import itertools
import os

import interlock
import pytest
from cluster import PATIENCE, until
from store import Store

BYTES = {
    "nul": b"\x00",
    "no utf-8": b"\xff\xfe\x80",
    "slashes": b"/a//b/",
    "dots": b"..",
    "dot": b".",
    "percent": b"%2F%00%",
    "quotes": b"'\"`\\",
    "sql": b"x'; DROP TABLE ilk_lock; --",
    "line ends": b"\r\n\t",
    "spaces at the end": b"name  ",
    "letters": "Straße 日本 İ".encode(),
    "zookeeper": b"zookeeper",
    "longest": bytes(range(1, 256)) * 2 + b"zz",
    "like a node of ours": b"_c_0-lock-0000000001",
}

# Each group must be as many names as it has: by case, by blanks at the end, by
# normal forms, by an encoding that is done twice, by a prefix.
ALIKE = [
    [b"name", b"Name", b"NAME"],
    [b"name", b"name ", b"name\x00"],
    ["é".encode(), "e\u0301".encode(), b"\xe9", b"e"],
    [b"a/b", b"a%2Fb", b"a%2fb", b"a%252Fb", b"a", b"a/"],
    [b".", b"%2E", b"..", b"%2E%2E"],
    [b"x", b"x/1", b"x0", b"x\xff"],
    [b"0x61", b"a"],
]


def acquired(lock: interlock.Lock | interlock.Semaphore) -> bool:
    return bool(lock.acquire(0))


@pytest.mark.parametrize("raw", BYTES.values(), ids=list(BYTES))
def test_a_name_may_have_any_bytes(
    client: interlock.Client, other: interlock.Client, raw: bytes
) -> None:
    # As long as it is, it is the same for other runs on this store.
    mine, theirs = client.lock(raw), other.lock(raw)
    assert mine.acquire(10)
    assert client.inspect(raw).holder == mine.token
    assert not acquired(theirs)
    assert not theirs.acquire(0.1)
    assert mine.release()
    assert acquired(theirs)
    assert theirs.fence > mine.fence
    assert theirs.release()
    assert client.inspect(raw).state == "free"


@pytest.mark.parametrize("raw", BYTES.values(), ids=list(BYTES))
def test_an_election_may_have_any_name_and_any_value(
    client: interlock.Client, other: interlock.Client, raw: bytes
) -> None:
    value = bytes(range(256))
    mine, theirs = client.election(raw, value=value), other.election(raw)
    assert mine.campaign(10)
    assert theirs.leader() == value
    assert not theirs.campaign(0)
    assert mine.proclaim(b"")
    assert theirs.leader() == b""
    assert mine.resign()
    assert theirs.leader() is None


@pytest.mark.parametrize("names", ALIKE, ids=range(len(ALIKE)))
def test_names_that_look_alike_do_not_meet(
    client: interlock.Client, names: list[bytes]
) -> None:
    unique = os.urandom(4).hex().encode() + b"-"
    locks = [client.lock(unique + one) for one in names]
    for lock in locks:
        assert lock.acquire(10)
    for lock in locks:
        assert client.inspect(lock.name).holder == lock.token
    for lock, following in itertools.pairwise(locks):
        assert lock.release()
        assert following.held and client.inspect(following.name).state == "held"
    assert locks[-1].release()


BRACES = [b"}", b"x}y", b"{}", b"{}x", b"{}z", b"{a}b", b"{a}c", b"{a}", b"a}", b"a"]


@pytest.mark.parametrize("names", [*ALIKE, BRACES], ids=range(len(ALIKE) + 1))
def test_registers_whose_names_look_alike_do_not_meet(
    client: interlock.Client, other: interlock.Client, names: list[bytes]
) -> None:
    for one in names:
        client.register(one).set(b"value of " + one)

    for one in names:
        assert other.register(one).get().value == b"value of " + one
    assert set(names) <= set(client.ls(b"*", kind="register"))
    for one in names:
        assert client.register(one).delete()


@pytest.mark.parametrize("one", BRACES)
def test_braces_in_the_name_of_an_election(
    client: interlock.Client, other: interlock.Client, one: bytes
) -> None:
    leader = client.election(one, value=one)
    assert leader.campaign(10)
    assert other.election(one).leader() == one
    assert one in client.ls(b"*", kind="election")
    assert leader.resign()


def test_a_name_of_513_bytes_is_refused(client: interlock.Client) -> None:
    with pytest.raises(interlock.InvalidError, match="512"):
        client.lock(b"n" * 513)


def test_primitives_of_one_name_do_not_meet(
    store: Store, client: interlock.Client, name: str
) -> None:
    """As with Redis: a lock, a leader and permits of one name are three things."""
    with contextlib.ExitStack() as held:
        lock = client.lock(name)
        held.enter_context(lock)
        election = client.election(name, value=b"v")
        assert election.campaign(5)
        if "semaphore" in store.offers:
            semaphore = client.semaphore(name, 1)
            assert semaphore.acquire(5)
            assert client.inspect_semaphore(name).used == 1
            assert semaphore.release()
        assert client.inspect(name).holder == lock.token
        assert election.leader() == b"v"
        assert election.resign()
        assert lock.held


def test_names_that_were_used_leave_nothing_that_grows(
    store: Store, client: interlock.Client, name: str
) -> None:
    """A free lock of one more use has the same inspection, and its fence rises."""
    lock = client.lock(name)
    fences = []
    for _ in range(20):
        assert lock.acquire(5)
        fences.append(lock.fence)
        assert lock.release()
    assert all(one < two for one, two in itertools.pairwise(fences))
    until(lambda: client.inspect(name).state == "free", 5 * PATIENCE, "a free lock")
    assert client.inspect(name).waiting == 0
