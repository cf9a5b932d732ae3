# SPDX-License-Identifier: MIT
"""The part of a job that the blocking and the asyncio package share."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Callable, TypeVar, overload

from . import _ffi, errors
from ._core import ffi, lib
from ._process_bound import ProcessBound

if TYPE_CHECKING:
    from ._client_base import ClientBase

log = logging.getLogger("interlock")

_LENGTH = ffi.typeof("size_t *")


def _bytes(getter: Callable[..., Any], handle: Any) -> bytes:
    length = ffi.new(_LENGTH)
    return bytes(ffi.buffer(getter(handle, length), length[0]))


def job_data(handle: Any) -> bytes:
    """Copy the message of a job of C. Blocks: no. Thread: any thread."""
    return _bytes(lib.ilk_job_data, handle)


class JobBase(ProcessBound):
    """One message of a queue; the creator of the C handle frees it."""

    _instead = "queue.adopt(job.token) makes a job of the same message"

    __slots__ = ("_client", "_handle", "data")

    def __init__(self, client: ClientBase, handle: Any) -> None:
        self._client = client
        self._handle = handle
        #: The message, any bytes.
        self.data: bytes = job_data(handle)

    def _live(self) -> Any:
        self._client._live()
        return self._handle

    @property
    def id(self) -> int:
        """The message's number, as its push returned it; it rises in a queue."""
        return int(lib.ilk_job_id(self._handle))

    @property
    def token(self) -> str:
        """The token of this delivery, for ``queue.adopt()`` in another process.

        "" for a message that was not reserved.
        """
        return _ffi.text(lib.ilk_job_token(self._handle))

    @property
    def attempts(self) -> int:
        """The number of this delivery: 1 for the first."""
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
        """Why the message is dead, if it was read from the dead ones; else ''."""
        return _bytes(lib.ilk_job_reason, self._handle).decode("utf-8", "replace")

    def remaining(self) -> float:
        """Seconds for which the lease lasts for sure; 0.0 when it is finished.

        Blocks: no.
        """
        return float(lib.ilk_job_remaining_ms(self._handle)) / 1000

    def _raises_at_exit(
        self, kind: type[BaseException] | None, failure: errors.Error
    ) -> bool:
        """Whether the end of a block raises this; otherwise it is logged or expected."""
        if isinstance(failure, errors.NotOwnedError) and self.token:
            return False  # the block has finished the job
        if kind is None:
            return True
        log.warning(
            "message %d of %s was not given back after %s, it waits for its lease: %s",
            self.id,
            self.queue,
            kind.__name__,
            failure,
        )
        return False

    def __repr__(self) -> str:
        return (
            f"<interlock.Job {self.id} of {self.queue!r},"
            f" attempt {self.attempts}, {len(self.data)} bytes>"
        )


J = TypeVar("J", bound=JobBase)


class BatchBase(ProcessBound, Sequence[J]):
    """Messages that were reserved, or peeked at, together: a sequence of jobs."""

    def __init__(self, client: ClientBase, handle: Any, kind: type[J]) -> None:
        self._client = client
        self._handle = handle
        self._jobs = tuple(self._open_jobs(kind))

    def _open_jobs(self, kind: type[J]) -> Iterator[J]:
        out = ffi.new("ilk_job **")
        for i in range(lib.ilk_batch_count(self._handle)):
            _ffi.call(lib.ilk_batch_job, out, self._handle, i)
            yield kind(self._client, ffi.gc(out[0], lib.ilk_job_free))

    def _live(self) -> Any:
        self._client._live()
        return self._handle

    @property
    def lost(self) -> int:
        """How many messages had lost their lease when they were to be finished."""
        return int(lib.ilk_batch_lost(self._handle))

    @overload
    def __getitem__(self, index: int) -> J: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[J]: ...
    def __getitem__(self, index: int | slice) -> J | Sequence[J]:
        return self._jobs[index]

    def __len__(self) -> int:
        return len(self._jobs)
