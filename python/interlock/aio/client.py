# SPDX-License-Identifier: MIT
"""A client for the tasks of one event loop."""

from __future__ import annotations

import contextlib
import re
import sys
import warnings
from collections.abc import Generator, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, NoReturn, overload

from .. import _core_log, _ffi, _fork, _open_clients, errors
from .. import inspect as _inspect
from .. import lock as _lock
from .. import semaphore as _semaphore
from .._client_base import ClientBase
from .._core import lib
from .._ffi import Name, Seconds
from .._habits import names_ours
from .._lease_base import Options
from .._process_bound import ProcessBound
from ..notifications import KINDS, loss_error
from . import _driver
from ._lease import Lease
from ._primitives import Primitives
from .group import Member
from .lock import Lock
from .lock_many import LockMany
from .notifications import NotificationBuffer, Notifications
from .rwlock import RWLock

if TYPE_CHECKING:
    from typing_extensions import Self

CONNECT_TIMEOUT = 2.0  # seconds, the default of the core
START_TIMEOUT = 10.0  # the same for an embedded server, which may have to be started
UNITS: dict[str, float] = {"ms": 0.001, "s": 1.0, "m": 60.0}  # of `outage` in a URL


def connect_limit(url: str, given: Seconds | None, outage: Seconds | None) -> Seconds:
    """Return how long connecting may take, by the rules of the core, which has no getter.

    ``url`` is the one in use. Its query goes before the arguments of connect().

    Blocks: no. Thread: any thread.
    """
    in_query = re.search(r"[?&]outage=(\d+)(ms|s|m)?", url)
    if in_query is not None:
        outage = int(in_query[1]) * UNITS[in_query[2] or "s"]
    in_query = re.search(r"[?&]connect_timeout_ms=(\d+)", url)
    if in_query is not None:
        limit: Seconds = int(in_query[1]) / 1000
    elif given is not None:
        limit = given
    else:
        limit = START_TIMEOUT if url.startswith("embedded:") else CONNECT_TIMEOUT
    return max(_ffi.as_float(limit), _ffi.as_float(outage or 0))


