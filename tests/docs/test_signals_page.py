# SPDX-License-Identifier: MIT
"""docs/signals-and-interrupts.md names each place where the core meets EINTR."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from core_sources import core_sources

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "signals-and-interrupts.md").read_text(encoding="utf-8")
SITE = re.compile(r"(?<!ILK_)\bEINTR\b")
COMMENT = re.compile(r"/\*.*?\*/", re.S)
ROWS = re.findall(r"^\| `(libcore/[^`]+)` \| (\d+) \|", PAGE, re.M)


def sites():
    """How often the code of each file of the core names the system's EINTR."""
    found = {
        str(path.relative_to(ROOT)): len(
            SITE.findall(COMMENT.sub("", path.read_text(encoding="utf-8")))
        )
        for path in core_sources("*.c")
    }
    return {path: count for path, count in found.items() if count}


def test_each_site_of_eintr_is_listed():
    assert {path: int(count) for path, count in ROWS} == sites()


HARMLESS = {
    "if",
    "while",
    "ilk__client_is_forked",
    "ilk__fork_generation",
    "ilk__pollable_raise",
    "raise_wakeup",
    "atomic_load",
    "atomic_store",
    "atomic_fetch_add",
    "atomic_fetch_sub",
    "atomic_fetch_or",
    "atomic_compare_exchange_weak",
}


@pytest.mark.parametrize(
    "function",
    [
        "ilk_client_interrupt",
        "ilk_client_stop",
        "ilk_client_resume",
        "ilk_client_stopped",
        "raise_wakeup",
    ],
)
def test_a_signal_handler_may_call_it(function):
    """The page says that it locks no mutex."""
    text = "\n".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "libcore" / "src" / "client").glob("*.c")
    )
    body = re.search(
        rf"^(?:static )?(?:void|int) {function}\(.*?^\}}", text, re.M | re.S
    )
    assert body

    calls = set(re.findall(r"\b(\w+)\(", body[0]))
    assert calls <= HARMLESS | {function}
