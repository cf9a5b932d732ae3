# SPDX-License-Identifier: MIT
"""What a client makes beside locks: a method for each column."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from .client import Client


class Columns:
    """A part of :class:`Client`."""

    def _client(self) -> Client:
        return cast("Client", self)
