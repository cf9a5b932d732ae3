# SPDX-License-Identifier: MIT
"""Hold the public headers, the library's exports and docs/symbols.md together.

    check_headers.py [--write] [LIBRARY]

The headers must declare the functions that the library exports (nm) and that
docs/symbols.md lists, and docs/reference.md must list the headers. Every
function's comment must describe its parameters and say which threads may call it,
whether it blocks, and since when. --write makes docs/symbols.md anew.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADERS = ROOT / "libcore" / "include" / "interlock"
SYMBOLS = ROOT / "docs" / "symbols.md"
REFERENCE = ROOT / "docs" / "reference.md"

# A comment block, then a declaration up to its semicolon.
DECLARATION = re.compile(
    r"/\*\*(?P<comment>(?:(?!\*/).)*)\*/\s*"
    r"ILK_API\s+[^;(]*?\b(?P<name>ilk_\w+)\s*\([^;]*;",
    re.S,
)
PARAMETER = re.compile(r"(\w+)\s*[,)]")
DESCRIBED = re.compile(r"@param(?:\[\w+\])?\s+([\w,]+)")
BARE = re.compile(r"^ILK_API\s+[^;(]*?\b(ilk_\w+)\s*\(", re.M)
LISTED = re.compile(r"^\| `interlock/(\w+\.h)` \|", re.M)
FACTS = ("Threads:", "Blocks:", "Since:")


def declared() -> tuple[dict[str, tuple[str, str]], list[str]]:
    """Function -> (header, since), and what the comments lack."""
    functions: dict[str, tuple[str, str]] = {}
    faults = []
    for header in sorted(HEADERS.glob("*.h")):
        text = header.read_text(encoding="utf-8")
        for match in DECLARATION.finditer(text):
            comment = match["comment"]
            lacking = [fact for fact in FACTS if fact not in comment]
            parameters = match[0].rpartition("ILK_API")[2].partition("(")[2]
            described = ",".join(DESCRIBED.findall(comment)).split(",")
            lacking += [
                f"@param {name}"
                for name in PARAMETER.findall(parameters)
                if name != "void" and name not in described
            ]
            if lacking:
                faults.append(f"{header.name}: {match['name']}: no {lacking}")
            since = re.search(r"Since:[\s*]*([0-9.]+)", comment)
            functions[match["name"]] = (header.name, since[1] if since else "?")
        for name in BARE.findall(text):
            if name not in functions:
                faults.append(f"{header.name}: {name}: no comment block")
                functions[name] = (header.name, "?")
    return functions, faults


def exported(library: Path) -> set[str]:
    command = ["nm", "-D", "--defined-only", str(library)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    symbols = (line.split() for line in text.splitlines())
    return {
        fields[-1].split("@")[0]
        for fields in symbols
        if len(fields) == 3 and fields[1] != "A"
    }


def table(functions: dict[str, tuple[str, str]]) -> str:
    lines = [
        "<!-- SPDX-License-Identifier: MIT -->",
        "# What libinterlock exports",
        "",
        "Written by `tools/check_headers.py --write`, which also checks that the",
        "library exports these functions and no others. All carry the symbol",
        "version `ILK_1`.",
        "",
        "| function | header | since |",
        "|---|---|---|",
    ]
    lines += [
        f"| `{name}` | `interlock/{header}` | {since} |"
        for name, (header, since) in sorted(functions.items())
    ]
    return "\n".join(lines) + "\n"


def compare(what: str, ours: set[str], theirs: set[str]) -> list[str]:
    missing = [f"{what} lacks {name}" for name in sorted(ours - theirs)]
    extra = [f"{what} has {name}, no header does" for name in sorted(theirs - ours)]
    return missing + extra


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--write", action="store_true", help="write docs/symbols.md")
    parser.add_argument("library", nargs="?", type=Path, help="libinterlock.so")
    args = parser.parse_args()

    functions, faults = declared()
    if args.write:
        SYMBOLS.parent.mkdir(exist_ok=True)
        SYMBOLS.write_text(table(functions), encoding="utf-8")
    written = SYMBOLS.read_text(encoding="utf-8") if SYMBOLS.exists() else ""
    if written != table(functions):
        faults.append("docs/symbols.md is not what --write would write")
    listed = set(LISTED.findall(REFERENCE.read_text(encoding="utf-8")))
    faults += compare(
        "docs/reference.md", {path.name for path in HEADERS.glob("*.h")}, listed
    )
    if args.library:
        faults += compare("the library", set(functions), exported(args.library))
    for fault in faults:
        print(f"check_headers: {fault}", file=sys.stderr)
    print(f"check_headers: {len(functions)} functions, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
