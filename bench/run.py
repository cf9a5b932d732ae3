# SPDX-License-Identifier: MIT
"""Run benchmarks by name: run.py [NAME...] [OPTION...]; all without a name.

run.py --plot draws what the last runs have found.
"""

from __future__ import annotations

import importlib
import itertools
import sys

NAMES = [
    "agreement",
    "async",
    "cluster",
    "election",
    "growth",
    "lock",
    "queue",
    "semaphore",
    "sentinel",
    "signal",
    "stores",
    "topologies",
]


def main() -> int:
    words = sys.argv[1:]
    if words == ["--plot"]:
        return importlib.import_module("plots").main()
    names = list(itertools.takewhile(lambda word: not word.startswith("-"), words))
    for name in names:
        if name not in NAMES:
            print(f"bench: no '{name}'; there are: {' '.join(NAMES)}", file=sys.stderr)
            return 64
    reports = {}
    for name in names or NAMES:
        report = importlib.import_module(f"bench_{name}").main(words[len(names) :])
        if report:
            reports[name] = report
    importlib.import_module("harness").print_missed(reports)
    return 0


if __name__ == "__main__":
    sys.exit(main())
