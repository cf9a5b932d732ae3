# SPDX-License-Identifier: MIT
"""The part of a client that the blocking and the asyncio package share."""

from __future__ import annotations

import os
import warnings
import weakref
from typing import TYPE_CHECKING, Any

from . import _core_log, _ffi, _fork, _interrupt, _open_clients, errors
from ._core import ffi, lib
from ._ffi import Seconds
from ._joined_members import JoinedMembers
from ._kept_holds import KeptHolds
from ._process_bound import ProcessBound
from .stats import Stats

if TYPE_CHECKING:
    from ._lease_base import LeaseBase
    from .group import MemberBase


_OFFERS = {
    "lock": lib.ILK_OFFER_LOCK,
    "rwlock": lib.ILK_OFFER_RWLOCK,
    "lock_many": lib.ILK_OFFER_MANY,
    "semaphore": lib.ILK_OFFER_SEMAPHORE,
    "election": lib.ILK_OFFER_ELECTION,
    "queue": lib.ILK_OFFER_QUEUE,
    "signal": lib.ILK_OFFER_SIGNAL,
    "event": lib.ILK_OFFER_EVENT,
    "barrier": lib.ILK_OFFER_BARRIER,
    "latch": lib.ILK_OFFER_LATCH,
    "guard": lib.ILK_OFFER_GUARD,
    "list": lib.ILK_OFFER_LIST,
    "recipes": lib.ILK_OFFER_RECIPES,
    "detach": lib.ILK_OFFER_DETACH,
    "group": lib.ILK_OFFER_GROUP,
    "register": lib.ILK_OFFER_REGISTER,
    "store": lib.ILK_OFFER_STORE,
    "kv": lib.ILK_OFFER_KV,
}

_warned = False


def _warn_of_embedded(stacklevel: int) -> None:
    """Warn once in a process that no URL was given, neither here nor outside."""
    global _warned
    if os.environ.get("INTERLOCK_URL") or _warned:
        return
    _warned = True
    warnings.warn(
        "no URL was given and INTERLOCK_URL is not set: an embedded server is used,"
        " which only processes of this user on this host share; the URL"
        " 'embedded://' says that this is meant",
        stacklevel=stacklevel + 1,
    )


class ClientBase(ProcessBound):
    """The methods of a client that send nothing to the server."""

    _instead = "give its URL to the other process, and connect there"

    def __init__(
        self,
        url: str | None,
        *,
        label: str | None,
        listen: str | None,
        connect_timeout: Seconds | None,
        reply_timeout: Seconds | None,
        outage_timeout: Seconds | None,
        protocol: int | None,
        embedded: bool,
        lazy: bool,
    ) -> None:
        shown = _ffi.c_string(label, "label")
        replicas = _ffi.c_string(listen, "listen")
        opts = ffi.new("ilk_client_opts *")
        lib.ilk_client_opts_init(opts, ffi.sizeof(opts[0]))
        opts.connect_timeout_ms = _ffi.lease_ms(connect_timeout, "connect_timeout")
        opts.reply_timeout_ms = _ffi.lease_ms(reply_timeout, "reply_timeout")
        if outage_timeout is not None:
            opts.outage_ms = _ffi.milliseconds(outage_timeout, "outage_timeout")
            if opts.outage_ms == 0:
                opts.flags |= lib.ILK_CLIENT_NO_OUTAGE_WAIT
        opts.label = shown
        opts.listen = replicas
        if protocol not in (None, 2, 3):
            raise errors.InvalidError(f"protocol must be 2 or 3, got {protocol!r}")
        opts.protocol = protocol or 0
        opts.interrupted = _interrupt.ask
        opts.flags |= (
            lib.ILK_CLIENT_TICK  # the system may deliver a signal to another thread
            | (lib.ILK_CLIENT_LAZY if lazy else 0)
            | (0 if embedded else lib.ILK_CLIENT_NO_EMBEDDED)
        )
        if url == "":  # most likely an unset variable; None means embedded
            raise errors.InvalidError("url is empty")
        _core_log.start()
        out = ffi.new("ilk_client **")
        _ffi.call(lib.ilk_client_open, out, _ffi.c_string(url, "url"), opts)
        if url is None:
            _warn_of_embedded(stacklevel=4)  # the caller of connect()
        self._handle = ffi.gc(out[0], lib.ilk_client_free)
        self._generation = _fork.generation
        self._closed = False
        self._handles: weakref.WeakValueDictionary[int, LeaseBase | MemberBase] = (
            weakref.WeakValueDictionary()
        )
        self._joined = JoinedMembers()
        self._kept = KeptHolds()
        _open_clients.add(self)

    def __del__(self) -> None:
        """Release what the client renews: nobody can reach it any more."""
        if not getattr(self, "_closed", True) and self._generation == _fork.generation:
            lib.ilk_client_close(self._handle, ffi.NULL)

    @property
    def closed(self) -> bool:
        """Whether ``close()`` was called."""
        return self._closed

    def stop(self) -> None:
        """End all waits of this client with CancelledError, until :meth:`resume`.

        A call that begins later and might wait ends at once, so it does not matter
        how early a signal handler stops the client. Calls that do not wait still
        work: ``release()``, ``ack()``, a timeout of 0 and others. Holds stay held. A
        forked child starts without the stop of its parent.

        >>> client.stop()
        >>> client.stopped
        True
        >>> client.resume()

        Blocks: no. Thread: any thread, and a signal handler.
        """
        lib.ilk_client_stop(self._handle)

    def resume(self) -> None:
        """End the effect of :meth:`stop`: calls wait again.

        Blocks: no. Thread: any thread, and a signal handler.
        """
        lib.ilk_client_resume(self._handle)

    @property
    def stopped(self) -> bool:
        """Whether :meth:`stop` was called, and :meth:`resume` was not."""
        return bool(lib.ilk_client_stopped(self._handle))

    def offers(self, what: str) -> bool:
        """Whether the store behind the URL can keep something.

        One Redis or Valkey server keeps everything. A handle that the store does not
        offer is refused with UnsupportedError, and so are ``detach()`` and ``adopt()``.

        >>> client.offers("queue")
        True

        :param what: ``"lock"``, ``"rwlock"``, ``"lock_many"``, ``"semaphore"``,
            ``"election"``, ``"queue"``, ``"signal"``, ``"event"``, ``"barrier"``,
            ``"latch"``, ``"group"``, ``"guard"``, ``"list"``, ``"recipes"``,
            ``"register"``, ``"store"``, ``"kv"``, or ``"detach"`` for holds that outlive
            their client: detached and adopted ones
        :raises ValueError: for another text

        Blocks: no. Thread: any thread.
        """
        if what not in _OFFERS:
            raise ValueError(f"what must be one of {', '.join(_OFFERS)}, got {what!r}")
        return bool(lib.ilk_client_offers(self._live(), _OFFERS[what]))

    def stats(self) -> Stats:
        """The client's counters, and the nodes of a quorum.

        Blocks: no. Thread: any thread.
        """
        return Stats.read(self._live())

    @property
    def id(self) -> str:
        """The client's identity, 16 hexadecimal digits."""
        return _ffi.text(lib.ilk_client_id(self._live()))

    @property
    def url(self) -> str:
        """The URL in use, without the password."""
        return _ffi.text(lib.ilk_client_url(self._handle))

    def __repr__(self) -> str:
        state = " closed" if self._closed else ""
        return f"<interlock.Client {self.url}{state}>"

    def _live(self) -> Any:
        """The C handle, after the client has handled a fork."""
        raise NotImplementedError
