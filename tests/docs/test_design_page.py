# SPDX-License-Identifier: MIT
"""The files and functions that docs/ name exist, and links lead somewhere."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest
from core_sources import core_sources

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted(ROOT.glob("libcore/**/README.md")),
    *(ROOT / folder / "README.md" for folder in ("bench", "tests/model")),
]
WALK = re.findall(
    r"^\|[^|]*\| `([^`]+)` \| `([^`]+)` \|",
    (ROOT / "docs" / "design.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")
ANCHOR = re.compile(r"\]\(([^)#]*)#([^)]+)\)")
INTERNAL = re.compile(r"`(ilk__\w*\w)(?:\(\))?`")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
FILE = re.compile(r"`((?:[\w.-]+/)+[\w.-]+\.(?:c|h|py|lua|sh|md|in|i|pml|cmake))`")


def defines(text, function):
    """Whether a function of this name is defined, not only called."""
    c = rf"^[a-z][\w \*]*\b{function}\((?:[^;{{]*)\)\n\{{"
    python = rf"^ *(?:def|class) {function}\("
    return re.search(c, text, re.MULTILINE) or re.search(python, text, re.MULTILINE)


@functools.cache
def words_of_the_core():
    sources = core_sources("*.[ch]")
    text = "\n".join(source.read_text(encoding="utf-8") for source in sources)
    return set(re.findall(r"\bilk__\w+", text))


def headings(target, page):
    """The anchors of a page, as hosts of Markdown make them."""
    text = (page if target.is_dir() else target).read_text(encoding="utf-8")
    words = (re.sub(r"[^\w\- ]", "", title.lower()) for title in HEADING.findall(text))
    return {word.replace(" ", "-") for word in words}


def test_the_walk_is_found():
    assert len(WALK) >= 20


@pytest.mark.parametrize(("file", "function"), WALK)
def test_each_step_of_the_walk_is_there(file, function):
    assert defines((ROOT / file).read_text(encoding="utf-8"), function)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    inside = [link for link in LINK.findall(text) if "://" not in link]

    assert [link for link in inside if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_are_named_exist(page):
    named = FILE.findall(page.read_text(encoding="utf-8"))
    places = (ROOT, page.parent, ROOT / "libcore", ROOT / "libcore" / "include")

    assert [
        file
        for file in named
        if "noun" not in file and not any((place / file).exists() for place in places)
    ] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_functions_that_are_named_exist(page):
    named = set(INTERNAL.findall(page.read_text(encoding="utf-8")))

    assert named - words_of_the_core() == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_anchors_are_headings(page):
    text = page.read_text(encoding="utf-8")
    lost = [
        f"{file}#{anchor}"
        for file, anchor in ANCHOR.findall(text)
        if "://" not in file and anchor not in headings(page.parent / file, page)
    ]

    assert lost == []


def test_each_page_is_reached_from_the_readme():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    linked = {(ROOT / link).resolve() for link in LINK.findall(text)}

    assert set((ROOT / "docs").glob("*.md")) <= linked
