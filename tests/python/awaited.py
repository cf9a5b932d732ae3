# SPDX-License-Identifier: MIT
"""The asynchronous face worn as the synchronous one, so that a test runs both.

One task of one event loop runs each awaitable to its end; all else passes as it
is. Between two calls nothing runs but the core's own thread,
which is what statements one after the other want.
"""

from __future__ import annotations

import asyncio
import functools
import inspect

import interlock
from interlock import aio


class OneTask:
    """An event loop with one task, which does what it is given."""

    def __init__(self):
        self._loop = asyncio.new_event_loop()
        self._asked = asyncio.Queue()
        self._task = self._loop.create_task(self._serve())

    async def _serve(self):
        while True:
            function, args, more, answer = await self._asked.get()
            try:
                result = function(*args, **more)
                answer.set_result(
                    await result if inspect.isawaitable(result) else result
                )
            except Exception as error:
                answer.set_exception(error)

    def run(self, function, *args, **more):
        """Call it inside the task, and await what it answers."""
        answer = self._loop.create_future()
        self._asked.put_nowait((function, args, more, answer))
        return self._loop.run_until_complete(answer)

    def close(self):
        """End the task and the loop."""
        self._task.cancel()
        self._loop.run_until_complete(asyncio.wait([self._task]))
        self._loop.close()


class Face:
    """One of the two, under the names of the synchronous one."""

    def __init__(self, task=None):
        self._task = task

    def __getattr__(self, name):
        if self._task is None:
            return getattr(interlock, name)
        return wear(getattr(aio, name), self._task)


class Awaited:
    """An object of the asynchronous face; to isinstance() one of the other."""

    def __init__(self, thing, task):
        self._thing, self._task = thing, task

    @property
    def __class__(self):
        return getattr(interlock, type(self._thing).__name__, type(self._thing))

    def __getattr__(self, name):
        return wear(getattr(self._thing, name), self._task)

    def __setitem__(self, key, value):
        self._thing[key] = value

    def __delitem__(self, key):
        del self._thing[key]

    def __hash__(self):
        return hash(self._thing)

    def __eq__(self, other):
        return self._thing is bare(other)


def bare(value):
    """As the asynchronous face gave it."""
    if type(value) is Awaited:
        return value._thing
    if type(value) in (list, tuple):
        return type(value)(bare(one) for one in value)
    return value


def wear(value, task):
    """As the synchronous face would give it."""
    if inspect.isroutine(value):
        return functools.partial(call, value, task)
    if type(value) in (list, tuple):
        return type(value)(wear(one, task) for one in value)
    of_aio = type(value).__module__.startswith("interlock.aio")
    return Awaited(value, task) if of_aio else value


def call(function, task, *args, **more):
    args = [bare(one) for one in args]
    return wear(task.run(function, *args, **more), task)
