# SPDX-License-Identifier: MIT
"""Fail when a column has a hole.

A column is a primitive: a public header that is not of the ground. It has, by
the same name, a C file, the server-side scripts that this file uses, a Python
and a Lua module, and tests in C, Python and Lua; and no script is without a
user.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GROUND = {"base", "client", "event", "server"}
# Where the parts of the column {noun} lie; a * allows for several files.
PARTS = {
    "header": "libcore/include/interlock/{noun}.h",
    "C file": "libcore/src/{noun}.c",
    "Python module": "python/interlock/{noun}.py",
    "Lua module": "lua/interlock/{noun}.lua",
    "C test": "tests/core/[uc]t_{noun}*.c",
    "Python test": "tests/python/test_{noun}*.py",
    "Lua test": "tests/lua/{noun}*_spec.lua",
}


def columns() -> list[str]:
    headers = (ROOT / "libcore/include/interlock").glob("*.h")
    return sorted({header.stem for header in headers} - GROUND)


def scripts_used(pattern: str) -> set[str]:
    """The scripts that C files name, as ILK__SCRIPT_LOCK_ACQUIRE names one."""
    used: set[str] = set()
    for source in (ROOT / "libcore/src").glob(pattern):
        names = re.findall(r"ILK__SCRIPT_([A-Z0-9_]+)", source.read_text())
        used |= {name.lower() for name in names}
    return used - {"none", "count"}


def faults() -> list[str]:
    found = []
    have = {script.stem for script in (ROOT / "libcore/scripts").glob("*.lua")}
    for noun in columns():
        for part, where in PARTS.items():
            pattern = where.format(noun=noun)
            if not any(ROOT.glob(pattern)):
                found.append(f"{noun} has no {part} ({pattern})")
        if not scripts_used(f"{noun}*.c") & have:
            found.append(f"{noun} uses no script")
    used = scripts_used("*.c")
    found += [f"script {name} has no user" for name in sorted(have - used)]
    return found


def main() -> int:
    found = faults()
    for fault in found:
        print(f"check_columns: {fault}", file=sys.stderr)
    print(f"check_columns: {', '.join(columns())}: {len(found)} holes")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
