# SPDX-License-Identifier: MIT
"""The rules of CONTRIBUTING.md that a machine can hold.

Lengths of functions, depth, the licence line, functions that the library does
without, and marks of unfinished work.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from list_files import list_files

ROOT = Path(__file__).resolve().parents[1]
PUBLIC_LINES = 60
STATIC_LINES = 40
DEPTH = 3
CODE = {".c", ".cc", ".h", ".lua", ".py", ".pyi", ".sh", ".cmake", ".pml", ".i", ""}

# Functions that the library's own code does without, and why.
WITHOUT = {
    "redisCommand": "its I/O lets SIGPIPE kill the host and swallows EINTR",
    "sprintf": "snprintf knows the room",
    "strcpy": "memcpy with a length, or snprintf",
    "strcat": "snprintf",
    "strtok": "keeps state that threads share",
    "atoi": "cannot tell an error from 0",
    "rand": "ilk__jitter() or ilk__token_make()",
    "signal": "sigaction",
    "sleep": "a deadline and poll",
    "usleep": "a deadline and poll",
    "printf": "ilk__log()",
    "gets": "no length",
}
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b")


def without_comments(text: str) -> str:
    """C text with comments and literals blanked, its lines kept."""
    pattern = r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    return re.sub(
        pattern, lambda match: re.sub(r"[^\n]", " ", match[0]), text, flags=re.S
    )


def functions(lines: list[str]) -> Iterator[tuple[int, str, list[str]]]:
    """(line number, text of the head, body) of what opens at column 0."""
    start = None
    for number, line in enumerate(lines):
        if line.startswith("{"):
            start = number
        elif line.startswith("}") and start is not None:
            head = start
            while head > 0 and lines[head - 1].strip():
                head -= 1
            yield start, " ".join(lines[head:start]), lines[start + 1 : number]
            start = None


def depth(body: list[str]) -> int:
    deepest = level = 0
    for char in "".join(body):
        if char == "{":
            level += 1
            deepest = max(deepest, level)
        elif char == "}":
            level -= 1
    return deepest


def c_faults(text: str, library: bool) -> Iterator[tuple[int, str]]:
    bare = without_comments(text)
    for number, head, body in functions(bare.splitlines()):
        limit = STATIC_LINES if "static" in head.split("(")[0] else PUBLIC_LINES
        if len(body) > limit:
            yield number, f"a function of {len(body)} lines, at most {limit}"
        if depth(body) > DEPTH:
            yield number, f"blocks {depth(body)} deep, at most {DEPTH}"
    if library:
        for number, line in enumerate(bare.splitlines()):
            for name, why in WITHOUT.items():
                if re.search(rf"(?<![\w.>]){name}\s*\(", line):
                    yield number, f"{name}(): {why}"


def faults(path: Path) -> Iterator[tuple[int, str]]:
    place = path.relative_to(ROOT).as_posix()
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = text.splitlines()
    if path.suffix not in CODE or path.name[0] == ".":
        return
    if not path.suffix and not text.startswith("#!"):
        return
    # Line 1 of a script is its declaration; the tree's LICENSE covers it.
    licensed = any("SPDX-License-Identifier: MIT" in line for line in lines[:2])
    if not licensed and not text.startswith("--@script"):
        yield 0, "no licence line at the top"
    for number, line in enumerate(lines):
        if UNFINISHED.search(line):
            yield number, "unfinished work"
    if path.suffix == ".c" and place.startswith(("libcore/", "cli/")):
        yield from c_faults(text, place.startswith("libcore/"))


def main() -> int:
    count = 0
    files = [ROOT / path for path in list_files()]
    for path in files:
        for number, fault in faults(path):
            count += 1
            place = path.relative_to(ROOT)
            print(f"check_style: {place}:{number + 1}: {fault}", file=sys.stderr)
    print(f"check_style: {len(files)} files, {count} faults")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
