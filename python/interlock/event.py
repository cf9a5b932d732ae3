# SPDX-License-Identifier: MIT
"""The event: it stays set, so that a late waiter does not wait for ever."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _ffi, errors
from ._core import ffi, lib
from ._ffi import OK, Name, Seconds
from ._handle_pool import PooledHandle
from ._state import State

if TYPE_CHECKING:
    from ._client_base import ClientBase


class EventState(NamedTuple):
    """The state of an event at one moment."""

    is_set: bool
    generation: int  #: rises with each set and clear; 0 when none is on record
    data: bytes  #: the data of the last set; b"" when the event is clear


class EventBase(PooledHandle):
    """The part of an event that the blocking and the asyncio package share."""

    _type = "ilk_event"
    _free = lib.ilk_event_free
    _cancel = lib.ilk_event_cancel

    def __init__(self, client: ClientBase, name: Name, ttl: Seconds | None) -> None:
        opts = ffi.new("ilk_event_opts *")
        lib.ilk_event_opts_init(opts, ffi.sizeof(opts[0]))
        opts.ttl_ms = _ffi.lease_ms(ttl)
        self._seen = threading.local()
        super().__init__(client, name, lib.ilk_event_open, opts)

    @property
    def generation(self) -> int:
        """The generation that was last read here; 0 before the first call."""
        return self._last_state().generation

    @property
    def data(self) -> bytes:
        """The data that was last read here; b"" when the event was clear."""
        return self._last_state().data

    def _last_state(self) -> EventState:
        seen: EventState = getattr(self._seen, "state", EventState(False, 0, b""))
        return seen

    def _read_state(self, handle: Any) -> EventState:
        length = ffi.new("size_t *")
        data = lib.ilk_event_data(handle, length)
        state = EventState(
            is_set=bool(lib.ilk_event_is_set(handle)),
            generation=int(lib.ilk_event_generation(handle)),
            data=bytes(ffi.buffer(data, length[0])),
        )
        self._seen.state = state
        return state

    def _checked_generation(self, generation: int) -> int:
        """Check the generation that a wait has to exceed."""
        if isinstance(generation, bool) or not isinstance(generation, int):
            raise TypeError(f"generation must be int, got {type(generation).__name__}")
        if not 0 <= generation < 2**53:
            raise errors.InvalidError(
                f"generation must be from 0 to 2**53 - 1, got {generation}"
            )
        return generation


class Event(EventBase, State):
    """An event for all processes; made by ``client.event()``.

    As ``threading.Event``, with data and a generation. Each set, and each clear of
    a set event, increases the generation.

    >>> ready = client.event("ready")
    >>> ready.wait(timeout=0)
    False
    >>> generation = ready.set(b"version 7")
    >>> client.event("ready").wait(), client.event("ready").read().data
    (True, b'version 7')
    >>> ready.clear() > generation
    True

    Thread: any thread; ``generation`` and ``data`` are those that the calling
    thread has last read.
    """

    def set(self, data: str | bytes = b"") -> int:
        """Set the event, with up to 1 MiB of data, and wake all waiters.

        Returns the generation. Another set replaces the data and increases the
        generation.

        Raises: InvalidError, AuthError (set, but this user may not PUBLISH to the
        waiters), UnknownOutcomeError. Blocks: one round trip.
        Thread: any thread.
        """
        raw = _ffi.name_bytes(data, "data")
        with self._handle() as handle:
            _ffi.call(lib.ilk_event_set, handle, raw, len(raw))
            return self._read_state(handle).generation

    def clear(self) -> int:
        """Clear the event and remove its data; a clear event stays as it is.

        Returns the generation. Raises: AuthError as ``set()``,
        UnknownOutcomeError. Blocks: one round trip. Thread: any thread.
        """
        with self._handle() as handle:
            _ffi.call(lib.ilk_event_clear, handle)
            return self._read_state(handle).generation

    def read(self) -> EventState:
        """Read the state from the server.

        Raises: ConnectionError and the server's errors.
        Blocks: one round trip. Thread: any thread.
        """
        with self._handle() as handle:
            _ffi.call(lib.ilk_event_read, handle)
            return self._read_state(handle)

    def is_set(self) -> bool:
        """Ask the server whether the event is set.

        Raises: as ``read()``. Blocks: one round trip. Thread: any thread.
        """
        return self.read().is_set

    def wait(self, timeout: Seconds | None = None) -> bool:
        """Wait until the event is set; returns True at once when it is.

        ``timeout`` is in seconds; None waits for ever, 0 checks once. Returns
        False when the time ran out; ``data`` is the data that it was set with,
        b"" if it was cleared again at once: a set ends every wait that has begun.

        Raises: CancelledError, ClosedError, ForkedError, ConnectionError and
        the server's errors. Blocks: yes; ended by a signal handler that
        raises, by ``client.stop()`` and ``client.close()``. Thread: any thread.
        """
        with self._handle() as handle:
            status = self._wait(handle, lib.ilk_event_wait, timeout)
            self._read_state(handle)
            return status == OK

    def wait_change(
        self, generation: int, timeout: Seconds | None = None
    ) -> EventState | None:
        """Wait until the generation is greater than ``generation``.

        Returns the state by then, at once when it is greater already; of several
        quick changes only the last is seen. Returns None when the time ran out.

        >>> light = client.event("light")
        >>> known = light.set(b"green")
        >>> light.clear() > known
        True
        >>> light.wait_change(known).is_set
        False
        >>> light.wait_change(light.generation, timeout=0.01) is None
        True

        Raises: InvalidError, and as ``wait()``. Blocks: as ``wait()``.
        Thread: any thread.
        """
        known = self._checked_generation(generation)
        with self._handle() as handle:
            change = lib.ilk_event_wait_change
            status = self._wait(handle, change, timeout, before=(known,))
            seen = self._read_state(handle)
            return seen if status == OK else None
