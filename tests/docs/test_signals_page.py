# SPDX-License-Identifier: MIT
"""docs/signals-and-interrupts.md names each place where the core meets EINTR."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "signals-and-interrupts.md").read_text(encoding="utf-8")
SITE = re.compile(r"(?<!ILK_)\bEINTR\b")
COMMENT = re.compile(r"/\*.*?\*/", re.S)
ROWS = re.findall(r"^\| `(libcore/src/[^`]+)` \| (\d+) \|", PAGE, re.M)


def sites():
    """How often the code of each file of the core names the system's EINTR."""
    found = {
        str(path.relative_to(ROOT)): len(
            SITE.findall(COMMENT.sub("", path.read_text(encoding="utf-8")))
        )
        for path in (ROOT / "libcore" / "src").rglob("*.c")
    }
    return {path: count for path, count in found.items() if count}


def test_each_site_of_eintr_is_listed():
    assert {path: int(count) for path, count in ROWS} == sites()


def test_interrupt_locks_no_mutex():
    """The page says that a signal handler may call it."""
    text = "\n".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "libcore" / "src" / "client").glob("*.c")
    )
    body = re.search(r"^void ilk_client_interrupt\(.*?^\}", text, re.M | re.S)
    assert body

    calls = set(re.findall(r"\b(\w+)\(", body[0]))
    assert calls <= {
        "ilk_client_interrupt",
        "if",
        "ilk__client_is_forked",
        "atomic_fetch_add",
        "ilk__pollable_raise",
    }
