# SPDX-License-Identifier: MIT
"""A client for the tasks of one event loop."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, overload

from .. import _ffi, _fork, errors
from .. import inspect as _inspect
from .. import lock as _lock
from .. import semaphore as _semaphore
from .._client_base import ClientBase
from .._core import lib
from .._ffi import Name
from .._lease_base import Options
from ..notifications import KINDS
from . import _driver
from ._lease import Lease
from ._primitives import Primitives
from .lock import Lock
from .lock_many import LockMany
from .notifications import News, Notifications
from .rwlock import RWLock

if TYPE_CHECKING:
    from typing_extensions import Self

CONNECT_TIMEOUT = 2.0  # as the core's


class Client(ClientBase, Primitives):
    """What :func:`connect` answers; closed by ``close()`` or ``async with``.

    Any number of tasks of one event loop share it. A forked child opens one of
    its own: this one raises ForkedError there.
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
    ) -> None:
        super().__init__(
            url,
            label=label,
            listen=listen,
            connect_timeout=connect_timeout,
            reply_timeout=reply_timeout,
            protocol=protocol,
            embedded=embedded,
            lazy=True,
        )
        self._connect_timeout = connect_timeout or CONNECT_TIMEOUT
        self._driver = _driver.current(self._handle)
        self._driver.on_news = self._on_news
        self._news = News(self)

    async def close(self) -> None:
        """End waits with ClosedError, stop renewing, close the connections.

        Leases that are held run out by themselves. A second call is harmless.
        It takes a few milliseconds, in which the loop does nothing else.
        """
        if self._closed:
            return
        self._closed = True
        if self._generation == _fork.generation:
            self._driver.close()
            _ffi.call(lib.ilk_client_close, self._handle)
            self._driver.drain()
        self._news.wake()

    async def ping(self, timeout: float | None = None) -> bool:
        """Ask the server for a sign of life; True, or an exception."""
        await self._driver.call(
            lib.ilk_client_ping_start, self._live(), _ffi.timeout_ms(timeout)
        )
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
        """As :meth:`interlock.Client.lock`; nothing is sent."""
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
        """As :meth:`interlock.Client.lock_many`; nothing is sent."""
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
        """As :meth:`interlock.Client.rwlock`; nothing is sent."""
        options = Options(
            ttl, wait, renew, True, reentrant, max_hold, "plain", foreign_poll
        )
        return RWLock(self, name, options)

    async def inspect(self, name: Name) -> _inspect.Info:
        """As :meth:`interlock.Client.inspect`."""
        raw = _ffi.name_bytes(name)
        op = await self._driver.answer(
            lib.ilk_inspect_start, self._live(), raw, len(raw)
        )
        return _inspect.to_info(name, lib.ilk_op_info(op))

    async def inspect_semaphore(self, name: Name) -> _semaphore.SemaphoreInfo:
        """As :meth:`interlock.Client.inspect_semaphore`."""
        raw = _ffi.name_bytes(name)
        op = await self._driver.answer(
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
        words = _inspect.wanted(pattern, kind)
        op = await self._driver.answer(lib.ilk_list_open_start, self._live(), *words)
        return _inspect.to_names(lib.ilk_op_list(op), pattern)

    async def break_lock(self, name: Name, token: str | bytes | None = None) -> bool:
        """As :meth:`interlock.Client.break_lock`."""
        status, failure = await self._driver.status(
            lib.ilk_lock_break_start, self._live(), *_lock.breaking(name, token)
        )
        if failure is not None and status != lib.ILK_ENOTOWNER:
            raise failure
        return failure is None

    def notifications(self) -> Notifications:
        """The client's news, such as a lock that was lost."""
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
            raise errors.ForkedError("the client is the parent's: open one here")
        return self._handle

    def _on_news(self, kind: int, number: int, status: int) -> None:
        handle = self._handles.get(number)
        if isinstance(handle, Lease) and KINDS.get(kind, "").endswith("_lost"):
            handle._told(errors.from_status(status))
        self._news.add(kind, number, status)


class Connecting:
    """A client to be: await it, or use it in ``async with``."""

    def __init__(self, lazy: bool, **options: Any) -> None:
        self._lazy = lazy
        self._options = options
        self._client: Client | None = None

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
    connect_timeout: float | None = None,
    reply_timeout: float | None = None,
    protocol: int | None = None,
    embedded: bool = True,
    lazy: bool = False,
) -> Connecting:
    """Open a client for the event loop that runs; see :func:`interlock.connect`.

    >>> async def sell():
    ...     async with connect(url) as client:
    ...         async with client.lock("orders", ttl=10) as lock:
    ...             return lock.held
    >>> asyncio.run(sell())
    True

    ``client = await connect(url)`` does without a block. Raises: InvalidError,
    ConnectionError, AuthError, TimeoutError. Blocks: no; an embedded server is
    started first, which takes about 10 ms. Thread: that of the event loop.
    """
    return Connecting(
        lazy,
        url=url,
        label=label,
        listen=listen,
        connect_timeout=connect_timeout,
        reply_timeout=reply_timeout,
        protocol=protocol,
        embedded=embedded,
    )
