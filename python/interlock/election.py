# SPDX-License-Identifier: MIT
"""The election: one of many candidates leads, for a term."""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _ffi, _greenlets, errors
from ._core import ffi, lib
from ._election_base import ElectionBase, value_bytes
from ._ffi import EINTR, Seconds
from ._lease import TIMEOUT_STATUSES, Lease
from ._process_bound import ProcessBound

if TYPE_CHECKING:
    from typing_extensions import Self


class Leadership(NamedTuple):
    """The leadership that an observer receives: a pair of value and term."""

    value: bytes | None  #: what the leader publishes; None when nobody leads
    term: int  #: the leader's term; when nobody leads, the last one


@dataclasses.dataclass(frozen=True)
class Leader:
    """The state of an election at one moment."""

    value: bytes | None  #: what the leader publishes; None when nobody leads
    term: int  #: the leader's term; when nobody leads, the last one
    label: str  #: the label of its client, host:pid by default
    since: float | None  #: seconds since 1970 by the server's clock
    ttl: float  #: seconds left of its lease
    candidates: list[str]  #: labels of the first 100 in the wait queue, in their order
    waiting: int  #: how many candidates are in the wait queue in all


def published(found: Any) -> bytes | None:
    """Return the value of an ilk_leader. Blocks: no. Thread: any thread."""
    length = ffi.new("size_t *")
    data = lib.ilk_leader_value(found, length)
    return None if data == ffi.NULL else bytes(ffi.buffer(data, length[0]))


def to_leader(found: Any) -> Leader:
    """Convert an ilk_leader. Blocks: no. Thread: any thread."""
    since = lib.ilk_leader_since_ms(found)
    return Leader(
        value=published(found),
        term=int(lib.ilk_leader_term(found)),
        label=_ffi.text(lib.ilk_leader_label(found)),
        since=since / 1000 if since else None,
        ttl=lib.ilk_leader_ttl_ms(found) / 1000,
        candidates=[
            _ffi.text(lib.ilk_leader_candidate_label(found, i))
            for i in range(lib.ilk_leader_listed(found))
        ],
        waiting=int(lib.ilk_leader_candidates(found)),
    )


def to_leadership(found: Any) -> Leadership:
    """Convert an ilk_leader for an observer. Blocks: no. Thread: any thread."""
    return Leadership(published(found), int(lib.ilk_leader_term(found)))


class Election(ElectionBase, Lease):
    """A candidate in the election of a name; made by ``client.election()``.

    Its term is a fence: greater than the term of any leader before.

    >>> one = client.election("cron", value=b"10.0.0.1:80")
    >>> one.campaign(), one.is_leader, one.leader()
    (True, True, b'10.0.0.1:80')
    >>> client.election("cron").campaign(timeout=0)
    False
    >>> one.resign(), one.is_leader, one.leader()
    (True, False, None)

    ``with`` campaigns without a time limit and resigns at the end of the block.
    """

    def campaign(self, timeout: Seconds | None = None) -> bool:
        """Stay in the wait queue until this candidate leads; at once when it does.

        ``timeout`` is in seconds; None waits for ever, 0 tries once. Returns
        False when the time ran out.

        Raises: HeldError, CancelledError, ClosedError, ForkedError,
        ConnectionError and the server's errors.
        Blocks: yes; ended by a signal handler that raises, ``cancel()``,
        ``client.stop()`` and ``client.close()``. Thread: one thread at a time.
        """
        return self._acquire_with(self._limit_ms(timeout), self._functions.acquire)

    def adopt(self, token: str | bytes) -> bool:
        """Take back the leadership of a collected object of this client.

        Returns False when there is none with this token and this name.

        Raises: HeldError, InvalidError. Blocks: no. Thread: one thread at a time.
        """
        return self._take_back(token)

    def resign(self) -> bool:
        """Give up the leadership; the first candidate in the wait queue leads next.

        Returns False when the leadership had been lost; another leader is never
        touched.

        Raises: NotOwnedError when this candidate does not lead,
        UnknownOutcomeError when no reply came. Blocks: one round trip.
        Thread: one thread at a time.
        """
        return self.release()

    def renew(self, ttl: Seconds | None = None) -> bool:
        """Set the remaining lease to ``ttl`` seconds; None means the handle's ``ttl``.

        For candidates made with ``renew=False``. Returns False when the
        leadership has been lost.

        Raises: NotOwnedError, InvalidError, UnknownOutcomeError.
        Blocks: one round trip. Thread: one thread at a time.
        """
        return self.extend(ttl)

    def proclaim(self, value: bytes) -> bool:
        """Publish another value, in this and in later terms.

        Returns False, and publishes nothing, when the leadership has been lost.

        >>> with client.election("log", value=b"a") as one:
        ...     one.proclaim(b"b"), one.leader()
        (True, b'b')

        Raises: NotOwnedError, InvalidError, UnknownOutcomeError.
        Blocks: one round trip. Thread: one thread at a time.
        """
        raw = value_bytes(value)
        err = _ffi.new_error()
        status = lib.ilk_election_proclaim(self._live(), raw, len(raw), err)
        return self._unless_lost(status, err)

    def leader(self) -> bytes | None:
        """Return the value that the leader publishes; None when nobody leads.

        Raises: ConnectionError and the server's errors.
        Blocks: one round trip. Thread: any thread.
        """
        return published(self._read_leader())

    def inspect(self) -> Leader:
        """Return who leads, since when, and who is in the wait queue.

        >>> with client.election("jobs", value=b"me") as one:
        ...     found = one.inspect()
        >>> found.value, found.term == one.term, found.candidates
        (b'me', True, [])

        Raises: ConnectionError and the server's errors.
        Blocks: one round trip. Thread: any thread.
        """
        return to_leader(self._read_leader())

    def observe(
        self, timeout: Seconds | None = None, *, vacant: bool = False
    ) -> Observer:
        """Iterate over the leaderships: the present one, then each change.

        Each is a pair of the value and the term. The server reports changes as
        they happen, without polling; of several changes in quick succession only
        the last is certain to be reported. The iteration ends when there is no
        change for ``timeout`` seconds, and when the client is closed. With
        ``vacant=True`` the value None reports that nobody leads.

        >>> with client.election("boss", value=b"me") as one:
        ...     seen = list(one.observe(timeout=0))
        >>> seen == [(b"me", one.term)]
        True

        Raises: InvalidError, ClosedError. Blocks: no. Thread: any thread.
        """
        return Observer(self, timeout, vacant)

    def _read_leader(self) -> Any:
        out = ffi.new("ilk_leader **")
        _ffi.call(lib.ilk_election_leader, out, self._live())
        return ffi.gc(out[0], lib.ilk_leader_free)


