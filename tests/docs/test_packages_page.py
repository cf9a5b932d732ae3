# SPDX-License-Identifier: MIT
"""docs/packages.md has a row for each module of the Python and the Lua package."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "packages.md").read_text(encoding="utf-8")
TABLES = re.findall(r"<!-- modules: (.+) -->\n\n((?:\|.*\n)+)", TEXT)
NAME = re.compile(r"`([^`]+)`")
# A private module of Python, or a module of Lua, stands below those that it uses.
ORDERED = [pair for pair in TABLES if "/_" in pair[0] or "lua" in pair[0]]
GENERATED = {"_core"}


def listed(table):
    """The names in the first cells of the rows."""
    rows = table.splitlines()[2:]
    return [name for row in rows for name in NAME.findall(row.split("|")[1])]


def modules(patterns):
    """The modules of the patterns: private ones where a pattern begins with `_`."""
    return {
        path.stem: path
        for pattern in patterns.split()
        for path in sorted(ROOT.glob(pattern))
        if ("/_" in pattern) == bool(re.match(r"_(?!_)", path.stem))
    }


def used_by(path):
    """The modules of the same folder that one imports when it is imported."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".lua":
        return re.findall(r'require "interlock\.(\w+)"', text)
    found = [n for n in ast.parse(text).body if isinstance(n, ast.ImportFrom)]
    found = [node for node in found if node.level == 1]
    return [node.module for node in found if node.module] + [
        alias.name for node in found if not node.module for alias in node.names
    ]


def test_the_tables_cover_both_packages():
    folders = {str(Path(p).parent) for patterns, _ in TABLES for p in patterns.split()}
    found = {
        str(path.parent.relative_to(ROOT))
        for folder, ending in (("python/interlock", "py"), ("lua/interlock", "lua"))
        for path in (ROOT / folder).rglob(f"*.{ending}")
    }

    assert len(TABLES) == 6
    assert folders == found


@pytest.mark.parametrize(("patterns", "table"), TABLES, ids=[p for p, _ in TABLES])
def test_a_table_has_one_row_for_each_module(patterns, table):
    names = listed(table)
    existing = modules(patterns)

    assert existing
    assert len(names) == len(set(names))
    assert set(existing) - set(names) == set()
    assert set(names) - set(existing) - GENERATED == set()


@pytest.mark.parametrize(("patterns", "table"), ORDERED, ids=[p for p, _ in ORDERED])
def test_a_module_uses_those_above_it(patterns, table):
    names = listed(table)
    place = {name: number for number, name in enumerate(names)}
    pairs = [
        (name, used)
        for name, path in modules(patterns).items()
        for used in used_by(path)
        if used in place
    ]

    assert pairs
    assert [(name, used) for name, used in pairs if place[used] >= place[name]] == []
