# SPDX-License-Identifier: MIT
"""Arguments of other libraries, for which the error names ours."""

from __future__ import annotations

import functools
from typing import Any, Callable, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

# Of redis-py's Redis.lock().
_OURS = {
    "timeout": "ttl= is the lease of a hold, and wait= how long acquire() waits",
    "blocking_timeout": "wait= is how long acquire() waits",
}


def names_ours(method: F) -> F:
    """Raise TypeError with the name that an argument has here."""

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        for theirs, ours in _OURS.items():
            if theirs in kwargs:
                raise TypeError(f"lock() has no argument {theirs!r}: {ours}")
        return method(*args, **kwargs)

    return cast(F, call)
