# SPDX-License-Identifier: MIT
"""Writes that refuse an older fence, for tasks; the names of :mod:`interlock.guard`.

>>> async def sell():
...     async with connect(url) as client:
...         await set(client, "stock:43", b"18", 0)
...         async with client.lock("stock:lock") as lock:
...             left = int((await get(client, "stock:43", lock.fence)).value)
...             await set(client, "stock:43", str(left - 1), lock.fence)
...         return (await get(client, "stock:43")).value
>>> asyncio.run(sell())
b'17'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import guard as _guard
from .._core import lib
from .._ffi import Name
from ..guard import LUA, SQL, Guarded, sql_update

if TYPE_CHECKING:
    from .client import Client

__all__ = ["LUA", "SQL", "Guarded", "get", "remove", "set", "sql_update"]


async def set(client: Client, key: Name, value: str | bytes, fence: int) -> None:
    """As :func:`interlock.guard.set`. Thread: that of the event loop.

    Cancelling its task does not stop it.
    """
    arguments = _guard._set_arguments(key, value, fence)
    await client._driver.call(lib.ilk_guard_set_start, client._live(), *arguments)


async def get(client: Client, key: Name, fence: int | None = None) -> Guarded:
    """As :func:`interlock.guard.get`. Thread: that of the event loop.

    When its task is cancelled the fence may be recorded nevertheless.
    """
    arguments = _guard._get_arguments(key, fence)
    op = await client._driver.complete(
        lib.ilk_guard_get_start, client._live(), *arguments
    )
    return _guard._to_guarded(lib.ilk_op_value(op))


async def remove(client: Client, key: Name) -> None:
    """As :func:`interlock.guard.remove`. Thread: that of the event loop.

    Cancelling its task does not stop it.
    """
    arguments = _guard._key_arguments(key)
    await client._driver.call(lib.ilk_guard_remove_start, client._live(), *arguments)
