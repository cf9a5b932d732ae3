# SPDX-License-Identifier: MIT
"""What can go wrong: one exception for each status of the C core.

Every exception carries ``code``, the number, and ``status``, its name, such
as ``ILK_ELOST``. All of them derive from :class:`Error`; those that have a
builtin counterpart derive from that one too, so ``except TimeoutError`` works
with and without the import.
"""

from __future__ import annotations

import builtins
import threading
from typing import ClassVar

from ._core import ffi, lib


def _name_of(code: int) -> str:
    return str(ffi.string(lib.ilk_status_name(code)).decode("ascii"))


class Error(Exception):
    """Something that interlock could not do."""

    #: The status that the class stands for.
    default_code: ClassVar[int] = lib.ILK_ESERVER

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        self.code: int = self.default_code

    @property
    def status(self) -> str:
        """The name of the code, such as ``ILK_ELOST``."""
        return _name_of(self.code)


class InvalidError(Error, ValueError):
    """An argument is not acceptable."""

    default_code = lib.ILK_EINVAL


class OutOfMemoryError(Error, MemoryError):
    """This process is out of memory."""

    default_code = lib.ILK_ENOMEM


class SystemCallError(Error, OSError):
    """The operating system refused something."""

    default_code = lib.ILK_ESYSTEM


class TimeoutError(Error, builtins.TimeoutError):
    """The time given ran out."""

    default_code = lib.ILK_ETIMEOUT


class BusyError(TimeoutError):
    """Held elsewhere, and the call was to try once."""

    default_code = lib.ILK_EBUSY


class InterruptedError(Error, builtins.InterruptedError):
    """A signal ended a wait."""

    default_code = lib.ILK_EINTR


class CancelledError(Error):
    """The wait was cancelled by ``cancel()`` on its handle."""

    default_code = lib.ILK_ECANCELLED


class LostError(Error):
    """It was ours and no longer is."""

    default_code = lib.ILK_ELOST


class NotOwnedError(Error):
    """The handle holds nothing."""

    default_code = lib.ILK_ENOTOWNER


class HeldError(Error):
    """The handle holds or waits already."""

    default_code = lib.ILK_EHELD


class StaleError(Error):
    """A newer fence was seen: the call is refused."""

    default_code = lib.ILK_ESTALE


class NoQuorumError(Error):
    """Too few servers agreed."""

    default_code = lib.ILK_ENOQUORUM


class UnknownOutcomeError(Error):
    """The request may or may not have taken effect."""

    default_code = lib.ILK_EUNKNOWN


class ForkedError(Error):
    """The handle was held or awaited by the parent process."""

    default_code = lib.ILK_EFORKED


class ClosedError(Error):
    """The client was closed."""

    default_code = lib.ILK_ECLOSED


class NothingError(Error):
    """There is nothing to fetch at the moment."""

    default_code = lib.ILK_EAGAIN


class ConnectionError(Error, builtins.ConnectionError):
    """The server cannot be reached."""

    default_code = lib.ILK_ECONN


class ServerError(Error):
    """The server answered an error."""

    default_code = lib.ILK_ESERVER


class AuthError(ServerError):
    """The server refuses this user, or a right that is missing."""

    default_code = lib.ILK_EAUTH


class WrongTypeError(ServerError):
    """The key holds another type or layout."""

    default_code = lib.ILK_ETYPE


class ReplyError(ServerError):
    """The server's answer makes no sense."""

    default_code = lib.ILK_EREPLY


class ServerBusyError(ServerError):
    """The server is busy with a script."""

    default_code = lib.ILK_ESERVERBUSY


class ServerLoadingError(ServerError):
    """The server is loading its data."""

    default_code = lib.ILK_ESERVERLOADING


class ServerReadOnlyError(ServerError):
    """The server takes no writes."""

    default_code = lib.ILK_ESERVERREADONLY


class ServerMemoryError(ServerError):
    """The server is out of memory."""

    default_code = lib.ILK_ESERVERMEMORY


class ClusterError(ServerError):
    """The server is part of a cluster, which is not supported yet."""

    default_code = lib.ILK_ECLUSTER


class DiffersError(Error):
    """It exists, set up in another way: another limit, order or number."""

    default_code = lib.ILK_EDIFFERS


class BrokenError(Error, threading.BrokenBarrierError):
    """A round of a barrier broke: one of its parties is gone."""

    default_code = lib.ILK_EBROKEN


def _table() -> dict[int, type[Error]]:
    """The class of each status: the one whose default code it is."""
    table: dict[int, type[Error]] = {}
    waiting: list[type[Error]] = list(Error.__subclasses__())
    while waiting:
        kind = waiting.pop()
        table[kind.default_code] = kind
        waiting.extend(kind.__subclasses__())
    return table


BY_CODE = _table()


def from_status(code: int, text: str = "") -> Error:
    """The exception for a status; a code this version does not know is an Error."""
    if not text:
        text = ffi.string(lib.ilk_strerror(code)).decode("utf-8", "replace")
    error = BY_CODE.get(code, Error)(text)
    error.code = code
    return error
