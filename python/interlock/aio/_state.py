# SPDX-License-Identifier: MIT
"""What events, latches and barriers have in common: how their tasks wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, cast

from .._ffi import OK
from .._handle_pool import PooledHandle
from ._lease import NOT_IN_TIME

if TYPE_CHECKING:
    from ._driver import Driver
    from .client import Client


class State(PooledHandle):
    """A state of a name: to be changed, asked for, and waited for."""

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
        """Wait; False when time ran out."""
        status, failure = await self._driver.status(function, handle, *args)
        if failure is not None and status not in NOT_IN_TIME:
            raise failure
        return status == OK
