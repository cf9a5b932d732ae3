# SPDX-License-Identifier: MIT
"""Well-known functions on plain Redis keys, without their races.

Coordination on Redis is often written by hand, in functions that are widely
known: ``acquire_lock``, ``acquire_fair_semaphore``, ``safe_fifo_pop``,
``worker_watch_queue`` and others. These have the same names, arguments, results
and keys, so both kinds of process work on the same names at once, and a
program is ported by changing an import. Each is one step where the original
takes several; times are the server's; a request whose reply was lost is sent
again without taking effect twice. ``docs/recipes.md`` shows each with its flaw.

``conn`` is an interlock.Client, a URL or a redis.Redis. The functions that are
usually written over a global connection come from :func:`bind`.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Mapping
from typing import Any, Callable, Literal

from . import _consumer, _fork, _recipe_calls
from ._client_lookup import client_for, name_for
from ._consumer import Consumer as Consumer
from ._core import lib
from ._recipe_calls import Value
from .lock import Lock

PREFIX = "lock:"
MASTER = "master_selector"
TENURE = 20.0  #: seconds

#: True ends :func:`worker_watch_queue` after the current job.
QUIT = False

_HEAD, _TAIL = int(lib.ILK_RECIPES_HEAD), int(lib.ILK_RECIPES_TAIL)
_log = logging.getLogger("interlock")
_guard = _fork.Guard()
# The handles that renew, by fork generation and identifier. A forked child does
# not use its parent's handles: it releases by the identifier, as another process.
_held: dict[tuple[int, str], Lock] = {}


def acquire_lock(
    conn: Any, lockname: str, acquire_timeout: float = 10
) -> str | Literal[False]:
    """Acquire the lock ``lock:<lockname>``; returns its identifier, or False.

    ``conn`` is an interlock.Client, a URL or a redis.Redis. The lease is
    renewed while this process lives.

    >>> identifier = acquire_lock(client, "market", acquire_timeout=1)
    >>> acquire_lock(client, "market", acquire_timeout=0.01)
    False
    >>> release_lock(client, "market", identifier)
    True

    Raises: ConnectionError, InvalidError and the other errors of ``Lock.acquire``.
    Blocks: at most ``acquire_timeout`` seconds. Thread: any thread.
    """
    lock = client_for(conn).lock(name_for(conn, PREFIX + lockname))
    if not lock.acquire(acquire_timeout):
        return False
    with _guard:
        _held[_fork.generation, lock.token] = lock
    return lock.token


def release_lock(
    conn: Any, lockname: str, identifier: str | bytes | Literal[False]
) -> bool:
    """Release the lock; returns False when this identifier no longer holds it.

    The identifier may come from another process. False, which ``acquire_lock()``
    returns without the lock, holds nothing.

    Raises: ConnectionError, UnknownOutcomeError. Blocks: one or two round
    trips. Thread: any thread.
    """
    if identifier is False:
        return False
    token = identifier.decode() if isinstance(identifier, bytes) else identifier
    name = name_for(conn, PREFIX + lockname)
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
    """Acquire a permit; returns its identifier, or None when ``limit`` are taken.

    The removal of expired permits, the count and the insertion are one step, so
    there are never more than ``limit`` permits of this function. ``timeout`` is
    in seconds of the server's clock, whose time is also what is written.

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
    found = _recipe_calls.permit(conn, semname, limit, timeout)
    return None if found is None else found.decode()


def release_fair_semaphore(conn: Any, semname: str, identifier: str | bytes) -> int:
    """Release a permit; returns 1, or 0 when it had expired.

    Raises: ConnectionError, UnknownOutcomeError. Blocks: one round trip.
    Thread: any thread.
    """
    return int(_recipe_calls.permit_release(conn, semname, identifier))


def refresh_fair_semaphore(conn: Any, semname: str, identifier: str | bytes) -> bool:
    """Restart the time of a permit; returns False when it has expired.

    Raises: ConnectionError, UnknownOutcomeError. Blocks: one round trip.
    Thread: any thread.
    """
    return _recipe_calls.permit_refresh(conn, semname, identifier)


