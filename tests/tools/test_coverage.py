# SPDX-License-Identifier: MIT
"""tools/coverage.py: what no test takes is found, unless it is explained."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = """
#include <stdlib.h>
int main(int argc, char **argv)
{
    if (argc > 1 && atoi(argv[1]) > 3)
        return 3;
    return argc > 2;
}
"""
FIRST = "wait/x.c main {}: if (argc > 1 && atoi(argv[1]) > 3)\n"

pytestmark = pytest.mark.skipif(
    not (shutil.which("gcc") and shutil.which("gcov")), reason="needs gcc and gcov"
)


@pytest.fixture
def tree(tmp_path):
    """A tree whose program has run without arguments."""
    source = tmp_path / "libcore" / "src" / "wait" / "x.c"
    objects = tmp_path / "build" / "CMakeFiles" / "ilk_objects.dir"
    for folder in (source.parent, objects, tmp_path / "tests"):
        folder.mkdir(parents=True)
    source.write_text(SOURCE)
    program = tmp_path / "x"
    for words in (["-c", source, "-o", objects / "x.c.o"],
                  [objects / "x.c.o", "-o", program]):  # fmt: skip
        subprocess.run(["gcc", "--coverage", *words], check=True, cwd=tmp_path)
    subprocess.run([program], check=True)
    return tmp_path


def judged(tree, explained):
    (tree / "tests" / "coverage.txt").write_text(explained)
    return subprocess.run(
        [sys.executable, ROOT / "tools" / "coverage.py", tree / "build",
         "--root", tree],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_an_untaken_branch_is_a_fault_at_its_line(tree):
    done = judged(tree, "")

    assert done.returncode == 1
    assert "libcore/src/wait/x.c:5: main: 3 branches" in done.stdout
    assert "coverage: FAILED" in done.stdout
    assert "75.0 %" in done.stdout  # three of four lines ran


def test_an_explained_branch_is_none(tree):
    done = judged(tree, "# Nobody calls it with arguments.\n" + FIRST.format(3))

    assert done.returncode == 0, done.stdout
    assert "coverage: passed" in done.stdout


def test_an_explanation_is_for_so_many_branches(tree):
    assert judged(tree, FIRST.format(2)).returncode == 1


def test_an_explanation_ends_with_its_condition(tree):
    done = judged(tree, FIRST.format(3) + "wait/x.c main 1: if (gone)\n")

    assert done.returncode == 1
    assert "gone: wait/x.c main: if (gone)" in done.stdout


def test_a_malformed_explanation_is_refused(tree):
    assert "coverage.txt:1:" in judged(tree, "wait/x.c: why\n").stderr
