# SPDX-License-Identifier: MIT
"""docs/errors.md lists each status and each exception, exactly once."""

from __future__ import annotations

import re
from pathlib import Path

import interlock
import pytest
from interlock import errors
from interlock._core import ffi, lib

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
HEADER = (ROOT / "libcore/include/interlock/base.h").read_text(encoding="utf-8")
STATUS = re.compile(r"^\s+(ILK_E\w+) = -\d+,?", re.MULTILINE)
ROW = re.compile(
    r"^\| `(?P<status>ILK_\w+)` \| `(?P<name>\w+)`(?: \(an? `(?P<base>\w+)`\))?"
    r" \| (?P<meaning>[^|]+) \|",
    re.MULTILINE,
)
ROWS = list(ROW.finditer(PAGE))
LINES = [line for line in PAGE.splitlines() if line.startswith("| `ILK_")]


def plain(text):
    return text.replace("`", "").replace("()", "").strip()


def header_meanings():
    """The comment behind each status in the header."""
    return {
        name: " ".join(re.sub(r"[/*<]+", " ", comment).split())
        for name, comment in re.findall(
            r"(ILK_E\w+) = -\d+,?\s*/\*\*<(.*?)\*/", HEADER, re.DOTALL
        )
    }


def test_each_line_is_understood():
    assert len(ROWS) == len(LINES)


def test_each_status_is_listed_once():
    assert sorted(row["status"] for row in ROWS) == sorted(STATUS.findall(HEADER))


def test_each_exception_is_listed_once():
    kinds = [kind.__name__ for kind in errors.BY_CODE.values()]

    assert sorted(row["name"] for row in ROWS) == sorted(kinds)


def test_the_page_names_the_classes_as_the_package_does():
    kinds = errors.BY_CODE.values()
    of_server = {k.__name__ for k in kinds if issubclass(k, errors.ServerError)}

    assert of_server == {
        *("AuthError", "ClusterError", "ReplyError", "ServerBusyError"),
        *("ServerError", "ServerLoadingError", "ServerMemoryError"),
        *("ServerReadOnlyError", "WrongTypeError"),
    }
    assert issubclass(interlock.BusyError, interlock.TimeoutError)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["status"])
def test_the_row_is_true(row):
    code = getattr(lib, row["status"])
    kind = errors.BY_CODE[code]

    assert kind.__name__ == row["name"]
    assert ffi.string(lib.ilk_status_name(code)).decode() == row["status"]
    assert plain(row["meaning"]) == plain(header_meanings()[row["status"]])
    if row["base"]:
        assert row["base"] in {base.__name__ for base in kind.__mro__}
