# SPDX-License-Identifier: MIT
"""The semaphore, for tasks."""

from __future__ import annotations

from .. import _ffi
from .. import semaphore as _semaphore
from .._core import lib
from ._lease import StartFunctions, TransferableLease


class Semaphore(_semaphore.SemaphoreBase, TransferableLease):
    """As :class:`interlock.Semaphore`, awaited; made by ``client.semaphore()``.

    Each task that takes permits makes a handle of its own.

    >>> async def printed(client, page):
    ...     async with client.semaphore("presses", 2):
    ...         return page
    >>> async def main():
    ...     async with connect(url) as client:
    ...         pages = [printed(client, number) for number in range(5)]
    ...         return await asyncio.gather(*pages)
    >>> asyncio.run(main())
    [0, 1, 2, 3, 4]

    A lost permit cancels the body of ``async with``, which then raises LostError.
    """

    _start_functions = StartFunctions(
        acquire=lib.ilk_semaphore_acquire_start,
        release=lib.ilk_semaphore_release_start,
        extend=lib.ilk_semaphore_extend_start,
        check=lib.ilk_semaphore_check_start,
    )
    _adopt = lib.ilk_semaphore_adopt_start

    async def set_limit(self, limit: int) -> None:
        """As in :mod:`interlock`."""
        most = _ffi.count(limit, "limit")
        await self.client._driver.call(
            lib.ilk_semaphore_set_limit_start, self._live(), most
        )
