# SPDX-License-Identifier: MIT
"""Line and branch coverage of the core, from what gcc's --coverage counted.

    coverage.py BUILD [--branches] [--root DIR]

Prints a table of all files of the core with the totals of each folder. For the
files of HELD it compares the branches that no test takes with tests/coverage.txt:
a branch that is neither taken nor explained there makes it fail, and so does an
explanation whose condition is gone. With --branches it prints all branches that no
test takes in these files, in the form of tests/coverage.txt.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CORE = "libcore"
# Names of files are without this, but for stores: "stores/quorum/quorum.c".
LAYERS = "src/"
EXPLAINED = "tests/coverage.txt"

# Where a branch that was never taken may cost a hold: what waits and holds, what
# sends and repeats, and the connection that all callers share.
HELD = ("wait/*", "op/*", "redis/lane*")


@dataclass
class Line:
    count: int = 0
    function: str = ""
    branches: list[int] = field(default_factory=list)


File = dict[int, Line]


@dataclass(frozen=True, order=True)
class Condition:
    """Where branches are, in words that survive edits elsewhere in the file."""

    file: str
    function: str
    text: str


def counted(data: Path) -> dict:
    """The counters of one object, read by gcov."""
    done = subprocess.run(
        ["gcov", "--json-format", "--branch-probabilities", "--stdout", data],
        capture_output=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def merge(files: dict[str, File], found: dict, core: Path) -> None:
    """Add one object's counts. Functions of headers are in several objects."""
    for entry in found["files"]:
        path = Path(
            os.path.normpath(Path(found["current_working_directory"], entry["file"]))
        )
        if not path.is_relative_to(core):
            continue
        lines = files[path.relative_to(core).as_posix().removeprefix(LAYERS)]
        for each in entry["lines"]:
            line = lines.setdefault(each["line_number"], Line())
            line.count += each["count"]
            line.function = each.get("function_name", line.function)
            taken = [branch["count"] for branch in each["branches"]]
            longer = max(len(taken), len(line.branches))
            taken += [0] * (longer - len(taken))
            line.branches += [0] * (longer - len(line.branches))
            line.branches = [a + b for a, b in zip(taken, line.branches, strict=True)]


def collect(build: Path, core: Path) -> dict[str, File]:
    data = sorted(build.glob("CMakeFiles/ilk_objects.dir/**/*.gcda"))
    files: dict[str, File] = defaultdict(dict)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(counted, data):
            merge(files, found, core)
    return files


# --- The table.


@dataclass
class Sum:
    lines: int = 0
    lines_run: int = 0
    branches: int = 0
    branches_taken: int = 0

    def add(self, lines: File) -> None:
        for line in lines.values():
            self.lines += 1
            self.lines_run += line.count > 0
            self.branches += len(line.branches)
            self.branches_taken += sum(taken > 0 for taken in line.branches)

    def row(self, name: str) -> str:
        def share(part: int, whole: int) -> str:
            return f"{part:6} of {whole:6} {100 * part / (whole or 1):6.1f} %"

        return (
            f"{name:34}{share(self.lines_run, self.lines)}"
            f"{share(self.branches_taken, self.branches)}"
        )


def table(files: dict[str, File]) -> Iterator[str]:
    folders: dict[str, list[str]] = defaultdict(list)
    for name in sorted(files):
        folders[name.partition("/")[0]].append(name)
    total = Sum()
    yield f"{'':34}{'lines run':>25}{'branches taken':>25}"
    for folder, names in folders.items():
        whole = Sum()
        rows = []
        for name in names:
            one = Sum()
            one.add(files[name])
            whole.add(files[name])
            total.add(files[name])
            rows.append(one.row(f"  {name}"))
        yield whole.row(f"{folder}/")
        yield from rows
    yield total.row("total")


# --- Branches that no test takes.


def is_held(name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in HELD)


def conditions(name: str, lines: File, text: list[str]) -> Iterator[tuple]:
    """Each condition of a file: (condition, line number, untaken, branches)."""
    for number, line in sorted(lines.items()):
        if line.branches:
            words = " ".join(text[number - 1].split())
            where = Condition(name, line.function, words)
            yield where, number, line.branches.count(0), len(line.branches)


def explained(path: Path) -> dict[Condition, int]:
    """{condition: how many of its branches are explained}."""
    found = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        match = re.fullmatch(r"(\S+) (\w+) (\d+): (.+)", line)
        if match is None:
            sys.exit(f"{path}:{number}: not FILE FUNCTION NUMBER: CONDITION")
        name, function, count, words = match.groups()
        found[Condition(name, function, words)] = int(count)
    return found


def judge(files: dict[str, File], root: Path, show: bool) -> int:
    """Compare with the explanations; how many faults there are."""
    known = explained(root / EXPLAINED)
    untaken: dict[Condition, int] = defaultdict(int)
    places: dict[Condition, int] = {}
    faults = 0
    for name in sorted(filter(is_held, files)):
        text = (root / CORE / LAYERS / name).read_text().splitlines()
        for where, number, missing, _ in conditions(name, files[name], text):
            places.setdefault(where, number)
            untaken[where] += missing
    for where, missing in untaken.items():
        if show and missing:
            print(f"{where.file} {where.function} {missing}: {where.text}")
        if missing > known.get(where, 0):
            faults += 1
            print(
                f"{CORE}/{LAYERS}{where.file}:{places[where]}: {where.function}:"
                f" {missing} branches are neither taken nor explained: {where.text}"
            )
    for where in sorted(set(known) - set(places)):
        faults += 1
        print(f"{EXPLAINED}: gone: {where.file} {where.function}: {where.text}")
    held = sum(untaken.values())
    print(f"{held} branches of {', '.join(HELD)} are not taken, {faults} faults")
    return faults


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("build", type=Path)
    options.add_argument("--branches", action="store_true")
    options.add_argument("--root", type=Path, default=ROOT)
    given = options.parse_args()
    files = collect(given.build, given.root / CORE)
    if not files:
        sys.exit(f"coverage: nothing was counted in {given.build}")
    rows = list(table(files))
    print("\n".join(rows))
    faults = judge(files, given.root, given.branches)
    print(f"coverage: {'FAILED' if faults else 'passed'},{rows[-1].split('total')[1]}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
