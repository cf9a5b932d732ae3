# SPDX-License-Identifier: MIT
"""List the project's files: list_files.py [PATTERN...], `*` matches `/`, too.

Git knows them where there is a repository. A source archive has none: there
the rules in .gitignore decide, which this reads as far as ours go: names,
`*`, a leading `/` for the top, a trailing `/` for folders.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def from_git() -> list[str] | None:
    """Files that are tracked or could be; None where Git has no answer."""
    if not (ROOT / ".git").exists():
        return None
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return None
    return None if done.returncode else done.stdout.splitlines()


def is_ignored(path: str, folder: bool, rules: list[str]) -> bool:
    for rule in rules:
        if rule.endswith("/") and not folder:
            continue
        name = rule.rstrip("/")
        if name.startswith("/"):
            if fnmatchcase(path, name[1:]):
                return True
        elif fnmatchcase(path.rpartition("/")[2], name):
            return True
    return False


def from_disk() -> Iterator[str]:
    lines = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    rules = ["/.git", *(line for line in lines if line and line[0] != "#")]
    for here, folders, names in os.walk(ROOT):
        base = Path(here).relative_to(ROOT)
        inside = {name: (base / name).as_posix() for name in [*folders, *names]}
        folders[:] = [n for n in folders if not is_ignored(inside[n], True, rules)]
        for name in names:
            if not is_ignored(inside[name], False, rules):
                yield inside[name]


def list_files(*patterns: str) -> list[str]:
    """Paths from the root that exist and match one of the patterns, if any."""
    listed = from_git()
    paths = sorted(from_disk() if listed is None else listed)
    return [
        path
        for path in paths
        if not patterns or any(fnmatchcase(path, pattern) for pattern in patterns)
        if (ROOT / path).is_file()
    ]


if __name__ == "__main__":
    print("\n".join(list_files(*sys.argv[1:])))