def acquire_semaphore_with_lock(
    conn: Any, semname: str, limit: int, timeout: float = 10
) -> str | None:
    """As :func:`acquire_fair_semaphore`, under ``lock:<semname>``.

    These functions do not need the lock among themselves; it excludes programs
    that insert in several steps under it. Returns None also when the lock is
    held.

    Raises: as the functions that it calls. Blocks: 10 ms for the lock, then
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
    """Push a task to the tail of a list.

    Raises: ConnectionError, WrongTypeError, UnknownOutcomeError.
    Blocks: one round trip. Thread: any thread.
    """
    _recipe_calls.push(conn, queue_name, _TAIL, task_data)


def fifo_queue_pop(conn: Any, queue_name: str) -> Any:
    """Pop the task at the head of a list; returns None when there is none.

    A lost reply loses no task, but a task is lost when its process dies. The
    tasks of a :class:`Consumer` are not.

    >>> fifo_queue_push(client, "q", "a"), fifo_queue_push(client, "q", "b")
    (None, None)
    >>> fifo_queue_pop(client, "q"), fifo_queue_pop(client, "q")
    (b'a', b'b')

    Raises: ConnectionError, WrongTypeError, UnknownOutcomeError.
    Blocks: one round trip. Thread: any thread.
    """
    found = _recipe_calls.pop(conn, queue_name, _HEAD)
    return None if found is None else _recipe_calls.decoder(conn)(found)


def delayed_queue_push(
    conn: Any, queue_name: str, task_data: Value, delay: float
) -> None:
    """Put a task into a sorted set, due in ``delay`` seconds of the server's clock.

    Raises: ConnectionError, WrongTypeError, UnknownOutcomeError.
    Blocks: one round trip. Thread: any thread.
    """
    _recipe_calls.delay(conn, queue_name, delay, task_data)


def delayed_queue_pop(conn: Any, queue_name: str) -> list[Any]:
    """Pop the tasks that are due, each for one caller only.

    >>> delayed_queue_push(client, "later", "now", 0)
    >>> delayed_queue_push(client, "later", "then", 60)
    >>> delayed_queue_pop(client, "later"), delayed_queue_pop(client, "later")
    ([b'now'], [])

    Raises: ConnectionError, WrongTypeError, UnknownOutcomeError.
    Blocks: a round trip per 1000 tasks. Thread: any thread.
    """
    decode = _recipe_calls.decoder(conn)
    tasks, more = _recipe_calls.due(conn, queue_name)
    while more:
        try:
            others, more = _recipe_calls.due(conn, queue_name)
        except Exception:
            # The tasks taken so far are returned although this request failed.
            _log.exception("some tasks of %r that are due were not popped", queue_name)
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

    Runs until ``quit()``, or ``QUIT`` of this module, is true; both are checked
    between jobs and at least every two seconds. A job that is no JSON, or of an
    unknown name, is logged and moved to the dead letters. So is one whose
    callback raises; the exception then leaves this function. An exception that
    ends the process (KeyboardInterrupt, SystemExit) puts the job back.

    Raises: the callbacks' exceptions, ConnectionError. Blocks: yes.
    Thread: any thread, each with a consumer of its own.
    """
    _consumer.work(conn, queue, callbacks, lambda: QUIT or bool(quit and quit()))


# -- bound to one connection


