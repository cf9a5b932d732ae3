# SPDX-License-Identifier: MIT
"""A server of another make as a process of the tests, with a home of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from cluster import until

STARTS = 5  # while it was down, somebody else may have got its port for a moment


class ServerProcess:
    """One server: it is killed, started again on the same data, frozen and thawed."""

    def __init__(self, home: Path, environment: Mapping[str, str] | None = None):
        self.home = home
        self.home.mkdir(parents=True, exist_ok=True)
        self.log = home / "log"
        self.environment = {**os.environ, **(environment or {})}
        self.process: subprocess.Popen[bytes] | None = None

    # ---- what a store defines --------------------------------------------------

    def command(self) -> list[str]:
        raise NotImplementedError

    def is_ready(self) -> bool:
        """Whether it serves clients; an OSError counts as no."""
        raise NotImplementedError

    # ---- the process -----------------------------------------------------------

    def launch(self) -> None:
        """Begin to start it, without waiting for it."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.home,
                env=self.environment,
            )

    def await_ready(self) -> None:
        launches = 1

        def is_there() -> bool:
            nonlocal launches
            assert self.process
            if self.process.poll() is not None:
                assert launches < STARTS, self.end_of_log()
                launches += 1
                time.sleep(0.2)
                self.launch()
            return self.is_ready()

        try:
            until(is_there, 60, f"{type(self).__name__} that serves")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.end_of_log()}") from None

    def start(self) -> None:
        self.launch()
        self.await_ready()

    def end_of_log(self) -> str:
        return self.log.read_text(errors="replace")[-3000:]

    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        assert self.process
        self.process.kill()
        self.process.wait()

    def freeze(self) -> None:
        """Returns when each of its threads has stopped: on a busy machine some of them
        answer for a while."""
        assert self.process
        self.process.send_signal(signal.SIGSTOP)
        stopped = os.WSTOPPED | os.WEXITED | os.WNOWAIT
        os.waitid(os.P_PID, self.process.pid, stopped)

    def thaw(self) -> None:
        assert self.process
        self.process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        if self.is_running():
            self.kill()
