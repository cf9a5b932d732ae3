# SPDX-License-Identifier: MIT
"""Barging on both sides, and entries that are woken instead of granted."""


def test_barging_acquire_takes_a_free_lock_past_the_line(world):
    world.acquire("a")
    world.queue("b")
    world.expire()

    assert world.acquire("n", barge=1)[0] == "HELD"
    assert world.holder() == b"n"
    assert world.line() == [b"b"]


def test_barging_waiter_that_takes_the_lock_leaves_the_line(world):
    world.acquire("a")
    world.queue("b", barge=1)
    world.expire()

    assert world.acquire("b", barge=1)[0] == "HELD"
    assert world.line() == []


def test_barging_release_wakes_the_first_and_keeps_it_in_line(world):
    world.acquire("a")
    world.queue("b", "c")

    assert world.release("a", barge=1) == ["RELEASED", 0, 0]
    assert world.holder() is None
    assert world.line() == [b"b", b"c"]
    assert world.inbox("c-b") == [b"1 wake w-b " + world.name]
    assert world.inbox("c-c") == []


def test_barging_release_passes_over_the_deaf_and_removes_the_dead(world):
    world.acquire("a")
    world.queue("dead")
    world.advance(5000)
    world.queue("deaf", "b")
    world.deaf("c-deaf")
    world.advance(2000)

    world.release("a", barge=1)

    assert world.line() == [b"deaf", b"b"]
    assert world.inbox("c-b") == [b"1 wake w-b " + world.name]


def test_barging_release_wakes_a_reader_too(world):
    world.acquire("a")
    world.listen("c-r")
    world.read("r")

    world.release("a", barge=1)

    assert world.holder() is None
    assert world.line() == [b"r"]
    assert world.inbox("c-r") == [b"1 wake w-r " + world.name]


def test_barging_cancel_wakes_instead_of_granting(world):
    world.acquire("a")
    world.queue("b", "c")
    world.release("a")

    assert world.cancel("b", barge=1)[0] == "RELEASED"
    assert world.holder() is None
    assert world.inbox("c-c") == [b"1 wake w-c " + world.name]


def test_wake_entry_is_woken_removed_and_the_key_stays_free(world):
    world.acquire("a")
    world.queue("b", kind="w")
    world.queue("c")

    world.release("a")

    assert world.holder() is None
    assert world.line() == [b"c"]
    assert world.inbox("c-b") == [b"1 wake w-b " + world.name]


def test_wake_entry_without_receiver_is_passed_over(world):
    world.acquire("a")
    world.acquire("b", kind="w")
    world.queue("c")

    world.release("a")

    assert world.holder() == b"c"
    assert world.line() == [b"b"]


def test_own_wake_entry_is_granted_when_its_owner_asks(world):
    world.acquire("a")
    world.queue("b", kind="w")
    world.expire()

    assert world.acquire("b", kind="w")[0] == "HELD"
    assert world.line() == []


def test_barging_retry_returns_its_hold(world):
    fence = world.acquire("a", barge=1)[2]

    assert world.acquire("a", barge=1)[2] == fence
