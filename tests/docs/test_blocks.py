# SPDX-License-Identifier: MIT
"""The blocks of the documentation that are marked to run are run.

A block marked ``<!-- run: c|python|lua|sh -->`` in the line before its fence
is compiled with -Werror (C) and executed, each with an empty server in
``$INTERLOCK_URL``, and must end with status 0. Where a fence without a
language stands right behind it, marked ``<!-- output -->``, what the block
printed must be that; ``…`` stands for anything. Marked ``<!-- output: numbers
vary -->`` it may differ in its numbers, so that a page shows a real run.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from typing import NamedTuple

import pytest
from programs import BUILD, ROOT, compile_c, luas

BLOCK = re.compile(
    r"^(?P<indent>[ ]*)<!-- run: (?P<language>[a-z]+) -->\n"
    r"\s*```(?P<tag>\w*)\n(?P<code>.*?)^[ ]*```[ ]*\n"
    r"(?:\s*<!-- output(?P<vary>: numbers vary)? -->\n"
    r"\s*```\w*\n(?P<output>.*?)^[ ]*```[ ]*$)?",
    re.MULTILINE | re.DOTALL,
)
MARK = re.compile(r"^\s*<!-- run:", re.MULTILINE)
OUTPUT_MARK = re.compile(r"^\s*<!-- output", re.MULTILINE)


class Block(NamedTuple):
    where: str
    language: str
    code: str
    output: str | None
    vary: bool
    program: str | None = None  # the Lua that runs it


def pages():
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks_of(path):
    text = path.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        output = match["output"]
        yield Block(
            f"{path.relative_to(ROOT)}:{line}",
            match["language"],
            textwrap.dedent(match["code"]),
            None if output is None else textwrap.dedent(output),
            match["vary"] is not None,
        )


def each_way(block):
    """The block once for each program that is to run it."""
    if block.language != "lua":
        return [block]
    return [block._replace(program=program) for program in luas() or [None]]


def all_blocks():
    return [
        pytest.param(once, id=f"{block.where} {once.program or block.language}")
        for path in pages()
        if path.exists()
        for block in blocks_of(path)
        for once in each_way(block)
    ]


def c_command(block, directory):
    source = directory / "block.c"
    source.write_text(block.code)
    return [str(compile_c("c11", source, directory / "block"))]


def python_command(block, directory):
    source = directory / "block.py"
    source.write_text(block.code)
    return [sys.executable, "-W", "error", str(source)]


def lua_command(block, directory):
    if block.program is None:
        pytest.skip(f"not run: there is no Lua with a module in {BUILD / 'lua'}")
    source = directory / "block.lua"
    source.write_text(block.code)
    return [block.program, str(source)]


def sh_command(block, directory):
    source = directory / "block.sh"
    source.write_text(block.code)
    return ["sh", "-eu", str(source)]


COMMANDS = {
    "c": c_command,
    "python": python_command,
    "lua": lua_command,
    "sh": sh_command,
}


def environment(server, command):
    env = dict(os.environ, INTERLOCK_URL=server.unix_url, PYTHONUNBUFFERED="1")
    env["PATH"] = f"{BUILD / 'bin'}{os.pathsep}{env['PATH']}"
    env["LUA_PATH"] = f"{ROOT}/lua/?.lua;{ROOT}/lua/?/init.lua;;"
    env["LUA_CPATH"] = f"{BUILD}/lua/{command[0]}/?.so;;"
    return env


def matches(pattern, text, numbers_vary=False):
    pieces = [re.escape(piece) for piece in pattern.strip().split("…")]
    if numbers_vary:
        pieces = [re.sub("[0-9]+", "[0-9]+", piece) for piece in pieces]
    return re.fullmatch(".*?".join(pieces), text.strip(), re.DOTALL)


@pytest.mark.parametrize("block", all_blocks())
def test_block(block, server, tmp_path):
    assert block.language in COMMANDS, f"{block.where}: nobody runs {block.language}"
    command = COMMANDS[block.language](block, tmp_path)
    server.call("FLUSHALL")
    ran = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment(server, command),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 0, f"{block.where}\n{ran.stdout}{ran.stderr}"
    if block.output is not None:
        assert matches(block.output, ran.stdout, block.vary), ran.stdout


def test_no_mark_is_overlooked():
    for path in pages():
        if path.exists():
            text = path.read_text(encoding="utf-8")
            blocks = list(blocks_of(path))
            assert len(MARK.findall(text)) == len(blocks), path
            shown = [block for block in blocks if block.output is not None]
            assert len(OUTPUT_MARK.findall(text)) == len(shown), path


def test_the_readme_shows_each_language():
    shown = {block.language for block in blocks_of(ROOT / "README.md")}

    assert {"c", "python", "lua", "sh"} <= shown
