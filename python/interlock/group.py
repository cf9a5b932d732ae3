# SPDX-License-Identifier: MIT
"""The group: who is in it, by heartbeat, and who joins and leaves."""

from __future__ import annotations

import dataclasses
import logging
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from . import _ffi, _fork, _greenlets, errors
from ._core import ffi, lib
from ._election_base import value_bytes
from ._ffi import EINTR, ELOST, Name, Seconds
from ._handle_pool import PooledHandle
from ._lease import TIMEOUT_STATUSES
from ._process_bound import ProcessBound
from .ring import RingBase

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Self

    from ._client_base import ClientBase
    from .client import Client

_log = logging.getLogger("interlock")


@dataclasses.dataclass(frozen=True)
class GroupChange:
    """A change of a group: the difference to the one before.

    A member that was replaced under its id is in both ``joined`` and ``left``.
    """

    joined: frozenset[str]  #: the ids of those who are in and were not
    left: frozenset[str]  #: the ids of those who left, or whose lease ended
    members: dict[str, bytes]  #: all members by id, with their data
    updated: frozenset[str] = frozenset()  #: the ids of those with other data


def _entries(found: Any) -> Iterator[tuple[int, str, bytes]]:
    """The entries of an ilk_members: change, id and data."""
    length = ffi.new("size_t *")
    for i in range(lib.ilk_members_count(found)):
        raw = lib.ilk_members_id(found, i, length)
        key = ffi.unpack(raw, length[0]).decode("utf-8", "surrogateescape")
        raw = lib.ilk_members_data(found, i, length)
        yield lib.ilk_members_change(found, i), key, ffi.unpack(raw, length[0])


def to_members(found: Any) -> dict[str, bytes]:
    """Convert an ilk_members with all members. Blocks: no. Thread: any thread."""
    return {key: data for _, key, data in _entries(found)}


class Members:
    """The members as an iterator over changes has last seen them."""

    def __init__(self) -> None:
        self._members: dict[str, bytes] = {}

    @property
    def ids(self) -> set[str]:
        """The ids of those who are in. Blocks: no. Thread: one thread at a time."""
        return set(self._members)

    def change(self, found: Any) -> GroupChange:
        """Apply an ilk_members. Blocks: no. Thread: one thread at a time."""
        ids: dict[int, set[str]] = {
            lib.ILK_MEMBER_JOINED: set(),
            lib.ILK_MEMBER_LEFT: set(),
            lib.ILK_MEMBER_UPDATED: set(),
        }
        for what, key, data in _entries(found):
            ids[what].add(key)
            if what == lib.ILK_MEMBER_LEFT:
                self._members.pop(key, None)
            else:
                self._members[key] = data
        joined, left, updated = (frozenset(some) for some in ids.values())
        return GroupChange(joined, left, dict(self._members), updated)


class MemberBase(ProcessBound):
    """The part of a member that the blocking and the asyncio package share."""

    _instead = "join under another id in the other process"

    def __init__(self, group: GroupBase, id: Name, ttl: Seconds) -> None:
        raw = _ffi.name_bytes(id, "id")
        opts = ffi.new("ilk_member_opts *")
        lib.ilk_member_opts_init(opts, ffi.sizeof(opts[0]))
        opts.ttl_ms = _ffi.lease_ms(ttl)
        out = ffi.new("ilk_member **")
        with group._handle() as handle:
            _ffi.call(lib.ilk_member_open, out, handle, raw, len(raw), opts)
        self._client = group._client
        self._group = group
        self._raw = raw
        self._handle = ffi.gc(out[0], lib.ilk_member_free)
        self._cause = ""  # of its loss

    @property
    def id(self) -> str:
        """The id in the group, as ``members()`` has it."""
        return self._raw.decode("utf-8", "surrogateescape")

    @property
    def number(self) -> int:
        """The handle's number within its client; notifications carry it."""
        return int(lib.ilk_member_number(self._handle))

    @property
    def token(self) -> str:
        """The token of this membership, by which the server knows it."""
        return _ffi.text(lib.ilk_member_token(self._handle))

    @property
    def held(self) -> bool:
        """Whether it is in the group for sure, by the local clock."""
        return bool(lib.ilk_member_held(self._handle))

    def remaining(self) -> float:
        """Seconds for which it is in for sure; 0.0 if it left, was lost or in doubt.

        Blocks: no. Thread: any thread.
        """
        return float(lib.ilk_member_remaining_ms(self._handle)) / 1000

    def check(self) -> None:
        """Verify that it is in the group for sure, by the local clock.

        Raises: LostError, NotOwnedError when it has left, ClosedError, ForkedError.
        Blocks: no. Thread: any thread.
        """
        _ffi.call(lib.ilk_member_check, self._live())

    def __repr__(self) -> str:
        state = f"remaining={self.remaining():.3f}" if self.held else "not in"
        name = type(self).__name__
        return f"<interlock.{name} {self.id!r} of {self._group.name!r} {state}>"

    def _live(self) -> Any:
        """The C handle, after the client has handled a fork."""
        if self._client._generation != _fork.generation:
            self._client._live()
        return self._handle

    def _joined(self) -> None:
        """Keep the object for as long as it is in, whether the program does or not."""
        self._client._joined.add(self)
        self._client._handles[self.number] = self

    def _was_lost(self) -> errors.LostError:
        why = f": {self._cause}" if self._cause else ""
        return errors.LostError(
            f"member {self.id!r} of {self._group.name!r} was lost inside its block{why}"
        )


