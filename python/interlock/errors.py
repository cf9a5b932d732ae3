# SPDX-License-Identifier: MIT
"""The exceptions: one for each status of the C core.

Every exception has ``code``, the number of its status, and ``status``, the name
of it, such as ``ILK_ELOST``. All of them derive from :class:`Error`; those that
have a builtin counterpart derive from that one too, so ``except TimeoutError``
works with and without the import.
"""

from __future__ import annotations

import builtins
import threading
from typing import ClassVar

from ._core import ffi, lib


def _name_of(code: int) -> str:
    return str(ffi.string(lib.ilk_status_name(code)).decode("ascii"))


class Error(Exception):
    """The base class of all errors of interlock."""

    #: The status of the class.
    default_code: ClassVar[int] = lib.ILK_ESERVER

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        self.code: int = self.default_code

    @property
    def status(self) -> str:
        """The name of the code, such as ``ILK_ELOST``."""
        return _name_of(self.code)


class InvalidError(Error, ValueError):
    """An argument is invalid."""

    default_code: ClassVar[int] = lib.ILK_EINVAL


class OutOfMemoryError(Error, MemoryError):
    """This process is out of memory."""

    default_code: ClassVar[int] = lib.ILK_ENOMEM


class SystemCallError(Error, OSError):
    """A system call failed."""

    default_code: ClassVar[int] = lib.ILK_ESYSTEM


class TimeoutError(Error, builtins.TimeoutError):
    """The time ran out."""

    default_code: ClassVar[int] = lib.ILK_ETIMEOUT


class BusyError(TimeoutError):
    """Another owner holds it, and the call tried only once."""

    default_code: ClassVar[int] = lib.ILK_EBUSY


class InterruptedError(Error, builtins.InterruptedError):
    """A signal interrupted a wait."""

    default_code: ClassVar[int] = lib.ILK_EINTR


class CancelledError(Error):
    """``cancel()`` on the handle, or ``stop()`` on the client, ended the wait."""

    default_code: ClassVar[int] = lib.ILK_ECANCELLED


class LostError(Error):
    """The hold was lost: its lease ended, or an operator broke it."""

    default_code: ClassVar[int] = lib.ILK_ELOST


class NotOwnedError(Error, RuntimeError):
    """The handle holds nothing."""

    default_code: ClassVar[int] = lib.ILK_ENOTOWNER


class HeldError(Error, RuntimeError):
    """The handle holds or waits already, or a collected object of the client holds.

    Or a group has a member with this id.
    """

    default_code: ClassVar[int] = lib.ILK_EHELD

    #: The token of a hold whose object was collected; ``adopt()`` takes it back.
    token: str | None = None


class StaleError(Error):
    """A greater fence, or another version, is on record, so the call is refused."""

    default_code: ClassVar[int] = lib.ILK_ESTALE


class NoQuorumError(Error):
    """Too few servers agreed."""

    default_code: ClassVar[int] = lib.ILK_ENOQUORUM


class UnknownOutcomeError(Error):
    """The request may or may not have taken effect."""

    default_code: ClassVar[int] = lib.ILK_EUNKNOWN

    #: Of a transaction: what ``store.outcome()`` takes.
    txid: str | None = None


class ForkedError(Error, RuntimeError):
    """The handle was held or awaited by the parent process."""

    default_code: ClassVar[int] = lib.ILK_EFORKED


class ClosedError(Error, RuntimeError):
    """The client was closed."""

    default_code: ClassVar[int] = lib.ILK_ECLOSED


class NothingError(Error):
    """There is nothing to fetch at the moment."""

    default_code: ClassVar[int] = lib.ILK_EAGAIN


class ConnectionError(Error, builtins.ConnectionError):
    """The server cannot be reached."""

    default_code: ClassVar[int] = lib.ILK_ECONN


class ServerError(Error):
    """The server replied with an error."""

    default_code: ClassVar[int] = lib.ILK_ESERVER


class AuthError(ServerError):
    """The server rejects this user, or the user lacks a right."""

    default_code: ClassVar[int] = lib.ILK_EAUTH


class WrongTypeError(ServerError):
    """The key has another type or layout."""

    default_code: ClassVar[int] = lib.ILK_ETYPE


class ReplyError(ServerError):
    """The server's reply is malformed."""

    default_code: ClassVar[int] = lib.ILK_EREPLY


class ServerBusyError(ServerError):
    """The server is busy with a script."""

    default_code: ClassVar[int] = lib.ILK_ESERVERBUSY


class ServerLoadingError(ServerError):
    """The server is loading its data."""

    default_code: ClassVar[int] = lib.ILK_ESERVERLOADING


class ServerReadOnlyError(ServerError):
    """The server accepts no writes."""

    default_code: ClassVar[int] = lib.ILK_ESERVERREADONLY


class ServerMemoryError(ServerError):
    """The server is out of memory."""

    default_code: ClassVar[int] = lib.ILK_ESERVERMEMORY


class ClusterError(ServerError):
    """The server is part of a cluster, which needs a ``redis+cluster://`` URL."""

    default_code: ClassVar[int] = lib.ILK_ECLUSTER


class DiffersError(Error):
    """The object exists with another limit, order, count or number of parties."""

    default_code: ClassVar[int] = lib.ILK_EDIFFERS


class BrokenError(Error, threading.BrokenBarrierError):
    """A round of a barrier broke: a party has gone, or the barrier was reset."""

    default_code: ClassVar[int] = lib.ILK_EBROKEN


class UnsupportedError(Error, NotImplementedError):
    """The store behind the URL does not offer it; see :meth:`Client.offers`."""

    default_code: ClassVar[int] = lib.ILK_EUNSUPPORTED


class ConflictError(Error):
    """A transaction came too late: another one was first. Nothing is written."""

    default_code: ClassVar[int] = lib.ILK_ECONFLICT


def _table() -> dict[int, type[Error]]:
    """Map each status to the class that has it as default code."""
    table: dict[int, type[Error]] = {}
    waiting: list[type[Error]] = list(Error.__subclasses__())
    while waiting:
        kind = waiting.pop()
        table[kind.default_code] = kind
        waiting.extend(kind.__subclasses__())
    return table


BY_CODE = _table()


def from_status(code: int, text: str = "") -> Error:
    """Return the exception for a status; an unknown one gives an Error."""
    if not text:
        text = ffi.string(lib.ilk_strerror(code)).decode("utf-8", "replace")
    error = BY_CODE.get(code, Error)(text)
    error.code = code
    return error
