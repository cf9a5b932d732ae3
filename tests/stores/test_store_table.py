# SPDX-License-Identifier: MIT
"""The table that every language runs, over each store: Python's two faces, C, Lua."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import table_rules
from awaited import Face, OneTask
from store import Store
from store_kinds import BUILD, ROOT, STORES
from test_conformance import TABLE, Case, read_table

CASES = read_table(TABLE)


@pytest.fixture(params=["blocking", "awaited"])
def face(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "blocking":
        yield Face()
        return
    with contextlib.closing(OneTask()) as task:
        yield Face(task)


def is_run_by_any(case: Any) -> bool:
    return any(case.id in table_rules.titles(one.offers) for one in STORES)


def test_cases_that_are_left_out_are_listed() -> None:
    listed = table_rules.LEFT_OUT.read_text().splitlines()
    found = table_rules.left_out({one.scheme: one.offers for one in STORES})
    assert [line for line in listed if not line.startswith("#")] == found


@pytest.mark.parametrize("lines", [*filter(is_run_by_any, CASES)])
def test_conformance(face: Any, store: Store, lines: Any) -> None:
    title = next(case.id for case in CASES if case.values[0] is lines)
    if title not in table_rules.titles(store.offers):
        pytest.skip("left_out.txt says why")
    with contextlib.closing(face.connect(store.url(store.table_query))) as client:
        case = Case(face, client, None)
        for where, text in lines:
            if not table_rules.is_look(text.decode("utf-8", "replace")):
                print(where, text.decode("utf-8", "backslashreplace"))
                case.run(text)


@pytest.fixture
def tables(store: Store, tmp_path: Path) -> dict[str, str]:
    """The environment of a runner in another language."""
    assert table_rules.write_tables(tmp_path, store.offers) > 20
    return {
        **os.environ,
        "ILK_CONFORMANCE_DIR": str(tmp_path),
        "ILK_CONFORMANCE_URL": store.url(store.table_query),
    }


def run(words: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(
        words,
        env=environment,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:]
    return done.stdout


def test_c_runs_the_table(tables: dict[str, str]) -> None:
    program = BUILD / "tests" / "store_conformance"
    said = run([str(program)], tables)
    assert "[  PASSED  ]" in said and "[  FAILED  ]" not in said


def test_lua_runs_the_table(tables: dict[str, str]) -> None:
    busted = shutil.which("busted")
    module = BUILD / "lua" / "lua5.4"
    there = (module / "interlock" / "core.so").exists()
    if not busted or not shutil.which("lua5.4") or not there:
        pytest.skip("SKIPPED STORE: Lua 5.4 with busted is not there")
    places = ("lua/?.lua", "lua/?/init.lua", "tests/lua/?.lua")
    tables["LUA_PATH"] = "".join(f"{ROOT}/{place};" for place in places) + ";"
    tables["LUA_CPATH"] = f"{module}/?.so;;"
    spec = "tests/lua/conformance_spec.lua"
    said = run(["lua5.4", busted, "--output=plainTerminal", spec], tables)
    assert " 0 failures" in said and " 0 errors" in said
