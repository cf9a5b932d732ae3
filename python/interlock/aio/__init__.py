# SPDX-License-Identifier: MIT
"""The same names as :mod:`interlock`, awaited: for asyncio, uvloop and trio.

    async with interlock.aio.connect() as client:
        async with client.lock("orders", ttl=10):
            ...

One client serves all tasks of an event loop: their requests share one connection, and
no wait takes a thread. (The client's background thread renews leases and receives
wake-ups.) A hold belongs to its handle, not to a task. A task that is cancelled
while it waits leaves neither a waiter in the wait queue nor a lock without an
owner. Methods that need no server (``held``, ``remaining()``, ``fence``,
``detach()``, ...) are not awaited.
"""

from __future__ import annotations

from .. import errors
from ..barrier import BarrierInfo
from ..election import Leader, Leadership
from ..errors import (
    AuthError,
    BrokenError,
    BusyError,
    CancelledError,
    ClosedError,
    ClusterError,
    ConflictError,
    ConnectionError,
    DiffersError,
    Error,
    ForkedError,
    HeldError,
    InterruptedError,
    InvalidError,
    LostError,
    NoQuorumError,
    NothingError,
    NotOwnedError,
    OutOfMemoryError,
    ReplyError,
    ServerBusyError,
    ServerError,
    ServerLoadingError,
    ServerMemoryError,
    ServerReadOnlyError,
    StaleError,
    SystemCallError,
    TimeoutError,
    UnknownOutcomeError,
    UnsupportedError,
    WrongTypeError,
)
from ..event import EventState
from ..group import GroupChange
from ..inspect import Holder, Info, Waiter
from ..kv import KVEntry, KVProgress
from ..latch import LatchInfo
from ..notifications import Notification
from ..queue import QueueInfo
from ..register import RegisterState
from ..ring import Ring
from ..semaphore import PermitHolder, PermitWaiter, SemaphoreInfo
from ..stats import NodeStats, Stats
from ..worker import task
from . import guard
from .barrier import Barrier
from .client import Client, connect
from .election import Election, Observer
from .event import Event
from .group import Group, GroupRing, GroupWatch, Member
from .job import Batch, Job
from .kv import KV
from .latch import Latch
from .lock import Lock
from .lock_many import LockMany
from .notifications import Notifications
from .queue import Queue
from .register import Register
from .rwlock import RWLock
from .semaphore import Semaphore
from .signal import Signal, wait_all, wait_any
from .store import Snapshot, Store, Transaction
from .worker import Worker

__all__ = [
    "KV",
    "AuthError",
    "Barrier",
    "BarrierInfo",
    "Batch",
    "BrokenError",
    "BusyError",
    "CancelledError",
    "Client",
    "ClosedError",
    "ClusterError",
    "ConflictError",
    "ConnectionError",
    "DiffersError",
    "Election",
    "Error",
    "Event",
    "EventState",
    "ForkedError",
    "Group",
    "GroupChange",
    "GroupRing",
    "GroupWatch",
    "HeldError",
    "Holder",
    "Info",
    "InterruptedError",
    "InvalidError",
    "Job",
    "KVEntry",
    "KVProgress",
    "Latch",
    "LatchInfo",
    "Leader",
    "Leadership",
    "Lock",
    "LockMany",
    "LostError",
    "Member",
    "NoQuorumError",
    "NodeStats",
    "NotOwnedError",
    "NothingError",
    "Notification",
    "Notifications",
    "Observer",
    "OutOfMemoryError",
    "PermitHolder",
    "PermitWaiter",
    "Queue",
    "QueueInfo",
    "RWLock",
    "Register",
    "RegisterState",
    "ReplyError",
    "Ring",
    "Semaphore",
    "SemaphoreInfo",
    "ServerBusyError",
    "ServerError",
    "ServerLoadingError",
    "ServerMemoryError",
    "ServerReadOnlyError",
    "Signal",
    "Snapshot",
    "StaleError",
    "Stats",
    "Store",
    "SystemCallError",
    "TimeoutError",
    "Transaction",
    "UnknownOutcomeError",
    "UnsupportedError",
    "Waiter",
    "Worker",
    "WrongTypeError",
    "connect",
    "errors",
    "guard",
    "task",
    "wait_all",
    "wait_any",
]
