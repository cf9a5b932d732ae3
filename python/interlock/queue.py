# SPDX-License-Identifier: MIT
"""Queues: each message is delivered to one consumer, until it is done."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Callable

from . import _ffi, _fork, errors
from ._core import ffi, lib
from ._ffi import Name, Seconds
from ._job_base import job_data
from ._queue_base import PLACES, Data, QueueBase, place_flags, push_options
from ._queue_wait import c_names, give_back, give_back_all, wait_in_c
from .job import Batch, Job

if TYPE_CHECKING:
    from .client import Client

EBUSY: int = lib.ILK_EBUSY
ORDERS = {"fifo": lib.ILK_QUEUE_FIFO, "filo": lib.ILK_QUEUE_FILO}


@dataclasses.dataclass(frozen=True)
class QueueInfo:
    """The state of a queue at one moment, and the counters of its messages."""

    order: str | None  #: fifo or filo; None when nobody has pushed yet
    ready: int  #: messages that can be taken now
    delayed: int  #: messages to be taken later, or due and not moved yet
    taken: int  #: messages under a lease
    dead: int  #: messages that are not delivered any more
    waiting: int  #: consumers that wait
    pushed: int  #: messages ever pushed
    finished: int  #: messages acknowledged or popped
    expired: int  #: deliveries whose lease ended
    returned: int  #: deliveries given back
    buried: int  #: messages that became dead
    purged: int  #: messages that were purged
    oldest: float  #: age of the next message in seconds


@dataclasses.dataclass(frozen=True)
class QueueOptions:
    """The options of a queue; :meth:`Client.queue` explains them."""

    order: str = "fifo"
    max_attempts: int | None = 25
    once: Seconds = 600.0
    renew: bool = False

    def to_c(self) -> Any:
        if self.order not in ORDERS:
            raise errors.InvalidError(f"order must be fifo or filo, got {self.order!r}")
        most = self.max_attempts
        if most is not None and (isinstance(most, bool) or not isinstance(most, int)):
            raise TypeError(f"max_attempts must be int, got {type(most).__name__}")
        if most is not None and not 0 < most < 2**31:
            raise errors.InvalidError(f"max_attempts must be positive, got {most}")
        opts = ffi.new("ilk_queue_opts *")
        lib.ilk_queue_opts_init(opts, ffi.sizeof(opts[0]))
        opts.order = ORDERS[self.order]
        opts.max_attempts = -1 if most is None else most
        opts.once_ms = _ffi.lease_ms(self.once, "once")
        opts.flags = lib.ILK_QUEUE_RENEW if self.renew else 0
        return opts


class Queue(QueueBase):
    """A queue, or several in order of priority; made by ``client.queue()``.

    >>> queue = client.queue("mail-example")
    >>> queue.push(b"first"), queue.push(b"second")
    (1, 2)
    >>> queue.pop()
    b'first'
    >>> job = queue.reserve(timeout=5, lease=10)
    >>> job.data
    b'second'
    >>> job.ack()
    True
    >>> queue.pop() is None
    True

    Thread: any thread.
    """

    _client: Client

    def __init__(
        self, client: Client, names: Sequence[Name], options: QueueOptions
    ) -> None:
        super().__init__(client, names, options)
        # Messages of interrupted pops, with the process that these were made in.
        self._popped: collections.deque[tuple[int, bytes]] = collections.deque()

    # -- push

    def push(self, data: Data, *, delay: Seconds = 0, once: Name | None = None) -> int:
        """Push a message; returns its number. A str is sent as UTF-8.

        ``delay`` is in seconds: the message is taken no earlier. ``once`` is a
        request id: a push with the same id within the queue's ``once`` seconds
        changes nothing and returns the number of the first one, whether that message
        waits, is done or is dead; after that time it is a new message, even if the first
        one still waits. A lost reply
        never duplicates a message, with or without an id.

        Raises: InvalidError for more than 1 MiB, DiffersError for a queue of
        the other order, UnknownOutcomeError, WrongTypeError, ConnectionError,
        ServerMemoryError. Blocks: one round trip.
        """
        raw, out = _ffi.name_bytes(data, "data"), ffi.new("int64_t *")
        opts, _kept = push_options(delay, once)
        _ffi.call(lib.ilk_queue_push, out, self._live(), raw, len(raw), opts)
        return int(out[0])

    def push_many(
        self, messages: Iterable[Data], *, delay: Seconds = 0, once: Name | None = None
    ) -> range:
        """Push up to 256 messages, all or none, in order; returns their numbers.

        Parameters and errors are those of :meth:`push`. Blocks: one round trip.
        """
        pointers, lengths, count, _messages = c_names(messages, "data")
        opts, _once = push_options(delay, once)
        out = ffi.new("int64_t *")
        _ffi.call(
            lib.ilk_queue_push_many,
            out,
            self._live(),
            pointers,
            lengths,
            count,
            opts,
        )
        return range(out[0], out[0] + count)

    # -- pop and reserve

    def pop(self, timeout: Seconds | None = 0) -> bytes | None:
        """Take the next message for good; returns None when there is none in time.

        At most once: a message that was popped is not delivered again, even if
        this process dies. When a signal handler raises while the message arrives,
        the next ``pop()`` of this object returns it. ``timeout=None`` waits for ever.

        Raises: UnknownOutcomeError when the reply was lost, possibly with a
        message; DiffersError, ConnectionError, ClosedError.
        Blocks: at most ``timeout`` seconds.
        """
        if self._popped:
            data = self._popped_before()
            if data is not None:
                return data
        out, data = ffi.new("ilk_job **"), None
        try:
            if self._pop(out, timeout):
                data = job_data(out[0])
        finally:
            if data is None and out[0] != ffi.NULL:  # a signal handler has raised
                self._popped.append((_fork.generation, job_data(out[0])))
            lib.ilk_job_free(out[0])
        return data

    def _pop(self, out: Any, timeout: Seconds | None) -> bool:
        if timeout != 0:

            def pop(handle: Any, left: int, err: Any) -> int:
                return int(lib.ilk_queue_pop(out, handle, left, err))

            return self._wait(pop, timeout)
        err = _ffi.new_error()
        status = lib.ilk_queue_pop(out, self._live(), 0, err)
        if status == EBUSY:
            return False
        _ffi.check(status, err)
        return True

    def _popped_before(self) -> bytes | None:
        """Return a message that an interrupted ``pop()`` of this process has taken."""
        self._live()
        with contextlib.suppress(IndexError):  # another thread was first
            while True:
                generation, data = self._popped.popleft()
                if generation == _fork.generation:
                    return data
        return None

    def reserve(self, timeout: Seconds | None = 0, lease: Seconds = 30.0) -> Job | None:
        """Reserve the next message under a lease; None when there is none in time.

        This job owns the message for ``lease`` seconds, within which it should
        acknowledge it or give it back. After that the message is delivered to
        another consumer, and this job's ``ack()`` is refused. When a signal handler
        raises while the message arrives, it is given back.

        Raises: InvalidError, DiffersError, ConnectionError, ClosedError.
        Blocks: at most ``timeout`` seconds; None waits for ever.
        """
        span = _ffi.lease_ms(lease, "lease")
        out = ffi.new("ilk_job **")

        def reserve(handle: Any, left: int, err: Any) -> int:
            return int(lib.ilk_queue_reserve(out, handle, left, span, err))

        job = self._take(out, reserve, timeout, lib.ilk_job_free, give_back)
        return None if job is None else Job(self._client, job)

    @contextlib.contextmanager
    def job(self, timeout: Seconds | None = 0, lease: Seconds = 30.0) -> Iterator[Job]:
        """Reserve the next message for the block of a ``with`` statement.

        The message is acknowledged at the end of the block, and given back when the
        block raises.

        >>> queue = client.queue("with-example")
        >>> queue.push(b"hello")
        1
        >>> with queue.job(timeout=5) as job:
        ...     job.data
        b'hello'

        Raises: TimeoutError when there is no message in time; as :meth:`reserve`,
        and as :meth:`Job.ack`. Blocks: at most ``timeout`` seconds; None waits for
        ever.
        """
        job = self.reserve(timeout, lease)
        if job is None:
            raise self._empty(timeout)
        with job:
            yield job

    def reserve_many(
        self,
        count: int,
        timeout: Seconds | None = 0,
        lease: Seconds = 30.0,
        done: Batch | None = None,
    ) -> Batch | None:
        """Reserve up to ``count`` messages of one queue under one lease.

        ``done`` is a batch that was reserved before: it is acknowledged in the
        same round trip, even when there is no new message.

        Raises: as :meth:`reserve`. Blocks: until there is a message, at most
        ``timeout`` seconds.
        """
        span = _ffi.lease_ms(lease, "lease")
        out = ffi.new("ilk_batch **")
        before = ffi.NULL if done is None else done._handle

        def reserve(handle: Any, left: int, err: Any) -> int:
            return int(
                lib.ilk_queue_reserve_many(out, handle, count, left, span, before, err)
            )

        batch = self._take(out, reserve, timeout, lib.ilk_batch_free, give_back_all)
        return None if batch is None else Batch(self._client, batch)

    def adopt(self, token: str | bytes) -> Job:
        """Return the job of a message that another handle or process has reserved.

        The job has no data and is not renewed; ``ack()`` and the other methods
        report whether its lease was lost. Nothing is sent.

        >>> queue = client.queue("adopt-example")
        >>> queue.push(b"x")
        1
        >>> queue.adopt(queue.reserve().token).ack()
        True

        Raises: InvalidError. Blocks: no. Thread: any thread.
        """
        return Job(self._client, self._adopted(token))

    def _take(
        self,
        out: Any,
        reserve: Callable[..., int],
        timeout: Seconds | None,
        free: Callable[[Any], None],
        give_back: Callable[[Any], None],
    ) -> Any:
        """Return what ``reserve`` puts into ``out``; None when nothing came in time.

        After an exception, which a signal handler may raise at any moment, it is
        given back.
        """
        taken = None
        try:
            if self._wait(reserve, timeout):
                raw, out[0] = out[0], ffi.NULL
                taken = ffi.gc(raw, free)
        except BaseException:
            if taken is not None or out[0] != ffi.NULL:
                give_back(taken or out[0])
            free(out[0])
            raise
        return taken

    def _wait(self, function: Callable[..., int], timeout: Seconds | None) -> bool:
        return wait_in_c(
            function, self._live(), timeout, lib.ilk_queue_leave, lib.ilk_queue_cancel
        )

    def cancel(self) -> None:
        """Cancel the waits of this handle, in whichever threads they are.

        They raise CancelledError. Blocks: no.
        """
        _ffi.call(lib.ilk_queue_cancel, self._live())

    # -- inspect and clear

    def size(self) -> int:
        """Return how many messages can be taken now. Blocks: one round trip."""
        out = ffi.new("int64_t *")
        _ffi.call(lib.ilk_queue_size, out, self._live())
        return int(out[0])

    def inspect(self) -> QueueInfo:
        """Return the queue's state and counters. Blocks: one round trip."""
        out = ffi.new("ilk_queue_info **")
        _ffi.call(lib.ilk_queue_inspect, out, self._live())
        return to_info(ffi.gc(out[0], lib.ilk_queue_info_free))

    def peek(self, where: str = "ready", start: int = 0, count: int = 10) -> list[Job]:
        """Return messages without taking them: "ready", "delayed" or "dead".

        Those to be taken next come first, those due first, the oldest dead first.
        At most 256, and fewer when they are long.

        Raises: InvalidError. Blocks: one round trip.
        """
        out = ffi.new("ilk_batch **")
        _ffi.call(
            lib.ilk_queue_peek, out, self._live(), place_flags((where,)), start, count
        )
        return list(Batch(self._client, ffi.gc(out[0], lib.ilk_batch_free)))

    def purge(self, *where: str) -> int:
        """Remove the "ready", "delayed" or "dead" messages, by default all three.

        Messages under a lease are not removed. Returns how many were removed.
        Raises: InvalidError. Blocks: one round trip.
        """
        out = ffi.new("int64_t *")
        _ffi.call(
            lib.ilk_queue_purge, out, self._live(), place_flags(where or tuple(PLACES))
        )
        return int(out[0])

    def requeue(self, id: int | None = None, count: int | None = None) -> int:
        """Make dead messages ready again, behind all others, with no attempts.

        ``id`` selects one message, ``count`` the oldest, by default all.
        Returns how many. Raises: InvalidError. Blocks: some round trips.
        """
        if count == 0:
            return 0
        out = ffi.new("int64_t *")
        _ffi.call(lib.ilk_queue_requeue, out, self._live(), id or 0, count or 0)
        return int(out[0])


def to_info(found: Any) -> QueueInfo:
    """Convert an ilk_queue_info. Blocks: no. Thread: any thread."""

    def count(name: str) -> int:
        which = getattr(lib, f"ILK_QUEUE_N_{name.upper()}")
        return int(lib.ilk_queue_info_get(found, which))

    order = {number: name for name, number in ORDERS.items()}.get(count("order"))
    numbers = {
        field.name: count(field.name)
        for field in dataclasses.fields(QueueInfo)
        if field.name not in ("order", "oldest")
    }
    return QueueInfo(order=order, oldest=count("oldest_ms") / 1000, **numbers)
