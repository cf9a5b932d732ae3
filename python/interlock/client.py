# SPDX-License-Identifier: MIT
"""A client: one server, a few connections, any number of threads."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, overload

from . import _core_log, _ffi, _fork, _open_clients
from . import inspect as _inspect
from . import lock as _lock
from . import semaphore as _semaphore
from ._client_base import ClientBase
from ._core import lib
from ._ffi import Name, Seconds
from ._habits import names_ours
from ._lease_base import Options
from ._primitives import Primitives
from .lock import Lock
from .lock_many import LockMany
from .notifications import Notifications
from .rwlock import RWLock

if TYPE_CHECKING:
    from typing_extensions import Self


def connect(
    url: str | None = None,
    *,
    label: str | None = None,
    listen: str | None = None,
    connect_timeout: Seconds | None = None,
    reply_timeout: Seconds | None = None,
    outage_timeout: Seconds | None = None,
    protocol: int | None = None,
    embedded: bool = True,
    lazy: bool = False,
) -> Client:
    """Open a client on a Redis or Valkey server.

    ``url`` is ``redis://[user[:password]@]host[:port][/db]``, the same with
    ``rediss://`` for TLS, ``unix:///path[?db=n]``, ``embedded://[/dir]`` or, for the
    primary that sentinels name, ``redis+sentinel://host[:port],.../service[/db]``.
    ``redis+cluster://host[:port],...`` is a cluster, and
    ``redis://host,host,host?quorum`` keeps locks by majority, and with ``?ring``
    servers share replicated values and stores.
    None means ``$INTERLOCK_URL``; where that is unset, a private server is started
    when needed, which this user's processes on this host share. ``embedded=False``
    forbids that. ``lazy=True`` postpones connecting to the first call. ``label`` names
    this client in inspections, host:pid by default. ``listen`` names replicas,
    ``"host:port,..."``: the client receives wake-ups and signals from them too, so
    that a broken connection loses none. ``connect_timeout``, by default 2 and with an
    embedded server 10, and ``reply_timeout``, by default 5, are in seconds.
    ``outage_timeout`` is how long calls without a limit of their own try again while the
    server cannot be reached, by default as long as ``connect_timeout``, with sentinels and
    for a cluster 15 s. A number bounds all calls, waits and this one included; 0 makes each
    fail at its first attempt. ``protocol`` is RESP 2 or 3, by default 3 with a fallback
    to 2.

    >>> with connect(url) as client:
    ...     client.ping()
    True

    Raises: InvalidError for a malformed URL or option, ConnectionError, AuthError,
    TimeoutError. Blocks: at most ``connect_timeout``, or ``outage_timeout`` if that is
    longer, and while a server that has accepted the connection logs it in, longer by twice
    ``reply_timeout``. A ``connect_timeout`` that is given bounds the first answer, too.
    Thread: any thread.
    """
    return Client(
        url,
        label=label,
        listen=listen,
        connect_timeout=connect_timeout,
        reply_timeout=reply_timeout,
        outage_timeout=outage_timeout,
        protocol=protocol,
        embedded=embedded,
        lazy=lazy,
    )


class Client(ClientBase, Primitives):
    """The client that :func:`connect` returns; ``close()`` or ``with`` closes it.

    In a forked child it opens connections of its own, with an identity of its
    own, at the first use. Locks that the parent held or waited for stay the
    parent's and raise ForkedError in the child. Thread: any thread.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        label: str | None = None,
        listen: str | None = None,
        connect_timeout: Seconds | None = None,
        reply_timeout: Seconds | None = None,
        outage_timeout: Seconds | None = None,
        protocol: int | None = None,
        embedded: bool = True,
        lazy: bool = False,
    ) -> None:
        super().__init__(
            url,
            label=label,
            listen=listen,
            connect_timeout=connect_timeout,
            reply_timeout=reply_timeout,
            outage_timeout=outage_timeout,
            protocol=protocol,
            embedded=embedded,
            lazy=lazy,
        )

    def close(self) -> None:
        """End waits with ClosedError, release what is renewed, close the connections.

        Locks, semaphores, leaderships and members of groups are released. Holds with
        ``renew=False``, detached ones, leaderships under an ``identity`` and reserved
        messages are left to their leases. A second call does nothing. The interpreter's
        orderly end closes all clients.
        Blocks: a few milliseconds; 1 s when the server does not reply; up to 5 s for
        the last user of an embedded server, which it stops. Thread: any thread.
        """
        self._closed = True
        _open_clients.discard(self)
        if self._generation == _fork.generation:  # else the parent uses them
            _ffi.call(lib.ilk_client_close, self._handle)
        self._kept.clear()
        self._joined.clear()
        _core_log.drain()

    def ping(self, timeout: Seconds | None = None) -> bool:
        """Ask whether the server can be reached; returns True, or raises.

        Of several servers as many must reply as a client needs to be opened: of a
        quorum a majority, of a cluster or a ring one.

        Raises: ConnectionError, NoQuorumError, AuthError, ClosedError.
        Blocks: at most ``timeout`` seconds, by default the client's
        ``reply_timeout``. Thread: any thread.
        """
        _ffi.call(lib.ilk_client_ping, self._live(), _ffi.timeout_ms(timeout))
        return True

    @names_ours
    def lock(
        self,
        name: Name,
        *,
        ttl: Seconds = 30.0,
        wait: Seconds | None = None,
        renew: bool = True,
        fair: bool = True,
        reentrant: bool = False,
        max_hold: Seconds | None = None,
        layout: str = "plain",
        foreign_poll: Seconds | None = None,
    ) -> Lock:
        """Make a handle for the lock of this name; nothing is sent.

        - ``ttl``: the lease, in seconds. It is renewed while this process lives,
          unless ``renew=False``, for at most ``max_hold`` seconds in all.
        - ``wait``: seconds that ``with`` and a bare ``acquire()`` wait; None for
          ever.
        - ``fair=False`` takes a free lock ahead of the wait queue.
        - ``reentrant=True``: the same thread (and asyncio task) may acquire
          again; the last of as many releases gives the lock up. Within a hold that
          was lost it raises LostError, until that one is released.
        - ``layout="redisson"``: exclude Redisson's RLock. The default excludes
          redis-py, redsync and other libraries that store a plain string.
        - ``foreign_poll``: seconds between two polls while another library holds
          the lock, because its release wakes no waiter; 0.1 by default.

        Raises: InvalidError, ClosedError. Blocks: no. Thread: any thread.
        """
        options = Options(
            ttl, wait, renew, fair, reentrant, max_hold, layout, foreign_poll
        )
        return Lock(self, name, options)

    def lock_many(
        self,
        names: Iterable[Name],
        *,
        ttl: Seconds = 30.0,
        wait: Seconds | None = None,
        renew: bool = True,
        fair: bool = True,
        reentrant: bool = False,
        max_hold: Seconds | None = None,
        foreign_poll: Seconds | None = None,
    ) -> LockMany:
        """Make a handle that acquires up to 64 names together; nothing is sent.

        It holds all of the names or none. The options are those of :meth:`lock`.
        Raises: InvalidError, ClosedError. Blocks: no. Thread: any thread.
        """
        options = Options(
            ttl, wait, renew, fair, reentrant, max_hold, "plain", foreign_poll
        )
        return LockMany(self, names, options)

    def rwlock(
        self,
        name: Name,
        *,
        ttl: Seconds = 30.0,
        wait: Seconds | None = None,
        renew: bool = True,
        reentrant: bool = False,
        max_hold: Seconds | None = None,
        foreign_poll: Seconds | None = None,
    ) -> RWLock:
        """Make two handles, ``.read`` and ``.write``, for one name; nothing is sent.

        The options are those of :meth:`lock`, for each of the two. Raises:
        InvalidError, ClosedError. Blocks: no. Thread: any thread.
        """
        options = Options(
            ttl, wait, renew, True, reentrant, max_hold, "plain", foreign_poll
        )
        return RWLock(self, name, options)

    def inspect(self, name: Name, kind: str = "lock") -> _inspect.Info:
        """Inspect one name without changing it: a lock, or what ``kind`` says.

        >>> with client.lock("stock"):
        ...     info = client.inspect("stock")
        >>> info.state, info.waiters
        ('held', [])
        >>> client.inspect("stock").state
        'free'
        >>> client.inspect("jobs", "queue").facts["ready"]
        0

        ``kind`` is one of those of :meth:`ls`, but for store and kv.

        Raises: WrongTypeError when the key is no lock, InvalidError, UnsupportedError,
        ConnectionError. Blocks: one round trip, or two. Thread: any thread.
        """
        return _inspect.inspect(self, name, kind)

    def inspect_semaphore(self, name: Name) -> _semaphore.SemaphoreInfo:
        """Inspect one semaphore without changing it.

        >>> with client.semaphore("seats", 5, permits=2):
        ...     info = client.inspect_semaphore("seats")
        >>> info.limit, info.used, info.holders[0].permits, info.waiters
        (5, 2, 2, [])

        Raises: WrongTypeError, InvalidError, ConnectionError.
        Blocks: one round trip. Thread: any thread.
        """
        return _semaphore.inspect(self, name)

    @overload
    def ls(self, pattern: str | None = None, *, kind: str = "lock") -> list[str]: ...
    @overload
    def ls(self, pattern: bytes, *, kind: str = "lock") -> list[bytes]: ...
    def ls(
        self, pattern: str | bytes | None = None, *, kind: str = "lock"
    ) -> list[str] | list[bytes]:
        """List the names that are locked or waited for, or were within the last day.

        ``pattern`` is a glob as in Redis' KEYS; bytes give bytes. ``kind`` selects
        the names of another primitive: semaphore, election, signal, event,
        barrier, latch, queue, group, register, store or kv. The call scans the whole
        key space: it is meant for operators.

        Raises: ConnectionError, AuthError, InvalidError, UnsupportedError. Blocks: some round
        trips. Thread: any thread.
        """
        return _inspect.ls(self, pattern, kind)

    def break_lock(self, name: Name, token: str | bytes | None = None) -> bool:
        """Take a lock away from its holder, or only from the holder ``token``.

        For operators: the former holder need not agree, and its fence becomes
        stale. Returns False when nobody holds the lock, or not with that token.

        Raises: WrongTypeError, UnknownOutcomeError, InvalidError.
        Blocks: one round trip. Thread: any thread.
        """
        return _lock.break_it(lib.ilk_lock_break, self, name, token)

    def break_election(self, name: Name, token: str | bytes | None = None) -> bool:
        """End the term of whoever leads, or only of the leader ``token``.

        For operators: the first candidate leads next, and the former leader loses
        the leadership at its next renewal. Returns False when nobody leads, or not
        under that token.

        Raises: WrongTypeError, UnknownOutcomeError, InvalidError.
        Blocks: one round trip. Thread: any thread.
        """
        return _lock.break_it(lib.ilk_election_break, self, name, token)

    def notifications(self) -> Notifications:
        """Return an iterator over the client's notifications, such as a lost lock.

        Raises: ClosedError. Blocks: no. Thread: any thread.
        """
        return Notifications(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _live(self) -> Any:
        """The C handle; a forked child reopens it before its first use."""
        if self._generation != _fork.generation and not self._closed:
            with _fork.guard:
                if self._generation != _fork.generation:
                    _ffi.call(lib.ilk_client_reopen, self._handle)
                    self._generation = _fork.generation
                    _core_log.start()
        return self._handle
