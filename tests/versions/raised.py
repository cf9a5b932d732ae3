# SPDX-License-Identifier: MIT
"""Copy the sources, and raise each version of entries and messages.

raised.py FOLDER

The copy stands for a version to come whose waiters this one must not serve.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "shared"))

from patched import copy_sources, patch

# Each with the version that is written or read.
CHANGES = [
    ("src/wait/entry.c", "? 2 : 1;", "? 4 : 3;"),
    ("src/wait/entry.c", "? '2' : '1'", "? '4' : '3'"),
    ("scripts/include/entry.lua", '"^1 ([', '"^3 (['),
    ("scripts/lock/lock_acquire.lua", '"^1 [', '"^3 ['),
    ("scripts/lock/lock_release.lua", '"^1 x', '"^3 x'),
    ("scripts/include/signal_entry.lua", '"^2 s', '"^4 s'),
    ("scripts/include/crowd.lua", '"2 "', '"4 "'),
    ("scripts/signal/signal_notify_all.lua", '"^2 ', '"^4 '),
    ("src/pubsub/message.c", 'is(version, "1")', 'is(version, "2")'),
]
MESSAGE = re.compile(r'"1 (grant|wake|signal|notify|change) ')


def main(folder: str) -> None:
    core = Path(folder) / "libcore"
    copy_sources(Path(folder))
    for path, old, new in CHANGES:
        patch(core / path, old, new)
    for script in (core / "scripts").rglob("*.lua"):
        text = script.read_text(encoding="utf-8")
        script.write_text(MESSAGE.sub(r'"2 \1 ', text), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