class Member(MemberBase):
    """A member of a group, from ``group.join()``; ``with`` leaves at the end.

    Its client renews the lease for as long as the client is open and the member has
    not left, also when the program has dropped this object.

    Thread: one thread at a time.
    """

    def update(self, data: bytes) -> None:
        """Publish other data.

        Raises: LostError when it is no longer in, NotOwnedError when it has left,
        InvalidError, AuthError (updated, but this user may not PUBLISH to those who
        watch), UnknownOutcomeError. Blocks: one round trip.
        Thread: one thread at a time.
        """
        raw = value_bytes(data, "data")
        _ffi.call(lib.ilk_member_update, self._live(), raw, len(raw))

    def leave(self) -> bool:
        """Leave the group.

        Returns False when it was no longer in; a member that has joined under the
        same id stays.

        Raises: NotOwnedError when it has left, AuthError (it left, but this user may
        not PUBLISH to those who watch), UnknownOutcomeError. Blocks: one round trip.
        Thread: one thread at a time.
        """
        err = _ffi.new_error()
        status = lib.ilk_member_leave(self._live(), err)
        self._client._joined.discard(self)
        if status == ELOST:
            self._cause = _ffi.cause_of_loss(_ffi.text(err.msg))
            return False
        _ffi.check(status, err)
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        failure: errors.Error | None = None
        try:
            if not self.leave():
                failure = self._was_lost()
        except errors.NotOwnedError:  # it has left inside the block
            return
        except errors.Error as other:
            failure = other
        if failure is None:
            return
        if error is None:
            raise failure
        _log.warning("not left after %s: %s", kind and kind.__name__, failure)


class GroupBase(PooledHandle):
    """The part of a group that the blocking and the asyncio package share."""

    _type = "ilk_group"
    _free = lib.ilk_group_free
    _cancel = lib.ilk_group_cancel

    def __init__(self, client: ClientBase, name: Name) -> None:
        super().__init__(client, name, lib.ilk_group_open)


class Group(GroupBase):
    """Those who share a name, by heartbeat; made by ``client.group()``.

    >>> servers = client.group("servers")
    >>> one = servers.join("one", b"10.0.0.1:80")
    >>> servers.members()
    {'one': b'10.0.0.1:80'}
    >>> one.leave(), servers.members()
    (True, {})

    Ids are text for a program; bytes that are no UTF-8 become surrogate escapes, as
    in file names.

    Thread: any thread.
    """

    @property
    def client(self) -> Client:
        """The client that it was made from."""
        return cast("Client", self._client)

    def join(self, id: Name, data: bytes = b"", ttl: Seconds = 10.0) -> Member:
        """Join as a member, with data of up to 4 KiB that all can read.

        The lease of ``ttl`` seconds is renewed in the background. When this process
        ends or hangs for so long, the member is out of the group.

        Raises: HeldError when a member with this id is in, InvalidError, AuthError
        (nobody joined, because this user may not PUBLISH to those who watch),
        UnknownOutcomeError. Blocks: one round trip. Thread: any thread.
        """
        raw = value_bytes(data, "data")
        member = Member(self, id, ttl)
        _ffi.call(lib.ilk_member_join, member._live(), raw, len(raw))
        member._joined()
        return member

    def members(self) -> dict[str, bytes]:
        """Return the data of all members by id.

        Raises: ConnectionError and the server's errors. Blocks: one round trip for
        each 1,000 members. Thread: any thread.
        """
        out = ffi.new("ilk_members **")
        with self._handle() as handle:
            _ffi.call(lib.ilk_group_members, out, handle)
        return to_members(ffi.gc(out[0], lib.ilk_members_free))

    def watch(self, timeout: Seconds | None = None) -> GroupWatch:
        """Iterate over the changes: first all members as joined, then each change.

        The server reports changes as they happen, without polling; several in quick
        succession may come as one. The iteration ends when nothing changed for
        ``timeout`` seconds, and when the client is closed.

        >>> team = client.group("team")
        >>> with team.join("ann"):
        ...     [sorted(change.joined) for change in team.watch(timeout=0)]
        [['ann']]

        Raises: InvalidError, ClosedError. Blocks: no. Thread: any thread.
        """
        return GroupWatch(self, timeout)

    def ring(self, layout: str = "ketama") -> GroupRing:
        """Return a ring of those who are in, each of weight 1, by their ids.

        It has the members of now, and follows them with each ``refresh()``.
        ``layout`` is that of :class:`Ring`.

        >>> shards = client.group("shards")
        >>> one = shards.join("one")
        >>> ring = shards.ring()
        >>> ring.get("user:7")
        'one'
        >>> one.leave(), len(ring), ring.refresh().left, len(ring)
        (True, 1, frozenset({'one'}), 0)

        Raises: InvalidError, ConnectionError and the server's errors.
        Blocks: one round trip for each 1,000 members. Thread: any thread.
        """
        ring = GroupRing(self, layout)
        ring.refresh()
        return ring


