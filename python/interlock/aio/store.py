# SPDX-License-Identifier: MIT
"""Many keys with values, read and changed by transactions, for tasks."""

from __future__ import annotations

from collections.abc import Awaitable
from types import TracebackType
from typing import TYPE_CHECKING, Callable, TypeVar, cast

from .. import errors
from .._attempts import Attempts
from .._core import lib
from .._ffi import Name, Seconds
from ..store import ReadsBase, StoreBase, TransactionBase, outcome_name

if TYPE_CHECKING:
    from typing_extensions import Self

    from .._client_base import ClientBase
    from ._driver import Driver
    from .client import Client

T = TypeVar("T")


def _driver_of(client: ClientBase) -> Driver:
    return cast("Client", client)._driver


class Snapshot(ReadsBase):
    """As :class:`interlock.Snapshot`, awaited: ``await v.get(key)``, ``await v[key]``."""

    _flags = lib.ILK_TXN_SNAPSHOT

    async def get(self, key: Name, default: bytes | None = None) -> bytes | None:
        """As in :mod:`interlock`."""
        handle = self._live()
        driver = _driver_of(self._client)
        await driver.call(lib.ilk_txn_get_start, handle, *self._key(key))
        value = self._value()
        return default if value is None else value

    async def __getitem__(self, key: Name) -> bytes:
        """As in :mod:`interlock`, awaited."""
        value = await self.get(key)
        if value is None:
            raise KeyError(key)
        return value

    async def __aenter__(self) -> Self:
        """As in :mod:`interlock`."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """As in :mod:`interlock`."""
        self._abandon()


class Transaction(TransactionBase, Snapshot):
    """As :class:`interlock.Transaction`; its reads and its commit are awaited."""

    _flags = 0

    async def commit(self) -> None:
        """As in :mod:`interlock`."""
        with self._committing() as handle:
            await _driver_of(self._client).call(lib.ilk_txn_commit_start, handle)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """As in :mod:`interlock`."""
        if kind is None and self._handle is not None:
            await self.commit()
        self._abandon()


class Store(StoreBase):
    """As :class:`interlock.Store`, awaited; made by ``client.store()``."""

    def transaction(self) -> Transaction:
        """As in :mod:`interlock`, for ``async with``."""
        return Transaction(self)

    def snapshot(self) -> Snapshot:
        """As in :mod:`interlock`, for ``async with``."""
        return Snapshot(self)

    async def run(
        self,
        fn: Callable[[Transaction], Awaitable[T]],
        timeout: Seconds | None = None,
    ) -> T:
        """As in :mod:`interlock`; ``fn`` is a coroutine function."""
        attempts = Attempts(timeout)
        while True:
            try:
                async with self.transaction() as transaction:
                    result = await fn(transaction)
            except errors.ConflictError:
                if attempts.are_over():
                    raise
                # An event that nobody sets: each loop has its own sleep.
                await _driver_of(self._client).event().wait(attempts.next_pause())
            else:
                return result

    async def outcome(self, txid: str) -> str:
        """As in :mod:`interlock`."""
        found = await _driver_of(self._client).number(
            lib.ilk_store_outcome_start, self._live(), self._txid_argument(txid)
        )
        return outcome_name(found)
