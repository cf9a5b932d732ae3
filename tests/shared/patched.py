# SPDX-License-Identifier: MIT
"""Copies of the sources with one rule taken out, for controls of the tests."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ["CMakeLists.txt", "LICENSE", "README.md", "pyproject.toml", "bindings"]
SOURCES += ["cli", "cmake", "interlock.pc.in", "interlockConfig.cmake.in", "libcore"]
SOURCES += ["python", "tools", ".cache"]


def remove_strangers(copy: Path) -> None:
    """Files of an earlier copy that the sources have no more."""
    for path in sorted(copy.rglob("*"), reverse=True):
        if (ROOT / path.relative_to(copy)).exists():
            continue
        if path.is_dir():
            path.rmdir()
        else:
            path.unlink()


def copy_sources(copy: Path) -> None:
    """The files that a build needs, with their times."""
    copy.mkdir(parents=True, exist_ok=True)
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, dirs_exist_ok=True)
        elif source.exists():
            shutil.copy2(source, copy / name)
    remove_strangers(copy)


def patch(path: Path, old: str, new: str) -> None:
    """Replace what is in the file exactly once."""
    text = path.read_text()
    assert text.count(old) == 1, f"{path} has {text.count(old)} times {old!r}"
    path.write_text(text.replace(old, new))
