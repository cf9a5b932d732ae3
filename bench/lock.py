# SPDX-License-Identifier: MIT
"""The lock's speed: ratios against what it stands on and what it replaces.

Nothing here fails on a figure: the report says which goals are met.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import subprocess
import sys

import lock_alone
import lock_crowd
import lock_waits
from harness import (
    CPUS,
    OUT,
    Report,
    Server,
    build_c,
    hiredis_flags,
    interlock_flags,
    machine,
)

HIREDIS_PY = "hiredis==3.4.0"
PROGRAMS = ["pairs", "crowd", "handover", "idle"]
PARTS = {"alone": lock_alone, "crowd": lock_crowd, "waits": lock_waits}


def redis_py_with_hiredis() -> None:
    """redis-py at its best: with the parser in C."""
    place = str(OUT / "python")
    sys.path.insert(0, place)
    if importlib.util.find_spec("hiredis") is None:
        subprocess.run(
            [sys.executable, "-m", "pip", "install", "-q", "--target", place,
             HIREDIS_PY],
            check=True,
        )  # fmt: skip
        importlib.invalidate_caches()
    paths = [place, os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))


def main(words: list[str]) -> None:
    options = argparse.ArgumentParser(prog="bench lock", description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--seconds", type=float, default=1.0, help="of one round")
    options.add_argument("--only", choices=sorted(PARTS), action="append")
    given = options.parse_args(words)

    redis_py_with_hiredis()
    for program in PROGRAMS:
        build_c(program, interlock_flags())
    build_c("raw", hiredis_flags())
    server = Server()
    try:
        described = machine(server)
        for name, value in described.items():
            print(f"{name}: {value}")
        if len(CPUS) < 2:
            print("one CPU only: rows of two cores are of one")
        report = Report()
        for name, part in PARTS.items():
            if not given.only or name in given.only:
                part.measure(server, report, given)
        report.save(OUT / "lock.json", described)
        print(f"{report.summary()}; details in {OUT / 'lock.json'}")
    finally:
        server.close()