class Observer(ProcessBound):
    """The iterator over leaderships that :meth:`Election.observe` returns.

    Thread: one thread at a time; ``cancel()`` may be called from any thread.
    """

    def __init__(
        self, election: Election, timeout: Seconds | None, vacant: bool
    ) -> None:
        self._limit = _ffi.timeout_ms(timeout)
        self._election = election
        self._out = ffi.new("ilk_leader **")
        self._handle = election._observe(vacant)

    def get(self, timeout: Seconds | None = None) -> Leadership | None:
        """Return the next new leadership, or None when there was none in time.

        Raises: CancelledError, ClosedError, ForkedError, ConnectionError and
        the server's errors.
        Blocks: at most ``timeout`` seconds, None for ever; ended by a signal
        handler that raises, ``cancel()``, ``client.stop()`` and ``client.close()``.
        Thread: one thread at a time.
        """
        return self._next(_ffi.timeout_ms(timeout))

    def cancel(self) -> None:
        """Cancel a wait: a thread inside raises CancelledError.

        Blocks: no. Thread: any thread.
        """
        _ffi.call(lib.ilk_observer_cancel, self._handle)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Leadership:
        try:
            found = self._next(self._limit)
        except errors.ClosedError:
            raise StopIteration from None
        if found is None:
            raise StopIteration
        return found

    def _next(self, limit: int) -> Leadership | None:
        self._election._live()
        if self._out[0] == ffi.NULL and not self._wait(limit):
            return None
        # A signal handler may raise until here: then the next call returns it.
        leadership = to_leadership(self._out[0])
        found, self._out[0] = self._out[0], ffi.NULL
        lib.ilk_leader_free(found)
        return leadership

    def _wait(self, limit: int) -> bool:
        """Wait for a leadership, which C reports once; False when there was none."""
        handle = self._handle
        in_thread = None
        if limit != 0 and ("gevent" in sys.modules or "eventlet" in sys.modules):
            in_thread = _greenlets.runner(lambda: self._abandon(handle))
        err = _ffi.new_error()
        try:
            status = _ffi.call_blocking(
                self._call_next, handle, limit, (), err, in_thread
            )
        except BaseException:
            self._abandon(handle)
            raise
        if status == EINTR:
            self._abandon(handle)
        if status in TIMEOUT_STATUSES:
            return False
        _ffi.check(status, err)
        return True

    def _call_next(self, handle: Any, limit: int, err: Any) -> int:
        return int(lib.ilk_observer_next(self._out, handle, limit, err))

    @staticmethod
    def _abandon(handle: Any) -> None:
        lib.ilk_observer_cancel(handle, ffi.NULL)
