# SPDX-License-Identifier: MIT
"""Peers that are fetched when they are wanted, at pinned versions.

One that cannot be had is skipped, and that is said.
"""

from __future__ import annotations

import shutil
import subprocess
import sys

from harness import OUT, ROOT

TOOZ = "tooz==9.1.0"
REDIS_PY = "redis==8.1.0"


def skipped(what: str, why: str) -> None:
    print(f"SKIPPED: {what}: {why}", flush=True)


def node(script: str, what: str) -> list | None:
    """The command of a peer in Node, its packages installed; else None."""
    if not (shutil.which("node") and shutil.which("npm")):
        skipped(what, "needs node and npm")
        return None
    place = OUT / "node"
    place.mkdir(parents=True, exist_ok=True)
    for source in (ROOT / "bench" / "node").iterdir():
        shutil.copy(source, place)
    done = subprocess.run(
        ["npm", "install", "--no-audit", "--no-fund", "--silent"],
        cwd=place, check=False,
    )  # fmt: skip
    if done.returncode:
        skipped(what, "npm could not install it")
        return None
    return ["node", place / script]


def tooz() -> bool:
    """Install it into build/bench/tooz; whether it is there."""
    place = OUT / "tooz"
    if (place / "tooz").is_dir():
        return True
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--target", place,
         "--disable-pip-version-check", TOOZ, REDIS_PY],
        check=False,
    )  # fmt: skip
    if done.returncode:
        skipped("tooz", f"pip could not install {TOOZ}")
        return False
    return True
