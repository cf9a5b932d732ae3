# SPDX-License-Identifier: MIT
"""A message that was taken from a queue, until it is finished."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _ffi
from ._core import ffi, lib
from ._ffi import ELOST, OK
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

    __slots__ = ()

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


class Batch(BatchBase[Job]):
    """Messages that were taken, or looked at, together: a sequence of jobs.

    Thread: one thread at a time.
    """

    def __init__(self, client: Client, handle: Any) -> None:
        super().__init__(client, ffi.gc(handle, lib.ilk_batch_free), Job)

    def ack(self) -> bool:
        """All that are not finished are done, in one round trip.

        False: some of them had gone to somebody else; see :attr:`lost`.
        Raises: NotOwnedError when they were only looked at,
        UnknownOutcomeError, ConnectionError. Blocks: one round trip.
        """
        err = _ffi.new_error()
        return _unless_lost(lib.ilk_batch_ack(self._live(), err), err)
