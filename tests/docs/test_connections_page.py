# SPDX-License-Identifier: MIT
"""The timeouts and pauses in docs/connections.md are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from core_sources import core_sources

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "connections.md").read_text(encoding="utf-8")
ROWS = re.findall(
    r"^\| [^|]+ \| `(\w+)` \| ([\d.]+) (ms|s|min) \| `([^`]+)` \|$", PAGE, re.M
)
# Times of the core that have nothing to do with connections and waits.
ELSEWHERE = {
    "ILK__DRIFT_MS": "docs/design.md: Leases and fences",
    "ILK__ELECTION_DEFAULT_MS": "the default lease of a candidate",
    "ILK__LEASE_DEFAULT_MS": "the default lease",
    "ILK__LEASE_MAX_MS": "the longest lease",
    "ILK__MEMBER_DEFAULT_MS": "the default lease of a member",
    "ILK__SIGNAL_KEEP_MS": "how long the server keeps a record",
    "COPIES_MS": "how long the server keeps a record",
    "KEEP_DEFAULT_MS": "how long the server keeps a record",
    "GOOD_MS": "the default lease",
    "TENURE_LEAST_MS": "the least tenure of a master",
    "NAP_NS": "between two looks at a lock file",
    "AGE_SLACK_S": "below the table",
}
CONSTANT = re.compile(r"\b([A-Z]\w*_(?:MS|S|NS)) = ([\d *]+)")
MS = {"ms": 1, "s": 1000, "min": 60_000, "MS": 1, "S": 1000, "py": 1000}


def in_the_code(name, text):
    """The constant's value in milliseconds."""
    found = re.search(rf"\b{name} = ([\d.]+(?: \* \d+)*)", text)
    assert found, f"{name} is not there"
    value = 1.0
    for factor in found[1].split(" * "):
        value *= float(factor)
    unit = name.rpartition("_")[2]
    return value * MS[unit if unit in MS else "py"]


def test_the_table_is_found():
    assert len(ROWS) >= 40


@pytest.mark.parametrize(
    ("name", "value", "unit", "file"), ROWS, ids=lambda word: word.rpartition("/")[2]
)
def test_each_time_is_that_of_the_code(name, value, unit, file):
    text = (ROOT / file).read_text(encoding="utf-8")

    assert float(value) * MS[unit] == in_the_code(name, text)


def test_no_time_of_the_core_is_left_out():
    listed = {(name, Path(file).name) for name, _, _, file in ROWS}
    missing = {
        (name, path.name)
        for path in core_sources("*.[ch]")
        for name, _ in CONSTANT.findall(path.read_text(encoding="utf-8"))
        if name not in ELSEWHERE and (name, path.name) not in listed
    }

    assert missing == set()
