# SPDX-License-Identifier: MIT
"""Waits under gevent and eventlet: a thread for each, and a pipe for its end.

A blocking C call stops every greenlet of its thread. Where the process is
monkey-patched, a wait runs in a real thread instead and the greenlet sleeps
on a pipe, so the other greenlets continue. The threads are not pooled: in a
pool that is full of waiters, the call that would wake them finds no thread.
"""

from __future__ import annotations

import importlib
import os
import sys
from functools import partial
from typing import Any, Callable

Abandon = Callable[[], None]
Runner = Callable[..., int]


def runner(abandon: Abandon) -> Runner | None:
    """Return a function that runs a C function in a thread; None if not needed.

    ``abandon`` cancels the wait; it is called, possibly twice, when the greenlet
    is killed or timed out.
    """
    monkey = sys.modules.get("gevent.monkey")
    if monkey is not None and monkey.is_module_patched("socket"):
        return _by_gevent(abandon)
    patcher = sys.modules.get("eventlet.patcher")
    if patcher is not None and patcher.is_monkey_patched("socket"):
        return _by_eventlet(abandon)
    return None


def _by_gevent(abandon: Abandon) -> Runner:
    monkey = importlib.import_module("gevent.monkey")
    readable = importlib.import_module("gevent.socket").wait_read
    start = monkey.get_original("_thread", "start_new_thread")
    return partial(_run, lambda work: start(work, ()), readable, abandon)


def _by_eventlet(abandon: Abandon) -> Runner:
    threads = importlib.import_module("eventlet.patcher").original("threading")
    trampoline = importlib.import_module("eventlet.hubs").trampoline
    return partial(
        _run,
        lambda work: threads.Thread(target=work, daemon=True).start(),
        lambda fd: trampoline(fd, read=True),
        abandon,
    )


def _run(
    start: Callable[[Callable[[], None]], object],
    readable: Callable[[int], object],
    abandon: Abandon,
    function: Callable[..., int],
    *args: Any,
) -> int:
    reader, writer = os.pipe()
    outcome: list[int] = []
    gone = False

    def work() -> None:
        try:
            outcome.append(function(*args))
            if gone:  # granted after the greenlet had gone: give it back
                abandon()
        finally:
            os.close(writer)  # the end of the file wakes the greenlet

    try:
        start(work)
    except BaseException:
        os.close(reader)
        os.close(writer)
        raise
    try:
        try:
            readable(reader)
        except BaseException:
            gone = True
            abandon()
            readable(reader)  # the handle is usable again when the thread returns
            raise
    finally:
        os.close(reader)
    return outcome[0]
