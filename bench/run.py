# SPDX-License-Identifier: MIT
"""Run benchmarks by name: run.py [NAME...] [OPTION...]; all without a name.

All of them have shorter rounds, and fewer, than one that is named.
run.py --plot draws what the last runs have found.
"""

from __future__ import annotations

import importlib
import itertools
import sys
import time

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
OF_ALL = ["--rounds", "3", "--seconds", "0.5", "--most", "100000"]


def main() -> int:
    words = sys.argv[1:]
    if words == ["--plot"]:
        return importlib.import_module("plots").main()
    names = list(itertools.takewhile(lambda word: not word.startswith("-"), words))
    for name in names:
        if name not in NAMES:
            print(f"bench: no '{name}'; there are: {' '.join(NAMES)}", file=sys.stderr)
            return 64
    options = ([] if names else OF_ALL) + words[len(names) :]
    reports = {}
    began = time.monotonic()
    for name in names or NAMES:
        print(
            f"\n== {name}, after {(time.monotonic() - began) / 60:.0f} min", flush=True
        )
        report = importlib.import_module(f"bench_{name}").main(options)
        if report:
            reports[name] = report
    importlib.import_module("harness").print_missed(reports)
    print(f"== {(time.monotonic() - began) / 60:.0f} min")
    return 0


if __name__ == "__main__":
    sys.exit(main())
