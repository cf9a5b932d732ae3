# SPDX-License-Identifier: MIT
"""``guard.sql_lock`` at MariaDB, and the flaws that its page describes."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import interlock
import pytest
from interlock.guard import sql_lock
from mysql_store import DATABASE, MySql
from support import patience

pymysql: Any = pytest.importorskip("pymysql")
Connect = Callable[..., Any]


@pytest.fixture(scope="module")
def server() -> Iterator[MySql]:
    lacks = MySql.missing()
    if lacks:
        pytest.skip(f"SKIPPED STORE: mysql needs {lacks} ({MySql.packages})")
    with MySql() as running:
        yield running


@pytest.fixture
def connect(server: MySql) -> Iterator[Connect]:
    """Connections of a fresh table: two items, with 10 of each."""
    opened: list[Any] = []

    def open_one(autocommit: bool = False) -> Any:
        opened.append(
            pymysql.connect(
                host="127.0.0.1",
                port=server.ports[0],
                user="ilk",
                password="secret",
                database=DATABASE,
                autocommit=autocommit,
            )
        )
        return opened[-1]

    with open_one(autocommit=True).cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS items")
        cursor.execute(
            "CREATE TABLE items (id INT PRIMARY KEY, stock INT NOT NULL,"
            " version INT NOT NULL DEFAULT 0) ENGINE=InnoDB"
        )
        cursor.execute("INSERT INTO items (id, stock) VALUES (1, 10), (2, 10)")
    yield open_one
    for one in opened:
        with contextlib.suppress(pymysql.Error):
            one.close()


def stock(connect: Connect, item: int = 1) -> int:
    with connect(autocommit=True).cursor() as cursor:
        cursor.execute("SELECT stock FROM items WHERE id = %s", (item,))
        (found,) = cursor.fetchone()
    return int(found)


def sell(connection: Any) -> None:
    with (
        connection.cursor() as cursor,
        sql_lock(cursor, "items", "id", 1, columns=["stock"]) as (left,),
    ):
        time.sleep(0.002)
        cursor.execute("UPDATE items SET stock = %s WHERE id = 1", (left - 1,))
    connection.commit()


def never_enter(cursor: Any, item: int = 1, **words: Any) -> None:
    with sql_lock(cursor, "items", "id", item, **words):
        raise AssertionError("the block was entered")


def test_no_sale_is_lost(connect: Connect) -> None:
    def two_sales(connection: Any) -> None:
        sell(connection)
        sell(connection)

    sellers = [threading.Thread(target=two_sales, args=(connect(),)) for _ in range(5)]
    for one in sellers:
        one.start()
    for one in sellers:
        one.join(patience(20))

    assert stock(connect) == 0


def test_a_locked_row_is_waited_for_until_the_commit(connect: Connect) -> None:
    first, second = connect(), connect()
    entered = threading.Event()

    def follow() -> None:
        with second.cursor() as cursor, sql_lock(cursor, "items", "id", 1, timeout=30):
            entered.set()
        second.commit()

    with first.cursor() as cursor, sql_lock(cursor, "items", "id", 1):
        follower = threading.Thread(target=follow)
        follower.start()
    assert not entered.wait(0.3)  # the end of the block is not the end of the lock
    first.commit()
    assert entered.wait(patience(5))
    follower.join(patience(5))


def test_a_wait_ends_in_time_and_the_transaction_goes_on(connect: Connect) -> None:
    first, second = connect(), connect()
    cursor = second.cursor()
    cursor.execute("UPDATE items SET stock = 5 WHERE id = 2")
    with first.cursor() as holds, sql_lock(holds, "items", "id", 1):
        began = time.monotonic()
        with pytest.raises(interlock.TimeoutError) as caught:
            never_enter(cursor, timeout=0.5)
        assert 0.8 < time.monotonic() - began < patience(3)
        assert not isinstance(caught.value, interlock.BusyError)
        with pytest.raises(interlock.BusyError):
            never_enter(cursor, timeout=0)
    cursor.execute("SELECT @@SESSION.innodb_lock_wait_timeout")
    assert cursor.fetchone() == (50,)
    second.commit()

    assert stock(connect, 2) == 5


def test_with_autocommit_a_transaction_must_be_begun(connect: Connect) -> None:
    connection = connect(autocommit=True)
    with connection.cursor() as cursor:
        with pytest.raises(interlock.InvalidError, match="no transaction"):
            never_enter(cursor)
        connection.begin()
        with sql_lock(cursor, f"{DATABASE}.items", "id", 1):
            cursor.execute("UPDATE items SET stock = 3 WHERE id = 1")
        connection.commit()
    assert stock(connect) == 3


@pytest.mark.parametrize("statement", ["COMMIT", "ROLLBACK", "CREATE TABLE x (y INT)"])
def test_a_transaction_that_ends_inside_is_a_loss(
    connect: Connect, statement: str
) -> None:
    cursor = connect().cursor()
    lost = pytest.raises(interlock.LostError)
    with lost, sql_lock(cursor, "items", "id", 1):
        cursor.execute(statement)
    cursor.execute("DROP TABLE IF EXISTS x")


def test_a_missing_row_cannot_be_locked(connect: Connect) -> None:
    refused = pytest.raises(interlock.InvalidError, match="no row")
    with connect().cursor() as cursor, refused:
        never_enter(cursor, 99)


def test_a_deadlock_is_the_servers_error_and_ends_the_transaction(
    connect: Connect,
) -> None:
    both = threading.Barrier(2)
    ended: list[object] = []

    def lock_two(first: int, second: int) -> None:
        connection = connect()
        cursor = connection.cursor()
        try:
            with sql_lock(cursor, "items", "id", first):
                both.wait(patience(5))
                with sql_lock(cursor, "items", "id", second):
                    ended.append("held both")
            connection.commit()
        except pymysql.OperationalError as error:
            ended.append(error.args[0])

    other = threading.Thread(target=lock_two, args=(2, 1))
    other.start()
    lock_two(1, 2)
    other.join(patience(10))

    assert sorted(ended, key=str) == [1213, "held both"]


def set_snapshot_isolation(cursor: Any, value: str) -> None:
    """MariaDB has it on from 11.6.2, off in later versions of older series, and MySQL
    lacks it."""
    cursor.execute("SHOW VARIABLES LIKE 'innodb_snapshot_isolation'")
    if cursor.fetchone():
        cursor.execute(f"SET SESSION innodb_snapshot_isolation = {value}")
    elif value == "ON":
        pytest.skip("this server has no innodb_snapshot_isolation")


def test_the_block_sees_the_row_as_it_is_and_a_plain_select_does_not(
    connect: Connect,
) -> None:
    early = connect()
    with early.cursor() as cursor:
        set_snapshot_isolation(cursor, "OFF")
        cursor.execute("SELECT stock FROM items WHERE id = 2")  # takes its snapshot
        sell(connect())
        with sql_lock(cursor, "items", "id", 1, columns=["stock"]) as row:
            cursor.execute("SELECT stock FROM items WHERE id = 1")
            assert (row, cursor.fetchone()) == ((9,), (10,))
    early.rollback()


def test_with_snapshot_isolation_a_row_that_has_changed_is_a_loss(
    connect: Connect,
) -> None:
    early = connect()
    with early.cursor() as cursor:
        set_snapshot_isolation(cursor, "ON")
        cursor.execute("UPDATE items SET stock = 3 WHERE id = 2")
        cursor.execute("SELECT stock FROM items WHERE id = 2")
        sell(connect())
        with pytest.raises(interlock.LostError, match="before any other read"):
            never_enter(cursor)
        early.commit()  # of nothing: the transaction is over
        assert (stock(connect, 1), stock(connect, 2)) == (9, 10)

        with sql_lock(cursor, "items", "id", 1, columns=["stock"]) as (left,):
            cursor.execute("UPDATE items SET stock = %s WHERE id = 1", (left - 1,))
        early.commit()
    assert stock(connect, 1) == 8


def test_the_server_frees_the_row_of_a_connection_that_it_closes(
    connect: Connect, server: MySql
) -> None:
    dead, heir = connect(), connect()
    found_out = pytest.raises(pymysql.Error)  # by the end of the block
    with found_out, dead.cursor() as cursor, sql_lock(cursor, "items", "id", 1):
        server.server.sql(f"KILL {dead.thread_id()}")
        with heir.cursor() as other, sql_lock(other, "items", "id", 1, timeout=10):
            pass
    heir.rollback()
