# SPDX-License-Identifier: MIT
"""Locks and semaphores that many processes share through one Redis or Valkey server.

>>> with connect(url) as client:
...     with client.lock("orders", ttl=10) as lock:
...         lock.held
True
"""

from __future__ import annotations

import logging

try:
    from ._core import ffi as _ffi_module
except ImportError as _failure:
    if "subinterpreter" not in str(_failure):
        raise
    raise ImportError(
        "interlock works in the main interpreter only, because its C module needs"
        f" cffi: {_failure}"
    ) from _failure

from . import errors, guard, recipes, server
from ._core import lib as _lib
from .barrier import Barrier, BarrierInfo
from .client import Client, connect
from .election import Election, Leader, Leadership, Observer
from .errors import (
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
from .event import Event, EventState
from .group import Group, GroupChange, GroupRing, GroupWatch, Member
from .inspect import Holder, Info, Waiter
from .job import Batch, Job
from .kv import KV, KVEntry, KVProgress
from .latch import Latch, LatchInfo
from .lock import Lock
from .lock_many import LockMany
from .notifications import Notification, Notifications
from .queue import Queue, QueueInfo
from .register import Register, RegisterState
from .ring import Ring
from .rwlock import RWLock
from .semaphore import PermitHolder, PermitWaiter, Semaphore, SemaphoreInfo
from .signal import Signal, wait_all, wait_any
from .stats import NodeStats, Stats
from .store import Snapshot, Store, Transaction
from .worker import Worker, task

logging.getLogger("interlock").addHandler(logging.NullHandler())

__version__: str = _ffi_module.string(_lib.ilk_version()).decode("ascii")

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
    "recipes",
    "server",
    "task",
    "wait_all",
    "wait_any",
]
