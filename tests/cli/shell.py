# SPDX-License-Identifier: MIT
"""The command as its users run it, a server of the tests' own, and patience."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import fastjsonschema

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 20.0  # seconds that something which must happen may take


def find_program() -> str:
    """The binary: $ILK_CLI, or where ./dev builds it."""
    named = os.environ.get("ILK_CLI")
    return named or str(ROOT / "build" / "release" / "bin" / "interlock")


def wait_until(condition, what="the condition", seconds=PATIENCE):
    """Ask until the answer is true; that answer."""
    deadline = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        assert time.monotonic() < deadline, f"{what} did not come true"
        time.sleep(0.005)


class Server:
    """A private server on a Unix socket, ended by its pid."""

    def __init__(self, directory: Path):
        program = os.environ.get("ILK_TEST_SERVER") or shutil.which("redis-server")
        assert program, "no redis-server in PATH and no $ILK_TEST_SERVER"
        self.socket = directory / "s"
        self.url = f"unix://{self.socket}"
        self.process = subprocess.Popen(
            [
                *(program, "--port", "0", "--unixsocket", str(self.socket)),
                *("--save", "", "--appendonly", "no", "--dir", str(directory)),
            ],
            stdout=subprocess.DEVNULL,
        )
        wait_until(self.answers, "the server")

    def answers(self):
        assert self.process.poll() is None, "the server ended at once"
        try:
            return self.call("PING") == b"PONG"
        except OSError:
            return False

    def call(self, *words):
        """One command over a connection of its own; the reply or RuntimeError."""
        with socket.socket(socket.AF_UNIX) as raw:
            raw.settimeout(PATIENCE)
            raw.connect(str(self.socket))
            parts = [w if isinstance(w, bytes) else str(w).encode() for w in words]
            raw.sendall(b"*%d\r\n" % len(parts))
            for part in parts:
                raw.sendall(b"$%d\r\n%s\r\n" % (len(part), part))
            with raw.makefile("rb") as stream:
                return read_reply(stream)

    def waiters(self, name):
        return self.call("ZCARD", f"ilk:lock:wait:{{{name}}}")

    def stop(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()


def read_reply(stream):
    line = stream.readline()
    assert line.endswith(b"\r\n"), "the server hung up"
    kind, rest = line[:1], line[1:-2]
    if kind == b"+":
        return rest
    if kind == b"-":
        raise RuntimeError(rest.decode())
    if kind == b":":
        return int(rest)
    if kind == b"$":
        return None if rest == b"-1" else stream.read(int(rest) + 2)[:-2]
    assert kind == b"*", line
    return [read_reply(stream) for _ in range(int(rest))]


def check_json(output: bytes):
    """Each line is an object of cli/output.schema.json."""
    for line in output.splitlines():
        IS_OUTPUT(json.loads(line.decode("utf-8")))


IS_OUTPUT = fastjsonschema.compile(
    json.loads((ROOT / "cli" / "output.schema.json").read_text())
)


class Shell:
    """Runs the command against one server and ends what is left at the end."""

    def __init__(self, server: Server):
        self.server = server
        self.program = find_program()
        self.env = {**os.environ, "INTERLOCK_URL": server.url}
        self.started = []

    def run(self, *args, **more):
        """To its end: a CompletedProcess with bytes. JSON is checked."""
        options = {"capture_output": True, "timeout": 60, "env": self.env, **more}
        done = subprocess.run([self.program, *args], check=False, **options)
        if "--json" in args and done.stdout:
            check_json(done.stdout)
        return done

    def start(self, *args, **more):
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
        options.setdefault("env", self.env)
        process = subprocess.Popen([self.program, *args], **options)
        self.started.append(process)
        return process

    def hold(self, name, *options, script="echo held; exec sleep 60", **more):
        """Start a command under the lock; returns when it runs."""
        words = ["lock", name, *options, "--", "sh", "-c", script]
        holder = self.start(*words, **more)
        line = holder.stdout.readline()
        assert line == b"held\n", (line, holder.stderr.read())
        return holder

    def wait_in_line(self, name, *options):
        """Start a command that has to wait; returns when it stands in line."""
        before = self.server.waiters(name)
        waiter = self.start("lock", name, *options, "--", "echo", "mine")
        wait_until(lambda: self.server.waiters(name) == before + 1, "a waiter")
        return waiter

    def stop(self):
        for process in self.started:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    stream.close()


def state(pid):
    """The kernel's letter for what a process does; X when there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"


def is_alive(pid):
    """Whether a process runs; one that only waits to be reaped does not."""
    return state(pid) not in "ZX"
