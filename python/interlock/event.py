# SPDX-License-Identifier: MIT
"""An event that stays set, so that who comes late does not wait for ever."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _ffi, errors
from ._core import ffi, lib
from ._ffi import OK, Name
from ._handle_pool import PooledHandle
from ._state import State

if TYPE_CHECKING:
    from ._client_base import ClientBase


class EventState(NamedTuple):
    """How an event stood when it was looked at."""

    is_set: bool
    generation: int  #: greater after each set and clear; 0 when none is on record
    data: bytes  #: of the last set; b"" when it is clear


class AnyEvent(PooledHandle):
    """What an event is on either face."""

    _type = "ilk_event"
    _free = lib.ilk_event_free
    _cancel = lib.ilk_event_cancel

    def __init__(self, client: ClientBase, name: Name, ttl: float | None) -> None:
        opts = ffi.new("ilk_event_opts *")
        lib.ilk_event_opts_init(opts, ffi.sizeof(opts[0]))
        opts.ttl_ms = _ffi.lease_ms(ttl)
        self._seen = threading.local()
        super().__init__(client, name, lib.ilk_event_open, opts)

    @property
    def generation(self) -> int:
        """The generation that was last seen here; 0 before the first look."""
        return self._last().generation

    @property
    def data(self) -> bytes:
        """The data that were last seen here; b"" when it was clear."""
        return self._last().data

    def _last(self) -> EventState:
        seen: EventState = getattr(self._seen, "state", EventState(False, 0, b""))
        return seen

    def _see(self, handle: Any) -> EventState:
        length = ffi.new("size_t *")
        data = lib.ilk_event_data(handle, length)
        state = EventState(
            is_set=bool(lib.ilk_event_is_set(handle)),
            generation=int(lib.ilk_event_generation(handle)),
            data=bytes(ffi.buffer(data, length[0])),
        )
        self._seen.state = state
        return state

    def _known(self, generation: int) -> int:
        """The generation that a wait is to go beyond, when it can be one."""
        if isinstance(generation, bool) or not isinstance(generation, int):
            raise TypeError(f"generation must be int, got {type(generation).__name__}")
        if not 0 <= generation < 2**53:
            raise errors.InvalidError(
                f"generation must be from 0 to 2**53 - 1, got {generation}"
            )
        return generation


class Event(AnyEvent, State):
    """An event for all processes; made by ``client.event()``.

    As ``threading.Event``, with data and a generation. Every set, and every
    clear of a set event, gives it a greater generation.

    >>> ready = client.event("ready")
    >>> ready.wait(timeout=0)
    False
    >>> generation = ready.set(b"version 7")
    >>> client.event("ready").wait(), client.event("ready").read().data
    (True, b'version 7')
    >>> ready.clear() > generation
    True

    Thread: any thread; ``generation`` and ``data`` are what the calling
    thread has last seen.
    """

    def set(self, data: str | bytes = b"") -> int:
        """Set it, with up to 1 MiB of data, and wake all who wait.

        Answers the generation. Set again, it has the new data and a greater
        generation.

        Raises: InvalidError, AuthError (set, but this user may not wake those
        who wait), UnknownOutcomeError. Blocks: one round trip.
        Thread: any thread.
        """
        raw = _ffi.name_bytes(data, "data")
        with self._handle() as handle:
            _ffi.call(lib.ilk_event_set, handle, raw, len(raw))
            return self._see(handle).generation

    def clear(self) -> int:
        """Clear it and forget its data; a clear one stays as it is.

        Answers the generation. Raises: AuthError as ``set()``,
        UnknownOutcomeError. Blocks: one round trip. Thread: any thread.
        """
        with self._handle() as handle:
            _ffi.call(lib.ilk_event_clear, handle)
            return self._see(handle).generation

    def read(self) -> EventState:
        """Ask how it stands.

        Raises: ConnectionError and the server's conditions.
        Blocks: one round trip. Thread: any thread.
        """
        with self._handle() as handle:
            _ffi.call(lib.ilk_event_read, handle)
            return self._see(handle)

    def is_set(self) -> bool:
        """Ask whether it is set.

        Raises: as ``read()``. Blocks: one round trip. Thread: any thread.
        """
        return self.read().is_set

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set; True at once when it is.

        ``timeout`` is in seconds; None waits for ever, 0 looks once. Answers
        False when the time ran out; ``data`` is what it was set with.

        Raises: CancelledError, ClosedError, ForkedError, ConnectionError and
        the server's conditions. Blocks: yes; ended by a signal handler that
        raises, and by ``client.close()``. Thread: any thread.
        """
        with self._handle() as handle:
            status = self._wait(handle, lib.ilk_event_wait, timeout)
            self._see(handle)
            return status == OK

    def wait_change(
        self, generation: int, timeout: float | None = None
    ) -> EventState | None:
        """Wait until its generation is greater than this one.

        At once when it is. Answers how it stands by now: of several changes
        in a row the last; None when the time ran out.

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
        known = self._known(generation)
        with self._handle() as handle:
            change = lib.ilk_event_wait_change
            status = self._wait(handle, change, timeout, before=(known,))
            seen = self._see(handle)
            return seen if status == OK else None
