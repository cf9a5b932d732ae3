# SPDX-License-Identifier: MIT
"""A message that was taken from a queue, until it is finished."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, overload

from . import _ffi
from ._core import ffi, lib
from ._ffi import ELOST, OK

if TYPE_CHECKING:
    from typing_extensions import Self

    from .client import Client

_LENGTH = ffi.typeof("size_t *")


def _bytes(getter: Callable[..., Any], handle: Any) -> bytes:
    length = ffi.new(_LENGTH)
    return bytes(ffi.buffer(getter(handle, length), length[0]))


def _unless_lost(status: int, err: Any) -> bool:
    if status == OK:
        return True
    if status == ELOST:
        return False
    raise _ffi.failure(status, err)


class Job:
    """One message under a lease; made by ``queue.reserve()``.

    As a context manager it is acknowledged at the end of the block, and given
    back when the block raises.

    >>> queue = client.queue("job-example")
    >>> queue.push(b"hello")
    1
    >>> with queue.reserve() as job:
    ...     job.data, job.attempts
    (b'hello', 1)
    >>> queue.size()
    0

    Thread: one thread at a time; it may move between threads.
    """

    __slots__ = ("_client", "_handle", "data")

    def __init__(self, client: Client, handle: Any) -> None:
        self._client = client
        self._handle = ffi.gc(handle, lib.ilk_job_free)
        #: The message, any bytes.
        self.data: bytes = _bytes(lib.ilk_job_data, handle)

    def _live(self) -> Any:
        self._client._live()
        return self._handle

    @property
    def id(self) -> int:
        """The message's number, that its push answered; rising in its queue."""
        return int(lib.ilk_job_id(self._handle))

    @property
    def token(self) -> str:
        """Of this delivery; another process may finish it by ``queue.adopt()``.

        "" for one that was not reserved.
        """
        return _ffi.text(lib.ilk_job_token(self._handle))

    @property
    def attempts(self) -> int:
        """Which delivery this is: 1 for the first."""
        return int(lib.ilk_job_attempts(self._handle))

    @property
    def queue(self) -> str:
        """The name of the queue it was taken from."""
        raw = _bytes(lib.ilk_job_queue, self._handle)
        return raw.decode("utf-8", "surrogateescape")

    @property
    def pushed(self) -> float:
        """When it was pushed: seconds since 1970 by the server's clock."""
        return float(lib.ilk_job_pushed_ms(self._handle)) / 1000

    @property
    def reason(self) -> str:
        """Why it is dead, for one that was looked at among the dead; else ''."""
        return _bytes(lib.ilk_job_reason, self._handle).decode("utf-8", "replace")

    def remaining(self) -> float:
        """Seconds that it is ours for sure; 0.0 when it is finished."""
        return float(lib.ilk_job_remaining_ms(self._handle)) / 1000

    def ack(self) -> bool:
        """It is done. False: it had gone to somebody else by then.

        Raises: NotOwnedError when it is finished already, UnknownOutcomeError,
        ConnectionError. Blocks: one round trip.
        """
        err = _ffi.new_error()
        return _unless_lost(lib.ilk_job_ack(self._live(), err), err)

    def nack(self, delay: float = 0) -> bool:
        """Give it back, to be delivered again at once or after ``delay`` seconds.

        It is dead instead if that was the last of its attempts. False: it had
        gone to somebody else. Raises: as :meth:`ack`, InvalidError.
        Blocks: one round trip.
        """
        later = _ffi.milliseconds(delay, "delay")
        err = _ffi.new_error()
        return _unless_lost(lib.ilk_job_nack(self._live(), later, err), err)

    def bury(self, reason: str | bytes = "") -> bool:
        """Put it among the dead, whatever its attempts, with a reason.

        False: it had gone to somebody else. Raises: as :meth:`ack`.
        Blocks: one round trip.
        """
        why = _ffi.name_bytes(reason, "reason")
        err = _ffi.new_error()
        return _unless_lost(lib.ilk_job_bury(self._live(), why, len(why), err), err)

    def extend(self, lease: float | None = None) -> bool:
        """Set the lease left, of this and all that were taken with it.

        None is the lease it was taken for. False: it had gone to somebody
        else. Raises: as :meth:`ack`, InvalidError. Blocks: one round trip.
        """
        span = _ffi.lease_ms(lease, "lease")
        err = _ffi.new_error()
        return _unless_lost(lib.ilk_job_extend(self._live(), span, err), err)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            _ffi.call(lib.ilk_job_ack, self._live())
        else:
            self.nack()

    def __repr__(self) -> str:
        return (
            f"<interlock.Job {self.id} of {self.queue!r},"
            f" attempt {self.attempts}, {len(self.data)} bytes>"
        )


class Batch(Sequence[Job]):
    """Messages that were taken, or looked at, together: a sequence of jobs.

    Thread: one thread at a time.
    """

    def __init__(self, client: Client, handle: Any) -> None:
        self._client = client
        self._handle = ffi.gc(handle, lib.ilk_batch_free)
        self._jobs = tuple(self._made(client, handle))

    @staticmethod
    def _made(client: Client, handle: Any) -> Iterator[Job]:
        out = ffi.new("ilk_job **")
        for i in range(lib.ilk_batch_count(handle)):
            _ffi.call(lib.ilk_batch_job, out, handle, i)
            yield Job(client, out[0])

    def ack(self) -> bool:
        """All that are not finished are done, in one round trip.

        False: some of them had gone to somebody else; see :attr:`lost`.
        Raises: NotOwnedError when they were only looked at,
        UnknownOutcomeError, ConnectionError. Blocks: one round trip.
        """
        self._client._live()
        err = _ffi.new_error()
        return _unless_lost(lib.ilk_batch_ack(self._handle, err), err)

    @property
    def lost(self) -> int:
        """How many had gone to somebody else when they were to be finished."""
        return int(lib.ilk_batch_lost(self._handle))

    @overload
    def __getitem__(self, index: int) -> Job: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Job]: ...
    def __getitem__(self, index: int | slice) -> Job | Sequence[Job]:
        return self._jobs[index]

    def __len__(self) -> int:
        return len(self._jobs)
