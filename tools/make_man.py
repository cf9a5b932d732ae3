# SPDX-License-Identifier: MIT
"""Write a manual page of section 3 for each function of the public headers.

    make_man.py DIRECTORY

The comment of a function in the header is its whole manual; here it only gets
the form of man(7).
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

from check_headers import DECLARATION, HEADERS

PARAMETER = re.compile(r"@param(?:\[\w+\])?\s+([\w,]+)\s+(.*)", re.S)
FACT = re.compile(r"\b(Ownership|Threads|Blocks|Since):\s+")
FUNCTION = re.compile(r"\b(ilk_\w+)\(\)")
VERSION = re.compile(r"ILK_VERSION_(?:MAJOR|MINOR|PATCH) = (\d+)")


class Comment(NamedTuple):
    text: str
    parameters: list[tuple[str, str]]
    result: str
    facts: list[tuple[str, str]]


def read_comment(raw: str) -> Comment:
    """Take a comment apart: its text, @param, @return, and the facts at its end."""
    lines = [re.sub(r"^\s*\* ?", "", line).rstrip() for line in raw.split("\n")]
    at = next(i for i, line in enumerate(lines) if FACT.match(line))
    parts = FACT.split(" ".join(line.strip() for line in lines[at:]))
    facts = [(name, fact.strip()) for name, fact in zip(parts[1::2], parts[2::2])]
    text, *tags = re.split(r"^(?=@)", "\n".join(lines[:at]), flags=re.M)
    parameters, result = [], ""
    for tag in tags:
        words = " ".join(tag.split())
        if match := PARAMETER.fullmatch(words):
            parameters.append((match[1].replace(",", ", "), match[2]))
        else:
            result = words.removeprefix("@return ")
    return Comment(text.strip("\n"), parameters, result, facts)


def escape(text: str) -> str:
    """Protect what man(7) would take for a request or an escape."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    text = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", text)
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def paragraphs(text: str) -> list[str]:
    """Return text as requests: indented parts keep their lines."""
    lines: list[str] = []
    for part in re.split(r"\n\s*\n", text):
        if part.startswith(" "):
            lines += [".PP", ".nf", escape(part), ".fi"]
        else:
            lines += [".PP", escape(part)]
    return lines


def page(name: str, header: str, declaration: str, raw: str, version: str) -> str:
    comment = read_comment(raw)
    first = re.split(r"[.:;](?:\s|$)", comment.text, maxsplit=1)[0]
    lines = [
        f'.TH {name} 3 "" "Interlock {version}" "Interlock"',
        ".SH NAME",
        f"{name} \\- {escape(' '.join(first.split()))}",
        ".SH SYNOPSIS",
        ".nf",
        f"#include <interlock/{header}>",
        ".sp",
        escape(declaration),
        ".fi",
        ".SH DESCRIPTION",
        *paragraphs(comment.text)[1:],
    ]
    if comment.parameters:
        lines.append(".SH PARAMETERS")
    for names, meaning in comment.parameters:
        lines += [".TP", f".I {names}", escape(meaning)]
    if comment.result:
        lines += [".SH RETURN VALUE", escape(comment.result)]
    lines.append(".SH NOTES")
    for fact, meaning in comment.facts:
        lines += [".TP", f".B {fact}", escape(meaning)]
    others = sorted({*FUNCTION.findall(raw)} - {name})
    lines += [".SH SEE ALSO", *(f".BR {other} (3)," for other in others)]
    lines.append(".BR interlock (1)")
    return "\n".join(lines) + "\n"


def main() -> int:
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    base = (HEADERS / "base.h").read_text(encoding="utf-8")
    version = ".".join(VERSION.findall(base))
    for header in sorted(HEADERS.glob("*.h")):
        for match in DECLARATION.finditer(header.read_text(encoding="utf-8")):
            declaration = match[0].partition("ILK_API ")[2]
            declaration = declaration.replace("\n" + " " * len("ILK_API "), "\n")
            text = page(
                match["name"], header.name, declaration, match["comment"], version
            )
            (directory / f"{match['name']}.3").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
