# SPDX-License-Identifier: MIT
"""Functions that many programs carry around, with their races taken out.

Coordination on Redis is often written by hand, in functions that everybody
knows: ``acquire_lock``, ``acquire_fair_semaphore``, ``safe_fifo_pop``,
``worker_watch_queue`` and others. These have the same names, arguments, results
and keys, so both kinds of process work on the same names at once, and a
program is ported by changing an import. Each is one step where the original
takes several; times are the server's; a request whose reply was lost is asked
again without being done twice. ``docs/recipes.md`` shows each with its flaw.

``conn`` is an interlock.Client, a URL or a redis.Redis. The functions that are
usually written over a global connection come from :func:`bind`.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Mapping
from typing import Any, Callable

from . import _consumer, _fork, _raw
from ._client_lookup import client_for
from ._consumer import Consumer as Consumer
from ._core import lib
from ._raw import Value
from .lock import Lock

PREFIX = "lock:"
MASTER = "master_selector"
TENURE = 20.0  #: seconds

#: True ends :func:`worker_watch_queue` after the job in hand.
QUIT = False

_HEAD, _TAIL = int(lib.ILK_RECIPES_HEAD), int(lib.ILK_RECIPES_TAIL)
_log = logging.getLogger("interlock")
_guard = _fork.Guard()
# The handles that renew, by identifier. A forked child finds none of its
# parent's and releases by the identifier, as any other process would.
_held: dict[tuple[int, str], Lock] = {}


def acquire_lock(conn: Any, lockname: str, acquire_timeout: float = 10) -> str | bool:
    """Take the lock ``lock:<lockname>``; its identifier, or False.

    ``conn`` is an interlock.Client, a URL or a redis.Redis. The lease is
    renewed while this process lives.

    >>> identifier = acquire_lock(client, "market", acquire_timeout=1)
    >>> acquire_lock(client, "market", acquire_timeout=0.01)
    False
    >>> release_lock(client, "market", identifier)
    True

    Raises: ConnectionError, InvalidError and the others of ``Lock.acquire``.
    Blocks: at most ``acquire_timeout`` seconds. Thread: any thread.
    """
    lock = client_for(conn).lock(PREFIX + lockname)
    if not lock.acquire(acquire_timeout):
        return False
    with _guard:
        _held[_fork.generation, lock.token] = lock
    return lock.token


def release_lock(conn: Any, lockname: str, identifier: str | bytes) -> bool:
    """Give the lock up; False when it is no longer held by this identifier.

    The identifier may come from another process.

    Raises: ConnectionError, UnknownOutcomeError. Blocks: one or two round
    trips. Thread: any thread.
    """
    token = identifier.decode() if isinstance(identifier, bytes) else identifier
    name = PREFIX + lockname
    with _guard:
        mine = _held.get((_fork.generation, token))
        if mine is not None and mine.name == name:
            del _held[_fork.generation, token]
        else:
            mine = None
    if mine is not None:
        return mine.release()
    lock = client_for(conn).lock(name)
    return lock.adopt(token) and lock.release()


# -- the fair semaphore


def acquire_fair_semaphore(
    conn: Any, semname: str, limit: int, timeout: float = 10
) -> str | None:
    """A permit's identifier, or None when ``limit`` are taken.

    Purge, turn and insertion are one step, so there are never more than
    ``limit`` permits of this function. ``timeout`` counts by the server's
    clock, whose seconds are also what is written.

    >>> first = acquire_fair_semaphore(client, "seats", 1)
    >>> acquire_fair_semaphore(client, "seats", 1) is None
    True
    >>> refresh_fair_semaphore(client, "seats", first)
    True
    >>> release_fair_semaphore(client, "seats", first)
    1

    Raises: ConnectionError, InvalidError, WrongTypeError, UnknownOutcomeError.
    Blocks: one round trip. Thread: any thread.
    """
    if limit < 1:
        return None
    found = _raw.permit(conn, semname, limit, timeout)
    return None if found is None else found.decode()


def release_fair_semaphore(conn: Any, semname: str, identifier: str | bytes) -> int:
    """Give a permit back: 1; or 0 when it had run out.

    Raises: ConnectionError, UnknownOutcomeError. Blocks: one round trip.
    Thread: any thread.
    """
    return int(_raw.permit_release(conn, semname, identifier))


def refresh_fair_semaphore(conn: Any, semname: str, identifier: str | bytes) -> bool:
    """Begin a permit's time anew; False when it has run out.

    Raises: ConnectionError, UnknownOutcomeError. Blocks: one round trip.
    Thread: any thread.
    """
    return _raw.permit_refresh(conn, semname, identifier)


def acquire_semaphore_with_lock(
    conn: Any, semname: str, limit: int, timeout: float = 10
) -> str | None:
    """As :func:`acquire_fair_semaphore`, under ``lock:<semname>``.

    The lock is not needed among these functions; it keeps programs out that
    insert in several steps under it. None also when the lock is taken.

    Raises: as the functions it is made of. Blocks: 10 ms for the lock, then
    some round trips. Thread: any thread.
    """
    identifier = acquire_lock(conn, semname, acquire_timeout=0.01)
    if not isinstance(identifier, str):
        return None
    try:
        return acquire_fair_semaphore(conn, semname, limit, timeout)
    finally:
        release_lock(conn, semname, identifier)


# -- task queues


def fifo_queue_push(conn: Any, queue_name: str, task_data: Value) -> None:
    """Put a task at the tail of a list.

    Raises: ConnectionError, WrongTypeError, UnknownOutcomeError.
    Blocks: one round trip. Thread: any thread.
    """
    _raw.push(conn, queue_name, _TAIL, task_data)


def fifo_queue_pop(conn: Any, queue_name: str) -> Any:
    """The task at the head of a list, or None.

    A lost reply loses no task; a process that dies with one does, see
    :class:`Consumer`.

    >>> fifo_queue_push(client, "q", "a"), fifo_queue_push(client, "q", "b")
    (None, None)
    >>> fifo_queue_pop(client, "q"), fifo_queue_pop(client, "q")
    (b'a', b'b')

    Raises: ConnectionError, WrongTypeError, UnknownOutcomeError.
    Blocks: one round trip. Thread: any thread.
    """
    found = _raw.pop(conn, queue_name, _HEAD)
    return None if found is None else _raw.decoder(conn)(found)


def delayed_queue_push(
    conn: Any, queue_name: str, task_data: Value, delay: float
) -> None:
    """Put a task into a sorted set, due in ``delay`` seconds of the server's clock.

    Raises: ConnectionError, WrongTypeError, UnknownOutcomeError.
    Blocks: one round trip. Thread: any thread.
    """
    _raw.delay(conn, queue_name, delay, task_data)


def delayed_queue_pop(conn: Any, queue_name: str) -> list[Any]:
    """The tasks that are due, each for one caller only.

    >>> delayed_queue_push(client, "later", "now", 0)
    >>> delayed_queue_push(client, "later", "then", 60)
    >>> delayed_queue_pop(client, "later"), delayed_queue_pop(client, "later")
    ([b'now'], [])

    Raises: ConnectionError, WrongTypeError, UnknownOutcomeError.
    Blocks: a round trip per 1000 tasks. Thread: any thread.
    """
    decode = _raw.decoder(conn)
    tasks, more = _raw.due(conn, queue_name)
    while more:
        try:
            others, more = _raw.due(conn, queue_name)
        except Exception:
            # What was taken is not given up for what was not.
            _log.exception("no more tasks of %r for now", queue_name)
            break
        tasks += others
    return [decode(task) for task in tasks]


def worker_watch_queue(
    conn: Any,
    queue: str,
    callbacks: Mapping[str, Callable[..., object]],
    *,
    quit: Callable[[], bool] | None = None,
) -> None:
    """Call ``callbacks[name](*args)`` for each ``[name, args]`` in JSON on a list.

    Runs until ``quit()``, or ``QUIT`` of this module, is true; both are looked
    at between jobs and at least every two seconds. A job of an unknown name, or
    that is no JSON, is logged and goes to the dead letters. So does one whose
    callback raises; the exception then leaves this function. What ends the
    process (KeyboardInterrupt, SystemExit) puts the job back.

    Raises: what a callback raises, ConnectionError. Blocks: yes.
    Thread: any thread, each with a consumer of its own.
    """
    _consumer.work(conn, queue, callbacks, lambda: QUIT or bool(quit and quit()))


# -- over one connection


class Recipes:
    """What :func:`bind` returns. Thread: any thread."""

    def __init__(self, conn: Any, master: str = MASTER, tenure: float = TENURE) -> None:
        client_for(conn)
        self._conn = conn
        self._decode = _raw.decoder(conn)
        self._master, self._tenure = master, tenure
        self._candidate = uuid.uuid4().hex.encode()
        self._deciding = threading.Lock()
        self._generation = _fork.generation
        #: The tenure this is the master of; 0 when it is not. Set it to 0
        #: after work that took longer than a tenure.
        self.local_selector = 0

    def wait(self, wait_for: Value, timeout: float | None = None) -> Any:
        """The next message of a channel, as redis-py's pubsub shows it.

        None when none came in ``timeout`` seconds. What is sent while nobody
        waits is lost, as ever: see ``client.event`` for what stays.
        Blocks: yes. Raises: ConnectionError.
        """
        return self._wait(wait_for, None, timeout)

    def wait_single(
        self, channel: Value, myid: Value, timeout: float | None = None
    ) -> Any:
        """Wait to be the one that :meth:`signal_single` chooses.

        A signal that arrives behind the one that is returned is passed on to
        another waiter. Blocks: yes. Raises: ConnectionError.
        """
        return self._wait(channel, myid, timeout)

    def _wait(self, channel: Value, myid: Value | None, timeout: float | None) -> Any:
        found, lost = _raw.listen(self._conn, channel, myid, timeout)
        if lost:
            _log.warning("%d signals to %r came too late for anybody", lost, channel)
        if found is None:
            return None
        return {
            "type": "message",
            "pattern": None,
            "channel": self._decode(found[0]),
            "data": self._decode(found[1]),
        }

    def signal_broadcast(self, wait_in: Value, data: Value) -> int:
        """Signal all who wait; how many heard it. Blocks: one round trip."""
        return _raw.signal(self._conn, wait_in, False, _raw.encoded(data))

    def signal_single(self, channel: Value, data: Any) -> int:
        """Signal one who waits; 0 when nobody does. Blocks: one round trip."""
        raw = data if isinstance(data, bytes) else str(data).encode()
        return _raw.signal(self._conn, channel, True, raw)

    def master(self) -> bool:
        """Become or stay the master; call it more often than every tenure.

        What bind() returned is one candidate, whatever the threads; in a
        forked child it is another. Blocks: one round trip. Raises: UnknownOutcomeError.
        """
        if self._generation != _fork.generation:
            self._deciding = threading.Lock()  # may have been held at the fork
            self._generation, self.local_selector = _fork.generation, 0
            self._candidate = uuid.uuid4().hex.encode()
        with self._deciding:
            self.local_selector = _raw.master(
                self._conn,
                self._master,
                self._candidate,
                self.local_selector,
                self._tenure,
            )
            return self.local_selector > 0

    def fifo_push(self, q: Value, data: Value) -> None:
        """Push to the head, for :meth:`fifo_pop`. Blocks: one round trip."""
        _raw.push(self._conn, q, _HEAD, data)

    def fifo_pop(self, q: Value) -> Any:
        """Pop the oldest, or None. Blocks: one round trip."""
        return self._shown(_raw.pop(self._conn, q, _TAIL))

    def filo_push(self, q: Value, data: Value) -> None:
        """Push to the head, for :meth:`filo_pop`. Blocks: one round trip."""
        _raw.push(self._conn, q, _HEAD, data)

    def filo_pop(self, q: Value) -> Any:
        """Pop the youngest, or None. Blocks: one round trip."""
        return self._shown(_raw.pop(self._conn, q, _HEAD))

    def safe_fifo_push(self, q: Value, data: Value) -> None:
        """Push to the head, for :meth:`safe_fifo_pop`. Blocks: one round trip."""
        _raw.push(self._conn, q, _HEAD, data)

    def safe_fifo_pop(
        self,
        q: Value,
        cache: Value,
        handle: Callable[[Any], object] | None = None,
    ) -> Any:
        """Pop the oldest, or None; it lies in ``cache`` until it is handled.

        That is when ``handle(msg)`` has returned. Without one it is when it
        has arrived here. What a process that died has left in its cache,
        :meth:`safe_fifo_restore` puts back: give each process its own.
        Blocks: two round trips. Raises: what ``handle`` raises; the message
        stays in the cache then.
        """
        while True:
            found = _raw.park(self._conn, q, cache)
            if found is None:
                return None
            msg = self._decode(found[0])
            if handle is not None:
                handle(msg)
            if _raw.unpark(self._conn, cache, found[1]):
                return msg
            if handle is not None:
                _log.warning("a message of %r will be handled again by others", q)
                return msg

    def safe_fifo_restore(self, q: Value, cache: Value) -> int:
        """Put all that lies in ``cache`` back, as the next to be popped; how many.

        Blocks: a round trip per 1000 messages.
        """
        return _raw.restore(self._conn, q, cache)

    def _shown(self, found: bytes | None) -> Any:
        return None if found is None else self._decode(found)


def bind(conn: Any, *, master: str = MASTER, tenure: float = TENURE) -> Recipes:
    """The functions that are usually written over a global connection.

    >>> r = bind(client)
    >>> r.fifo_push("letters", "a"), r.fifo_push("letters", "b")
    (None, None)
    >>> r.fifo_pop("letters"), r.filo_pop("letters"), r.fifo_pop("letters")
    (b'a', b'b', None)
    >>> r.master(), r.master(), r.local_selector
    (True, True, 2)
    >>> r.signal_broadcast("nobody", "is there")
    0

    Raises: ConnectionError when it cannot connect. Blocks: at most the time to
    connect. Thread: any thread.
    """
    return Recipes(conn, master, tenure)
