# SPDX-License-Identifier: MIT
"""Replicated values, of which the newest wins, for tasks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, cast

from .. import _ffi
from .._core import lib
from .._ffi import Name
from ..kv import KVBase, KVEntry, KVProgress, new_progress, to_entry, to_progress

if TYPE_CHECKING:
    from ._driver import Driver
    from .client import Client


async def move(client: Client, after: KVProgress | None) -> AsyncIterator[KVProgress]:
    """``client.kv_move()``. Thread: that of the event loop."""
    at = new_progress(after)
    while not at.is_done:
        handle = client._live()
        op = await client._driver.complete(lib.ilk_kv_move_start, handle, at)
        _ffi.call(lib.ilk_op_kv_progress, op, at)
        yield to_progress(at)


class KV(KVBase):
    """As :class:`interlock.KV`, awaited; made by ``client.kv()``."""

    @property
    def _driver(self) -> Driver:
        return cast("Client", self._client)._driver

    async def get(self, key: Name) -> KVEntry | None:
        """As in :mod:`interlock`."""
        arguments = self._get_arguments(key)
        op = await self._driver.complete(lib.ilk_kv_get_start, *arguments)
        return to_entry(lib.ilk_op_kv_entry(op))

    async def put(self, key: Name, value: str | bytes, *, fast: bool = False) -> int:
        """As in :mod:`interlock`."""
        arguments = self._put_arguments(key, value, fast)
        return await self._driver.number(lib.ilk_kv_put_start, *arguments)

    async def delete(self, key: Name, *, fast: bool = False) -> int:
        """As in :mod:`interlock`."""
        arguments = self._delete_arguments(key, fast)
        return await self._driver.number(lib.ilk_kv_delete_start, *arguments)
