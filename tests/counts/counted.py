# SPDX-License-Identifier: MIT
"""Instructions of a process under callgrind, from one moment to another."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

import redis

VALGRIND = ["valgrind", "--tool=callgrind"]
COMPARE_AND_DELETE = (
    "if redis.call('get', KEYS[1]) == ARGV[1] then"
    " return redis.call('del', KEYS[1]) else return 0 end"
)


def token(number: int) -> str:
    """A token of the usual length, another one for each number."""
    return f"t{number:022}"


def total(profile: Path) -> int:
    found = re.search(r"^(?:totals|summary): (\d+)", profile.read_text(), re.MULTILINE)
    assert found, f"{profile} has no total"
    return int(found[1])


class CountedServer:
    """redis-server under callgrind, on a socket."""

    def __init__(self, folder: Path, program: str) -> None:
        self.profile = folder / "profile"
        self.path = str(folder / "s.sock")
        self.process = subprocess.Popen(
            [*VALGRIND, f"--callgrind-out-file={self.profile}", program,
             "--port", "0", "--unixsocket", self.path, "--save", "", "--hz", "1",
             "--dir", str(folder)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.redis = redis.Redis(unix_socket_path=self.path, socket_timeout=120)
        deadline = time.monotonic() + 60
        while True:
            try:
                self.redis.ping()
                break
            except redis.ConnectionError:
                assert time.monotonic() < deadline, "the server did not start"
                assert self.process.poll() is None
                time.sleep(0.05)
        self.dumps = self.calls = 0

    def _control(self, letter: str) -> None:
        """Valgrind heeds it at the next instruction of the server, so with a PING."""
        with subprocess.Popen(
            ["callgrind_control", letter, str(self.process.pid)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ) as asking:  # fmt: skip
            while asking.poll() is None:
                self.redis.ping()
                time.sleep(0.01)
        assert asking.returncode == 0

    def count(self, send, times: int) -> float:
        """The instructions of one call of send(pipeline, number), with numbers of its own.

        Other work of the machine adds some: the server reads requests in more parts,
        and gets more PINGs from _control(). It takes none away. Lua collects its garbage
        in steps, over several thousands of calls, and a step of one phase costs more
        than one of another; so each count begins with nothing to collect. As many calls
        before it bring tables and lists to the size that they keep."""

        def call(times):
            first, self.calls = self.calls, self.calls + times
            for at in range(first, self.calls, 20):
                pipeline = self.redis.pipeline(transaction=False)
                for number in range(at, min(at + 20, self.calls)):
                    send(pipeline, number)
                pipeline.execute()

        call(times)
        self.redis.eval("collectgarbage()", 0)
        self._control("-z")
        call(times)
        self._control("-d")
        self.dumps += 1
        return total(self.profile.with_name(f"profile.{self.dumps}")) / times

    def least(self, send, times: int, enough: float) -> float:
        """The least of three counts, or the first that is not more than enough."""
        least = self.count(send, times)
        for _ in range(2):
            if least > enough:
                least = min(least, self.count(send, times))
        return least

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def count_program(folder: Path, words: list[str]) -> int:
    """The instructions of a program from its beginning to its end."""
    profile = folder / "profile"
    subprocess.run(
        [*VALGRIND, f"--callgrind-out-file={profile}", *words],
        check=True, capture_output=True, timeout=300,
    )  # fmt: skip
    return total(profile)
