# SPDX-License-Identifier: MIT
"""The statements of ``guard.sql_lock``, and what it makes of a server's errors.

``tests/stores/test_sql_lock.py`` has it at a server.
"""

from __future__ import annotations

import interlock
import pytest
from interlock.guard import sql_lock


class ServerError(Exception):
    """Of a driver: the number of the error is the first argument."""


class Cursor:
    """It keeps the statements, and has the savepoints of one session."""

    def __init__(self, rows=((1,),), transaction=True, fails=None):
        self.rows, self.transaction, self.fails = rows, transaction, fails
        self.statements, self.savepoints, self.result = [], set(), ()
        self.wait = 50

    def execute(self, statement, parameters=None):
        self.statements.append((statement, parameters))
        verb = statement.partition(" ")[0]
        if verb == "SAVEPOINT" and self.transaction:
            self.savepoints.add(statement.split()[-1])
        elif verb == "RELEASE":
            if statement.split()[-1] not in self.savepoints:
                raise ServerError(1305, "SAVEPOINT does not exist")
            self.savepoints.discard(statement.split()[-1])
        elif verb == "SET":
            self.wait = int(statement.split()[-1])
        elif statement.startswith("SELECT @@"):
            self.result = ((self.wait,),)
        elif verb == "SELECT":
            self.waited = self.wait
            if self.fails:
                raise self.fails
            self.result = self.rows

    def fetchall(self):
        return self.result

    def selects(self):
        return [one for one in self.statements if "FOR UPDATE" in one[0]]


def never_enter(cursor, **words):
    with sql_lock(cursor, "items", "id", 42, **words):
        raise AssertionError("the block was entered")


def test_the_row_is_locked_by_one_statement():
    cursor = Cursor()
    with sql_lock(cursor, "items", "id", 42) as row:
        assert row == (1,)

    assert cursor.selects() == [
        ("SELECT 1 FROM `items` WHERE `id` = %s FOR UPDATE", (42,))
    ]
    assert cursor.savepoints == set()
    assert cursor.wait == 50


@pytest.mark.parametrize("row", [(17, 5), {"stock": 17, "price": 5}])
def test_the_block_gets_the_columns(row):
    cursor = Cursor(rows=(row,))
    with sql_lock(cursor, "items", "id", 42, columns=["stock", "price"]) as found:
        assert found == row
    ((statement, _),) = cursor.selects()
    assert statement.startswith("SELECT `stock`, `price` FROM ")


def test_names_are_quoted():
    cursor = Cursor()
    with sql_lock(cursor, "my shop.or`ders", "100%", "a", columns=["x`; DROP"]):
        pass
    assert cursor.selects()[0][0] == (
        "SELECT `x``; DROP` FROM `my shop`.`or``ders` WHERE `100%%` = %s FOR UPDATE"
    )
    cursor = Cursor()
    with sql_lock(cursor, "t", "100%", "a", mark="?"):
        pass
    assert cursor.selects()[0][0] == "SELECT 1 FROM `t` WHERE `100%` = ? FOR UPDATE"


@pytest.mark.parametrize("name", ["", ".t", "s.", "a\0b"])
def test_a_name_that_is_none_is_invalid(name):
    cursor = Cursor()
    with pytest.raises(interlock.InvalidError), sql_lock(cursor, name, "id", 1):
        pass
    assert cursor.statements == []


@pytest.mark.parametrize(
    "arguments", [{"table": b"t"}, {"key_column": 3}, {"columns": "stock"}]
)
def test_other_types_are_refused(arguments):
    words = {"table": "t", "key_column": "id", "key": 1, **arguments}
    with pytest.raises(TypeError), sql_lock(Cursor(), **words):
        pass


@pytest.mark.parametrize("words", [{"nowait": True}, {"timeout": 0}])
def test_it_can_try_once(words):
    cursor = Cursor()
    with sql_lock(cursor, "items", "id", 42, **words):
        pass
    assert cursor.selects()[0][0].endswith(" FOR UPDATE NOWAIT")


@pytest.mark.parametrize(
    ("timeout", "seconds"), [(0.2, 1), (1, 1), (1.5, 2), (30, 30), (1e300, 10**8)]
)
def test_a_timeout_is_the_sessions_for_this_statement(timeout, seconds):
    cursor = Cursor()
    with sql_lock(cursor, "items", "id", 42, timeout=timeout):
        assert cursor.wait == 50
    assert cursor.waited == seconds


@pytest.mark.parametrize(
    "words", [{"timeout": -1}, {"timeout": float("nan")}, {"timeout": 2, "nowait": 1}]
)
def test_a_timeout_that_makes_no_sense_is_invalid(words):
    with (
        pytest.raises(interlock.InvalidError),
        sql_lock(Cursor(), "t", "id", 1, **words),
    ):
        pass


def with_errno(number):
    error = ServerError("a text")
    error.errno = number
    return error


@pytest.mark.parametrize("error", [ServerError(1205, "wait"), with_errno(1205)])
def test_a_row_that_stays_locked_is_a_timeout(error):
    cursor = Cursor(fails=error)
    with pytest.raises(interlock.TimeoutError) as caught:
        never_enter(cursor, timeout=3)
    assert not isinstance(caught.value, interlock.BusyError)
    assert caught.value.__cause__ is error
    assert cursor.wait == 50


@pytest.mark.parametrize("number", [1205, 3572])
def test_a_try_at_a_locked_row_is_busy(number):
    cursor = Cursor(fails=ServerError(number, "locked"))
    with pytest.raises(interlock.BusyError):
        never_enter(cursor, nowait=True)


def test_a_deadlock_is_the_drivers_error():
    error = ServerError(1213, "deadlock")
    cursor = Cursor(fails=error)
    with pytest.raises(ServerError) as caught, sql_lock(cursor, "items", "id", 42):
        pass
    assert caught.value is error


def test_a_row_that_has_changed_since_the_snapshot_is_a_loss():
    cursor = Cursor(fails=ServerError(1020, "Record has changed since last read"))
    with pytest.raises(interlock.LostError, match="before any other read") as caught:
        never_enter(cursor, timeout=3)
    assert caught.value.__cause__ is cursor.fails
    assert cursor.wait == 50


def test_without_a_transaction_it_is_refused():
    cursor = Cursor(transaction=False)
    with pytest.raises(interlock.InvalidError, match="no transaction"):
        never_enter(cursor)
    assert cursor.selects() == []


@pytest.mark.parametrize(("rows", "text"), [((), "no row"), (((1,), (1,)), "2 rows")])
def test_it_is_for_exactly_one_row(rows, text):
    with pytest.raises(interlock.InvalidError, match=text):
        never_enter(Cursor(rows=rows))


def test_a_transaction_that_ends_inside_is_a_loss():
    cursor = Cursor()
    ends = pytest.raises(interlock.LostError, match="ended before the block")
    with ends, sql_lock(cursor, "items", "id", 42):
        cursor.savepoints.clear()  # as a commit does


def test_an_exception_in_the_block_is_not_changed():
    cursor = Cursor()
    with pytest.raises(ZeroDivisionError), sql_lock(cursor, "items", "id", 42):
        cursor.savepoints.clear()
        raise ZeroDivisionError


def test_one_lock_inside_another():
    cursor = Cursor()
    with sql_lock(cursor, "items", "id", 1), sql_lock(cursor, "items", "id", 2):
        assert len(cursor.savepoints) == 2
    assert cursor.savepoints == set()
