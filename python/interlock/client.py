# SPDX-License-Identifier: MIT
"""A client: one server, a constant number of connections, any number of threads."""

from __future__ import annotations

import atexit
import contextlib
import weakref
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, overload

from . import _ffi, _fork, errors
from . import inspect as _inspect
from . import lock as _lock
from . import semaphore as _semaphore
from ._client_base import ClientBase
from ._core import lib
from ._ffi import Name
from ._lease_base import Options
from ._primitives import Primitives
from .lock import Lock
from .lock_many import LockMany
from .notifications import Notifications
from .rwlock import RWLock

if TYPE_CHECKING:
    from typing_extensions import Self

_open_clients: weakref.WeakSet[Client] = weakref.WeakSet()


def connect(
    url: str | None = None,
    *,
    label: str | None = None,
    listen: str | None = None,
    connect_timeout: float | None = None,
    reply_timeout: float | None = None,
    protocol: int | None = None,
    embedded: bool = True,
    lazy: bool = False,
) -> Client:
    """Open a client on a Redis or Valkey server.

    ``url`` is ``redis://[user[:password]@]host[:port][/db]``, the same with
    ``rediss://`` for TLS, ``unix:///path[?db=n]`` or ``embedded://[/dir]``.
    None means ``$INTERLOCK_URL``, and where that is unset a private server
    that is started when needed and shared by the user's processes;
    ``embedded=False`` forbids that. ``lazy=True`` postpones connecting to the
    first call. ``label`` is what inspection shows, host:pid by default.
    ``listen`` names replicas, ``"host:port,..."``: wake-ups and signals are
    heard from them, too, so that none is missed when a connection breaks.

    >>> with connect(url) as client:
    ...     client.ping()
    True

    Raises: InvalidError for a URL or an option that makes no sense,
    ConnectionError, AuthError, TimeoutError.
    Blocks: at most ``connect_timeout``, 2 s by default. Thread: any thread.
    """
    return Client(
        url,
        label=label,
        listen=listen,
        connect_timeout=connect_timeout,
        reply_timeout=reply_timeout,
        protocol=protocol,
        embedded=embedded,
        lazy=lazy,
    )


