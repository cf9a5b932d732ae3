# SPDX-License-Identifier: MIT
"""A server whose process can be killed, frozen, and given another time of day."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from support import ReplyError, Server, wait_until

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("ILK_BUILD") or ROOT / "build" / "release")


class Clock:
    """The time of day of processes that are started in this environment: clock.c."""

    def __init__(self, path: Path):
        library = BUILD / "tests" / "libchaos_clock.so"
        assert library.exists(), f"{library} is not built"
        self.path, self.offset = path, 0.0
        path.write_bytes(bytes(8))
        self.environment = {"LD_PRELOAD": str(library), "CHAOS_CLOCK": str(path)}

    def step(self, seconds: float) -> None:
        """Set it forward, or back."""
        self.offset += seconds
        nanoseconds = int(self.offset * 1e9)
        descriptor = os.open(self.path, os.O_WRONLY)
        os.pwrite(descriptor, nanoseconds.to_bytes(8, "little", signed=True), 0)
        os.close(descriptor)


class ClockedServer(Server):
    """Its data, if it keeps any, are written before each reply (`appendfsync always`).

    They lie in memory where the host has /dev/shm: a killed process loses nothing
    there either.
    """

    def __init__(
        self,
        program: str,
        directory: Path,
        keeps_data: bool,
        steps: bool,
        ahead: float = 0.0,  # seconds, of its clock when it starts
    ):
        fast = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.data = tempfile.mkdtemp(prefix="ilk-", dir=fast)
        self.clock = Clock(directory / "clock")
        self.clock.step(ahead)
        options = ["--logfile", str(directory / "server.log"), "--loglevel", "notice"]
        if keeps_data:
            options += ["--appendonly", "yes", "--appendfsync", "always"]
        env = self.clock.environment if steps else {}
        super().__init__(self.data, *options, program=program, env=env)

    def start(self) -> None:
        super().start()
        wait_until(self.has_loaded, 20)

    def has_loaded(self) -> bool:
        try:
            return bool(self.call("PING"))
        except ReplyError:
            return False

    def close(self) -> None:
        self.__exit__()
        shutil.rmtree(self.data, ignore_errors=True)
