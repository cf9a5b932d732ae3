# SPDX-License-Identifier: MIT
"""The worker: calls named callbacks for messages, retries, ends gracefully.

A message is ``[name, args]`` in JSON: the worker calls the callback of that name
with these arguments. :func:`task` makes a message.
"""

from __future__ import annotations

import inspect
import json
import logging
import signal
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable

from . import _ffi, errors
from ._core import ffi, lib
from ._ffi import Name, Seconds
from ._outage import Outage
from ._process_bound import ProcessBound
from ._queue_wait import c_names, wait_in_c
from ._stop_signals import stopping
from .job import Job
from .queue import QueueOptions

if TYPE_CHECKING:
    from .client import Client

Callback = Callable[..., object]

SLICE = 0.05  # seconds between two checks whether a pause should end

log: logging.Logger = logging.getLogger("interlock.worker")


def task(name: str, *args: Any) -> bytes:
    """Make a message for a worker: call ``name`` with these arguments.

    Raises: TypeError for an argument that JSON cannot represent. Blocks: no.
    Thread: any thread.

    >>> task("greet", "world", 2)
    b'["greet", ["world", 2]]'
    """
    return json.dumps([name, list(args)]).encode("utf-8")


def callback_of(
    callbacks: Mapping[str, Callback], message: bytes
) -> tuple[Callback, list[Any]]:
    """Return the callback that a message names, and its arguments.

    Raises: ValueError for a message that names none, LookupError for a name that
    this worker does not know. Blocks: no. Thread: any thread.
    """
    try:
        name, args = json.loads(message)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except (ValueError, TypeError):
        raise ValueError("not [name, args] in JSON") from None
    if not isinstance(name, str) or not isinstance(args, list):
        raise ValueError("not [name, args] in JSON")
    if name not in callbacks:
        raise LookupError(f"unknown callback {name!r}")
    return callbacks[name], args


def checked_callbacks(callbacks: Mapping[str, Callback]) -> Mapping[str, Callback]:
    """Check that names map to functions; the mapping itself may change later.

    Raises: TypeError. Blocks: no. Thread: any thread.
    """
    if not isinstance(callbacks, Mapping):
        got = type(callbacks).__name__
        raise TypeError(f"callbacks must map names to functions, got {got}")
    for name, callback in callbacks.items():
        if not isinstance(name, str):
            raise TypeError(f"names of callbacks must be str, got {name!r}")
        if not callable(callback):
            raise TypeError(f"callback {name!r} must be callable, got {callback!r}")
    return callbacks


def refuse_coroutine_functions(callbacks: Mapping[str, Callback]) -> None:
    """Refuse coroutine functions, which a blocking worker would never run.

    Raises: TypeError. Blocks: no. Thread: any thread.
    """
    for name, callback in callbacks.items():
        if inspect.iscoroutinefunction(callback):
            raise TypeError(
                f"callback {name!r} is a coroutine function, which"
                " interlock.aio.Worker runs and interlock.Worker does not"
            )


def check_result(result: object) -> None:
    """Refuse what a callback leaves to be awaited: nobody would.

    Raises: TypeError. Blocks: no. Thread: any thread.
    """
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()
        raise TypeError(
            "the callback returned an awaitable, which interlock.aio.Worker"
            " awaits and interlock.Worker does not"
        )


def refuse_ended(ended_by: str | None) -> None:
    """Refuse to run a worker that an exception of this name has ended.

    Raises: ClosedError. Blocks: no. Thread: any thread.
    """
    if ended_by is not None:
        raise errors.ClosedError(
            f"the worker has ended by {ended_by} and takes no more messages:"
            " make another one"
        )


