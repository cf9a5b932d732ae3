# SPDX-License-Identifier: MIT
"""Handles as decorators: each call of the function is a hold of its own."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import inspect
from collections.abc import AsyncGenerator, Coroutine, Generator, Iterator
from typing import Any, Callable, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class Holds:
    """The handles for the calls of one decorated function.

    A handle is one owner, so each call makes its own, and calls of several threads
    or tasks wait for each other. With ``reentrant=True`` a call inside another one
    of the same thread and task uses the handle of that one.
    """

    def __init__(
        self, make: Callable[[], Any], reentrant: bool, owner: Callable[[], object]
    ) -> None:
        self._make = make
        self._reentrant = reentrant
        self._owner = owner
        self._current: contextvars.ContextVar[tuple[object, Any] | None]
        self._current = contextvars.ContextVar("interlock hold", default=None)

    @contextlib.contextmanager
    def handle(self) -> Iterator[Any]:
        """The handle of one call."""
        if not self._reentrant:
            yield self._make()
            return
        owner, current = self._owner(), self._current.get()
        # A task inherits the context of the one that made it, but not its hold.
        if current is not None and current[0] == owner:
            yield current[1]
            return
        handle = self._make()
        token = self._current.set((owner, handle))
        try:
            yield handle
        finally:
            self._current.reset(token)


# Results of a call whose body has not run yet. A context manager of contextlib is the
# call of a generator function, and has no other sign of it.
_UNRUN = (
    Coroutine,
    Generator,
    AsyncGenerator,
    contextlib._GeneratorContextManager,
    contextlib._AsyncGeneratorContextManager,
)


def check(function: object, awaited: bool) -> None:
    """Refuse a function whose body would run after the hold. Raises: TypeError."""
    if not callable(function):
        raise TypeError(f"a handle decorates functions, got {type(function).__name__}")
    # A callable object is checked by its method __call__.
    kinds = (function, type(function).__call__)
    if any(map(inspect.isgeneratorfunction, kinds)) or any(
        map(inspect.isasyncgenfunction, kinds)
    ):
        raise TypeError("a handle cannot decorate a generator: use `with` inside it")
    if any(map(inspect.iscoroutinefunction, kinds)) != awaited:
        package = "interlock" if awaited else "interlock.aio"
        kind = "a function without async" if awaited else "an async function"
        raise TypeError(f"{kind} is decorated by the handles of {package}")


def check_result(result: object) -> None:
    """Refuse a result whose body would run after the hold. Raises: TypeError."""
    if not isinstance(result, _UNRUN):
        return
    if isinstance(result, Coroutine):  # it would warn that nobody has awaited it
        result.close()
    raise TypeError(
        f"a decorated function returned a {type(result).__name__}, which would run"
        " after the hold has ended: acquire inside it"
    )


def blocking(function: F, holds: Holds) -> F:
    """Decorate a function."""
    check(function, awaited=False)

    @functools.wraps(function)
    def held(*args: Any, **more: Any) -> Any:
        with holds.handle() as handle, handle:
            result = function(*args, **more)
            check_result(result)
            return result

    return held  # type: ignore[return-value]


def awaited(function: F, holds: Holds) -> F:
    """Decorate a coroutine function."""
    check(function, awaited=True)

    @functools.wraps(function)
    async def held(*args: Any, **more: Any) -> Any:
        with holds.handle() as handle:
            async with handle:
                result = await function(*args, **more)
                check_result(result)
                return result

    return held  # type: ignore[return-value]
