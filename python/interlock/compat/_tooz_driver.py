# SPDX-License-Identifier: MIT
"""The driver of `tooz.py`: its bases are tooz's, and so are its types."""

from __future__ import annotations

import contextlib
import os
import threading
import uuid
from typing import TYPE_CHECKING, Any

import interlock
from interlock import errors

try:
    import tooz
    from tooz import coordination, locking, utils
except ImportError as _missing:
    raise ImportError(
        f"interlock.compat.tooz needs tooz, which `pip install tooz` brings: {_missing}"
    ) from _missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from interlock.lock import Lock

PREFIX = "interlock+"
GROUPS = "tooz:groups"
"""The register with all groups that were created: by id, the marks of members that
another coordinator has removed, whose own coordinators leave when they see it."""
OPTIONS = frozenset({"ttl", "executor", "max_workers"})
"""The options of the URL that are not the client's: see :class:`Driver`."""
TTL = 30.0


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    """Raise the errors of Interlock as tooz's."""
    try:
        yield
    except (errors.ConnectionError, errors.TimeoutError) as error:
        utils.raise_with_cause(
            coordination.ToozConnectionError, str(error), cause=error
        )
    except errors.Error as error:
        utils.raise_with_cause(tooz.ToozError, str(error), cause=error)


def _text(name: bytes) -> str:
    """An id as tooz's errors take it, which decode bytes strictly."""
    return name.decode("utf-8", "surrogateescape")


def _raw(name: bytes | str) -> bytes:
    """The bytes of an id; text is accepted, as other drivers do."""
    return name.encode("utf-8", "surrogateescape") if isinstance(name, str) else name


def _marks_of(groups: dict[bytes, list[bytes]], group_id: bytes) -> list[bytes]:
    """The marks of the group's removed members."""
    if group_id not in groups:
        raise coordination.GroupNotCreated(_text(group_id))
    return groups[group_id]


def _client_url(parsed: Any) -> str:
    """The URL without the prefix, and without what is for the driver alone."""
    words = [word for word in parsed.query.split("&") if word]
    words = [word for word in words if word.partition("=")[0] not in OPTIONS]
    query = "?" + "&".join(words) if words else ""
    scheme = parsed.scheme.removeprefix(PREFIX)
    return f"{scheme}://{parsed.netloc}{parsed.path}{query}"


def _seconds(options: dict[str, Any]) -> float:
    given = options.get("ttl", [TTL])
    given = given[-1] if isinstance(given, list) else given
    try:
        return float(given)
    except (TypeError, ValueError):
        raise tooz.ToozError(f"ttl is a number of seconds, not {given!r}") from None


class DriverLock(locking.Lock):
    """A lock of tooz on ``client.rwlock(name)``.

    Its lease is renewed in the background for as long as the coordinator is started.
    It is not reentrant, but may be held shared several times, as tooz has it; any
    thread may release what another one acquired.
    """

    def __init__(self, driver: Driver, name: bytes) -> None:
        super().__init__(name)
        self._driver = driver
        self._holds: list[Lock] = []  # appending and popping are atomic

    def acquire(
        self,
        blocking: bool | float = True,
        shared: bool = False,
        timeout: float | None = None,
    ) -> bool:
        """Acquire it; ``blocking`` may be the number of seconds to wait.

        Blocks: until it is held, or for so long. Thread: any thread.
        """
        blocking, limit = utils.convert_blocking(blocking)
        if not blocking:
            limit = 0
        elif timeout is not None:
            limit = timeout
        with _translated():
            # A handle for each attempt: threads may wait side by side.
            both = self._driver.client.rwlock(self._name, ttl=self._driver.ttl)
            handle = both.read if shared else both.write
            if not handle.acquire(timeout=limit):
                return False
        self._holds.append(handle)
        self._driver.holding.add(self)
        return True

    def release(self) -> bool:
        """Release it; False when it was not held, or was lost.

        Blocks: one round trip. Thread: any thread.
        """
        try:
            handle = self._holds.pop()
        except IndexError:
            return False
        if not self._holds:
            self._driver.holding.discard(self)
        with _translated():
            try:
                return handle.release()
            except errors.LostError:
                return False

    def break_(self) -> bool:
        """End the hold of whoever has the lock.

        Blocks: one round trip. Thread: any thread.
        """
        with _translated():
            return self._driver.client.break_lock(self._name)

    def is_still_owner(self) -> bool:
        """Whether it is held for sure, by the local clock.

        Blocks: no. Thread: any thread.
        """
        return any(handle.held for handle in list(self._holds))

    @property
    def acquired(self) -> bool:
        """Whether it was acquired and not released. Blocks: no. Thread: any thread."""
        return bool(self._holds)