class Worker(ProcessBound):
    """Takes messages from queues and calls the callbacks they name, until stopped.

    ``queues`` are names in order of priority; ``callbacks`` maps a name to a
    function. When a callback raises, its message is delivered again, after
    ``backoff`` seconds and twice as long each time up to ``backoff_max``, with
    random jitter. After ``max_attempts`` the message becomes dead. A name that is not
    among ``callbacks`` counts as a failure, so that newer programs may push what only
    newer workers know; a message that is no ``[name, args]`` is dead at once. The lease is renewed while a callback
    works, so it may take longer than ``lease`` seconds; the messages of a process
    that dies are delivered again when the lease has ended. ``batch`` messages are
    reserved together.

    >>> queue = client.queue("tasks-example")
    >>> queue.push(task("greet", "world"))
    1
    >>> worker = Worker(client, "tasks-example", {"greet": lambda who: print("hello", who)})
    >>> worker.run(until_empty=True)
    hello world
    1

    ``threads`` work side by side, each on a message of its own. Thread: any
    thread, and a signal handler, may call :meth:`stop`.
    """

    def __init__(
        self,
        client: Client,
        queues: Name | Sequence[Name],
        callbacks: Mapping[str, Callback],
        *,
        order: str = "fifo",
        threads: int = 1,
        lease: Seconds = 30.0,
        max_attempts: int | None = 25,
        backoff: Seconds = 1.0,
        backoff_max: Seconds = 600.0,
        batch: int = 1,
    ) -> None:
        if threads < 1:
            raise errors.InvalidError(f"threads must be 1 or more, got {threads}")
        if isinstance(queues, (str, bytes, bytearray, memoryview)):
            queues = (queues,)
        self._client = client
        self._callbacks = checked_callbacks(callbacks)
        refuse_coroutine_functions(callbacks)
        self._stopped = False  # a signal handler sets it: no lock
        self._ended_by: str | None = None  # the exception that has ended run()
        self._lock = threading.Lock()
        #: Messages done, failed (to be delivered again) and buried so far.
        self.done: int = 0
        self.failed: int = 0
        self.buried: int = 0
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
        """How many messages had lost their lease when their result was sent."""
        return sum(int(lib.ilk_worker_lost(handle)) for handle in self._handles)

    def stop(self) -> None:
        """End the loop: running callbacks complete, other messages are given back.

        :meth:`run` then returns. Blocks: no. Thread: any thread.
        """
        self._stopped = True
        self._client._live()
        for handle in self._handles:
            _ffi.call(lib.ilk_worker_stop, handle)

    def run(
        self,
        until_empty: bool = False,
        *,
        stop_on: Iterable[int] = (signal.SIGTERM,),
    ) -> int:
        """Work until :meth:`stop`; returns how many messages were done.

        ``stop()`` on the client ends it as well.
        ``until_empty=True`` returns when no message can be taken. ``stop_on`` are
        the signals that call ``stop()`` while the loop runs on the main thread,
        unless the program handles or ignores them itself. An exception
        that is not an ``Exception``, such as KeyboardInterrupt, ends the loop
        too, in the thread that runs it. A worker that an exception has ended does
        not run again.

        Raises: DiffersError, WrongTypeError, AuthError, ClosedError, also after an
        exception has ended it;
        ConnectionError when the server cannot be reached for a minute.
        Blocks: yes. Thread: one thread at a time.
        """
        refuse_ended(self._ended_by)
        try:
            return self._run(until_empty, stop_on)
        except BaseException as error:
            self._ended_by = type(error).__name__
            raise

    def _run(self, until_empty: bool, stop_on: Iterable[int]) -> int:
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
            with stopping(stop_on, self.stop):
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
        out, outage = ffi.new("ilk_job **"), Outage()
        began = 0.0

        def next_job(worker: Any, left: int, err: Any) -> int:
            nonlocal began
            began = time.monotonic()
            return int(lib.ilk_worker_next(out, worker, left, err))

        try:
            while not self._should_end():
                self._client._live()
                try:
                    arrived = self._fetch(next_job, handle, until_empty)
                except errors.ConnectionError:
                    pause = outage.next_pause(began)
                    if pause is None:
                        raise
                    self._sleep(pause)
                    continue
                outage.end()
                if arrived:
                    taken, out[0] = out[0], ffi.NULL
                    job = Job(self._client, ffi.gc(taken, lib.ilk_job_free))
                    self._handle(handle, job)
                elif until_empty:
                    break
        finally:
            lib.ilk_job_free(out[0])  # a signal handler has raised: none knows it
            self._finish(handle)

    def _should_end(self) -> bool:
        return self._stopped or self._client.stopped

    def _sleep(self, seconds: float) -> None:
        """Pause in slices: an event that a signal handler sets could deadlock."""
        end = time.monotonic() + seconds
        while not self._should_end():
            left = end - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(SLICE, left))

    def _fetch(self, next_job: Callable[..., int], handle: Any, once: bool) -> bool:
        try:
            return wait_in_c(
                next_job,
                handle,
                0 if once else None,
                lib.ilk_worker_leave,
                lib.ilk_worker_stop,
            )
        except errors.CancelledError:
            if self._should_end():
                return False
            raise

    def _finish(self, handle: Any) -> None:
        err = _ffi.new_error()
        status = lib.ilk_worker_finish(handle, err)
        if status not in (_ffi.OK, _ffi.ELOST):
            log.warning(
                "messages were not given back, they wait for their lease: %s",
                _ffi.failure(status, err),
            )

    def _handle(self, handle: Any, job: Job) -> None:
        try:
            callback, args = callback_of(self._callbacks, job.data)
        except ValueError as error:
            self._count("buried")
            log.error("message %d of %s is buried: %s", job.id, job.queue, error)
            self._settle(lib.ilk_worker_bury, handle, str(error))
            return
        except LookupError as error:
            self._count("failed")
            log.error("message %d of %s is given back: %s", job.id, job.queue, error)
            self._settle(lib.ilk_worker_failed, handle, str(error))
            return
        try:
            check_result(callback(*args))
        except Exception as error:
            self._count("failed")
            log.exception("message %d of %s failed", job.id, job.queue)
            why = f"{type(error).__name__}: {error}"
            self._settle(lib.ilk_worker_failed, handle, why)
        else:
            self._count("done")
            _ffi.call(lib.ilk_worker_done, handle)

    def _settle(self, verb: Callable[..., int], handle: Any, why: str) -> None:
        reason = why.encode("utf-8", "replace")
        _ffi.call(verb, handle, reason, len(reason))

    def _count(self, what: str) -> None:
        with self._lock:
            setattr(self, what, getattr(self, what) + 1)
