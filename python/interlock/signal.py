# SPDX-License-Identifier: MIT
"""Signals: wait for one, or send one to a single waiter or to all."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Callable, cast

from . import _ffi, _fork, _greenlets, _interrupt
from ._core import ffi, lib
from ._ffi import EINTR, OK, Name, Seconds
from ._signal_base import ReceivedSignal, SignalBase, payload, received

if TYPE_CHECKING:
    from .client import Client

TIMEOUT_STATUSES = (lib.ILK_ETIMEOUT, lib.ILK_EINTR)

_guard = _fork.Guard()  # protects the sets of handles of all signals


class Signal(SignalBase):
    """The signals of one name, or of a pattern; made by ``client.signal()``.

    Only those that wait at the moment receive a signal; the sender gets their
    number. ``notify_one()`` selects the waiter that has waited longest, which
    receives the signal once; a wait whose time runs out while the signal is on its
    way returns it. The next waiter gets it when the process of the first one died
    or was silent for 6 s. Each thread that waits is a wait of its own.

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
        self._own = threading.local()  # one thread at a time may use a C handle
        self._handles: weakref.WeakSet[Any] = weakref.WeakSet()  # of all threads
        self._open()

    def wait(self, timeout: Seconds | None = None) -> bytes | None:
        """Wait for a signal; returns its data, or None when none arrived in time.

        ``timeout`` is in seconds; None waits for ever, 0 returns only a signal
        that arrived since ``listen()``.

        Raises: CancelledError, ClosedError, ForkedError, ConnectionError,
        AuthError, WrongTypeError and the server's errors.
        Blocks: yes; ended by a signal handler that raises, ``cancel()``,
        ``client.stop()`` and ``client.close()``. Thread: any thread.
        """
        arrived = _wait([self], timeout, lib.ilk_signal_wait)
        return None if arrived is None else arrived[0][2]

    def receive(self, timeout: Seconds | None = None) -> tuple[bytes, bytes] | None:
        """As :meth:`wait`, but returns the signal's name with its data.

        The name matters when the signal was opened with a pattern.

        >>> jobs = client.signal(pattern="jobs.*")
        >>> jobs.receive(timeout=0.01) is None
        True

        Raises, Blocks, Thread: as :meth:`wait`.
        """
        arrived = _wait([self], timeout, lib.ilk_signal_wait)
        return None if arrived is None else arrived[0][1:]

    def listen(self) -> None:
        """Begin to wait: a signal from now on is kept for the next ``wait()``.

        It is for programs that check a condition first and wait only if they
        must. One signal ends it; ``cancel()`` gives it up. It belongs to the
        calling thread.

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
            _interrupt.check()  # a signal handler has raised, or raises here
        _ffi.check(status, err)

    def notify_one(self, data: bytes = b"") -> int:
        """Signal the first in the wait queue; returns 1, or 0 when nobody waits.

        ``data`` is up to 1 MiB.

        Raises: InvalidError, UnknownOutcomeError when no reply arrived (the signal
        may have been delivered, once), AuthError, ConnectionError.
        Blocks: one round trip. Thread: any thread.
        """
        return self._notify(lib.ilk_signal_notify_one, data)

    def notify_all(self, data: bytes = b"") -> int:
        """Signal all waiters; returns how many were reached.

        Each client that listens to a pattern of this name counts as one more.

        Raises: as :meth:`notify_one`; after UnknownOutcomeError some or all may have
        been reached.
        Blocks: one round trip; one for each 128 waiters when they are of more than 128
        clients. Thread: any thread.
        """
        return self._notify(lib.ilk_signal_notify_all, data)

    def cancel(self) -> None:
        """Cancel the waits of all threads: they raise CancelledError.

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
        """Open a C handle for this thread."""
        handle = self._new()
        self._own.handle = handle
        with _guard:
            self._handles.add(handle)
        return handle

    def _live(self) -> Any:
        """This thread's C handle, after the client has handled a fork."""
        self._client._live()
        handle = getattr(self._own, "handle", None)
        return self._open() if handle is None else handle


def wait_any(
    signals: Iterable[Signal], timeout: Seconds | None = None
) -> tuple[Signal, bytes] | None:
    """Wait for a signal of any of several; returns that one, and its data.

    Up to 64 signals of one client, of different names, no patterns. The first
    signal ends the wait for all names; a signal that ``notify_one()`` of another
    name delivers to this wait at that moment is passed on. ``cancel()`` of the
    first ends the wait. Returns None when the time ran out.

    >>> stop, go = client.signal("stop"), client.signal("go")
    >>> wait_any([stop, go], timeout=0.01) is None
    True

    Raises, Blocks: as :meth:`Signal.wait`; InvalidError for signals that do
    not go together. Thread: any thread.
    """
    given = list(signals)
    arrived = _wait(given, timeout, lib.ilk_signal_wait_any)
    return None if arrived is None else (given[arrived[0][0]], arrived[0][2])


def wait_all(
    signals: Iterable[Signal], timeout: Seconds | None = None
) -> dict[Signal, bytes] | None:
    """Wait until each of several has received a signal; returns their data.

    The first signal of each name counts. Returns None when the time ran out;
    signals that were delivered to this wait alone are then passed on.

    Raises, Blocks, Thread: as :func:`wait_any`.
    """
    given = list(signals)
    arrived = _wait(given, timeout, lib.ilk_signal_wait_all)
    return None if arrived is None else {given[i]: data for i, _, data in arrived}


def _wait(
    signals: list[Signal], timeout: Seconds | None, function: Callable[..., int]
) -> list[ReceivedSignal] | None:
    """Return the index, name and data of each signal; None after a timeout."""
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
        if status == EINTR:  # the time is up: check once more for a signal
            status = wait(first, 0, err)
    except BaseException:
        abandon()
        lib.ilk_arrival_free(out[0])
        raise
    if status == OK:
        return received(ffi.gc(out[0], lib.ilk_arrival_free))
    if status == EINTR:
        abandon()
    if status in TIMEOUT_STATUSES:
        return None
    raise _ffi.failure(status, err)


def inspect(client: Client, name: Name) -> int:
    """See :meth:`Client.inspect_signal`."""
    raw = _ffi.name_bytes(name)
    waiting = ffi.new("int64_t *")
    _ffi.call(lib.ilk_signal_inspect, client._live(), raw, len(raw), waiting)
    return int(waiting[0])
