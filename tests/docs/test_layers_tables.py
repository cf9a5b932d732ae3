# SPDX-License-Identifier: MIT
"""Each page that lists the core's layers agrees with libcore/src/LAYERS."""

from __future__ import annotations

import re
from fnmatch import fnmatch

import pytest
from core_sources import ROOT, folder_of

MARK = re.compile(r"<!-- layers(: highest first)? -->\n+")
# A row of a table, or of the drawing in design.md.
FOLDER = re.compile(r"^(?:\| `| )((?:[a-z]+/)+\*?)(?:` \|| *\|)", re.M)
ROW = re.compile(r"^\| `((?:[a-z]+/)+\*?)` \| ([^|]+) \|", re.M)
NAME = re.compile(r"`([^`]+)`")
PAGES = ["libcore/README.md", "docs/design.md", "CONTRIBUTING.md"]
FILES = dict(ROW.findall((ROOT / "libcore" / "README.md").read_text(encoding="utf-8")))


def files(folder):
    top = folder_of(folder.rstrip("*"))
    return top.glob("*/*.[ch]" if folder.endswith("*") else "*.[ch]")


def layers():
    """The names of its lines, but those that have a `noun/*` before them."""
    text = re.sub("#.*", "", folder_of("LAYERS").read_text(encoding="utf-8"))
    names = [line.split()[0] for line in text.splitlines() if line.strip()]
    return [
        name
        for place, name in enumerate(names)
        if name.rpartition("/")[0] + "/*" not in names[:place]
    ]


def stores():
    """The folders of `stores/*`."""
    paths = (path.parent.name for path in files("stores/*"))
    return sorted({f"stores/{name}" for name in paths} - {"stores/shared"})


def listed(page):
    """The folders of the page's marked list, the lowest first."""
    text = (ROOT / page).read_text(encoding="utf-8")
    mark = MARK.search(text)
    assert mark, f"{page} marks no list of the layers"
    end = "\n```\n" if text.startswith("```", mark.end()) else "\n\n"
    found = FOLDER.findall(text[mark.end() :].split(end)[0])
    return [name.rstrip("/") for name in (found[::-1] if mark[1] else found)]


def sources(folder):
    """The names of the folder's files, without their endings."""
    return {path.stem for path in files(folder)}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_lists_all_layers_in_order(page):
    assert listed(page) == layers()


@pytest.mark.parametrize(
    "folder", [*(name for name in layers() if "*" not in name), *stores()]
)
def test_the_readme_names_each_file_of_a_folder(folder):
    patterns = NAME.findall(FILES[folder + "/"])
    found = sources(folder)

    assert found
    assert [s for s in found if not any(fnmatch(s, p) for p in patterns)] == []
    assert [p for p in patterns if not any(fnmatch(s, p) for s in found)] == []


def test_the_readme_names_each_store():
    assert {f"stores/{name}" for name in NAME.findall(FILES["stores/*"])} == {
        f"{name}/" for name in stores()
    }


def test_the_readme_names_each_primitive():
    names = NAME.findall(FILES["primitives/*"])
    folders = {name.rstrip("/") for name in names if name.endswith("/")}
    found = sources("primitives/*")

    assert folders == {path.parent.name for path in files("primitives/*")}
    assert [
        name
        for name in names
        if not name.endswith("/") and not any(fnmatch(file, name) for file in found)
    ] == []
