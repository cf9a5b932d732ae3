# SPDX-License-Identifier: MIT
"""A client in a process of its own, which a test kills and freezes: member.py URL.

A line of JSON is a list of a function's name and its arguments; the answer is a line
of JSON as well.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from typing import Any

import interlock


class Served:
    """The functions that a test may call in the process."""

    def __init__(self, url: str):
        self.client = interlock.connect(url)
        self.news = self.client.notifications()
        self.lock: interlock.Lock | None = None
        self.election: interlock.Election | None = None
        self.member: interlock.Member | None = None

    def acquire(self, name: str, ttl: float, wait: float) -> int:
        """The fence; 0 when it did not come in time."""
        self.lock = self.client.lock(name, ttl=ttl)
        return self.lock.fence if self.lock.acquire(wait) else 0

    def campaign(self, name: str, ttl: float, value: str) -> int:
        self.election = self.client.election(name, ttl=ttl, value=value.encode())
        return self.election.term if self.election.campaign(60) else 0

    def join(self, group: str, id: str, ttl: float) -> bool:
        self.member = self.client.group(group).join(id, ttl=ttl)
        return self.member.held

    def leave(self) -> bool:
        return bool(self.member and self.member.leave())

    def held(self) -> bool:
        return bool(self.lock and self.lock.held)

    def lost(self, seconds: float) -> str | None:
        """The kind of the next notification that comes in time."""
        notification = self.news.get(seconds)
        return notification.kind if notification else None

    def release(self) -> bool:
        return bool(self.lock and self.lock.release())


class Member:
    """That process, seen by the test."""

    def __init__(self, url: str):
        self.process = subprocess.Popen(
            [sys.executable, __file__, url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            text=True,
        )

    def begin(self, *words: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()

    def end(self) -> Any:
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, "the member has ended"
        return json.loads(line)

    def ask(self, *words: Any) -> Any:
        self.begin(*words)
        return self.end()

    def later(self, *words: Any) -> Answer:
        return Answer(self, words)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        assert self.process.stdin and self.process.stdout
        if self.process.poll() is None:
            self.thaw()
            self.kill()
        self.process.stdin.close()
        self.process.stdout.close()


class Answer:
    """The answer to a call, which a thread reads when it comes."""

    def __init__(self, member: Member, words: tuple[Any, ...]):
        self.came = threading.Event()
        self.value: Any = None
        self.member = member
        member.begin(*words)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        try:
            self.value = self.member.end()
        except (AssertionError, ValueError):
            return
        self.came.set()


def main() -> None:
    served = Served(sys.argv[1])
    for line in sys.stdin:
        verb, *rest = json.loads(line)
        try:
            answer = getattr(served, verb)(*rest)
        except interlock.Error as error:
            answer = error.status
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