class Client(ClientBase, Primitives):
    """The client that :func:`connect` returns; ``close()`` or ``async with`` closes it.

    Any number of tasks of one event loop share it. In a forked child it raises
    ForkedError: open another one there.
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
            lazy=True,
        )
        self._connect_timeout = connect_limit(self.url, connect_timeout, outage_timeout)
        self._driver = _driver.current(self._handle)
        self._driver.on_notification = self._on_notification
        self._buffer = NotificationBuffer(self)

    async def close(self) -> None:
        """End waits with ClosedError, release what is renewed, close the connections.

        As :meth:`interlock.Client.close`. It blocks the event loop for a few
        milliseconds; for 1 s when the server does not reply; up to 5 s for the last
        user of an embedded server, which it stops.
        """
        if self._closed:
            return
        self._closed = True
        _open_clients.discard(self)
        if self._generation == _fork.generation:
            self._driver.close()
            _ffi.call(lib.ilk_client_close, self._handle)
            self._driver.drain()
        self._kept.clear()
        self._joined.clear()
        _core_log.drain()
        self._buffer.wake()

    def stop(self) -> None:
        """As :meth:`interlock.Client.stop`; interlock's CancelledError cancels no task.

        Blocks: no. Thread: any thread, and a signal handler.
        """
        super().stop()
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._driver.call_soon(self._buffer.wake)

    async def ping(self, timeout: Seconds | None = None) -> bool:
        """Ask whether the server can be reached; returns True, or raises.

        See :meth:`interlock.Client.ping`.
        """
        await self._driver.call(
            lib.ilk_client_ping_start, self._live(), _ffi.timeout_ms(timeout)
        )
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
        """As :meth:`interlock.Client.lock`; nothing is sent."""
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
        """As :meth:`interlock.Client.lock_many`; nothing is sent."""
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
        """As :meth:`interlock.Client.rwlock`; nothing is sent."""
        options = Options(
            ttl, wait, renew, True, reentrant, max_hold, "plain", foreign_poll
        )
        return RWLock(self, name, options)

    async def inspect(self, name: Name, kind: str = "lock") -> _inspect.Info:
        """As :meth:`interlock.Client.inspect`."""
        raw = _ffi.name_bytes(name)
        number = _inspect.kind_number(kind)
        op = await self._driver.complete(
            lib.ilk_inspect_kind_start, self._live(), number, raw, len(raw)
        )
        return _inspect.to_info(name, lib.ilk_op_info(op))

    async def inspect_semaphore(self, name: Name) -> _semaphore.SemaphoreInfo:
        """As :meth:`interlock.Client.inspect_semaphore`."""
        raw = _ffi.name_bytes(name)
        op = await self._driver.complete(
            lib.ilk_semaphore_inspect_start, self._live(), raw, len(raw)
        )
        return _semaphore.to_info(name, lib.ilk_op_info(op))

    @overload
    async def ls(
        self, pattern: str | None = None, *, kind: str = "lock"
    ) -> list[str]: ...
    @overload
    async def ls(self, pattern: bytes, *, kind: str = "lock") -> list[bytes]: ...
    async def ls(
        self, pattern: str | bytes | None = None, *, kind: str = "lock"
    ) -> list[str] | list[bytes]:
        """As :meth:`interlock.Client.ls`."""
        arguments = _inspect.list_arguments(pattern, kind)
        op = await self._driver.complete(
            lib.ilk_list_open_start, self._live(), *arguments
        )
        return _inspect.to_names(lib.ilk_op_list(op), pattern)

    async def break_lock(self, name: Name, token: str | bytes | None = None) -> bool:
        """As :meth:`interlock.Client.break_lock`."""
        return await self._break(lib.ilk_lock_break_start, name, token)

    async def break_election(
        self, name: Name, token: str | bytes | None = None
    ) -> bool:
        """As :meth:`interlock.Client.break_election`."""
        return await self._break(lib.ilk_election_break_start, name, token)

    async def _break(
        self, function: Callable[..., int], name: Name, token: str | bytes | None
    ) -> bool:
        status, failure = await self._driver.status(
            function, self._live(), *_lock.break_arguments(name, token)
        )
        if failure is not None and status != lib.ILK_ENOTOWNER:
            raise failure
        return failure is None

    def notifications(self) -> Notifications:
        """Return an iterator over the client's notifications, such as a lost lock."""
        return Notifications(self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def _live(self) -> Any:
        if self._generation != _fork.generation:
            raise errors.ForkedError(
                "the client belongs to the parent process: open another one"
            )
        return self._handle

    def _on_notification(self, kind: int, number: int, status: int, cause: int) -> None:
        handle = self._handles.get(number)
        if isinstance(handle, (Lease, Member)) and KINDS.get(kind, "").endswith(
            "_lost"
        ):
            handle._on_lost(loss_error(status, cause))
        self._buffer.add(kind, number, status, cause)


NOT_AWAITED = (
    "aio.connect() was not awaited: write `client = await aio.connect(...)`,"
    " or `async with aio.connect(...) as client:`"
)


class Connecting(ProcessBound):
    """A client that is being opened: await it, or use it in ``async with``."""

    _instead = NOT_AWAITED

    def __init__(self, lazy: bool, **options: Any) -> None:
        self._lazy = lazy
        self._options = options
        self._client: Client | None = None
        self._opened = False

    def __del__(self) -> None:
        if not self.__dict__.get("_opened", True) and not sys.is_finalizing():
            warnings.warn(NOT_AWAITED, RuntimeWarning, stacklevel=2, source=self)

    if not TYPE_CHECKING:  # a type checker knows that the methods are the client's

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(f"no {name!r}: {NOT_AWAITED}")

        def __enter__(self) -> NoReturn:
            raise TypeError(NOT_AWAITED)

        def __exit__(self, *exc: object) -> None:
            pass

    def __await__(self) -> Generator[Any, None, Client]:
        return self._open().__await__()

    async def __aenter__(self) -> Client:
        self._client = await self._open()
        return self._client

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._client is not None:
            await self._client.close()

    async def _open(self) -> Client:
        self._opened = True
        client = Client(**self._options)
        if self._lazy:
            return client
        try:
            await client.ping(client._connect_timeout)
        except BaseException:
            await client.close()
            raise
        return client


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
) -> Connecting:
    """Open a client for the running event loop; see :func:`interlock.connect`.

    >>> async def sell():
    ...     async with connect(url) as client:
    ...         async with client.lock("orders", ttl=10) as lock:
    ...             return lock.held
    >>> asyncio.run(sell())
    True

    ``client = await connect(url)`` works without a block. Raises: InvalidError,
    ConnectionError, AuthError, TimeoutError. Blocks: no, except that an embedded
    server is started first, in about 10 ms. Thread: the event loop's.
    """
    return Connecting(
        lazy,
        url=url,
        label=label,
        listen=listen,
        connect_timeout=connect_timeout,
        reply_timeout=reply_timeout,
        outage_timeout=outage_timeout,
        protocol=protocol,
        embedded=embedded,
    )
