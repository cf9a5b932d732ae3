# SPDX-License-Identifier: MIT
"""tests/bare/run.sh: what it does where no bare machine can be made."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def run(tmp_path):
    """run(**programs): the tier, on a machine whose programs are these scripts."""

    def begin(**programs):
        programs = {"id": "echo 0", "debootstrap": "exit 1", "unshare": "", **programs}
        for name, text in programs.items():
            (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
            (tmp_path / name).chmod(0o755)
        return subprocess.run(
            [ROOT / "tests/bare/run.sh", tmp_path / "bare"],
            env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
        )

    return begin


def test_without_root_nothing_is_shown_and_the_reason_said(run):
    done = run(id="echo 1000")
    assert done.returncode == 77
    assert done.stdout == "not shown: a chroot needs root\n"


def test_without_namespaces_as_well(run):
    done = run(unshare="exit 1", **{"apt-get": ""})
    assert done.returncode == 77
    assert done.stdout.startswith("not shown: this machine gives no mount")
