# SPDX-License-Identifier: MIT
"""The common part of clients and handles: they exist in one process, once."""

from __future__ import annotations

from typing import NoReturn, SupportsIndex


class ProcessBound:
    """An object around a C handle, which can be neither pickled nor copied.

    A copy would be an alias: two objects that take themselves for one owner.
    """

    __slots__ = ()

    #: What to do instead.
    _instead = "make another one from a client of that process"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse pickle and copy. Raises: TypeError."""
        kind = type(self)
        package = "interlock.aio" if ".aio." in kind.__module__ else "interlock"
        raise TypeError(
            f"{package}.{kind.__name__} cannot be pickled or copied: {self._instead}"
        )
