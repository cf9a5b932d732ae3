# SPDX-License-Identifier: MIT
"""The store: many keys with values, read and changed by transactions."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from . import _ffi, errors
from ._attempts import Attempts
from ._core import ffi, lib
from ._ffi import Name, Seconds
from ._process_bound import ProcessBound

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._client_base import ClientBase

T = TypeVar("T")

_OUTCOMES = {
    lib.ILK_TXN_UNDECIDED: "undecided",
    lib.ILK_TXN_COMMITTED: "committed",
    lib.ILK_TXN_ABORTED: "aborted",
}


def outcome_name(outcome: int) -> str:
    """The word for an ilk_txn_outcome. Blocks: no. Thread: any thread."""
    return _OUTCOMES[outcome]


class ReadsBase(ProcessBound):
    """The part of transactions and snapshots that both packages share."""

    _flags = 0

    def __init__(self, store: StoreBase) -> None:
        out = ffi.new("ilk_txn **")
        _ffi.call(lib.ilk_txn_begin, out, store._live(), self._flags)
        self._client = store._client
        self._handle = ffi.gc(out[0], lib.ilk_txn_free)

    def _key(self, key: Name) -> tuple[bytes, int]:
        raw = _ffi.name_bytes(key, "key")
        return raw, len(raw)

    def _value(self) -> bytes | None:
        length = ffi.new("size_t *")
        value = lib.ilk_txn_value(self._handle, length)
        return None if value == ffi.NULL else bytes(ffi.buffer(value, length[0]))

    def _abandon(self) -> None:
        self._handle = None

    def _live(self) -> Any:
        if self._handle is None:
            raise errors.NotOwnedError("the transaction has ended")
        self._client._live()
        return self._handle


class TransactionBase(ReadsBase):
    """The part of transactions that both packages share."""

    _txid = ""

    @property
    def txid(self) -> str:
        """The id, for ``store.outcome()``; "" before the commit."""
        return self._txid

    def __setitem__(self, key: Name, value: str | bytes) -> None:
        """Write a key when the transaction commits.

        Raises: InvalidError (over 512 bytes of key, 64 KiB of value, 256 keys),
        NotOwnedError. Blocks: no. Thread: one thread at a time.
        """
        raw = _ffi.name_bytes(value, "value")
        _ffi.call(lib.ilk_txn_put, self._live(), *self._key(key), raw, len(raw))

    def __delitem__(self, key: Name) -> None:
        """Delete a key when the transaction commits, whether it has a value or not.

        Raises: InvalidError, NotOwnedError. Blocks: no. Thread: one thread at a time.
        """
        _ffi.call(lib.ilk_txn_delete, self._live(), *self._key(key))

    @contextlib.contextmanager
    def _committing(self) -> Iterator[Any]:
        """Lend the handle to a commit, which ends the transaction in any case."""
        handle = self._live()
        try:
            yield handle
        except errors.UnknownOutcomeError as error:
            error.txid = _ffi.text(lib.ilk_txn_id(handle))
            raise
        finally:
            self._txid = _ffi.text(lib.ilk_txn_id(handle))
            self._abandon()


class StoreBase(ProcessBound):
    """The part of stores that both packages share."""

    def __init__(self, client: ClientBase, name: Name) -> None:
        raw = _ffi.name_bytes(name)
        out = ffi.new("ilk_store **")
        _ffi.call(lib.ilk_store_open, out, client._live(), raw, len(raw))
        self._client = client
        self._name = name
        self._handle = ffi.gc(out[0], lib.ilk_store_free)

    @property
    def name(self) -> Name:
        """The name, as it was given."""
        return self._name

    def __repr__(self) -> str:
        return f"<interlock.{type(self).__name__} {self._name!r}>"

    def _live(self) -> Any:
        self._client._live()
        return self._handle

    def _txid_argument(self, txid: str) -> Any:
        if not isinstance(txid, str):
            raise TypeError(f"txid must be str, got {type(txid).__name__}")
        return _ffi.c_string(txid, "txid")


class Snapshot(ReadsBase):
    """All keys of a store as of one moment, for up to a minute; by ``store.snapshot()``.

    Thread: one thread at a time.
    """

    _flags = lib.ILK_TXN_SNAPSHOT

    def get(self, key: Name, default: bytes | None = None) -> bytes | None:
        """The value of a key, or ``default``.

        Raises: ConflictError (the version is no longer kept; of a snapshot
        StaleError), TimeoutError (it took longer than a minute), InvalidError,
        NotOwnedError, ConnectionError and the server's errors. Blocks: one round trip.
        Thread: one thread at a time.
        """
        _ffi.call(lib.ilk_txn_get, self._live(), *self._key(key))
        value = self._value()
        return default if value is None else value

    def __getitem__(self, key: Name) -> bytes:
        """The value of a key. Raises: KeyError; and as ``get()``.

        Blocks: one round trip. Thread: one thread at a time.
        """
        value = self.get(key)
        if value is None:
            raise KeyError(key)
        return value

    def __contains__(self, key: Name) -> bool:
        """Whether the key has a value. Blocks: one round trip.

        Thread: one thread at a time.
        """
        return self.get(key) is not None

    def __enter__(self) -> Self:
        """Return the object. Blocks: no. Thread: one thread at a time."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it. Blocks: no. Thread: one thread at a time."""
        self._abandon()


