# SPDX-License-Identifier: MIT
"""One lock over many names, for tasks."""

from __future__ import annotations

from .. import lock_many as _lock_many
from .._core import lib
from ._lease import Lease, StartFunctions


class LockMany(_lock_many.ManyLeaseBase, Lease):
    """As :class:`interlock.LockMany`, awaited; made by ``client.lock_many()``.

    A lost lock cancels the body of ``async with``, which then raises LostError.
    """

    _start_functions = StartFunctions(
        acquire=lib.ilk_lock_many_acquire_start,
        release=lib.ilk_lock_many_release_start,
        extend=lib.ilk_lock_many_extend_start,
        check=lib.ilk_lock_many_check_start,
    )

    async def adopt(self, token: str | bytes) -> bool:
        """As in :mod:`interlock`."""
        return self._take_back(token)
