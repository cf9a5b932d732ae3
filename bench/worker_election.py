# SPDX-License-Identifier: MIT
"""Candidates of each kind, see worker.py.

Those of tooz and of a lock keep themselves alive as their documentation shows:
a loop that renews and looks again.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

PLACE = Path(__file__).parent.parent / "build" / "bench" / "tooz"
PERIOD = 1.0  # in which a program on tooz beats and looks, as its examples do


@functools.cache
def client_of(url: str) -> Any:
    """The one that a process' candidates share."""
    import interlock

    return interlock.connect(url)


class Ours:
    def __init__(self, url: str, name: str, ttl: float) -> None:
        self.candidate = client_of(url).election(name, ttl=ttl)

    def campaign(self) -> None:
        self.candidate.campaign()

    def resign(self) -> None:
        self.candidate.resign()


class OnLock:
    """redis-py's lock with its default pause, prolonged by a thread."""

    def __init__(self, url: str, name: str, ttl: float) -> None:
        import redis

        connection = redis.Redis.from_url(url, socket_timeout=None)
        self.lock = connection.lock(name, timeout=ttl, thread_local=False)
        self.ttl = ttl
        self.over = threading.Event()

    def campaign(self) -> None:
        self.lock.acquire()
        threading.Thread(target=self._renew, daemon=True).start()

    def _renew(self) -> None:
        while not self.over.wait(self.ttl / 3):
            self.lock.reacquire()

    def resign(self) -> None:
        self.over.set()
        self.lock.release()


class Tooz:
    def __init__(self, url: str, name: str, ttl: float) -> None:
        sys.path.append(str(PLACE))
        warnings.simplefilter("ignore")  # of what tooz stands on
        from tooz import coordination

        member = f"{id(self)}-{time.monotonic_ns()}".encode()
        whole = f"{url}?lock_timeout={ttl:.0f}&membership_timeout={ttl:.0f}"
        self.coordinator = coordination.get_coordinator(whole, member)
        self.coordinator.start()
        self.elected = threading.Event()
        self.over = threading.Event()
        self.stopped = threading.Event()
        group = name.encode()
        with contextlib.suppress(coordination.GroupAlreadyExist):
            self.coordinator.create_group(group).get()
        self.coordinator.join_group(group).get()
        self.coordinator.watch_elected_as_leader(
            group, lambda event: self.elected.set()
        )

    def campaign(self) -> None:
        threading.Thread(target=self._loop, daemon=True).start()
        self.elected.wait()

    def _loop(self) -> None:
        """As its documentation has it: beat, look, sleep."""
        while not self.over.is_set():
            self.coordinator.heartbeat()
            self.coordinator.run_watchers()
            self.over.wait(PERIOD)
        self.coordinator.stop()
        self.stopped.set()

    def resign(self) -> None:
        self.over.set()
        self.stopped.wait()


KINDS = {"interlock": Ours, "redis-py": OnLock, "tooz": Tooz}


def candidates(kind: str, url: str, name: str, count: str, ttl: str) -> object:
    """Many candidates that wait in one process until the input ends."""
    made = [KINDS[kind](url, name, float(ttl)) for _ in range(int(count))]
    for candidate in made:
        threading.Thread(target=candidate.campaign, daemon=True).start()
    print("standing", flush=True)
    return sys.stdin.read()


def lead(kind: str, url: str, name: str, ttl: str) -> object:
    """Lead and say when it was elected; resign at a line, and say when.

    The times are of the monotonic clock, in seconds.
    """
    candidate = KINDS[kind](url, name, float(ttl))
    print("standing", flush=True)
    candidate.campaign()
    print(time.monotonic(), flush=True)
    sys.stdin.readline()
    before = time.monotonic()
    candidate.resign()
    return before
