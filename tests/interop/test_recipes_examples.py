# SPDX-License-Identifier: MIT
"""The recipes' example programs: one language's process at each end."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import toolchain

ROOT = toolchain.ROOT
EXAMPLES = ROOT / "examples"
BUILD = Path(os.environ.get("ILK_BUILD") or ROOT / "build" / "release")
LANGUAGES = ("python", "lua", "c")
PAIRS = [*zip(LANGUAGES, LANGUAGES), *zip(LANGUAGES, LANGUAGES[1:] + LANGUAGES[:1])]


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """How each language's program is started."""
    found = {"python": [sys.executable, EXAMPLES / "recipes.py"]}
    if lua := shutil.which("lua5.4"):
        found["lua"] = [lua, EXAMPLES / "recipes.lua"]
    if shutil.which("cc"):
        made = tmp_path_factory.mktemp("example") / "recipes"
        subprocess.run(
            ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", EXAMPLES / "recipes.c",
             "-I", ROOT / "libcore/include", "-L", BUILD / "lib", "-linterlock",
             "-o", made],
            check=True,
        )  # fmt: skip
        found["c"] = [made]
    return found


@pytest.fixture
def start(programs, url, server):
    """Start a verb in a language; ended at the end."""
    started = []
    server.flushdb()
    env = {
        **os.environ,
        "INTERLOCK_URL": url,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "LUA_PATH": f"{ROOT}/lua/?.lua;{ROOT}/lua/?/init.lua;;",
        "LUA_CPATH": f"{BUILD}/lua/lua5.4/?.so;;",
        "LD_LIBRARY_PATH": str(BUILD / "lib"),
    }

    def run(language, *words):
        if language not in programs:
            pytest.skip(f"SKIPPED EXAMPLE: needs what {language} needs")
        process = subprocess.Popen(
            [*programs[language], *map(str, words)],
            env=env,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()


def said(process):
    """All that it prints, once it has ended well."""
    text = process.communicate(timeout=30)[0]
    assert process.returncode == 0
    return text.splitlines()


def until(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize(("sender", "receiver"), PAIRS)
def test_signals(start, server, sender, receiver):
    waiters = [start(receiver, "wait", "doors") for _ in range(2)]
    until(lambda: server.pubsub_numsub("doors")[0][1] == 2)
    assert said(start(sender, "signal", "doors", "open")) == ["2"]
    assert [said(waiter) for waiter in waiters] == [["open"]] * 2

    waiter = start(receiver, "wait-single", "seat:", "1")
    until(lambda: server.pubsub_channels("seat:*"))
    assert said(start(sender, "signal-single", "seat:", "yours")) == ["1"]
    assert said(waiter) == ["yours"]
    assert said(start(sender, "signal-single", "seat:", "yours")) == ["0"]


@pytest.mark.parametrize(("sender", "receiver"), PAIRS)
def test_queues(start, sender, receiver):
    orders = {"fifo": "a", "filo": "b", "safe": "a", "task": "a", "delayed": "a\nb"}
    for kind in orders:
        for data in "ab":
            said(start(sender, "push", kind, f"q:{kind}", data))
    time.sleep(0.2)
    for kind, expected in orders.items():
        assert said(start(receiver, "pop", kind, f"q:{kind}")) == expected.split()
    assert said(start(receiver, "pop", "fifo", "q:none")) == ["nothing"]


@pytest.mark.parametrize(("sender", "receiver"), PAIRS)
def test_mails_jobs_and_priorities(start, sender, receiver):
    mailer = start(receiver, "mail", 1)
    worker = start(receiver, "work", "jobs", 2)
    said(start(sender, "sell", "ann", "chair", "20", "bob"))
    for who in ("world", "moon"):
        said(start(sender, "job", "jobs", "greet", who))
    assert said(mailer) == ["to ann: bob bought chair"]
    assert said(worker) == ["hello world", "hello moon"]
    for level in ("low", "medium", "high"):
        said(start(sender, "push", "task", f"queue:{level}", level[0]))
    assert said(start(receiver, "urgent", 3)) == [
        "queue:high h",
        "queue:medium m",
        "queue:low l",
    ]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_master_and_semaphore(start, first, second):
    leader = start(first, "master", 8)
    assert leader.stdout.readline() == "leads\n"
    assert said(start(second, "master", 1)) == ["follows"]
    assert said(leader) == ["leads"] * 7

    holder = start(first, "semaphore", "seats", 1, 0.5)
    assert holder.stdout.readline() == "holds\n"
    assert said(start(second, "semaphore", "seats", 1, 0)) == ["full"]
    assert said(holder) == ["released 1"]
    assert said(start(second, "semaphore", "seats", 1, 0)) == ["holds", "released 1"]
