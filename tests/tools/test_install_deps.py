# SPDX-License-Identifier: MIT
"""tools/install-deps: the packages that it names to a user who is not root."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HIREDIS = "libhiredis-dev"

pytestmark = pytest.mark.skipif(not shutil.which("dpkg"), reason="needs dpkg")


@pytest.fixture
def missing(tmp_path):
    """missing(level, **programs): the line for a user, on a machine without any
    library; those programs print that text."""

    def ask(level, **programs):
        programs = {"id": "1000", "apt-get": "", "apt-cache": "", **programs}
        for name, text in programs.items():
            (tmp_path / name).write_text(f"#!/bin/sh\necho '{text}'\n")
        for name in ("sudo", "pkg-config"):
            (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
        for program in tmp_path.iterdir():
            program.chmod(0o755)
        done = subprocess.run(
            [ROOT / "tools/install-deps", level],
            env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 1
        return done.stderr.splitlines()[-1].split()

    return ask


@pytest.mark.parametrize("level", ["build", "test"])
def test_a_user_gets_the_names_of_all_packages_that_root_gets(missing, level):
    told = missing(level, **{"apt-cache": "  Candidate: 1.2.0-6"})
    assert {"apt-get", "libssl-dev", HIREDIS} <= set(told)


def test_nobody_knows_the_packages_before_the_first_update(missing):
    assert HIREDIS in missing("build")


def test_an_old_hiredis_is_not_requested(missing):
    assert HIREDIS not in missing("build", **{"apt-cache": "  Candidate: 0.14.1-2"})


def test_the_line_for_the_tests_has_what_other_stores_need(missing):
    assert "libmariadb-dev" in missing("test")
    assert "libmariadb-dev" not in missing("build")
