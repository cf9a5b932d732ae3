# SPDX-License-Identifier: MIT
"""The sources of the core: its layers, and the stores that are part of the library."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "libcore"
BUILT_IN = re.search(
    r"^set\(ilk_built_in_stores ([a-z ]+)\)$",
    (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"),
    re.M,
)[1].split()


def core_sources(pattern: str) -> Iterator[Path]:
    """The files that match it in all folders of the core."""
    yield from (CORE / "src").rglob(pattern)
    yield from (CORE / "stores").glob(pattern)
    for store in BUILT_IN:
        yield from (CORE / "stores" / store).rglob(pattern)


def folder_of(layer: str) -> Path:
    """Where a folder of LAYERS lies; its name may contain a `*`."""
    top = CORE if layer.partition("/")[0] == "stores" else CORE / "src"
    return top / layer
