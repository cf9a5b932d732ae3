# SPDX-License-Identifier: MIT
"""Every example acquires the lock, prints its fence and releases the lock.

They are built against an installed library, as their readers will do. A
machine without a language's tools skips its example; with CI=true and the
tools there, one that cannot be built is a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import toolchain

EXAMPLES = toolchain.ROOT / "examples"
BUILD = Path(os.environ.get("ILK_BUILD") or toolchain.ROOT / "build" / "release")
PYTHON_PATH = os.pathsep.join(sys.path)
NAME = "orders"


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """The environment of a user who has installed the build tree."""
    prefix = tmp_path_factory.mktemp("prefix")
    run(["cmake", "--install", BUILD, "--prefix", prefix], os.environ)
    lib = next(prefix.rglob("libinterlock.so")).parent
    return {
        **os.environ,
        "PATH": f"{prefix / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PKG_CONFIG_PATH": str(lib / "pkgconfig"),
        "LD_LIBRARY_PATH": str(lib),
        "LIBRARY_PATH": str(lib),
    }


def run(command, env, cwd=None):
    done = subprocess.run(
        [str(word) for word in command], env=env, cwd=cwd, text=True, timeout=600,
        stdin=subprocess.DEVNULL, capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}:\n{done.stdout}{done.stderr}"
    return done.stdout


def needs(*tools):
    missing = [tool for tool in tools if not shutil.which(tool)]
    if missing:
        pytest.skip(f"SKIPPED EXAMPLE: needs {', '.join(missing)}")


def c(env, work):
    flags = run(["pkg-config", "--cflags", "--libs", "interlock"], env).split()
    source = EXAMPLES / "lock.c"
    run(
        ["cc", "-std=c99", "-Wall", "-Werror", source, "-o", work / "lock", *flags], env
    )
    return [work / "lock"]


def python(env, work):
    env["PYTHONPATH"] = PYTHON_PATH
    return [sys.executable, EXAMPLES / "lock.py"]


def lua(env, work, interpreter="lua5.4"):
    needs(interpreter)
    root = toolchain.ROOT / "lua"
    env["LUA_PATH"] = f"{root}/?.lua;{root}/?/init.lua"
    env["LUA_CPATH"] = f"{BUILD}/lua/{interpreter}/?.so"
    return [interpreter, EXAMPLES / "lock.lua"]


def lua51(env, work):
    return lua(env, work, "lua5.1")


def luajit(env, work):
    return lua(env, work, "luajit")


def shell(env, work):
    return [EXAMPLES / "lock.sh"]


def go(env, work):
    needs("go", "pkg-config")
    run(["go", "build", "-o", work / "lock", "."], env, EXAMPLES / "go")
    return [work / "lock"]


def rust(env, work):
    needs("rustc")
    source = EXAMPLES / "rust" / "main.rs"
    where = f"native={env['LD_LIBRARY_PATH']}"
    run(["rustc", "-D", "warnings", source, "-L", where, "-o", work / "lock"], env)
    return [work / "lock"]


def node(env, work):
    needs("node", "npm")
    shutil.copytree(EXAMPLES / "node", work / "node")
    run(["npm", "ci", "--no-audit", "--no-fund"], env, work / "node")
    return ["node", work / "node" / "main.js"]


def java(env, work):
    needs("java", "mvn")
    repository = toolchain.cache() / "m2"
    run(
        ["mvn", "-B", "-q", f"-Dmaven.repo.local={repository}",
         "dependency:copy-dependencies", f"-DoutputDirectory={work}",
         "-f", EXAMPLES / "java" / "pom.xml"],
        env,
    )  # fmt: skip
    return ["java", "-Xmx128m", "-cp", f"{work}/*", EXAMPLES / "java" / "Lock.java"]


ALL = [c, python, lua, lua51, luajit, shell, go, rust, node, java]


@pytest.mark.parametrize("make", ALL, ids=lambda make: make.__name__)
def test_example_takes_the_lock_and_gives_it_back(
    make, installed, url, server, tmp_path
):
    env = {**installed, "INTERLOCK_URL": url}
    try:
        command = make(env, tmp_path)
    except AssertionError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"SKIPPED EXAMPLE: {error}")
    server.delete(NAME)
    assert server.set(NAME, "stranger", nx=True, px=1000)

    printed = run(command, env)

    fence = server.hget(f"ilk:lock:fence:{{{NAME}}}", "fence").decode()
    assert printed.split() == ["fence", fence]
    assert not server.exists(NAME)
