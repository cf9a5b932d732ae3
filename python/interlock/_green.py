# SPDX-License-Identifier: MIT
"""Waits under gevent and eventlet: in a thread of their own, told through a pipe.

A blocking C call stops every greenlet of its thread. Where the process is
monkey-patched, a wait runs in a real thread instead and the greenlet sleeps
on a pipe, so the others go on. A thread for each wait, and no pool of them: in
a pool that is full of waiters, the one who could wake them finds no place.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any, Callable

Wait = Callable[[int, Any], int]
Runner = Callable[[Wait, Callable[[], None], int, Any], int]


def runner() -> Runner | None:
    """How to run a wait in this process; None is to call it directly."""
    monkey = sys.modules.get("gevent.monkey")
    if monkey is not None and monkey.is_module_patched("socket"):
        return _with_gevent
    patcher = sys.modules.get("eventlet.patcher")
    if patcher is not None and patcher.is_monkey_patched("socket"):
        return _with_eventlet
    return None


def _with_gevent(wait: Wait, abandon: Callable[[], None], left: int, err: Any) -> int:
    monkey = importlib.import_module("gevent.monkey")
    readable = importlib.import_module("gevent.socket").wait_read
    start = monkey.get_original("_thread", "start_new_thread")
    return _in_thread(lambda work: start(work, ()), readable, wait, abandon, left, err)


def _with_eventlet(wait: Wait, abandon: Callable[[], None], left: int, err: Any) -> int:
    threads = importlib.import_module("eventlet.patcher").original("threading")
    trampoline = importlib.import_module("eventlet.hubs").trampoline
    return _in_thread(
        lambda work: threads.Thread(target=work, daemon=True).start(),
        lambda fd: trampoline(fd, read=True),
        wait,
        abandon,
        left,
        err,
    )


def _in_thread(
    start: Callable[[Callable[[], None]], object],
    readable: Callable[[int], object],
    wait: Wait,
    abandon: Callable[[], None],
    left: int,
    err: Any,
) -> int:
    reader, writer = os.pipe()
    outcome: list[int] = []
    gone = False

    def work() -> None:
        try:
            outcome.append(wait(left, err))
            if gone:  # granted after the greenlet had left: give it back
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
            readable(reader)  # the handle is free again when the thread is back
            raise
    finally:
        os.close(reader)
    return outcome[0]
