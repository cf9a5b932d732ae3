# SPDX-License-Identifier: MIT
"""The base of events, latches, barriers and registers: how tasks wait for a change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, cast

from .._ffi import OK
from .._handle_pool import PooledHandle
from ._lease import TIMEOUT_STATUSES

if TYPE_CHECKING:
    from ._driver import Driver
    from .client import Client


class State(PooledHandle):
    """The small state of a name, which callers change, read and wait for."""

    @property
    def client(self) -> Client:
        """The client that it was made from."""
        return cast("Client", self._client)

    @property
    def _driver(self) -> Driver:
        return self.client._driver

    async def _wait(
        self, function: Callable[..., int], handle: Any, *args: Any
    ) -> bool:
        """Wait; returns False when the time ran out."""
        status, failure = await self._driver.status(function, handle, *args)
        if failure is not None and status not in TIMEOUT_STATUSES:
            raise failure
        return status == OK
