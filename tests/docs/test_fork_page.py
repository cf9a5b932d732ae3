# SPDX-License-Identifier: MIT
"""docs/fork.md says of each type of handles what it does after a reopening."""

from __future__ import annotations

import re
from pathlib import Path

from core_sources import core_sources

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "fork.md").read_text(encoding="utf-8")
STRUCT = re.compile(r"^(?:typedef )?struct (\w+) \{(.*?)^\}", re.M | re.S)
ROWS = re.findall(r"^\| [^|]+\(`(\w+)`\) \| .* \| `([^`]+)` \|$", PAGE, re.M)
# The parts that the others embed, and those they compare their era with.
PARTS = {"ilk__handle", "ilk_client"}


def sources():
    for path in core_sources("*.[ch]"):
        yield path, path.read_text(encoding="utf-8")


def test_each_type_with_an_era_has_a_row():
    found = {
        name
        for _, text in sources()
        for name, body in STRUCT.findall(text)
        if re.search(r"\buint32_t era;|\bilk__handle handle;", body)
    }

    assert found - PARTS == {name for name, _ in ROWS}


def test_each_row_names_a_file_that_binds_or_compares():
    for name, file in ROWS:
        text = (ROOT / file).read_text(encoding="utf-8")

        assert re.search(r"\bera\b|ilk__handle_(init|bind)|bind\(", text), name
