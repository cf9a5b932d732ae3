# SPDX-License-Identifier: MIT
"""Waiting for a signal, and giving it: to one who waits, or to all."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Callable, cast

from . import _ffi, _fork, _greenlets
from ._core import ffi, lib
from ._ffi import EINTR, OK, Name
from ._signal_base import ReceivedSignal, SignalBase, payload, received

if TYPE_CHECKING:
    from .client import Client

NONE_CAME = (lib.ILK_ETIMEOUT, lib.ILK_EINTR)

_guard = _fork.Guard()  # of all signals' sets of handles


class Signal(SignalBase):
    """The signals of one name, or of a pattern; made by ``client.signal()``.

    A signal is of the moment: who waits gets it, and the giver is told how
    many that were. One that is given to one goes to whoever has waited
    longest, and is heard exactly once; a wait whose time runs out while it is
    on its way returns it. Each thread that waits is a wait of its own.

    >>> ready = client.signal("ready")
    >>> ready.notify_all(b"nobody waits")
    0
    >>> ready.wait(timeout=0.01) is None
    True

    Thread: any thread.
    """

    def __init__(
        self, client: Client, name: Name | None, pattern: Name | None = None
    ) -> None:
        super().__init__(client, name, pattern)
        self._own = threading.local()  # a C handle is for one thread at a time
        self._handles: weakref.WeakSet[Any] = weakref.WeakSet()  # of all threads
        self._open()

    def wait(self, timeout: float | None = None) -> bytes | None:
        """What the next signal carries; None when none came in time.

        ``timeout`` is in seconds; None waits for ever, 0 does not wait.

        Raises: CancelledError, ClosedError, ForkedError, ConnectionError,
        AuthError, WrongTypeError and the server's conditions.
        Blocks: yes; ended by a signal handler that raises, ``cancel()`` and
        ``client.close()``. Thread: any thread.
        """
        came = _wait([self], timeout, lib.ilk_signal_wait)
        return None if came is None else came[0][2]

    def receive(self, timeout: float | None = None) -> tuple[bytes, bytes] | None:
        """As :meth:`wait`, with the name under which it was given.

        Of interest to who listens to a pattern.

        >>> jobs = client.signal(pattern="jobs.*")
        >>> jobs.receive(timeout=0.01) is None
        True

        Raises, Blocks, Thread: as :meth:`wait`.
        """
        came = _wait([self], timeout, lib.ilk_signal_wait)
        return None if came is None else came[0][1:]

    def listen(self) -> None:
        """Begin to wait: a signal from now on is kept for the next ``wait()``.

        For those who look at something first and wait only if they must.
        One signal ends it; ``cancel()`` gives it up. It is this thread's.

        >>> ready = client.signal("ready")
        >>> ready.listen()
        >>> client.signal("ready").notify_all(b"now")
        1
        >>> ready.wait(timeout=1)
        b'now'

        Raises: as :meth:`wait`. Blocks: one round trip. Thread: any thread.
        """
        handle, err = self._live(), _ffi.new_error()
        while (status := lib.ilk_signal_listen(handle, err)) == EINTR:
            pass  # a signal handler may raise here
        _ffi.check(status, err)

    def notify_one(self, data: bytes = b"") -> int:
        """Signal the one who has waited longest; 1, or 0 when nobody waits.

        ``data`` is up to 1 MiB.

        Raises: InvalidError, UnknownOutcomeError when there was no answer (it
        may have been given, once), AuthError, ConnectionError.
        Blocks: one round trip. Thread: any thread.
        """
        return self._notify(lib.ilk_signal_notify_one, data)

    def notify_all(self, data: bytes = b"") -> int:
        """Signal all who wait; how many were reached.

        Each client that listens to a pattern of this name counts as one more.
        Raises, Blocks, Thread: as :meth:`notify_one`.
        """
        return self._notify(lib.ilk_signal_notify_all, data)

    def cancel(self) -> None:
        """End the waits of all threads: they get CancelledError.

        Blocks: no. Thread: any thread.
        """
        self._client._live()
        with _guard:
            handles = list(self._handles)
        for handle in handles:
            _ffi.call(lib.ilk_signal_cancel, handle)

    @property
    def client(self) -> Client:
        """The client that it was made from."""
        return cast("Client", self._client)

    def _notify(self, function: Callable[..., int], data: bytes) -> int:
        raw = payload(data)
        reached = ffi.new("int64_t *")
        _ffi.call(function, reached, self._live(), raw, len(raw))
        return int(reached[0])

    def _open(self) -> Any:
        """A handle for this thread."""
        handle = self._new()
        self._own.handle = handle
        with _guard:
            self._handles.add(handle)
        return handle

    def _live(self) -> Any:
        """This thread's handle, after the client has noticed a fork."""
        self._client._live()
        handle = getattr(self._own, "handle", None)
        return self._open() if handle is None else handle


