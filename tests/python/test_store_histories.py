# SPDX-License-Identifier: MIT
"""Stores under load: what was read and written is serializable, and sums hold."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support import wait_until

sys.path.append(str(Path(__file__).resolve().parents[1] / "shared"))

from serializability import NotSerializableError, Transaction, check
from store_scenes import Bank, check_history

# -- the checker


def one(id_, writes="", **reads):
    return Transaction(id_, reads, frozenset(writes))


def test_a_serial_history_passes():
    check(
        [one("1", "x", x=[]), one("2", "xy", x=["1"]), one("3", y=["2"], x=["1", "2"])],
        {"x": ["1", "2"], "y": ["2"]},
    )


@pytest.mark.parametrize(
    ("history", "last"),
    [
        pytest.param(
            [one("1", "x", x=[]), one("2", "x", x=[])],
            {"x": ["2"]},
            id="lost update",
        ),
        pytest.param(
            [one("1", "x", x=[]), one("2", "x", x=[])],
            {"x": ["1", "2"]},
            id="update of an old value",
        ),
        pytest.param(
            [one("1", "x", x=[], y=[]), one("2", "y", x=[], y=[])],
            {"x": ["1"], "y": ["2"]},
            id="write skew",
        ),
        pytest.param(
            [one("1", "xy"), one("2", x=["1"], y=[])],
            {"x": ["1"], "y": ["1"]},
            id="half of a transaction read",
        ),
        pytest.param(
            [
                one("1", "x"),
                one("2", "y"),
                one("3", x=["1"], y=[]),
                one("4", x=[], y=["2"]),
            ],
            {"x": ["1"], "y": ["2"]},
            id="two orders seen",
        ),
        pytest.param(
            [one("1", "x"), one("2", "x"), one("3", x=["1"]), one("4", x=["2"])],
            {"x": ["1", "2"]},
            id="two orders of a key",
        ),
        pytest.param([one("1", "x")], {"x": ["1", "1"]}, id="written twice"),
        pytest.param(
            [one("1", "x"), one("2", x=["1", "3"])], {"x": ["1"]}, id="aborted"
        ),
        pytest.param([], {"x": ["1"]}, id="invented"),
    ],
)
def test_a_history_without_a_serial_order_is_found(history, last):
    with pytest.raises(NotSerializableError):
        check(history, last)


# -- the library


def test_concurrent_transactions_are_serializable(server, name):
    check_history(server.unix_url, name)


def test_the_sum_of_a_bank_holds_when_payers_are_killed(server, name):
    with Bank(server.unix_url, name) as bank:
        bank.kill_payers(wait_until)
        for payer in bank.payers:
            payer.kill()
            payer.wait()
        assert bank.total() == 60
