# SPDX-License-Identifier: MIT
"""A consumer's loop: named callbacks, retries, a graceful end.

A message is JSON, ``[name, args]``: the callback of that name is called with
these arguments. :func:`task` makes one.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable

from . import _ffi, errors
from ._core import ffi, lib
from ._ffi import Name
from ._queue_wait import c_names, wait_in_c
from .job import Job
from .queue import QueueOptions

if TYPE_CHECKING:
    from .client import Client

Callback = Callable[..., object]

log = logging.getLogger("interlock.worker")


def task(name: str, *args: Any) -> bytes:
    """A message for a worker: call ``name`` with these arguments.

    Raises: TypeError for what JSON does not know. Blocks: no. Thread: any thread.

    >>> task("greet", "world", 2)
    b'["greet", ["world", 2]]'
    """
    return json.dumps([name, list(args)]).encode("utf-8")


def calling(
    callbacks: Mapping[str, Callback], message: bytes
) -> tuple[Callback, list[Any]]:
    """What a message calls, and with which arguments.

    Raises: ValueError for one that calls nothing. Blocks: no. Thread: any thread.
    """
    try:
        name, args = json.loads(message)
    except (ValueError, TypeError):
        raise ValueError("not [name, args] in JSON") from None
    if not isinstance(name, str) or not isinstance(args, list):
        raise ValueError("not [name, args] in JSON")
    if name not in callbacks:
        raise ValueError(f"unknown callback {name!r}")
    return callbacks[name], args


class Worker:
    """Take messages from queues and call what they name, until told to stop.

    ``queues`` are names in order of priority; ``callbacks`` maps a name to
    what is called. A callback that raises makes its message come again, after
    ``backoff`` seconds and twice as long each time up to ``backoff_max``, with
    a part of chance; after ``max_attempts`` it lies among the dead, and so
    does at once a message that names no callback. The lease is renewed while
    a callback works, so it may take longer than ``lease``; who dies is
    replaced after it.

    >>> queue = client.queue("tasks-example")
    >>> queue.push(task("greet", "world"))
    1
    >>> worker = Worker(client, "tasks-example", {"greet": lambda who: print("hello", who)})
    >>> worker.run(until_empty=True)
    hello world
    1

    ``threads`` work side by side, each on a message of its own. Thread: any
    thread may call :meth:`stop`, and so may a signal handler.
    """

    def __init__(
        self,
        client: Client,
        queues: Name | Sequence[Name],
        callbacks: Mapping[str, Callback],
        *,
        order: str = "fifo",
        threads: int = 1,
        lease: float = 30.0,
        max_attempts: int | None = 25,
        backoff: float = 1.0,
        backoff_max: float = 600.0,
        batch: int = 1,
    ) -> None:
        if threads < 1:
            raise errors.InvalidError(f"threads must be 1 or more, got {threads}")
        if isinstance(queues, (str, bytes, bytearray, memoryview)):
            queues = (queues,)
        self._client = client
        self._callbacks = callbacks
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        #: Messages done, failed (to come again) and buried so far.
        self.done, self.failed, self.buried = 0, 0, 0
        opts = ffi.new("ilk_worker_opts *")
        lib.ilk_worker_opts_init(opts, ffi.sizeof(opts[0]))
        opts.lease_ms = _ffi.lease_ms(lease, "lease")
        opts.backoff_ms = _ffi.lease_ms(backoff, "backoff")
        opts.backoff_max_ms = _ffi.lease_ms(backoff_max, "backoff_max")
        opts.batch = batch
        options = QueueOptions(order, max_attempts)
        self._handles = [
            self._open(tuple(queues), options, opts) for _ in range(threads)
        ]

    def _open(self, names: Sequence[Name], options: QueueOptions, opts: Any) -> Any:
        pointers, lengths, count, _kept = c_names(names)
        out = ffi.new("ilk_worker **")
        _ffi.call(
            lib.ilk_worker_open,
            out,
            self._client._live(),
            pointers,
            lengths,
            count,
            options.to_c(),
            opts,
        )
        return ffi.gc(out[0], lib.ilk_worker_free)

    @property
    def lost(self) -> int:
        """Answers that were refused: the message had gone to somebody else."""
        return sum(int(lib.ilk_worker_lost(handle)) for handle in self._handles)

    def stop(self) -> None:
        """End the loop: messages in work are finished, all others given back.

        :meth:`run` returns after that. Blocks: no. Thread: any thread.
        """
        self._stopped.set()
        self._client._live()
        for handle in self._handles:
            _ffi.call(lib.ilk_worker_stop, handle)

    def run(self, until_empty: bool = False) -> int:
        """Work until :meth:`stop`; answers how many messages were done.

        ``until_empty=True`` returns when there is nothing to be taken. An
        exception that is not an ``Exception``, such as KeyboardInterrupt,
        ends the loop too, in the thread that runs it.

        Raises: DiffersError, WrongTypeError, AuthError, ClosedError;
        ConnectionError when the server is away for a minute.
        Blocks: yes. Thread: one thread at a time.
        """
        before = self.done
        failures: list[BaseException] = []

        def work(handle: Any) -> None:
            try:
                self._loop(handle, until_empty)
            except BaseException as error:
                failures.append(error)
                self.stop()

        others = [
            threading.Thread(target=work, args=(handle,), name="interlock-worker")
            for handle in self._handles[1:]
        ]
        for thread in others:
            thread.start()
        try:
            self._loop(self._handles[0], until_empty)
        except BaseException:
            self.stop()
            raise
        finally:
            for thread in others:
                thread.join()
        if failures:
            raise failures[0]
        return self.done - before

    def _loop(self, handle: Any, until_empty: bool) -> None:
        out = ffi.new("ilk_job **")

        def following(worker: Any, left: int, err: Any) -> int:
            return int(lib.ilk_worker_next(out, worker, left, err))

        try:
            while not self._stopped.is_set():
                self._client._live()
                if self._fetch(following, handle, until_empty):
                    job = Job(self._client, ffi.gc(out[0], lib.ilk_job_free))
                    self._handle(handle, job)
                elif until_empty:
                    break
        finally:
            self._finish(handle)

    def _fetch(self, following: Callable[..., int], handle: Any, once: bool) -> bool:
        try:
            return wait_in_c(
                following,
                handle,
                0 if once else None,
                lib.ilk_worker_leave,
                lib.ilk_worker_stop,
            )
        except errors.CancelledError:
            if self._stopped.is_set():
                return False
            raise

    def _finish(self, handle: Any) -> None:
        err = _ffi.new_error()
        status = lib.ilk_worker_finish(handle, err)
        if status not in (_ffi.OK, _ffi.ELOST):
            log.warning(
                "not given back, comes again later: %s", _ffi.failure(status, err)
            )

    def _handle(self, handle: Any, job: Job) -> None:
        try:
            callback, args = calling(self._callbacks, job.data)
        except ValueError as error:
            self._count("buried")
            log.error("message %d of %s is buried: %s", job.id, job.queue, error)
            self._answer(lib.ilk_worker_bury, handle, str(error))
            return
        try:
            callback(*args)
        except Exception as error:
            self._count("failed")
            log.exception("message %d of %s failed", job.id, job.queue)
            why = f"{type(error).__name__}: {error}"
            self._answer(lib.ilk_worker_failed, handle, why)
        else:
            self._count("done")
            _ffi.call(lib.ilk_worker_done, handle)

    def _answer(self, verb: Callable[..., int], handle: Any, why: str) -> None:
        reason = why.encode("utf-8", "replace")
        _ffi.call(verb, handle, reason, len(reason))

    def _count(self, what: str) -> None:
        with self._lock:
            setattr(self, what, getattr(self, what) + 1)