class Client(ClientBase, Primitives):
    """What :func:`connect` returns; closed by ``close()`` or ``with``.

    In a forked child it opens connections and an identity of its own at the
    first use. Locks that were held or awaited stay the parent's and raise
    ForkedError. Thread: any thread.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        label: str | None = None,
        listen: str | None = None,
        connect_timeout: float | None = None,
        reply_timeout: float | None = None,
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
            protocol=protocol,
            embedded=embedded,
            lazy=lazy,
        )
        _open_clients.add(self)

    def close(self) -> None:
        """End waits with ClosedError, stop renewing, close the connections.

        Leases that are held run out by themselves. A second call is harmless.
        Blocks: a few milliseconds. Thread: any thread.
        """
        self._closed = True
        _open_clients.discard(self)
        if self._generation == _fork.generation:  # the parent's stay the parent's
            _ffi.call(lib.ilk_client_close, self._handle)

    def ping(self, timeout: float | None = None) -> bool:
        """Ask the server for a sign of life; True, or an exception.

        Raises: ConnectionError, TimeoutError, AuthError, ClosedError.
        Blocks: at most ``timeout`` seconds, by default the client's
        ``reply_timeout``. Thread: any thread.
        """
        _ffi.call(lib.ilk_client_ping, self._live(), _ffi.timeout_ms(timeout))
        return True

    def lock(
        self,
        name: Name,
        *,
        ttl: float = 30.0,
        wait: float | None = None,
        renew: bool = True,
        fair: bool = True,
        reentrant: bool = False,
        max_hold: float | None = None,
        layout: str = "plain",
        foreign_poll: float | None = None,
    ) -> Lock:
        """Make a handle for the lock of this name; nothing is sent.

        - ``ttl``: the lease, in seconds, renewed while this process lives
          unless ``renew=False``, and no longer than ``max_hold`` in all.
        - ``wait``: how long ``with`` and a bare ``acquire()`` wait; None for ever.
        - ``fair=False`` takes a free lock past those who wait.
        - ``reentrant=True``: the same thread (and asyncio task) may acquire
          again; as many releases give it up.
        - ``layout="redisson"``: exclude Redisson's RLock instead of redis-py,
          redsync and whoever else uses a plain string.
        - ``foreign_poll``: how often to look after a holder of another
          library, which wakes nobody; 0.1 s by default.

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
        ttl: float = 30.0,
        wait: float | None = None,
        renew: bool = True,
        fair: bool = True,
        reentrant: bool = False,
        max_hold: float | None = None,
        foreign_poll: float | None = None,
    ) -> LockMany:
        """Make a handle that takes up to 64 names together, or none of them.

        The options are those of :meth:`lock`. Raises: InvalidError,
        ClosedError. Blocks: no. Thread: any thread.
        """
        options = Options(
            ttl, wait, renew, fair, reentrant, max_hold, "plain", foreign_poll
        )
        return LockMany(self, names, options)

    def rwlock(
        self,
        name: Name,
        *,
        ttl: float = 30.0,
        wait: float | None = None,
        renew: bool = True,
        reentrant: bool = False,
        max_hold: float | None = None,
        foreign_poll: float | None = None,
    ) -> RWLock:
        """Make two handles, ``.read`` and ``.write``, for one name.

        The options are those of :meth:`lock`, for each of the two. Raises:
        InvalidError, ClosedError. Blocks: no. Thread: any thread.
        """
        options = Options(
            ttl, wait, renew, True, reentrant, max_hold, "plain", foreign_poll
        )
        return RWLock(self, name, options)

    def inspect(self, name: Name) -> _inspect.Info:
        """Look at one name without touching it.

        >>> with client.lock("stock"):
        ...     info = client.inspect("stock")
        >>> info.state, info.waiters
        ('held', [])
        >>> client.inspect("stock").state
        'free'

        Raises: WrongTypeError when the key is no lock, InvalidError,
        ConnectionError. Blocks: one round trip. Thread: any thread.
        """
        return _inspect.inspect(self, name)

    def inspect_semaphore(self, name: Name) -> _semaphore.SemaphoreInfo:
        """Look at one semaphore without touching it.

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
        """The names that are locked or awaited, or were within the last day.

        ``pattern`` is a glob as Redis' KEYS takes it; bytes give bytes.
        ``kind`` asks for the names of something else: semaphore, election,
        signal, event, barrier, latch or queue. The whole key space is walked:
        this is for operators.

        Raises: ConnectionError, AuthError, InvalidError. Blocks: some round
        trips. Thread: any thread.
        """
        return _inspect.ls(self, pattern, kind)

    def break_lock(self, name: Name, token: str | bytes | None = None) -> bool:
        """Take a lock away from whoever holds it, or only from ``token``.

        For operators: the former holder is not asked, its fence is stale.
        Answers False when nobody, or not that token, holds it.

        Raises: WrongTypeError, UnknownOutcomeError, InvalidError.
        Blocks: one round trip. Thread: any thread.
        """
        return _lock.break_lock(self, name, token)

    def notifications(self) -> Notifications:
        """The client's news, such as a lock that was lost."""
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
        """The C handle; in a forked child it becomes the child's own first."""
        if self._generation != _fork.generation and not self._closed:
            with _fork.guard:
                if self._generation != _fork.generation:
                    _ffi.call(lib.ilk_client_reopen, self._handle)
                    self._generation = _fork.generation
        return self._handle


@atexit.register
def _close_all() -> None:
    """Leave nothing behind: the last client out stops an embedded server."""
    for client in list(_open_clients):
        with contextlib.suppress(errors.Error):  # nobody is left to be told
            client.close()
