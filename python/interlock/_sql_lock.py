# SPDX-License-Identifier: MIT
"""A lock on a row of MySQL or MariaDB, inside a transaction of the program's own."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from . import errors

# Errors of the servers, by their numbers.
_LOCK_WAIT_TIMEOUT = 1205
_NOT_AT_ONCE = 3572  # of MySQL for NOWAIT; MariaDB has 1205 for it, too
_NO_SAVEPOINT = 1305
_ROW_HAS_CHANGED = 1020  # since the transaction's snapshot; it is rolled back

_LONGEST_WAIT = 100_000_000  # seconds; the servers take no more
_numbers = itertools.count()


class Cursor(Protocol):
    """A cursor of the DB-API, of PyMySQL, mysqlclient or MySQL Connector."""

    def execute(self, operation: str, parameters: Any = ..., /) -> Any: ...

    def fetchall(self) -> Any: ...


def _quoted(name: str, what: str) -> str:
    if not isinstance(name, str):
        raise TypeError(f"{what} must be str, got {type(name).__name__}")
    if not name or "\0" in name:
        raise errors.InvalidError(f"{what} must be a name, got {name!r}")
    return "`" + name.replace("`", "``") + "`"


def _statement(
    table: str, key_column: str, columns: Sequence[str], at_once: bool, mark: str
) -> str:
    if isinstance(columns, str):
        raise TypeError("columns must be a sequence of names, got str")
    names = ", ".join(_quoted(one, "columns") for one in columns) or "1"
    parts = table.split(".") if isinstance(table, str) else [table]
    place = ".".join(_quoted(part, "table") for part in parts)
    key = _quoted(key_column, "key_column")
    if mark != "?":  # the driver formats the text, and reads %% as %
        names, place, key = (one.replace("%", "%%") for one in (names, place, key))
    nowait = " NOWAIT" if at_once else ""
    return f"SELECT {names} FROM {place} WHERE {key} = {mark} FOR UPDATE{nowait}"


def _whole_seconds(timeout: float | None) -> int | None:
    """Round up to a time that the servers can wait: at least one second."""
    if timeout is None:
        return None
    if math.isnan(timeout) or timeout < 0:
        raise errors.InvalidError(f"timeout must not be negative, got {timeout}")
    return max(1, math.ceil(min(timeout, _LONGEST_WAIT)))


def _number(error: BaseException) -> object:
    """The server's number of an error, which drivers keep in two places."""
    first = error.args[0] if error.args else None
    return getattr(error, "errno", None) or first


@contextlib.contextmanager
def _lock_wait_timeout(cursor: Cursor, seconds: int | None) -> Iterator[None]:
    """Set how long the session waits for a row, and set it back."""
    if seconds is None:
        yield
        return
    cursor.execute("SELECT @@SESSION.innodb_lock_wait_timeout AS seconds")
    (row,) = cursor.fetchall()
    (before,) = row.values() if isinstance(row, Mapping) else row
    cursor.execute(f"SET SESSION innodb_lock_wait_timeout = {seconds}")
    try:
        yield
    finally:
        cursor.execute(f"SET SESSION innodb_lock_wait_timeout = {int(before)}")


def _release_savepoint(cursor: Cursor, name: str) -> bool:
    """False when the transaction that has set it is over."""
    try:
        cursor.execute(f"RELEASE SAVEPOINT {name}")
    except Exception as error:
        if _number(error) != _NO_SAVEPOINT:
            raise
        return False
    return True


def _lock_rows(
    cursor: Cursor, statement: str, key: object, seconds: int | None, at_once: bool
) -> Any:
    try:
        with _lock_wait_timeout(cursor, seconds):
            cursor.execute(statement, (key,))
            return cursor.fetchall()
    except Exception as error:
        if _number(error) == _ROW_HAS_CHANGED:
            raise errors.LostError(
                "the row has changed since the transaction's first read, and the"
                " server, whose innodb_snapshot_isolation is on, has ended the"
                " transaction: repeat it, and lock the row before any other read"
            ) from error
        if _number(error) not in (_LOCK_WAIT_TIMEOUT, _NOT_AT_ONCE):
            raise
        kind = errors.BusyError if at_once else errors.TimeoutError
        raise kind("another transaction has the row locked") from error


@contextlib.contextmanager
def sql_lock(
    cursor: Cursor,
    table: str,
    key_column: str,
    key: object,
    *,
    columns: Sequence[str] = (),
    nowait: bool = False,
    timeout: float | None = None,
    mark: str = "%s",
) -> Iterator[Any]:
    """Lock one row until the end of a transaction: ``SELECT ... FOR UPDATE``.

    For a row of MySQL or MariaDB (InnoDB) that only transactions of that database
    change. The program begins and ends the transaction; the lock ends with it, and not
    with the block::

        connection.begin()
        with sql_lock(cursor, "items", "id", 42, columns=["stock"]) as (stock,):
            cursor.execute("UPDATE items SET stock = %s WHERE id = 42", (stock - 1,))
        connection.commit()

    The block gets the columns of the row, as they are now: a plain SELECT may read an
    older snapshot. When the transaction ends inside the block, by a commit, a rollback
    or a statement that commits by itself such as ``CREATE TABLE``, the end of the block
    raises LostError.

    Lock the row before any other read of the transaction. With
    ``innodb_snapshot_isolation``, which MariaDB has on from 11.6.2, a row that was
    changed after such a read cannot be locked: the server ends the transaction, and
    the beginning of the block raises LostError.

    It has no lease: a frozen process keeps the row locked until the server closes its
    connection. It has no fence, so nothing outside the database is protected. The
    server rolls a transaction back to end a deadlock (error 1213 of the driver, which
    is not changed): repeat the whole transaction.

    Names are quoted. ``key_column`` must have a unique index, and ``key`` the type of
    the column: otherwise the server locks each row that it looks at.

    :param cursor: a DB-API cursor, of a transaction
    :param table: ``"items"`` or ``"shop.items"``
    :param columns: columns to read
    :param nowait: do not wait for the row; as ``timeout=0``
    :param timeout: seconds, which become whole seconds, at least 1; None: the
        ``innodb_lock_wait_timeout`` of the session, 50 by default
    :param mark: ``"?"`` for a driver that wants it in place of ``%s``

    Raises: TimeoutError, BusyError with ``nowait``: the transaction goes on without the
    row; InvalidError without a transaction or without the row, and for arguments;
    LostError; the driver's errors. Blocks: yes. Thread: that of the cursor.
    """
    at_once = nowait or timeout == 0
    if nowait and timeout:
        raise errors.InvalidError("nowait and timeout exclude each other")
    statement = _statement(table, key_column, columns, at_once, mark)
    seconds = None if at_once else _whole_seconds(timeout)
    savepoint = f"interlock_{next(_numbers)}"
    cursor.execute(f"SAVEPOINT {savepoint}")
    if not _release_savepoint(cursor, savepoint):
        raise errors.InvalidError(
            "there is no transaction, and autocommit is on: a row lock would end with"
            " its statement"
        )
    rows = _lock_rows(cursor, statement, key, seconds, at_once)
    if len(rows) != 1:
        found = "no row" if not rows else f"{len(rows)} rows"
        raise errors.InvalidError(f"{table} has {found} with {key_column} = {key!r}")
    cursor.execute(f"SAVEPOINT {savepoint}")
    yield rows[0]
    if not _release_savepoint(cursor, savepoint):
        raise errors.LostError(
            f"the transaction ended before the block, and so did the lock on {table}"
        )
