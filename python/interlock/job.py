# SPDX-License-Identifier: MIT
"""A message that was reserved from a queue, until it is finished."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _ffi, errors
from ._core import lib
from ._ffi import ELOST, OK, Seconds
from ._job_base import BatchBase, JobBase

if TYPE_CHECKING:
    from typing_extensions import Self

    from .client import Client


def _unless_lost(status: int, err: Any) -> bool:
    if status == OK:
        return True
    if status == ELOST:
        return False
    raise _ffi.failure(status, err)


class Job(JobBase):
    """One message under a lease; made by ``queue.reserve()``.

    As a context manager the job is acknowledged at the end of the block, and given
    back when the block raises, unless the block has finished it. A failure to give it
    back is only logged: the block's exception matters more.

    >>> queue = client.queue("job-example")
    >>> queue.push(b"hello")
    1
    >>> with queue.job() as job:
    ...     job.data, job.attempts
    (b'hello', 1)
    >>> queue.size()
    0

    Thread: one thread at a time; it may move between threads.
    """

    __slots__ = ()

    def ack(self) -> bool:
        """Acknowledge the message as done; returns False when the lease was lost.

        Raises: NotOwnedError when the job is finished already, UnknownOutcomeError,
        ConnectionError. Blocks: one round trip.
        """
        err = _ffi.new_error()
        return _unless_lost(lib.ilk_job_ack(self._live(), err), err)

    def nack(self, delay: Seconds = 0) -> bool:
        """Give the message back, for delivery at once or after ``delay`` seconds.

        After its last attempt the message becomes dead instead. Returns False
        when the lease was lost. Raises: as :meth:`ack`, InvalidError.
        Blocks: one round trip.
        """
        later = _ffi.milliseconds(delay, "delay")
        err = _ffi.new_error()
        return _unless_lost(lib.ilk_job_nack(self._live(), later, err), err)

    def bury(self, reason: str | bytes = "") -> bool:
        """Move the message to the dead ones, whatever its attempts, with a reason.

        Returns False when the lease was lost. Raises: as :meth:`ack`.
        Blocks: one round trip.
        """
        why = _ffi.name_bytes(reason, "reason")
        err = _ffi.new_error()
        return _unless_lost(lib.ilk_job_bury(self._live(), why, len(why), err), err)

    def extend(self, lease: Seconds | None = None) -> bool:
        """Set the remaining lease, in seconds, of all messages reserved together.

        None means the lease that they were reserved with. Returns False when the
        lease was lost. Raises: as :meth:`ack`, InvalidError. Blocks: one round trip.
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
        try:
            if kind is None:
                _ffi.call(lib.ilk_job_ack, self._live())
            else:
                self.nack()
        except errors.Error as failure:
            if self._raises_at_exit(kind, failure):
                raise


class Batch(BatchBase[Job]):
    """Messages that were reserved, or peeked at, together: a sequence of jobs.

    Thread: one thread at a time.
    """

    _client: Client

    def __init__(self, client: Client, handle: Any) -> None:
        super().__init__(client, handle, Job)

    def ack(self) -> bool:
        """Acknowledge all messages that are not finished, in one round trip.

        Returns False when the lease of some was lost; see :attr:`lost`.
        Raises: NotOwnedError when they were only peeked at,
        UnknownOutcomeError, ConnectionError. Blocks: one round trip.
        """
        err = _ffi.new_error()
        return _unless_lost(lib.ilk_batch_ack(self._live(), err), err)
