# SPDX-License-Identifier: MIT
"""A lock that many readers or one writer hold, first come, first served."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._core import lib
from ._ffi import Name
from ._process_bound import ProcessBound
from .lock import Lock

if TYPE_CHECKING:
    from ._lease_base import Options
    from .client import Client


class RWLock(ProcessBound):
    """Two locks on one name, ``read`` and ``write``; made by ``client.rwlock()``.

    Readers share the name, a writer has it alone, and a reader never overtakes a
    waiting writer. The writer's handle is the plain lock of the name.

    >>> table = client.rwlock("table")
    >>> other = client.rwlock("table")
    >>> with table.read, other.read:
    ...     client.inspect("table").readers
    2
    >>> with table.write:
    ...     other.read.acquire(timeout=0)
    False
    """

    def __init__(self, client: Client, name: Name, options: Options) -> None:
        reader = lib.ilk_rwlock_read_open
        self._read = Lock(client, name, options, reader, shared=True)
        self._write = Lock(client, name, options, lib.ilk_rwlock_write_open)

    @property
    def name(self) -> Name:
        """The name, as it was given."""
        return self._read.name

    @property
    def read(self) -> Lock:
        """The handle that shares the name with other readers."""
        return self._read

    @property
    def write(self) -> Lock:
        """The handle that has the name alone."""
        return self._write

    def __repr__(self) -> str:
        return f"<interlock.RWLock {self.name!r}>"
