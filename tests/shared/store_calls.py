# SPDX-License-Identifier: MIT
"""A process that makes calls of a store, each with a limit, and says how long each took.

Faults of a client library end or hang the process that loads it, so a test runs the
calls in another one. `run` starts it and reads its report.
"""

from __future__ import annotations

import dataclasses
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

CONNECT_S = 1.0
REPLY_S = 1.0


@dataclasses.dataclass
class Call:
    name: str
    limit_s: float
    took_s: float
    result: str  # of its value or error

    @property
    def late_s(self) -> float:
        return self.took_s - self.limit_s


@dataclasses.dataclass
class Report:
    status: int  # of the process: below 0 a signal's number, None while it hangs
    calls: list[Call]
    stderr: str

    @property
    def rss_mb(self) -> float:
        """The most that the process had beyond what it had before its first call."""
        sizes = [one for one in self.calls if one.name == "rss"]
        return float(sizes[-1].result) if sizes else 0.0

    def of(self, name: str) -> Call:
        found = [one for one in self.calls if one.name == name]
        assert found, f"no {name} among {self.calls}, status {self.status}"
        return found[-1]

    def late(self, most_s: float) -> list[Call]:
        return [one for one in self.calls if one.late_s > most_s]


def run(url: str, names: Sequence[str], wait_s: float, kill_after_s: float) -> Report:
    """Calls in a process of their own, which is killed when it takes too long."""
    command = [sys.executable, __file__, url, str(wait_s), *names]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            out, errors = process.communicate(timeout=kill_after_s)
        except subprocess.TimeoutExpired:
            process.kill()
            out, errors = process.communicate()
    calls = [Call(**json.loads(line)) for line in out.splitlines()]
    return Report(process.returncode, calls, errors[-2000:])


def make_calls(url: str, wait_s: float, names: Sequence[str]) -> None:
    import interlock

    def peak_mb() -> float:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    def call(name: str, limit_s: float, verb: Callable[[], T]) -> T | None:
        began, value = time.monotonic(), None
        try:
            value = verb()
            result = repr(value)
        except interlock.Error as error:
            result = f"{type(error).__name__}: {error}"
        said = {"name": name, "limit_s": limit_s, "result": result[:300]}
        print(json.dumps({**said, "took_s": time.monotonic() - began}), flush=True)
        return value

    began_mb = peak_mb()

    def connect(lazy: bool) -> interlock.Client:
        return interlock.connect(
            url, lazy=lazy, connect_timeout=CONNECT_S, reply_timeout=REPLY_S
        )

    opened = call("connect", CONNECT_S + REPLY_S, lambda: connect(False))
    client = opened or connect(True)
    lock = client.lock("calls", ttl=30)
    election = client.election("calls", ttl=30)
    register = client.register("calls")
    verbs: dict[str, tuple[float, Callable[[], object]]] = {
        "acquire": (wait_s, lambda: lock.acquire(timeout=wait_s)),
        "try": (2 * REPLY_S, lambda: lock.acquire(timeout=0)),
        "extend": (2 * REPLY_S, lambda: lock.extend(30)),
        "release": (2 * REPLY_S, lock.release),
        "inspect": (2 * REPLY_S, lambda: client.inspect("calls")),
        "campaign": (wait_s, lambda: election.campaign(timeout=wait_s)),
        "resign": (2 * REPLY_S, election.resign),
        "get": (2 * REPLY_S, register.get),
        "set": (2 * REPLY_S, lambda: register.set(b"value")),
        "wait": (wait_s, lambda: register.wait(1, timeout=wait_s)),
    }
    for name in names:
        call(name, *verbs[name])
    call("close", 0, client.close)
    rss = {"name": "rss", "limit_s": 0, "took_s": 0}
    print(json.dumps({**rss, "result": f"{peak_mb() - began_mb:.1f}"}), flush=True)


if __name__ == "__main__":
    make_calls(sys.argv[1], float(sys.argv[2]), sys.argv[3:])
    # The interpreter's end is not what is measured.
    sys.stdout.flush()
    os._exit(0)
