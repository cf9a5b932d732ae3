# SPDX-License-Identifier: MIT
"""Which cases of tests/conformance a store runs, by rules.

A line that only looks at a key of Redis, and finds nothing there, is dropped. A case
is left out, for a reason, when a line of it

    changes or reads keys of Redis
    has an option that only one Redis has
    needs something that the store does not offer

left_out.txt lists the cases that are left out and why. A test compares, so that a new
case is noticed. Renew it after a look at the difference:

    python tests/stores/table_rules.py > tests/stores/left_out.txt
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
TABLE = HERE.parent / "conformance"
LEFT_OUT = HERE / "left_out.txt"

LOOK = re.compile(r"redis (EXISTS \S+ -> 0|SET \S+ \S+ NX -> \(nil\))$")
REDIS = re.compile(r"redis ")
OPTION = re.compile(r".* (layout|barge|identity)=")
# The words of the table and what client.offers() calls it.
NEEDS = {
    re.compile(rf"\S+ = {kind} "): offer
    for kind, offer in (
        ("lock", "lock"),
        ("read", "rwlock"),
        ("write", "rwlock"),
        ("many", "lock_many"),
        ("semaphore", "semaphore"),
        ("election", "election"),
        ("event", "event"),
        ("barrier", "barrier"),
        ("latch", "latch"),
        ("group", "group"),
        ("join", "group"),
        ("register", "register"),
        ("store", "store"),
        ("kv", "kv"),
        ("begin", "store"),
        ("snapshot", "store"),
        ("queues?", "queue"),
        ("signal", "signal"),
        ("pattern", "signal"),
    )
} | {
    re.compile(r"\S+ (detach|adopt)\b"): "detach",
    re.compile(r"break election "): "election",
    re.compile(r"inspect semaphore "): "semaphore",
}


class Case(NamedTuple):
    title: str  # "file: title", as the runners call it
    lines: list[str]


def cases() -> Iterator[Case]:
    for path in sorted(TABLE.glob("*.txt")):
        case: Case | None = None
        for line in path.read_text().splitlines():
            text = line.strip()
            if text.startswith("case "):
                if case:
                    yield case
                case = Case(f"{path.stem}: {text[5:]}", [])
            elif text and not text.startswith("#"):
                assert case
                case.lines.append(text)
        if case:
            yield case


def is_look(line: str) -> bool:
    return LOOK.match(line) is not None


def reason(case: Case, offers: Iterable[str]) -> str:
    """Why a store that offers this leaves the case out; "" when it runs it."""
    lines = [line for line in case.lines if not is_look(line)]
    for line in lines:
        for pattern, offer in NEEDS.items():
            if pattern.match(line) and offer not in offers:
                return f"needs {offer}"
    for line in lines:
        if REDIS.match(line):
            return "keys of Redis"
        option = OPTION.match(line)
        if option:
            return f"option {option[1]}"
    return ""


def titles(offers: Iterable[str]) -> set[str]:
    """Of the cases that such a store runs."""
    return {case.title for case in cases() if not reason(case, offers)}


def write_tables(folder: Path, offers: Iterable[str]) -> int:
    """The cases that such a store runs, as files that each runner reads."""
    texts: defaultdict[str, list[str]] = defaultdict(list)
    count = 0
    for case in cases():
        if reason(case, offers):
            continue
        count += 1
        file, _, title = case.title.partition(": ")
        lines = [line for line in case.lines if not is_look(line)]
        texts[file] += [f"case {title}", *lines, ""]
    folder.mkdir(parents=True, exist_ok=True)
    for file, lines in texts.items():
        (folder / f"{file}.txt").write_text("\n".join(lines))
    return count


def left_out(offers_of: dict[str, Iterable[str]]) -> list[str]:
    """A line for each case that some store leaves out."""
    found: list[str] = []
    for case in cases():
        stores = defaultdict(list)
        for store, offers in sorted(offers_of.items()):
            why = reason(case, offers)
            if why:
                stores[why].append(store)
        found += [
            f"{' '.join(names)} | {why} | {case.title}" for why, names in stores.items()
        ]
    return found


def main() -> None:
    sys.path += [
        str(HERE),
        str(HERE.parent / "topologies"),
        str(HERE.parent / "shared"),
    ]
    from store_kinds import STORES

    print("# Cases of tests/conformance that a store does not run: which stores, why,")
    print("# and the case. Written by table_rules.py, compared by test_store_table.py.")
    for line in left_out({one.scheme: one.offers for one in STORES}):
        print(line)


if __name__ == "__main__":
    main()
