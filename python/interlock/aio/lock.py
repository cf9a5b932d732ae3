# SPDX-License-Identifier: MIT
"""The lock, for tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

from .. import _ffi
from .. import lock as _lock
from .._core import ffi, lib
from .._ffi import Name
from .._held import Options
from ._lease import Named, Starts

if TYPE_CHECKING:
    from .client import Client


class Lock(Named):
    """As :class:`interlock.Lock`, awaited; made by ``client.lock()``.

    A loss cancels the body of ``async with``, which then raises LostError.
    """

    _type = _lock.Lock._type
    _verbs = _lock.Lock._verbs
    _detach = _lock.Lock._detach
    _starts = Starts(
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
    ) -> None:
        super().__init__(client, name, options, open_handle)


async def break_lock(client: Client, name: Name, token: str | bytes | None) -> bool:
    """See :meth:`Client.break_lock`."""
    raw = _ffi.name_bytes(name)
    mark = None if token is None else _ffi.name_bytes(token, "token")
    status, failure = await client._driver.status(
        lib.ilk_lock_break_start,
        client._live(),
        raw,
        len(raw),
        ffi.NULL if mark is None else mark,
        0 if mark is None else len(mark),
    )
    if failure is not None and status != lib.ILK_ENOTOWNER:
        raise failure
    return failure is None
