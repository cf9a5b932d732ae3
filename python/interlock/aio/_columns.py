# SPDX-License-Identifier: MIT
"""What a client makes beside locks: a method for each column."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from .._candidate import ElectionOptions
from .._ffi import Name
from ..semaphore import SemaphoreOptions
from .election import Election
from .semaphore import Semaphore

if TYPE_CHECKING:
    from .client import Client


class Columns:
    """A part of :class:`Client`."""

    def _client(self) -> Client:
        return cast("Client", self)

    def election(
        self,
        name: Name,
        *,
        ttl: float = 20.0,
        value: bytes = b"",
        identity: Name | None = None,
        renew: bool = True,
        max_hold: float | None = None,
    ) -> Election:
        """As :meth:`interlock.Client.election`; nothing is sent."""
        options = ElectionOptions(ttl, value, identity, renew, max_hold)
        return Election(self._client(), name, options)

    def semaphore(
        self,
        name: Name,
        limit: int,
        *,
        permits: int = 1,
        ttl: float = 30.0,
        wait: float | None = None,
        renew: bool = True,
        fair: bool = True,
        max_hold: float | None = None,
    ) -> Semaphore:
        """As :meth:`interlock.Client.semaphore`; nothing is sent."""
        options = SemaphoreOptions(permits, ttl, wait, renew, fair, max_hold)
        return Semaphore(self._client(), name, limit, options)
