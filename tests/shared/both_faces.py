# SPDX-License-Identifier: MIT
"""One coroutine for the blocking client and for that of asyncio."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any


def run_now(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine of the blocking client, which never suspends."""
    try:
        coroutine.send(None)
    except StopIteration:
        return
    raise AssertionError("a blocking call suspended")
