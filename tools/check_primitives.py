# SPDX-License-Identifier: MIT
"""Fail when a primitive lacks one of its parts.

A primitive is a public header that is not of the ground. It has, by
the same name, a C file, server-side scripts, a Python and a Lua module, and
tests in C, Python and Lua; and no script is without a user. A primitive without
a server has no scripts, and its header knows no client.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GROUND = {"base", "client", "log", "notification", "op", "server"}
# Second pages of a primitive whose first one is full.
PAGES = {"arrival", "election_leader", "list", "queue_inspect"}
# Primitives on the scripts of another: a worker asks what a queue asks.
GUESTS = {"worker"}
# Primitives that compute and need no server.
SERVERLESS = {"ring"}
# Where the parts of the primitive {noun} lie; a * allows for several files.
PARTS = {
    "header": "libcore/include/interlock/{noun}.h",
    "C file": "libcore/src/**/{noun}.c",
    "Python module": "python/interlock/{noun}.py",
    "Lua module": "lua/interlock/{noun}.lua",
    "C test": "tests/core/**/[uc]t_{noun}*.c",
    "Python test": "tests/python/test_{noun}*.py",
    "Lua test": "tests/lua/{noun}*_spec.lua",
}


def primitives() -> list[str]:
    headers = (ROOT / "libcore/include/interlock").glob("*.h")
    return sorted({header.stem for header in headers} - GROUND - PAGES)


def faults() -> list[str]:
    found = []
    scripts = sorted(
        path.stem
        for path in (ROOT / "libcore/scripts").glob("*/*.lua")
        if path.parent.name != "include"
    )
    sources = (ROOT / "libcore").rglob("*.c")
    text = "\n".join(source.read_text(encoding="utf-8") for source in sources)
    for noun in primitives():
        for part, where in PARTS.items():
            pattern = where.format(noun=noun)
            if not any(ROOT.glob(pattern)):
                found.append(f"{noun} has no {part} ({pattern})")
        # lock_many has many_acquire, inspect has lock_inspect.
        word = noun.split("_")[-1]
        own = any(word in script.split("_") for script in scripts)
        if noun in SERVERLESS:
            header = ROOT / PARTS["header"].format(noun=noun)
            if own or "ilk_client" in header.read_text(encoding="utf-8"):
                found.append(f"{noun} has a client or a script, and should have none")
        elif not own and noun not in GUESTS:
            found.append(f"{noun} has no script (libcore/scripts)")
    for script in scripts:
        # C names it ILK__SCRIPT_LOCK_ACQUIRE, or LOCK_ACQUIRE to a macro.
        if not re.search(rf"(\b|_){script.upper()}\b", text):
            found.append(f"no C file uses the script {script}")
    return found


def main() -> int:
    found = faults()
    for fault in found:
        print(f"check_primitives: {fault}", file=sys.stderr)
    print(f"check_primitives: {', '.join(primitives())}: {len(found)} holes")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
