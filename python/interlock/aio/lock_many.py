# SPDX-License-Identifier: MIT
"""One lock over many names, for tasks."""

from __future__ import annotations

from .. import lock_many as _lock_many
from .._core import lib
from ._lease import Lease, Starts


class LockMany(_lock_many.HeldByNames, Lease):
    """As :class:`interlock.LockMany`, awaited; made by ``client.lock_many()``.

    A loss cancels the body of ``async with``, which then raises LostError.
    """

    _starts = Starts(
        acquire=lib.ilk_lock_many_acquire_start,
        release=lib.ilk_lock_many_release_start,
        extend=lib.ilk_lock_many_extend_start,
        check=lib.ilk_lock_many_check_start,
    )
