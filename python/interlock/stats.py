# SPDX-License-Identifier: MIT
"""The counters of a client since it was opened."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class Stats:
    """The numbers of a client since it was opened, and its present ones."""

    commands: int  #: commands sent
    writes: int  #: writes that carried them
    bytes_out: int  #: bytes sent
    bytes_in: int  #: bytes received
    connects: int  #: connections made, reconnects included
    connections: int  #: connections open now
    acquires: int  #: locks acquired
    waits: int  #: acquires that had to wait in the queue
    waiting: int  #: acquires that wait now
    held: int  #: leases that are renewed now
    renewals: int  #: leases renewed
    refreshes: int  #: refreshes of wait queues sent
    losses: int  #: leases lost
    passed_on: int  #: grants given back because their waiters had gone
    notifications_dropped: int  #: notifications that found the queue full
    messages_refused: int  #: inbox messages without a secret, or of another version

    @classmethod
    def from_c(cls, raw: Any) -> Stats:
        """Copy an ilk_client_stats."""
        return cls(**{f.name: getattr(raw, f.name) for f in dataclasses.fields(cls)})
