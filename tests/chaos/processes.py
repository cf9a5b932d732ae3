# SPDX-License-Identifier: MIT
"""The processes that use one server: started, killed, frozen, started again."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import worker
from history import Writer
from server import BUILD, ROOT
from worker import REST, Setting

FORKS = multiprocessing.get_context("forkserver")
PROGRAM = BUILD / "tests" / "chaos_worker"
LUA_MODULE = BUILD / "lua" / "luajit"


class Process(Protocol):
    """The methods that each kind of process has."""

    def ended(self) -> int | None:
        """The exit status; None while it runs."""

    def send(self, number: int) -> None:
        """A signal, if it has not ended."""


class PythonProcess:
    """Forked from a process that has imported everything and opened nothing."""

    def __init__(self, setting: Setting):
        self.process = FORKS.Process(target=worker.main, args=[setting])
        self.process.start()

    def ended(self) -> int | None:
        return self.process.exitcode

    def send(self, number: int) -> None:
        if self.process.exitcode is None and self.process.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, number)


class Program:
    """A program with the arguments that worker.c and worker.lua share."""

    def __init__(self, argv: list[str], env: Mapping[str, str], setting: Setting):
        log = (setting.directory / f"{setting.name}.log").open("w")
        environment = {**os.environ, **setting.env, **env}
        with log:
            self.process = subprocess.Popen(
                argv, stdout=log, stderr=log, env=environment
            )

    def ended(self) -> int | None:
        return self.process.poll()

    def send(self, number: int) -> None:
        self.process.send_signal(number)


def seed_of(setting: Setting) -> str:
    return str(random.Random(f"{setting.seed} {setting.name}").randrange(1 << 30))


def c_process(setting: Setting) -> Process:
    argv = [str(PROGRAM), "work", setting.url, str(setting.history), setting.name]
    argv += [seed_of(setting), str(setting.actors), str(setting.stop)]
    return Program(argv, setting.env, setting)


def lua_process(setting: Setting) -> Process:
    argv = ["luajit", str(Path(__file__).with_name("worker.lua")), setting.url]
    argv += [str(setting.history), setting.name, seed_of(setting), str(setting.stop)]
    env = {
        "LUA_PATH": f"{ROOT}/lua/?.lua;{ROOT}/lua/?/init.lua;;",
        "LUA_CPATH": f"{LUA_MODULE}/?.so;;",
    }
    return Program(argv, env, setting)


def has_lua() -> bool:
    return bool(shutil.which("luajit")) and LUA_MODULE.exists()


class CommandProcess:
    """`interlock lock`, over and over, until one is killed.

    The program that it runs has no handle that could say how long it is sure. If the
    command ends with 0, it held until the program's end, and so says its release.
    """

    def __init__(self, setting: Setting):
        self.setting, self.rng = setting, random.Random(seed_of(setting))
        self.mutex = threading.Lock()
        self.command: subprocess.Popen[bytes] | None = None
        self.status: int | None = None
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def ended(self) -> int | None:
        return None if self.thread.is_alive() else self.status

    def send(self, number: int) -> None:
        with self.mutex:
            if self.command:
                self.command.send_signal(number)

    def run(self) -> None:
        writer, count = Writer(self.setting.history), 0
        self.status = 0
        while not self.setting.stop.exists():
            count += 1
            status = self.once(writer, f"{self.setting.name}.0.{count}")
            if status == -signal.SIGKILL:
                self.status = status
                break
            if status not in (0, 75):
                time.sleep(REST)
        writer.close()

    def once(self, writer: Writer, op: str) -> int:
        name, ttl = f"lock{self.rng.randrange(4)}", self.rng.choice([200, 600, 1500])
        ttl *= int(self.setting.env.get("CHAOS_STRETCH", "1"))
        wait = self.rng.choice(["0", "500ms", "forever"])
        argv = [str(BUILD / "bin" / "interlock"), "lock", name, "--quiet"]
        argv += ["--url", self.setting.url, "--ttl", f"{ttl}ms", "--wait", wait, "--"]
        argv += [str(PROGRAM), "hold", str(self.setting.history), op]
        argv += [str(self.rng.choice([0, 5, 20, 2 * ttl] if wait == "0" else [0, 5]))]
        about = {"wait": wait, "ttl": ttl, "units": 1, "capacity": 1}
        writer.line("b", op, "acquire", "lock", name, **about)
        with (self.setting.directory / f"{self.setting.name}.log").open("a") as log:
            with self.mutex:
                self.command = subprocess.Popen(argv, stdout=log, stderr=log)
            status = self.command.wait()
        lines = self.setting.history.read_text()
        result = {0: "ok", 76: "no"}.get(status, f"status-{status}")
        if f" b {op}.r " in lines:
            writer.line("e", f"{op}.r", result)
        elif f" e {op} ok " not in lines and status != -signal.SIGKILL:
            writer.line("e", op, "no" if status == 75 else result)
        return status


def tasks_process(setting: Setting) -> Process:
    return PythonProcess(replace(setting, aio=True))


START = {
    "threads": PythonProcess,
    "tasks": tasks_process,
    "c": c_process,
    "lua": lua_process,
    "command": CommandProcess,
}


class Slot:
    """One place for a process, and those that were in it, one after the other."""

    def __init__(self, kind: str, labels: list[str], setting: Setting):
        self.kind, self.labels, self.setting = kind, labels, setting
        self.mutex = threading.Lock()
        self.count = 0
        self.process: Process | None = None
        self.failed: list[str] = []

    def start(self) -> None:
        with self.mutex:
            self.count += 1
            name = f"{self.setting.name}-{self.count}"
            self.process = START[self.kind](replace(self.setting, name=name))

    def is_alive(self) -> bool:
        return self.process is not None and self.process.ended() is None

    def signal(self, number: int) -> None:
        """To the process of now, if it has not ended."""
        with self.mutex:
            if self.process:
                self.process.send(number)

    def kill(self) -> None:
        """The process of a command may be between two commands."""
        while self.is_alive():
            self.signal(signal.SIGKILL)
            time.sleep(0.002)

    def note_end(self) -> None:
        """A process that ended by itself must have ended well."""
        status = self.process.ended() if self.process else 0
        if status not in (0, -signal.SIGKILL, None):
            self.failed.append(f"{self.kind} {self.setting.name}: status {status}")
