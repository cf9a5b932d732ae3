# SPDX-License-Identifier: MIT
"""A consumer of raw lists, and the loop of a worker."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Iterable, Mapping
from typing import Any, Callable

from . import _recipe_calls
from ._core import lib
from ._recipe_calls import Value

# Seconds between two checks of a worker without jobs whether it should stop.
CHECK_SECONDS = 2.0

_log = logging.getLogger("interlock")


class Consumer:
    """Takes messages from the head of raw lists, to which other programs push.

    A message stays on the server, in a list of the consumer's own, until it is
    settled. When the process dies the other consumers of the queue put the
    message back, so each message is handled at least once. The first queue that
    has a message is served: name the urgent ones first. Blocking costs a
    connection per queue, beside the client's own.

    >>> from interlock import recipes
    >>> recipes.fifo_queue_push(client, "queue:low", "sweep")
    >>> recipes.fifo_queue_push(client, "queue:high", "extinguish")
    >>> with Consumer(client, ["queue:high", "queue:low"]) as consumer:
    ...     consumer.pop(), consumer.done()
    ...     consumer.pop(), consumer.done()
    ...     consumer.pop(timeout=0)
    ((b'queue:high', b'extinguish'), True)
    ((b'queue:low', b'sweep'), True)

    Thread: one thread at a time.
    """

    def __init__(self, conn: Any, queues: Iterable[Value]) -> None:
        self._calls = _recipe_calls.ConsumerHandle(conn, list(queues))
        self._decode = _recipe_calls.decoder(conn)

    def pop(self, timeout: float | None = None) -> tuple[Any, Any] | None:
        """Return the queue and its next message; None when none came in time.

        Raises: HeldError when the last message is not settled, WrongTypeError,
        ConnectionError. Blocks: at most ``timeout`` seconds, None for ever; ended
        by a signal handler that raises, ``client.stop()`` and ``client.close()``.
        """
        found = self._calls.pop(timeout)
        if found is None:
            return None
        return self._decode(found[0]), self._decode(found[1])

    def done(self) -> bool:
        """Settle the message as handled; False when others have put it back."""
        return self._calls.settle(lib.ILK_RECIPES_DONE)

    def put_back(self) -> bool:
        """Put the message back at the head of its queue."""
        return self._calls.settle(lib.ILK_RECIPES_BACK)

    def bury(self) -> bool:
        """Move the message to ``ilk:recipes:dead:{queue}``, which keeps 1000."""
        return self._calls.settle(lib.ILK_RECIPES_DEAD)

    def leave(self) -> None:
        """Give back an unsettled message, and stop being a consumer."""
        self._calls.leave()

    def __enter__(self) -> Consumer:
        return self

    def __exit__(self, *exc: object) -> None:
        self.leave()


def work(
    conn: Any,
    queue: str,
    callbacks: Mapping[str, Callable[..., object]],
    stopped: Callable[[], bool],
) -> None:
    """See :func:`interlock.recipes.worker_watch_queue`."""
    with Consumer(conn, [queue]) as consumer:
        while not stopped():
            packed = consumer.pop(CHECK_SECONDS)
            if packed is not None:
                _do(consumer, packed[1], callbacks)


def _do(
    consumer: Consumer, packed: Any, callbacks: Mapping[str, Callable[..., object]]
) -> None:
    try:
        name, args = json.loads(packed)
        callback = callbacks.get(name)
    except (ValueError, TypeError, RecursionError):  # the last: nested too deeply
        _log.error("A message is not [name, args] in JSON: %.200r", packed)
        consumer.bury()
        return
    if callback is None:
        _log.error("Unknown callback %s", name)
        consumer.bury()
        return
    try:
        callback(*args)
    except Exception:
        with contextlib.suppress(Exception):  # the callback's error matters more
            consumer.bury()
        raise
    if not consumer.done():
        _log.warning(
            "a job of %s was put back meanwhile: another consumer repeats it", name
        )