class Transaction(TransactionBase, Snapshot):
    """Reads that fit together, and writes that appear together; by
    ``store.transaction()``.

    It reads all keys as of one moment, that of its first read. Its writes stay here
    until it commits, and it sees them itself.

    Thread: one thread at a time.
    """

    _flags = 0

    def commit(self) -> None:
        """Make all writes visible, in one step; the transaction has then ended.

        Raises: ConflictError (refused: a later transaction has read or written a
        key that it writes; nothing is written), TimeoutError (it took longer than a
        minute; nothing is written), UnknownOutcomeError (no reply; its
        ``txid`` is for ``store.outcome()``), NotOwnedError, ConnectionError and the
        server's errors (nothing is written). Blocks: one round trip.
        Thread: one thread at a time.
        """
        with self._committing() as handle:
            _ffi.call(lib.ilk_txn_commit, handle)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Commit, unless the body has raised. Raises: as ``commit()``.

        Blocks: one round trip. Thread: one thread at a time.
        """
        if kind is None and self._handle is not None:
            self.commit()
        self._abandon()


class Store(StoreBase):
    """Many keys with values, for all processes; made by ``client.store()``.

    Transactions are serializable: each is as if it had run alone. Nothing is
    locked and nothing waits. Of two that conflict, one is refused and runs again:
    ``run()`` does that by itself.

    >>> accounts = client.store("accounts")
    >>> with accounts.transaction() as t:
    ...     t["anna"], t["ben"] = b"10", b"0"
    >>> def pay(t):
    ...     t["anna"] = b"%d" % (int(t["anna"]) - 3)
    ...     t["ben"] = b"%d" % (int(t["ben"]) + 3)
    >>> accounts.run(pay)
    >>> with accounts.snapshot() as v:
    ...     v["anna"], v["ben"], v.get("carl")
    (b'7', b'3', None)

    Thread: any thread; a transaction belongs to one at a time.
    """

    def transaction(self) -> Transaction:
        """Begin a transaction, which commits at the end of a ``with`` block.

        If the block raises, nothing is written.

        >>> with client.store("accounts").transaction() as t:
        ...     t["dora"] = b"5"
        ...     del t["dora"]
        ...     t.get("dora") is None
        True

        Raises: ClosedError, ForkedError. Blocks: no. Thread: any thread.
        """
        return Transaction(self)

    def snapshot(self) -> Snapshot:
        """All keys as of one moment, that of the first read, for up to a minute.

        Raises: ClosedError, ForkedError. Blocks: no. Thread: any thread.
        """
        return Snapshot(self)

    def run(self, fn: Callable[[Transaction], T], timeout: Seconds | None = None) -> T:
        """Call ``fn`` with a transaction, commit, and return its result.

        After a conflict it begins again with another transaction; after several
        conflicts it first pauses a little. ``fn`` may run more than once, so it must
        do nothing that may not be repeated.

        Raises: ConflictError when the last attempt in ``timeout`` seconds (None:
        for ever) was refused; what ``fn`` raises, and then nothing is written; and
        as ``Transaction.commit()``. Blocks: as ``fn``, and one round trip.
        Thread: any thread.
        """
        attempts = Attempts(timeout)
        while True:
            try:
                with self.transaction() as transaction:
                    result = fn(transaction)
            except errors.ConflictError:
                if attempts.are_over():
                    raise
                time.sleep(attempts.next_pause())
            else:
                return result

    def outcome(self, txid: str) -> str:
        """Return the end of a transaction: "committed", "aborted" or "undecided".

        For the ``txid`` of an UnknownOutcomeError. A transaction that is not
        committed yet is aborted by this call, so the answer is final. It is
        "undecided" only for a commit of more than 5 minutes ago, by the clock of
        this machine.

        Raises: InvalidError, ConnectionError and the server's errors.
        Blocks: one round trip. Thread: any thread.
        """
        out = ffi.new("int32_t *")
        _ffi.call(lib.ilk_store_outcome, self._live(), self._txid_argument(txid), out)
        return outcome_name(out[0])
