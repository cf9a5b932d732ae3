# SPDX-License-Identifier: MIT
"""The election: one of many candidates leads, for a term."""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _ffi, _greenlets, errors
from ._candidate import Candidate, value_bytes
from ._core import ffi, lib
from ._ffi import EINTR, OK
from ._lease import NOT_IN_TIME, Lease

if TYPE_CHECKING:
    from typing_extensions import Self


class Leadership(NamedTuple):
    """Who leads, as an observer is told: a pair of value and term."""

    value: bytes | None  #: that the leader publishes; None when nobody leads
    term: int  #: of the leader; when nobody leads, of the last one


@dataclasses.dataclass(frozen=True)
class Leader:
    """What was known of an election at one moment."""

    value: bytes | None  #: that the leader publishes; None when nobody leads
    term: int  #: of the leader; when nobody leads, of the last one
    label: str  #: of its client, host:pid by default
    since: float | None  #: seconds since 1970 by the server's clock
    ttl: float  #: seconds left of its lease
    candidates: list[str]  #: labels of the first 100 in the wait queue, in their order
    waiting: int  #: how many stand in the wait queue in all


def published(found: Any) -> bytes | None:
    """The value in an ilk_leader. Blocks: no. Thread: any thread."""
    length = ffi.new("size_t *")
    data = lib.ilk_leader_value(found, length)
    return None if data == ffi.NULL else bytes(ffi.buffer(data, length[0]))


def to_leader(found: Any) -> Leader:
    """What an ilk_leader tells. Blocks: no. Thread: any thread."""
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
    """What an ilk_leader tells an observer. Blocks: no. Thread: any thread."""
    return Leadership(published(found), int(lib.ilk_leader_term(found)))


class Election(Candidate, Lease):
    """A candidate in the election of a name; made by ``client.election()``.

    Its term is a fence: greater than that of any leader before.

    >>> one = client.election("cron", value=b"10.0.0.1:80")
    >>> one.campaign(), one.is_leader, one.leader()
    (True, True, b'10.0.0.1:80')
    >>> client.election("cron").campaign(timeout=0)
    False
    >>> one.resign(), one.is_leader, one.leader()
    (True, False, None)

    ``with`` campaigns without end and resigns when it leaves the block.
    """

    def campaign(self, timeout: float | None = None) -> bool:
        """Stand in the wait queue until this candidate leads; at once when it does.

        ``timeout`` is in seconds; None waits for ever, 0 tries once. Answers
        False when the time ran out.

        Raises: HeldError, CancelledError, ClosedError, ForkedError,
        ConnectionError and the server's conditions.
        Blocks: yes; ended by a signal handler that raises, ``cancel()`` and
        ``client.close()``. Thread: one thread at a time.
        """
        return self._take(timeout, self._functions.acquire)

    def resign(self) -> bool:
        """Give the leadership up; the first in the wait queue leads from now on.

        Answers False when it led no longer; nobody else is touched.

        Raises: NotOwnedError when it does not lead, UnknownOutcomeError when
        there was no answer. Blocks: one round trip.
        Thread: one thread at a time.
        """
        return self.release()

    def renew(self, ttl: float | None = None) -> bool:
        """Begin the lease anew, with ``ttl`` seconds or the handle's.

        For candidates made with ``renew=False``. Answers False when it leads
        no longer.

        Raises: NotOwnedError, InvalidError, UnknownOutcomeError.
        Blocks: one round trip. Thread: one thread at a time.
        """
        return self.extend(ttl)

    def proclaim(self, value: bytes) -> bool:
        """Publish another value, in this and in later terms.

        Answers False when it leads no longer, and nothing is published.

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
        """What the leader publishes; None when nobody leads.

        Raises: ConnectionError and the server's conditions.
        Blocks: one round trip. Thread: any thread.
        """
        return published(self._look())

    def inspect(self) -> Leader:
        """Who leads, since when, and who stands in the wait queue.

        >>> with client.election("jobs", value=b"me") as one:
        ...     found = one.inspect()
        >>> found.value, found.term == one.term, found.candidates
        (b'me', True, [])

        Raises: ConnectionError and the server's conditions.
        Blocks: one round trip. Thread: any thread.
        """
        return to_leader(self._look())

    def observe(
        self, timeout: float | None = None, *, vacant: bool = False
    ) -> Observer:
        """Iterate over the leaderships: the present one, then each change.

        Each is a pair of the value and the term. Changes are told as they
        happen, not asked for; of several that follow each other quickly the
        last is told for sure. The iteration ends when there is no change for
        ``timeout`` seconds, and when the client is closed. With
        ``vacant=True`` it tells as well, by the value None, that nobody leads.

        >>> with client.election("boss", value=b"me") as one:
        ...     seen = list(one.observe(timeout=0))
        >>> seen == [(b"me", one.term)]
        True

        Raises: InvalidError, ClosedError. Blocks: no. Thread: any thread.
        """
        return Observer(self, timeout, vacant)

    def _look(self) -> Any:
        out = ffi.new("ilk_leader **")
        _ffi.call(lib.ilk_election_leader, out, self._live())
        return ffi.gc(out[0], lib.ilk_leader_free)


class Observer:
    """What :meth:`Election.observe` returns: an iterator over leaderships.

    Thread: one thread at a time; ``cancel()`` may be called from any thread.
    """

    def __init__(self, election: Election, timeout: float | None, vacant: bool) -> None:
        self._limit = _ffi.timeout_ms(timeout)
        self._election = election
        self._out = ffi.new("ilk_leader **")
        self._handle = election._observe(vacant)

    def get(self, timeout: float | None = None) -> Leadership | None:
        """The next leadership that is new, or None when there was none in time.

        Raises: CancelledError, ClosedError, ForkedError, ConnectionError and
        the server's conditions.
        Blocks: at most ``timeout`` seconds, None for ever; ended by a signal
        handler that raises, ``cancel()`` and ``client.close()``.
        Thread: one thread at a time.
        """
        return self._next(_ffi.timeout_ms(timeout))

    def cancel(self) -> None:
        """End a wait: a thread inside gets CancelledError.

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
        handle = self._handle
        in_thread = None
        if limit != 0 and ("gevent" in sys.modules or "eventlet" in sys.modules):
            in_thread = _greenlets.runner(lambda: self._abandon(handle))
        err = _ffi.new_error()
        try:
            status = _ffi.call_blocking(self._ask, handle, limit, (), err, in_thread)
        except BaseException:
            self._abandon(handle)
            raise
        if status == EINTR:
            self._abandon(handle)
        if status in NOT_IN_TIME:
            return None
        if status != OK:
            raise _ffi.failure(status, err)
        return to_leadership(ffi.gc(self._out[0], lib.ilk_leader_free))

    def _ask(self, handle: Any, limit: int, err: Any) -> int:
        return int(lib.ilk_observer_next(self._out, handle, limit, err))

    @staticmethod
    def _abandon(handle: Any) -> None:
        lib.ilk_observer_cancel(handle, ffi.NULL)
