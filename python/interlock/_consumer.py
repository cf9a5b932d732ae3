# SPDX-License-Identifier: MIT
"""One who takes messages from raw lists, and the loop of a worker."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Iterable, Mapping
from typing import Any, Callable

from . import _raw
from ._core import lib
from ._raw import Value

# Seconds after which a worker without jobs looks whether it is to end.
CHECK_SECONDS = 2.0

_log = logging.getLogger("interlock")


class Consumer:
    """Takes messages from the head of raw lists; others push them there.

    What is taken stays on the server until it is settled, in a list of the
    consumer's own. When its process dies the other consumers of the queue put
    it back, so a message is handled at least once. The first queue that has a
    message gives it: name the urgent ones first. Blocking costs a connection
    per queue, beside the client's own.

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
        self._taker = _raw.Taker(conn, list(queues))
        self._decode = _raw.decoder(conn)

    def pop(self, timeout: float | None = None) -> tuple[Any, Any] | None:
        """The queue and its next message; None when none came in time.

        Raises: HeldError when the last one is not settled, WrongTypeError,
        ConnectionError. Blocks: yes; ended by a signal handler that raises and
        by ``client.close()``.
        """
        found = self._taker.pop(timeout)
        if found is None:
            return None
        return self._decode(found[0]), self._decode(found[1])

    def done(self) -> bool:
        """The message was handled; False when others have put it back."""
        return self._taker.settle(lib.ILK_RECIPES_DONE)

    def put_back(self) -> bool:
        """The message goes back to the head of its queue."""
        return self._taker.settle(lib.ILK_RECIPES_BACK)

    def bury(self) -> bool:
        """Nobody can handle it: to ``ilk:recipes:dead:{queue}``, the last 1000."""
        return self._taker.settle(lib.ILK_RECIPES_DEAD)

    def leave(self) -> None:
        """Give back what is not settled, and be no consumer any more."""
        self._taker.leave()

    def __enter__(self) -> Consumer:
        return self

    def __exit__(self, *exc: object) -> None:
        self.leave()


def work(
    conn: Any,
    queue: str,
    callbacks: Mapping[str, Callable[..., object]],
    over: Callable[[], bool],
) -> None:
    """See :func:`interlock.recipes.worker_watch_queue`."""
    with Consumer(conn, [queue]) as consumer:
        while not over():
            packed = consumer.pop(CHECK_SECONDS)
            if packed is not None:
                _do(consumer, packed[1], callbacks)


def _do(
    consumer: Consumer, packed: Any, callbacks: Mapping[str, Callable[..., object]]
) -> None:
    try:
        name, args = json.loads(packed)
        callback = callbacks.get(name)
    except (ValueError, TypeError):
        _log.error("No job: %.200r", packed)
        consumer.bury()
        return
    if callback is None:
        _log.error("Unknown callback %s", name)
        consumer.bury()
        return
    try:
        callback(*args)
    except Exception:
        with contextlib.suppress(Exception):  # the callback's is the one to see
            consumer.bury()
        raise
    if not consumer.done():
        _log.warning("a job of %s will be done again by others", name)
