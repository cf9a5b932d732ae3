# SPDX-License-Identifier: MIT
"""tools/lint.sh: only the compilers that it names make errors of warnings."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def strict(tmp_path):
    """strict(name, version): what the function says of such a compiler."""

    def ask(name, version):
        compiler = tmp_path / name
        compiler.write_text(f"#!/bin/sh\necho {version}\n")
        compiler.chmod(0o755)
        script = f'closing() {{ echo >&2 "$*"; }}; . tools/lint.sh; strict {compiler}'
        return subprocess.run(
            ["sh", "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
        )

    return ask


@pytest.mark.parametrize(
    ("name", "version"), [("cc", "12"), ("gcc", "12.2.0"), ("clang", "14.0.6")]
)
def test_warnings_of_a_named_compiler_are_errors(strict, name, version):
    told = strict(name, version)
    assert (told.stdout, told.stderr) == ("ON\n", "")


@pytest.mark.parametrize(
    ("name", "version"), [("cc", "14"), ("cc", "4.2.1"), ("clang", "19.1.7")]
)
def test_those_of_others_are_reported_and_fail_nothing(strict, name, version):
    told = strict(name, version)
    assert told.stdout == "OFF\n"
    assert f"{version} are no errors" in told.stderr
