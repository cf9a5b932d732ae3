# SPDX-License-Identifier: MIT
"""The counters of a client since it was opened."""

from __future__ import annotations

import dataclasses
from typing import Any

from . import _ffi
from ._core import ffi, lib

_STATES = {
    lib.ILK_NODE_CONNECTING: "connecting",
    lib.ILK_NODE_VOTING: "voting",
    lib.ILK_NODE_WAITING: "waiting",
    lib.ILK_NODE_FAILED: "failed",
}

_REGISTERS = {
    lib.ILK_REGISTERS_NONE: "none",
    lib.ILK_REGISTERS_KEPT: "kept",
    lib.ILK_REGISTERS_LOST: "lost",
    lib.ILK_REGISTERS_RETURNING: "returning",
    lib.ILK_REGISTERS_REFUSED: "refused",
    lib.ILK_REGISTERS_FOREIGN: "foreign",
}


@dataclasses.dataclass(frozen=True)
class NodeStats:
    """A node of a quorum as a client finds it, and its counters.

    Times are seconds; those of replies are None as long as there was no reply.
    """

    address: str  #: host:port, as in the URL
    state: str  #: "connecting", "voting", "waiting" (it does not vote yet) or "failed"
    wait: float  #: until a node that waits may vote; 0 when it waits for other nodes
    connects: int  #: connections made, reconnects included
    commands: int  #: commands sent
    in_flight: int  #: commands without a reply now
    granted: int  #: votes granted
    confirmed: int  #: votes confirmed, renewals included
    refused: int  #: votes refused: it was restarted or wiped meanwhile
    lost: int  #: votes that were gone when they were confirmed
    round_trip: float | None  #: to the last reply
    mean_round_trip: float | None  #: of about the last 8
    clock_offset: float | None  #: by which its clock is ahead of this machine's
    error: str  #: the last failure; "" without one
    #: whether it keeps registers: "kept", "none" (no node does yet), "lost" (it was
    #: wiped), "returning", "refused" (for its settings), "foreign" or "unknown"
    registers: str = "unknown"
    registers_error: str = ""  #: why it keeps none; "" when it does

    @classmethod
    def from_c(cls, raw: Any) -> NodeStats:
        """Copy an ilk_node_stats."""
        replied = raw.round_trip_us >= 0
        return cls(
            address=_ffi.text(raw.address),
            state=_STATES.get(raw.state, "unknown"),
            wait=raw.wait_ms / 1e3,
            connects=raw.connects,
            commands=raw.commands,
            in_flight=raw.in_flight,
            granted=raw.granted,
            confirmed=raw.confirmed,
            refused=raw.refused,
            lost=raw.lost,
            round_trip=raw.round_trip_us / 1e6 if replied else None,
            mean_round_trip=raw.mean_round_trip_us / 1e6 if replied else None,
            clock_offset=raw.clock_offset_us / 1e6 if replied else None,
            error=_ffi.text(raw.error),
            registers=_REGISTERS.get(raw.registers, "unknown"),
            registers_error=_ffi.text(raw.registers_error),
        )


@dataclasses.dataclass(frozen=True)
class Stats:
    """The numbers of a client since it was opened, and its present ones."""

    commands: int  #: commands sent
    writes: int  #: writes that carried them
    bytes_out: int  #: bytes sent
    bytes_in: int  #: bytes received
    connects: int  #: connections made, reconnects included
    connections: int  #: connections open now
    acquires: int  #: holds acquired
    waits: int  #: acquires that had to wait in the queue
    waiting: int  #: acquires that wait now
    held: int  #: leases that are renewed now
    renewals: int  #: leases renewed
    refreshes: int  #: refreshes of wait queues sent
    losses: int  #: leases lost
    passed_on: int  #: grants given back because their waiters had gone
    notifications_dropped: int  #: notifications that found the queue full
    messages_refused: int  #: inbox messages without a secret, or of another version
    nodes: tuple[NodeStats, ...] = ()  #: of a quorum, in the order of the URL

    @classmethod
    def read(cls, client: Any) -> Stats:
        """The stats of an ilk_client."""
        raw = ffi.new("ilk_client_stats *")
        raw.size = ffi.sizeof(raw[0])
        _ffi.call(lib.ilk_client_get_stats, client, raw)
        names = [f.name for f in dataclasses.fields(cls) if f.name != "nodes"]
        return cls(**{n: getattr(raw, n) for n in names}, nodes=_nodes(client))


def _nodes(client: Any) -> tuple[NodeStats, ...]:
    raw = ffi.new("ilk_node_stats *")
    raw.size = ffi.sizeof(raw[0])
    found: list[NodeStats] = []
    while (
        lib.ilk_client_get_node_stats(client, len(found), raw, ffi.NULL) == lib.ILK_OK
    ):
        found.append(NodeStats.from_c(raw[0]))
    return tuple(found)