def wait_any(
    signals: Iterable[Signal], timeout: float | None = None
) -> tuple[Signal, bytes] | None:
    """Wait for a signal of any one of several; which, and what it carries.

    Up to 64 signals of one client, of different names, no patterns. The wait
    leaves all their lists with the first signal; one that another list sent
    to it alone at that moment is passed on. ``cancel()`` of the first ends it.

    >>> stop, go = client.signal("stop"), client.signal("go")
    >>> wait_any([stop, go], timeout=0.01) is None
    True

    Raises, Blocks: as :meth:`Signal.wait`; InvalidError for signals that do
    not go together. Thread: any thread.
    """
    given = list(signals)
    came = _wait(given, timeout, lib.ilk_signal_wait_any)
    return None if came is None else (given[came[0][0]], came[0][2])


def wait_all(
    signals: Iterable[Signal], timeout: float | None = None
) -> dict[Signal, bytes] | None:
    """Wait until each of several has got a signal; what each carries.

    The first one of each counts. When the time runs out before, those that
    were sent to this wait alone are passed on.

    Raises, Blocks, Thread: as :func:`wait_any`.
    """
    given = list(signals)
    came = _wait(given, timeout, lib.ilk_signal_wait_all)
    return None if came is None else {given[i]: data for i, _, data in came}


def _wait(
    signals: list[Signal], timeout: float | None, function: Callable[..., int]
) -> list[ReceivedSignal] | None:
    """Which of them, under which name, with which data; None: not in time."""
    limit = _ffi.timeout_ms(timeout)
    for signal in signals:
        if not isinstance(signal, Signal):
            raise TypeError(f"not a Signal: {signal!r}")
    handles = [signal._live() for signal in signals]
    first = handles[0] if handles else ffi.NULL
    array = ffi.new("ilk_signal *[]", handles or [ffi.NULL])
    out, err = ffi.new("ilk_arrival **"), _ffi.new_error()

    def wait(_: Any, left: int, err: Any) -> int:
        if function is lib.ilk_signal_wait:
            return int(function(out, first, left, err))
        return int(function(out, array, len(handles), left, err))

    def abandon() -> None:
        lib.ilk_signal_cancel(first, ffi.NULL)

    in_thread = None
    if limit != 0 and ("gevent" in sys.modules or "eventlet" in sys.modules):
        in_thread = _greenlets.runner(abandon)
    try:
        status = _ffi.call_blocking(wait, first, limit, (), err, in_thread)
        if status == EINTR:  # to the very end: has one come meanwhile?
            status = wait(first, 0, err)
    except BaseException:
        abandon()
        lib.ilk_arrival_free(out[0])
        raise
    if status == OK:
        return received(ffi.gc(out[0], lib.ilk_arrival_free))
    if status == EINTR:
        abandon()
    if status in NONE_CAME:
        return None
    raise _ffi.failure(status, err)


def inspect(client: Client, name: Name) -> int:
    """See :meth:`Client.inspect_signal`."""
    raw = _ffi.name_bytes(name)
    waiting = ffi.new("int64_t *")
    _ffi.call(lib.ilk_signal_inspect, client._live(), raw, len(raw), waiting)
    return int(waiting[0])
