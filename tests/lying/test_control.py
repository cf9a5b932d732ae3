# SPDX-License-Identifier: MIT
"""A control: a library that does not look at the numbers of replies is found out."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "shared"))

from patched import ROOT, copy_sources, patch

CHECKED = "first->num / ILK__CODE_LIMIT != number"


def build_without_numbers(directory):
    """The package with one line less, in a directory of its own."""
    copy = directory / "source"
    copy_sources(copy)
    patch(copy / "libcore/src/redis/expected_reply.c", CHECKED, "number < 0")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    pip += ["--no-deps", "--no-build-isolation", "--target", directory / "package"]
    pip += [f"--config-settings=build-dir={directory / 'build'}", copy]
    tools = pathlib.Path(sys.executable).parent
    env = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
    subprocess.run(pip, check=True, env=env)
    return directory / "package"


@pytest.mark.timeout(900)  # the package is built first
def test_without_numbers_a_hold_is_believed_that_is_another_s(tmp_path):
    package = build_without_numbers(tmp_path)
    run = [sys.executable, ROOT / "tests/lying/run.py", "--lies", "1900"]
    found = subprocess.run(
        [*run, "--expect", "false "],  # holder or fence
        env={**os.environ, "PYTHONPATH": str(package)},
        stdout=subprocess.PIPE,
        text=True,
        timeout=300,
    )

    print(found.stdout[-3000:])
    assert found.returncode == 0
    assert "VIOLATION: " in found.stdout
