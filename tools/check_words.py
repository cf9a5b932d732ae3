# SPDX-License-Identifier: MIT
"""Find sentences that break the rules of CONTRIBUTING.md for English.

    check_words.py [--root DIR]

It reads comments, docstrings and pages. A statement must not begin with a clause
(`Who waits ...`, `What is held ...`), and a thing in the code does not `tell`,
`hear` or get `asked`. The name of a test is a sentence, too. Code, other names and
headings are exempt, and so are the phrases in tools/check_words.txt, each with its
reason.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from list_files import list_files

ROOT = Path(__file__).resolve().parents[1]
JUDGED = "tools/check_words.txt"

# The files whose comments and prose are read; `*` also matches `/`.
COVERED = (
    "python/*.py",
    "lua/*.lua",
    "*.md",
    "bench/*.c",
    "bench/*.py",
    "cli/*.[ch]",
    "examples/*.c",
    "examples/*.lua",
    "examples/*.py",
    "libcore/*.[ch]",
    "libcore/scripts/*.lua",
    "tests/*.[ch]",
    "tests/*.lua",
    "tests/*.py",
    "tools/*.py",
)
# Folders among them that are not read yet.
LEFT_OUT = ("tests/core/wait/*", "tests/lying/*", "tests/outages/*")

CLAUSE = re.compile(r"[\s\"'(*_]*((?:Who|What)(?:ever)?)\b")
WORDS = re.compile(r"\b([Tt]ells?|[Tt]old|[Hh]ear[sd]?|[Aa]sked)\b")
# Tests in C and in Python.
TEST = re.compile(
    r"^(?:TEST\(|TEST_WITH\(\s*\w+,\s*\w+,)\s*(\w+)|^ *(?:async )?def test_(\w+)", re.M
)
# A sentence ends before white space and a capital.
END = re.compile(r"(?<=[.?!])[\"')*]*\s+(?=[\"'(*]*[A-Z])")
# Names in prose: `code`, f(), snake_case, a.member, a->member, a link's target.
NAME = re.compile(r"`[^`]*`|\b\w+\(\)|\b\w*_\w*\b|\b\w+\.\w+\b|\b\w+->\w+|\]\([^)]*\)")
# Lines that begin a paragraph: an item of a list, a tag.
ITEM = re.compile(r"([-+*]|\d+\.|@\w+)\s")
# The mark before each line of a block comment, `/**<`, `---@`, a quotation.
MARK = re.compile(r"\s*((\*<?|>)(?=\s|$)|-(?=@))?\s*")
# Lines without prose: the licence, directives and names of a script's arguments.
BARE = re.compile(r"SPDX-License|@(script|reply|include)|(KEYS|ARGV)\b")
CELL = "\x1e"

COMMENTS = {
    "c": re.compile(r'/\*(.*?)\*/|//([^\n]*)|"(?:\\.|[^"\\\n])*"', re.S),
    "lua": re.compile(
        r"--\[\[(.*?)\]\]|--([^\n]*)|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S
    ),
}

Text = tuple[int, str]  # the number of the first line, and lines of prose


def matched(pattern: re.Pattern[str], text: str) -> Iterator[Text]:
    """Comments; a literal is matched because it may contain what looks like one.

    Comments that fill their lines and follow each other are one text.
    """
    kept: list[str] = []
    first = 0
    for match in pattern.finditer(text):
        if match[1] is None and match[2] is None:
            continue
        number = text.count("\n", 0, match.start()) + 1
        lines = (match[1] if match[1] is not None else match[2]).split("\n")
        before = text.rfind("\n", 0, match.start()) + 1
        fills = not text[before : match.start()].strip()
        if kept and not (fills and number == first + len(kept)):
            yield first, "\n".join(kept)
            kept = []
        first = first if kept else number
        kept += lines
        if not fills:
            yield first, "\n".join(kept)
            kept = []
    if kept:
        yield first, "\n".join(kept)


def python_texts(text: str) -> Iterator[Text]:
    blank = ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            blank += "\n" * (token.start[0] - 1 - blank.count("\n"))
            blank += " " * (0 if token.line.strip()[0] == "#" else 1)
            blank += ("x" if token.line.strip()[0] != "#" else "") + "//"
            blank += token.string[1:]
    yield from matched(COMMENTS["c"], blank)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented):
            docstring = ast.get_docstring(node, clean=False)
            if docstring:
                yield node.body[0].lineno, docstring


def markdown_texts(text: str) -> Iterator[Text]:
    """Prose and the cells of tables, without headings, code and remarks."""
    bare = re.sub(
        r"^```.*?^```|<!--.*?-->|^#[^\n]*$|^    [^\n]*$",
        lambda match: re.sub(r"[^\n]", " ", match[0]),
        text,
        flags=re.S | re.M,
    )
    row = re.compile(r"^\|.*$", re.M)
    yield 1, row.sub(lambda match: match[0].replace("|", CELL), bare)


def texts(path: Path) -> Iterator[Text]:
    text = path.read_text(encoding="utf-8")
    if path.suffix in {".c", ".h"}:
        return matched(COMMENTS["c"], text)
    if path.suffix == ".lua":
        return matched(COMMENTS["lua"], text)
    return python_texts(text) if path.suffix == ".py" else markdown_texts(text)


def paragraphs(first: int, text: str) -> Iterator[list[Text]]:
    """Lines that belong together, or one cell of a table."""
    kept: list[Text] = []
    for number, line in enumerate(text.split("\n"), first):
        bare = MARK.sub("", line, count=1).strip()
        ends = not bare or BARE.match(bare) or ITEM.match(bare) or CELL in line
        if kept and ends:
            yield kept
            kept = []
        if CELL in line:
            yield from ([(number, cell)] for cell in line.split(CELL))
        elif bare and not BARE.match(bare):
            kept.append((number, bare))
    if kept:
        yield kept


def sentences(paragraph: list[Text]) -> Iterator[Text]:
    """(number of the line on which it begins, the sentence on one line)."""
    text = "\n".join(line for _, line in paragraph)
    start = 0
    for match in [*END.finditer(text), None]:
        end = match.start() if match else len(text)
        number = paragraph[text.count("\n", 0, start)][0]
        yield number, text[start:end].replace("\n", " ").strip()
        start = match.end() if match else end


def faults(sentence: str) -> Iterator[str]:
    clause = CLAUSE.match(re.sub(r"^[-+*]\s+", "", sentence))
    if clause and not sentence.rstrip("\"')*").endswith("?"):
        yield f'begins with "{clause[1]}": make a thing in the code the subject'
    for match in WORDS.finditer(NAME.sub(" ", sentence)):
        yield f'"{match[0]}": say what is sent, returned or read'


def names(path: str, text: str) -> Iterator[Text]:
    """The tests of a file, with spaces between their words."""
    if path.startswith("tests/"):
        for match in TEST.finditer(text):
            name = match[1] or match[2]
            yield text.count("\n", 0, match.start()) + 1, name.replace("_", " ")


def matches(path: str, globs: tuple[str, ...]) -> bool:
    return any(fnmatchcase(path, glob) for glob in globs)


def covered(root: Path) -> list[str]:
    found: Iterable[str] = list_files()
    if root != ROOT:
        found = (p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file())
    return sorted(
        path for path in found if matches(path, COVERED) and not matches(path, LEFT_OUT)
    )


def exceptions(root: Path) -> set[tuple[str, str]]:
    """(path, phrase) of each line `path: "phrase" -- reason`."""
    judged = root / JUDGED
    found = set()
    text = judged.read_text(encoding="utf-8") if judged.is_file() else ""
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            match = re.fullmatch(r'(\S+): "(.+)" -- \S.*', line)
            if not match:
                raise SystemExit(f"check_words: {JUDGED}: not an exception: {line}")
            found.add((match[1], match[2]))
    return found


def found_in(root: Path, path: str) -> Iterator[tuple[int, str, str]]:
    """(number of the line, fault, sentence)."""
    for first, text in texts(root / path):
        for paragraph in paragraphs(first, text):
            for number, sentence in sentences(paragraph):
                for fault in faults(sentence):
                    yield number, fault, sentence
    for number, name in names(path, (root / path).read_text(encoding="utf-8")):
        for fault in faults(name.capitalize()):
            yield number, fault, name


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--root", type=Path, default=ROOT, help="the tree")
    root = parser.parse_args().root.resolve()
    judged = exceptions(root)
    unused = set(judged)
    complaints = []
    files = covered(root)
    for path in files:
        for number, fault, sentence in found_in(root, path):
            mine = {one for one in judged if one[0] == path and one[1] in sentence}
            unused -= mine
            if not mine:
                complaints.append(f"{path}:{number}: {fault}\n    {sentence}")
    for path, phrase in sorted(unused):
        complaints.append(f'{JUDGED}: "{phrase}" excuses nothing in {path}')
    for complaint in complaints:
        print(f"check_words: {complaint}", file=sys.stderr)
    print(f"check_words: {len(files)} files, {len(complaints)} faults")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
