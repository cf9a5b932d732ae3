# SPDX-License-Identifier: MIT
"""The command that is installed with the package, and `python -m interlock`."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import subprocess
import sys

import interlock
import pytest

HERE = os.path.join(os.path.dirname(sys.executable), "interlock")
WAYS = [[HERE], [sys.executable, "-m", "interlock"]]


def run(way, *args, **more):
    return subprocess.run(
        [*way, *args], capture_output=True, text=True, timeout=120, **more
    )


@pytest.mark.parametrize("way", WAYS, ids=["command", "module"])
def test_it_has_the_packages_version(way):
    done = run(way, "version")

    version = interlock.__version__
    assert done.stdout == f"interlock {version} (library {version})\n"
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("way", WAYS, ids=["command", "module"])
def test_it_holds_a_lock_that_python_sees(way, server, client, name):
    script = "print(__import__('os').environ['INTERLOCK_TOKEN']); raise SystemExit(7)"
    lock = ["lock", name, "--url", server.unix_url, "--wait", "0", "--"]
    done = run(way, *lock, sys.executable, "-c", script)
    assert done.returncode == 7 and done.stdout.strip()

    with client.lock(name):
        assert run(way, *lock, "true").returncode == 75


def test_the_module_hands_over_the_process_as_python_found_it(server, name):
    mask = "grep -E '^Sig(Ign|Blk)' /proc/self/status; echo $PPID"
    if not os.path.exists("/proc/self/status"):
        pytest.skip("needs /proc")
    command = ["lock", name, "--url", server.unix_url, "--", "sh", "-c", mask]
    own, module = (run(way, *command).stdout for way in WAYS)

    assert own.splitlines()[:2] == module.splitlines()[:2]


def test_a_package_without_the_command_says_so(tmp_path, monkeypatch):
    main = importlib.import_module("interlock.__main__")
    monkeypatch.setattr(importlib.metadata, "files", lambda _: None)
    monkeypatch.setattr(main.sysconfig, "get_path", lambda _: str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match="was not installed with the package"):
        main.main()
