# SPDX-License-Identifier: MIT
"""The checks find what they are for, and the proxy knows its frames."""

from __future__ import annotations

import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from check import Ledger, Violations, overlaps
from holds import Hold
from liar import between_texts
from resp import command, frame_end, strings


def held(name, begins, ends, units=1, capacity=1):
    hold = Hold(name, f"one from {begins}", units, capacity)
    hold.begins, hold.ends = begins, ends
    return hold


def test_two_holders_at_once_are_found():
    history = [held("a", 1, 3), held("a", 2, 4), held("b", 2, 4)]

    assert len(overlaps(history)) == 1


def test_one_holder_after_the_other_is_right():
    assert not overlaps([held("a", 1, 2), held("a", 2, 3), held("a", 5, 5)])


def test_readers_share_and_a_writer_does_not():
    readers = [held("a", 1, 3, 1, 1000), held("a", 2, 4, 1, 1000)]

    assert not overlaps(readers)
    assert overlaps([*readers, held("a", 2.5, 2.6, 1000, 1000)])


def test_more_permits_than_there_are_are_found():
    two = [held("s", 1, 3, 2, 3), held("s", 1, 3, 1, 3)]

    assert not overlaps(two)
    assert overlaps([*two, held("s", 2, 3, 1, 3)])


@pytest.fixture
def ledger():
    return Ledger(Violations())


def test_a_message_that_vanished_is_found(ledger):
    ledger.was_pushed(ledger.new("q"))
    ledger.settle(set())

    assert "lost" in ledger.violations.found[0]


def test_a_pop_without_an_answer_may_have_taken_one_of_its_queue(ledger):
    ledger.was_pushed(ledger.new("q"))
    ledger.may_be_lost("q")
    ledger.settle(set())
    assert not ledger.violations

    ledger.was_pushed(ledger.new("other"))
    ledger.settle(set())
    assert ledger.violations


def test_a_message_that_comes_back_is_found(ledger):
    payload = ledger.new("q")
    ledger.is_gone(payload, "ack")
    ledger.delivered(payload, ledger.gone[payload][1] + 1, "reserve")

    assert "again after ack" in ledger.violations.found[0]


def test_an_invented_message_is_found(ledger):
    ledger.delivered(b"what", 0, "reserve")

    assert "nobody pushed" in ledger.violations.found[0]


FRAMES = [
    b"+OK\r\n",
    b":12\r\n",
    b"$-1\r\n",
    b"$0\r\n\r\n",
    b"*0\r\n",
    b"*-1\r\n",
    b"*3\r\n:1\r\n$4\r\na\r\nb\r\n*1\r\n_\r\n",
    b"%1\r\n+a\r\n~1\r\n#t\r\n",
    b">2\r\n+invalidate\r\n*0\r\n",
    b"|1\r\n+a\r\n+b\r\n:7\r\n",
]


@pytest.mark.parametrize("frame", FRAMES)
def test_a_frame_ends_where_it_ends(frame):
    for cut in range(len(frame)):
        assert frame_end(frame[:cut]) is None
    assert frame_end(frame + b"+x\r\n") == len(frame)


def test_a_command_is_read():
    assert strings(command("GET", b"a\r\nb")) == [b"GET", b"a\r\nb"]


def test_bytes_are_not_lost_within_a_text():
    frame = b"*2\r\n:1\r\n$5\r\nhello\r\n"

    assert between_texts(frame) == list(range(12))
