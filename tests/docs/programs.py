# SPDX-License-Identifier: MIT
"""Programs of examples/ as processes, in each language that is here.

Importing it makes the modules of tests/python known, too.
"""

from __future__ import annotations

import os
import queue
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
sys.path.insert(0, str(ROOT / "tests" / "python"))

BUILD = Path(os.environ.get("ILK_BUILD", ROOT / "build" / "release")).resolve()
CC_FLAGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
LINKED = re.compile(r"pkg-config --cflags --libs interlock([ \w]*)\)((?: -l\w+)*)")
PATIENCE = 20  # seconds for what takes a moment


def luas():
    """The Luas that are here and have a module in the build."""
    known = ("lua5.1", "lua5.4", "luajit")
    return [p for p in known if shutil.which(p) and (BUILD / "lua" / p).is_dir()]


def languages():
    return ["python", "c", *luas()]


def pairs(shift):
    """Each language with another, so that each is on both ends once."""
    known = languages()
    step = 1 + shift % (len(known) - 1)
    return [(a, known[(i + step) % len(known)]) for i, a in enumerate(known)]


def environment(url, language):
    env = dict(os.environ, INTERLOCK_URL=url, PYTHONUNBUFFERED="1")
    env["LUA_PATH"] = f"{ROOT}/lua/?.lua;{ROOT}/lua/?/init.lua;;"
    env["LUA_CPATH"] = f"{BUILD}/lua/{language}/?.so;;"
    return env


def libraries(source):
    """The libraries that a program's head names, beside ours."""
    said = LINKED.search(source.read_text(encoding="utf-8"))
    if not said:
        return []
    packages = said[1].split()
    asked = ["pkg-config", "--cflags", "--libs", *packages]
    found = subprocess.check_output(asked, text=True).split() if packages else []
    return found + said[2].split()


def compile_c(standard, source, program):
    """Make a program, without a warning, against the library of the build."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    assert compiler, "no C compiler"
    built = subprocess.run(
        [
            *(compiler, f"-std={standard}", *CC_FLAGS, source, "-o", program),
            *("-I", ROOT / "libcore" / "include", "-L", BUILD / "lib"),
            *(f"-Wl,-rpath,{BUILD / 'lib'}", "-linterlock"),
            *libraries(source),
        ],
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    return program


class Built:
    """The C programs, each compiled once."""

    def __init__(self, directory):
        self.directory = directory
        self.done = {}

    def __call__(self, name):
        if name not in self.done:
            self.done[name] = self._compile(name)
        return self.done[name]

    def _compile(self, name):
        program = self.directory / name.replace("/", "-")
        return compile_c("c99", EXAMPLES / f"{name}.c", program)


class Program:
    """One that runs. Its lines are read as they come."""

    def __init__(self, command, env):
        self.process = subprocess.Popen(
            [str(word) for word in command],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._lines = queue.Queue()
        self.errors = ""
        self._readers = [
            threading.Thread(target=self._read_lines),
            threading.Thread(target=self._read_errors),
        ]
        for reader in self._readers:
            reader.start()

    def _read_lines(self):
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def _read_errors(self):
        self.errors = self.process.stderr.read()

    def line(self):
        """The next line; fails when there is none in time."""
        try:
            line = self._lines.get(timeout=PATIENCE)
        except queue.Empty:
            raise AssertionError("nothing was printed") from None
        assert line is not None, f"ended: {self.errors}"
        return line

    def enter(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self):
        """Its status and the lines that nobody has read yet."""
        status = self.process.wait(PATIENCE)
        for reader in self._readers:
            reader.join(PATIENCE)
        return status, list(iter(self._lines.get_nowait, None))

    def kill(self):
        """SIGKILL, and nothing is left open."""
        self.process.kill()
        self.process.wait()
        for reader in self._readers:
            reader.join(PATIENCE)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()


class Stage:
    """Where programs run against one server."""

    def __init__(self, server, built):
        self.server = server
        self.built = built
        self.running = []

    def start(self, language, name, *words):
        """Start examples/NAME in a language; what it prints comes by line()."""
        if language == "c":
            command = [self.built(name)]
        elif language == "python":
            command = [sys.executable, "-W", "error", EXAMPLES / f"{name}.py"]
        else:
            command = [language, EXAMPLES / f"{name}.lua"]
        env = environment(self.server.unix_url, language)
        program = Program([*command, *words], env)
        self.running.append(program)
        return program

    def run(self, language, name, *words):
        """The output of a program that ends by itself, with status 0."""
        program = self.start(language, name, *words)
        status, lines = program.end()
        assert status == 0, f"{language} {name} {words}: {program.errors}"
        return lines

    def close(self):
        for program in self.running:
            program.kill()
