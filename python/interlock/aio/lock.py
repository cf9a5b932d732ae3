# SPDX-License-Identifier: MIT
"""The lock, for tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

from .. import lock as _lock
from .._core import lib
from .._ffi import Name
from .._lease_base import Options
from ._lease import StartFunctions, TransferableLease

if TYPE_CHECKING:
    from .client import Client


class Lock(TransferableLease):
    """As :class:`interlock.Lock`, awaited; made by ``client.lock()``.

    A lost lock cancels the body of ``async with``, which then raises LostError.
    """

    _type = _lock.Lock._type
    _functions = _lock.Lock._functions
    _detach = _lock.Lock._detach
    _start_functions = StartFunctions(
        acquire=lib.ilk_lock_acquire_start,
        release=lib.ilk_lock_release_start,
        extend=lib.ilk_lock_extend_start,
        check=lib.ilk_lock_check_start,
    )
    _adopt = lib.ilk_lock_adopt_start

    def __init__(
        self,
        client: Client,
        name: Name,
        options: Options,
        open_handle: Callable[..., int] = lib.ilk_lock_open,
        *,
        shared: bool = False,
    ) -> None:
        super().__init__(client, name, options, open_handle, shared=shared)

    async def locked(self) -> bool:
        """As in :mod:`interlock`."""
        return (await self.client.inspect(self.name)).state != "free"