class GroupWatch(ProcessBound):
    """The iterator over changes that :meth:`Group.watch` returns.

    Thread: one thread at a time; ``cancel()`` may be called from any thread.
    """

    def __init__(self, group: Group, timeout: Seconds | None) -> None:
        self._limit = _ffi.timeout_ms(timeout)
        self._group = group
        self._members = Members()
        self._out = ffi.new("ilk_members **")
        self._handle = group._new()

    def get(self, timeout: Seconds | None = None) -> GroupChange | None:
        """Return the next change, or None when there was none in time.

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
        _ffi.call(lib.ilk_group_cancel, self._handle)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> GroupChange:
        try:
            found = self._next(self._limit)
        except errors.ClosedError:
            raise StopIteration from None
        if found is None:
            raise StopIteration
        return found

    def _next(self, limit: int) -> GroupChange | None:
        self._group._client._live()
        if self._out[0] == ffi.NULL and not self._wait(limit):
            return None
        # A signal handler may raise until here: then the next call returns it, and
        # applies it to the members a second time, which changes nothing.
        change = self._members.change(self._out[0])
        found, self._out[0] = self._out[0], ffi.NULL
        lib.ilk_members_free(found)
        return change

    def _wait(self, limit: int) -> bool:
        """Wait for a change, which C reports once; False when there was none."""
        handle = self._handle
        in_thread = None
        if limit != 0 and ("gevent" in sys.modules or "eventlet" in sys.modules):
            in_thread = _greenlets.runner(lambda: self._abandon(handle))
        err = _ffi.new_error()
        try:
            status = _ffi.call_blocking(
                self._call_next, handle, limit, (), err, in_thread
            )
            if status == EINTR:
                self._abandon(handle)
        except BaseException:
            self._abandon(handle)
            raise
        if status in TIMEOUT_STATUSES:
            return False
        _ffi.check(status, err)
        return True

    def _call_next(self, handle: Any, limit: int, err: Any) -> int:
        return int(lib.ilk_group_watch(self._out, handle, limit, err))

    @staticmethod
    def _abandon(handle: Any) -> None:
        lib.ilk_group_cancel(handle, ffi.NULL)


class GroupRingBase(RingBase[str], ProcessBound):
    """The part of a group's ring that the blocking and the asyncio package share."""

    def __init__(self, group: GroupBase, layout: str) -> None:
        self._fill(layout, False, [], {})
        self._group = group
        self._layout = layout

    def _follow(self, members: Members) -> None:
        """Put the members on the ring, unless they are.

        After a failure the ring is as it was, and the next refresh gets here again.
        """
        ids = members.ids
        if ids != set(self):
            self._fill(self._layout, False, list(ids), {})

    def __repr__(self) -> str:
        name = self._group.name
        return f"<interlock.GroupRing {name!r} {self._layout} of {len(self)} nodes>"


class GroupRing(GroupRingBase):
    """The ring that :meth:`Group.ring` returns: its nodes are the members.

    Lookups are those of :class:`Ring` and send nothing: they use the members that
    ``refresh()`` has found last. A member that joins or leaves moves only keys of its
    own.

    Thread: any thread, for lookups also while another one refreshes.
    """

    def __init__(self, group: Group, layout: str) -> None:
        super().__init__(group, layout)
        self._watch = group.watch()

    def refresh(self, timeout: Seconds | None = 0) -> GroupChange | None:
        """Put the next change on the ring and return it, or None if none came in time.

        After None the ring has all changes that were made before the call. An error
        leaves the ring as it was, and the next call has what it missed.

        Raises: CancelledError, ClosedError, ForkedError, ConnectionError and the
        server's errors; InvalidError when there are too many members for a ring.
        Blocks: one round trip for each 1,000 changes, then at most ``timeout``
        seconds, None for ever; ended by a signal handler that raises, ``cancel()``,
        ``client.stop()`` and ``client.close()``. Thread: one thread at a time.
        """
        change = self._watch.get(timeout)
        self._follow(self._watch._members)
        return change

    def cancel(self) -> None:
        """Cancel a ``refresh()``: a thread inside raises CancelledError.

        Blocks: no. Thread: any thread.
        """
        self._watch.cancel()