class Recipes:
    """The functions that :func:`bind` returns. Thread: any thread."""

    def __init__(self, conn: Any, master: str = MASTER, tenure: float = TENURE) -> None:
        client_for(conn)
        self._conn = conn
        self._decode = _recipe_calls.decoder(conn)
        self._master, self._tenure = master, tenure
        self._candidate = uuid.uuid4().hex.encode()
        self._master_lock = threading.Lock()
        self._generation = _fork.generation
        #: The number of the tenure in which this is the master; 0 when it is not.
        #: Set it to 0 after work that took longer than a tenure.
        self.local_selector: int = 0

    def wait(self, wait_for: Value, timeout: float | None = None) -> Any:
        """Return the next message of a channel, in the form of redis-py's pubsub.

        None when none came in ``timeout`` seconds. A message that is sent while
        nobody waits is lost; the state of a ``client.event`` is not.
        Blocks: yes. Raises: ConnectionError.
        """
        return self._wait(wait_for, None, timeout)

    def wait_single(
        self, channel: Value, myid: Value, timeout: float | None = None
    ) -> Any:
        """Wait for a signal of :meth:`signal_single`, which selects one waiter.

        A signal that arrives after the one that is returned is passed on to
        another waiter. Blocks: yes. Raises: ConnectionError.
        """
        return self._wait(channel, myid, timeout)

    def _wait(self, channel: Value, myid: Value | None, timeout: float | None) -> Any:
        found, lost = _recipe_calls.listen(self._conn, channel, myid, timeout)
        if lost:
            _log.warning("%d signals to %r reached no waiter", lost, channel)
        if found is None:
            return None
        return {
            "type": "message",
            "pattern": None,
            "channel": self._decode(found[0]),
            "data": self._decode(found[1]),
        }

    def signal_broadcast(self, wait_in: Value, data: Value) -> int:
        """Signal all waiters; returns how many got it. Blocks: one round trip."""
        return _recipe_calls.signal(
            self._conn, wait_in, False, _recipe_calls.encoded(self._conn, data)
        )

    def signal_single(self, channel: Value, data: Any) -> int:
        """Signal one waiter; returns 0 when nobody waits. Blocks: one round trip."""
        known = data if isinstance(data, (bytes, str)) else str(data).encode()
        raw = _recipe_calls.encoded(self._conn, known)
        return _recipe_calls.signal(self._conn, channel, True, raw)

    def master(self) -> bool:
        """Become or stay the master; call it more often than every tenure.

        The object that bind() returned is one candidate for all its threads; in
        a forked child it is another one. Blocks: one round trip.
        Raises: UnknownOutcomeError.
        """
        if self._generation != _fork.generation:
            self._master_lock = threading.Lock()  # may have been held at the fork
            self._generation, self.local_selector = _fork.generation, 0
            self._candidate = uuid.uuid4().hex.encode()
        with self._master_lock:
            self.local_selector = _recipe_calls.master(
                self._conn,
                self._master,
                self._candidate,
                self.local_selector,
                self._tenure,
            )
            return self.local_selector > 0

    def fifo_push(self, q: Value, data: Value) -> None:
        """Push to the head, for :meth:`fifo_pop`. Blocks: one round trip."""
        _recipe_calls.push(self._conn, q, _HEAD, data)

    def fifo_pop(self, q: Value) -> Any:
        """Pop the oldest value, or None. Blocks: one round trip."""
        return self._decoded(_recipe_calls.pop(self._conn, q, _TAIL))

    def filo_push(self, q: Value, data: Value) -> None:
        """Push to the head, for :meth:`filo_pop`. Blocks: one round trip."""
        _recipe_calls.push(self._conn, q, _HEAD, data)

    def filo_pop(self, q: Value) -> Any:
        """Pop the newest value, or None. Blocks: one round trip."""
        return self._decoded(_recipe_calls.pop(self._conn, q, _HEAD))

    def safe_fifo_push(self, q: Value, data: Value) -> None:
        """Push to the head, for :meth:`safe_fifo_pop`. Blocks: one round trip."""
        _recipe_calls.push(self._conn, q, _HEAD, data)

    def safe_fifo_pop(
        self,
        q: Value,
        cache: Value,
        handle: Callable[[Any], object] | None = None,
    ) -> Any:
        """Pop the oldest value, or None; it stays in ``cache`` until it is handled.

        It is handled when ``handle(msg)`` has returned; without ``handle``, when
        it has arrived here. :meth:`safe_fifo_restore` puts back what a process
        that died has left in its cache, so give each process a cache of its own.
        Blocks: two round trips. Raises: the exceptions of ``handle``; the value
        stays in the cache then.
        """
        while True:
            found = _recipe_calls.park(self._conn, q, cache)
            if found is None:
                return None
            msg = self._decode(found[0])
            if handle is not None:
                handle(msg)
            if _recipe_calls.unpark(self._conn, cache, found[1]):
                return msg
            if handle is not None:
                _log.warning(
                    "a message of %r was put back meanwhile: another process repeats it",
                    q,
                )
                return msg

    def safe_fifo_restore(self, q: Value, cache: Value) -> int:
        """Put all values of ``cache`` back, to be popped next; returns how many.

        Blocks: a round trip per 1000 messages.
        """
        return _recipe_calls.restore(self._conn, q, cache)

    def _decoded(self, found: bytes | None) -> Any:
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