class Driver(
    coordination.CoordinationDriverWithExecutor,
    coordination.CoordinationDriverCachedRunWatchers,
):
    """A coordinator on one Redis or Valkey server.

    The URL is that of :func:`interlock.connect` with ``interlock+`` before it. Its
    ``ttl`` is the lease of members, locks and leaders in seconds, 30 by default;
    ``executor`` and ``max_workers`` are tooz's. All other options are the client's.

    Leases are renewed in the background, so there is no heartbeat; a coordinator that
    is silent for the time of a lease is out of its groups.
    """

    CHARACTERISTICS = (
        coordination.Characteristics.NON_TIMEOUT_BASED,
        coordination.Characteristics.DISTRIBUTED_ACROSS_THREADS,
        coordination.Characteristics.DISTRIBUTED_ACROSS_PROCESSES,
        coordination.Characteristics.DISTRIBUTED_ACROSS_HOSTS,
        coordination.Characteristics.CAUSAL,
    )

    def __init__(
        self, member_id: bytes, parsed_url: Any, options: dict[str, Any]
    ) -> None:
        super().__init__(_raw(member_id), parsed_url, options)
        self.ttl = _seconds(options)
        self._url = _client_url(parsed_url)
        self._client: interlock.Client | None = None
        self._process = os.getpid()
        self._guard = threading.RLock()  # of members and elections
        self._members: dict[bytes, tuple[bytes, interlock.Member]] = {}
        self._elections: dict[bytes, interlock.Election] = {}
        self.holding: set[DriverLock] = set()

    @property
    def client(self) -> interlock.Client:
        """The client, while the driver is started. Blocks: no. Thread: any thread."""
        if self._client is None:
            raise tooz.ToozError("the coordinator has not been started")
        return self._client

    def _start(self) -> None:
        client: interlock.Client | None = None
        try:
            client = interlock.connect(self._url)
            client.ping()
        except errors.Error as error:
            if client is not None:
                client.close()
            utils.raise_with_cause(
                coordination.ToozConnectionError, str(error), cause=error
            )
        self._client = client
        self._process = os.getpid()

    def _check_process(self) -> None:
        """The threads of the executor stay in the process that started them."""
        if os.getpid() != self._process:
            raise tooz.ToozError(
                "the coordinator belongs to the parent process; start one here"
            )

    def _stop(self) -> None:
        self._check_process()
        client = self.client
        try:  # without the server all of it ends with its lease
            with contextlib.suppress(errors.Error, tooz.ToozError):
                for lock in list(self.holding):
                    while lock.release():
                        pass
                for election in self._elections.values():
                    election.resign()
        finally:
            self._client = None
            self._members.clear()
            self._elections.clear()
            self.holding.clear()
            client.close()

    def _submit(
        self, work: Callable[..., Any], *arguments: Any
    ) -> coordination.CoordAsyncResult[Any]:
        self._check_process()
        return coordination.CoordinatorResult(
            self._executor.submit(work, *arguments), _translated
        )

    # --- Groups.

    @staticmethod
    def _parse_groups(value: bytes | None) -> dict[bytes, list[bytes]]:
        groups = utils.loads(value) if value else {}
        if not isinstance(groups, dict):
            raise tooz.ToozError(f"the register {GROUPS} has a value of another kind")
        return groups

    def _read_groups(self) -> dict[bytes, list[bytes]]:
        return self._parse_groups(self.client.register(GROUPS).get().value)

    def _change_groups(
        self, change: Callable[[dict[bytes, list[bytes]]], None]
    ) -> None:
        def changed(value: bytes | None) -> bytes:
            groups = self._parse_groups(value)
            change(groups)
            return utils.dumps(groups)

        self.client.register(GROUPS).change(changed)

    def _read_group(self, group_id: bytes) -> list[bytes]:
        return _marks_of(self._read_groups(), group_id)

    def create_group(self, group_id: bytes) -> coordination.CoordAsyncResult[None]:
        """Create a group; all ids together have 64 KiB at most."""
        return self._submit(self._create, _raw(group_id))

    def _create(self, name: bytes) -> None:
        self.client.group(name).members()  # refuses an id that is no name

        def add(groups: dict[bytes, list[bytes]]) -> None:
            if name in groups:
                raise coordination.GroupAlreadyExist(_text(name))
            groups[name] = []

        self._change_groups(add)

    def get_groups(self) -> coordination.CoordAsyncResult[list[bytes]]:
        return self._submit(lambda: sorted(self._read_groups()))

    def delete_group(self, group_id: bytes) -> coordination.CoordAsyncResult[None]:
        return self._submit(self._delete_group, _raw(group_id))

    def _delete_group(self, group_id: bytes) -> None:
        """Take it off the list, and put it back where somebody is in. A member looks
        at the list after it has joined, so one of the two sees the other."""

        def remove(groups: dict[bytes, list[bytes]]) -> None:
            _marks_of(groups, group_id)
            del groups[group_id]

        def put_back(groups: dict[bytes, list[bytes]]) -> None:
            groups.setdefault(group_id, [])

        if not self._read_members(group_id):
            self._change_groups(remove)
            if not self.client.group(group_id).members():
                return
            self._change_groups(put_back)
        raise coordination.GroupNotEmpty(_text(group_id))

    def join_group(
        self, group_id: bytes, capabilities: dict[str, Any] | None = None
    ) -> coordination.CoordAsyncResult[None]:
        """Join with capabilities, of 4 KiB at most when packed."""
        return self._submit(self._join, _raw(group_id), capabilities)

    def _join(self, group_id: bytes, capabilities: dict[str, Any] | None) -> None:
        self._read_group(group_id)
        mark = uuid.uuid4().bytes
        with self._guard:
            try:
                member = self.client.group(group_id).join(
                    self._member_id, utils.dumps([mark, capabilities]), self.ttl
                )
            except errors.HeldError:
                raise coordination.MemberAlreadyExist(
                    _text(group_id), _text(self._member_id)
                ) from None
            try:
                self._read_group(group_id)
            except BaseException:
                member.leave()
                raise
            self._members[group_id] = (mark, member)
            self._joined_groups.add(group_id)

    def leave_group(self, group_id: bytes) -> coordination.CoordAsyncResult[None]:
        return self._submit(self._leave, _raw(group_id))

    def _leave(self, group_id: bytes) -> None:
        with self._guard:
            self._joined_groups.discard(group_id)
            # A leave() that fails gives the member up as well: its lease ends.
            _, member = self._members.pop(group_id, (b"", None))
            if member is None:
                self._remove(group_id)
            elif not member.leave():
                raise self._not_joined(group_id)

    def _not_joined(self, group_id: bytes) -> coordination.MemberNotJoined:
        return coordination.MemberNotJoined(_text(group_id), _text(self._member_id))

    def _remove(self, group_id: bytes) -> None:
        """Remove the member of this id that joined by another coordinator."""
        marks = {id: mark for id, (mark, _) in self._read_members(group_id).items()}
        if self._member_id not in marks:
            raise self._not_joined(group_id)

        def add(groups: dict[bytes, list[bytes]]) -> None:
            marked = _marks_of(groups, group_id)
            there = self.client.group(group_id).members()
            known = {utils.loads(data)[0] for data in there.values()}
            kept = [mark for mark in marked if mark in known]
            groups[group_id] = [*kept, marks[self._member_id]]

        self._change_groups(add)

    def _leave_where_removed(self) -> None:
        with self._guard:
            for group_id, (_, member) in list(self._members.items()):
                if group_id not in self._joined_groups:
                    del self._members[group_id]
                    member.leave()

    def _read_members(self, group_id: bytes) -> dict[bytes, tuple[bytes, Any]]:
        """The mark and the capabilities of each member."""
        removed = self._read_group(group_id)
        found = self.client.group(group_id).members()
        read = {_raw(id): tuple(utils.loads(data)) for id, data in found.items()}
        return {id: one for id, one in read.items() if one[0] not in removed}

    def _read_capabilities(self, group_id: bytes) -> dict[bytes, Any]:
        return {id: one[1] for id, one in self._read_members(group_id).items()}

    def get_members(self, group_id: bytes) -> coordination.CoordAsyncResult[set[bytes]]:
        return self._submit(lambda: set(self._read_members(_raw(group_id))))

    def get_members_with_capabilities(
        self, group_id: bytes
    ) -> coordination.CoordAsyncResult[dict[bytes, Any]]:
        return self._submit(self._read_capabilities, _raw(group_id))

    def get_member_capabilities(
        self, group_id: bytes, member_id: bytes
    ) -> coordination.CoordAsyncResult[Any]:
        return self._submit(self._read_member, _raw(group_id), _raw(member_id))

    def _read_member(self, group_id: bytes, member_id: bytes) -> Any:
        members = self._read_capabilities(group_id)
        if member_id not in members:
            raise coordination.MemberNotJoined(_text(group_id), _text(member_id))
        return members[member_id]

    def get_member_info(
        self, group_id: bytes, member_id: bytes
    ) -> coordination.CoordAsyncResult[dict[str, Any]]:
        def read() -> dict[str, Any]:
            found = self._read_member(_raw(group_id), _raw(member_id))
            return {"name": _text(_raw(member_id)), "capabilities": found}

        return self._submit(read)

    def update_capabilities(
        self, group_id: bytes, capabilities: dict[str, Any]
    ) -> coordination.CoordAsyncResult[None]:
        return self._submit(self._update, _raw(group_id), capabilities)

    def _update(self, group_id: bytes, capabilities: dict[str, Any]) -> None:
        self._read_group(group_id)
        with self._guard:
            mark, member = self._members.get(group_id, (b"", None))
            try:
                if member is not None:
                    member.update(utils.dumps([mark, capabilities]))
                    return
            except errors.LostError:
                pass
        raise self._not_joined(group_id)

    # --- Leaders.

    def _election(self, group_id: bytes) -> interlock.Election:
        with self._guard:
            found = self._elections.get(group_id)
            if found is None:
                found = self.client.election(
                    group_id, value=self._member_id, ttl=self.ttl
                )
                self._elections[group_id] = found
            return found

    def get_leader(
        self, group_id: bytes
    ) -> coordination.CoordAsyncResult[bytes | None]:
        """Find the leader; None where nobody leads."""
        name = _raw(group_id)
        return self._submit(lambda: self.client.election(name).leader())

    def stand_down_group_leader(self, group_id: bytes) -> bool:
        """Resign; False for one who does not lead.

        Blocks: one round trip. Thread: any thread.
        """
        with _translated(), self._guard:
            election = self._elections.get(_raw(group_id))
            return election is not None and election.is_leader and election.resign()

    def run_elect_coordinator(self) -> None:
        """Try to lead each group that has a callback, and run it on success.

        Blocks: one round trip for each group that another one leads.
        Thread: one thread at a time.
        """
        for group_id, hooks in list(self._hooks_elected_leader.items()):
            with _translated(), self._guard:
                election = self._election(_raw(group_id))
                is_new = not election.is_leader and election.campaign(timeout=0)
            if is_new:
                hooks.run(coordination.LeaderElected(group_id, self._member_id))

    def run_watchers(self, timeout: float | None = None) -> list[Any]:
        """Run the callbacks for what changed since the last call, and campaign.

        Blocks: two round trips for each watched group. Thread: one thread at a time.
        """
        result = super().run_watchers(timeout=timeout)
        with _translated():
            self._leave_where_removed()
        self.run_elect_coordinator()
        return result

    # --- Locks.

    def get_lock(self, name: bytes) -> DriverLock:
        """Make a lock, which excludes ``client.lock()`` of this name.

        Blocks: no. Thread: any thread.
        """
        return DriverLock(self, _raw(name))
