# SPDX-License-Identifier: MIT
"""The common part of all benchmarks: a pinned server, programs to run, a report.

Sides are always measured in turns, round by round, and compared by their
medians, so that what else the machine does falls on all of them.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import shlex
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import redis

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("ILK_BUILD") or ROOT / "build" / "release")
OUT = ROOT / "build" / "bench"
CPUS = sorted(os.sched_getaffinity(0))
SERVER_CPU = CPUS[0]
SAME = {CPUS[0]}
OTHER = {CPUS[-1]}
ANY = set(CPUS)
PYTHON_PINS = ROOT / "bench" / "python"  # lists by tools/renew-requirements
PIP_INSTALL = (sys.executable, "-m", "pip", "install", "-q",
               "--disable-pip-version-check", "--require-hashes")  # fmt: skip


class Server:
    """A server of the benchmark's own, on a CPU of its own where there is one."""

    options: tuple[str, ...] = ()  # of a server that is no single one
    port_most = 65535

    def __init__(self) -> None:
        self.binary = (
            os.environ.get("ILK_TEST_SERVER")
            or shutil.which("redis-server")
            or shutil.which("valkey-server")
        )
        if not self.binary:
            sys.exit("bench: neither redis-server nor valkey-server is installed")
        self.port = self.port_most + 1
        while self.port > self.port_most:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.port = probe.getsockname()[1]
        self.folder = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            [self.binary, "--bind", "127.0.0.1", "--port", str(self.port),
             "--save", "", "--appendonly", "no", "--dir", self.folder.name,
             "--maxclients", "20000", *self.options],
            stdout=subprocess.DEVNULL, preexec_fn=pinned({SERVER_CPU}),
        )  # fmt: skip
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.redis = redis.Redis.from_url(self.url, socket_timeout=None)
        for _ in range(500):
            try:
                self.redis.ping()
                return
            except redis.ConnectionError:
                time.sleep(0.01)
        sys.exit("bench: the server did not start")

    def calls(self) -> dict[str, int]:
        """How often each command was called so far, inside scripts as well."""
        stats = self.redis.info("commandstats")
        return {
            name.removeprefix("cmdstat_"): int(entry["calls"])
            for name, entry in stats.items()
        }

    def counters(self) -> dict[str, float]:
        """CPU seconds, and how often the server read from a connection."""
        info = self.redis.info()
        return {
            "cpu": info["used_cpu_user"] + info["used_cpu_sys"],
            "reads": info["total_reads_processed"],
        }

    def used_memory(self) -> int:
        return int(self.redis.info("memory")["used_memory"])

    def close(self) -> None:
        self.redis.close()
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


def pinned(cpus: set[int]):
    return lambda: os.sched_setaffinity(0, cpus)


# --- Programs. C ones stand on the public ABI or on hiredis alone.


def hiredis_flags() -> list[str]:
    """Flags and files for hiredis: the system's, else the fetched source."""
    known = subprocess.run(
        ["pkg-config", "--atleast-version=1.0.2", "hiredis"], check=False
    )
    if known.returncode == 0:
        found = subprocess.run(
            ["pkg-config", "--cflags", "--libs", "hiredis"],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        return shlex.split(found.stdout)
    found = subprocess.run(
        [ROOT / "tools" / "get-hiredis"], check=True, capture_output=True, text=True
    )
    source = Path(found.stdout.strip())
    link = OUT / "include" / "hiredis"
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(source)
    files = ["alloc", "async", "hiredis", "net", "read", "sds", "sockcompat"]
    return [f"-I{link.parent}", f"-I{source}"] + [f"{source}/{f}.c" for f in files]


def interlock_flags() -> list[str]:
    library = BUILD / "lib"
    return [
        f"-I{ROOT}/libcore/include", f"-L{library}", f"-Wl,-rpath,{library}",
        "-linterlock",
    ]  # fmt: skip


def build_c(name: str, flags: list[str]) -> Path:
    OUT.mkdir(parents=True, exist_ok=True)
    program = OUT / name
    source = ROOT / "bench" / "c"
    command = [
        os.environ.get("CC", "cc"), "-std=c11", "-O2", "-D_GNU_SOURCE", "-Wall",
        "-Wextra", "-pthread", "-o", program, source / f"{name}.c", *flags,
    ]  # fmt: skip
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if built.returncode:
        sys.exit(f"bench: {name}.c does not compile:\n{built.stderr}")
    return program


def run(command: list, cpus: set[int], timeout: float = 120):
    """Run a program on these CPUs; what it prints is JSON."""
    done = subprocess.run(
        [str(word) for word in command],
        stdout=subprocess.PIPE, text=True, timeout=timeout, preexec_fn=pinned(cpus),
        check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"bench: exit status {done.returncode} of {command}")
    return json.loads(done.stdout)


def worker(*words: object) -> list:
    """The command of a Python side, see worker.py."""
    return [sys.executable, ROOT / "bench" / "worker.py", *words]


def in_turns(rounds: int, **sides) -> dict[str, list]:
    """Each side's results, measured in turns; the first side starts."""
    results = {name: [] for name in sides}
    for _ in range(rounds):
        for name, measure in sides.items():
            results[name].append(measure())
    return results


def median(results: list, key: str) -> float:
    return statistics.median(result[key] for result in results)


# --- A benchmark is some parts, each a module with measure().


def redis_py_with_hiredis() -> None:
    """redis-py at its best: with the parser in C."""
    place = str(OUT / "python")
    sys.path.insert(0, place)
    if importlib.util.find_spec("hiredis") is None:
        subprocess.run(
            [*PIP_INSTALL, "--target", place, "-r", PYTHON_PINS / "hiredis.txt"],
            check=True,
        )
        importlib.invalidate_caches()
    paths = [place, os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))


def run_parts(
    name: str, about: str, parts: dict, words: list[str], quick: tuple[str, ...] = ()
) -> Report | None:
    """Parse the options, start a server, measure, report. `quick` are the parts that
    `--quick` runs; without one it runs nothing, and the report is None."""
    options = argparse.ArgumentParser(prog=f"bench {name}", description=about)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--seconds", type=float, default=1.0, help="of one round")
    options.add_argument("--most", type=int, default=10**6, help="that growth has")
    options.add_argument("--only", choices=sorted(parts), action="append")
    options.add_argument(
        "--quick", action="store_true", help="a few parts, one short round: 5 minutes"
    )
    given = options.parse_args(words)
    if given.quick:
        given.rounds, given.seconds = 1, 0.2
        given.only = [part for part in quick if part in (given.only or quick)]
        if not given.only:
            return None

    redis_py_with_hiredis()
    server = Server()
    try:
        described = machine(server)
        for what, value in described.items():
            print(f"{what}: {value}")
        if len(CPUS) < 2:
            print("one CPU only: rows of two cores are of one")
        report = Report()
        for part, module in parts.items():
            if not given.only or part in given.only:
                began = time.monotonic()
                module.measure(server, report, given)
                print(f"-- {name} {part}: {time.monotonic() - began:.0f} s")
        described.update(importlib.import_module("peers").VERSIONS)
        report.save(OUT / f"{name}.json", described)
        print(f"{report.summary()}; details in {OUT / name}.json")
    finally:
        server.close()
    return report


# --- The report.


class Report:
    """Rows of what was measured, what is aimed at, and whether it is met."""

    def __init__(self) -> None:
        self.rows: list[dict] = []
        self.raw: dict[str, object] = {}
        self.cases: list[dict] = []  # what tables.py has compared

    def row(self, what: str, value: float, unit: str, goal: str = "") -> None:
        """`goal` is `>= 0.9`, `<= 50` and the like; empty: for information."""
        self.rows.append(
            {"what": what, "value": value, "unit": unit, "goal": goal,
             "met": meets(value, goal)}
        )  # fmt: skip
        print(line(self.rows[-1]), flush=True)

    def save(self, path: Path, machine: dict) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        report = {
            "machine": machine, "rows": self.rows, "cases": self.cases,
            "raw": self.raw,
        }  # fmt: skip
        path.write_text(json.dumps(report, indent=1) + "\n")

    def summary(self) -> str:
        judged = [row["met"] for row in self.rows if row["met"] is not None]
        return f"{sum(judged)} of {len(judged)} goals met"


def meets(value: float, goal: str) -> bool | None:
    if not goal:
        return None
    sign, bound = goal.split()
    limit = float(bound.replace(",", ""))
    return {
        ">=": value >= limit, "<=": value <= limit,
        "<": value < limit, "==": value == limit,
    }[sign]  # fmt: skip


def line(row: dict) -> str:
    verdict = {True: "met", False: "MISSED", None: ""}[row["met"]]
    number = f"{row['value']:,.{2 if abs(row['value']) < 100 else 0}f}"
    return f"{row['what']:<58}{number:>11} {row['unit']:<6}{row['goal']:>9}  {verdict}"


def by_how_much(value: float, goal: str) -> float:
    """How much of the goal is missing, as a part of it."""
    limit = float(goal.split()[1].replace(",", ""))
    return abs(value - limit) / limit if limit else abs(value)


def print_missed(reports: dict[str, Report]) -> None:
    """All goals that were missed, the farthest ones first."""
    missed = [
        (by_how_much(row["value"], row["goal"]), name, row)
        for name, report in reports.items()
        for row in report.rows
        if row["met"] is False
    ]
    judged = sum(
        row["met"] is not None for report in reports.values() for row in report.rows
    )
    print(f"\n-- Goals missed: {len(missed)} of {judged}")
    for share, name, row in sorted(missed, key=lambda found: -found[0]):
        print(f"{name:<10} {row['what'].strip():<58}{row['value']:>10,.2f} "
              f"{row['unit']:<5}{row['goal']:>9}  by {share:.0%}")  # fmt: skip


def version_of(package: str) -> str:
    return importlib.metadata.version(package)


def hiredis_version() -> str:
    """Of what the programs on raw hiredis are built with."""
    flags = [flag for flag in hiredis_flags() if flag.startswith("-I")]
    macros = subprocess.run(
        [os.environ.get("CC", "cc"), "-E", "-dM", "-include", "hiredis/hiredis.h",
         *flags, "-x", "c", os.devnull],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    parts = [
        re.search(rf"^#define HIREDIS_{part} (\d+)", macros, re.MULTILINE)[1]
        for part in ("MAJOR", "MINOR", "PATCH")
    ]
    return ".".join(parts)


def machine(server: Server) -> dict[str, str]:
    """The machine and the versions of a run."""
    model = platform.machine()
    for text in Path("/proc/cpuinfo").read_text().splitlines():
        if text.startswith("model name"):
            model = text.partition(":")[2].strip()
            break
    info = server.redis.info("server")
    kind = "valkey" if "valkey_version" in info else "redis"
    version = info.get("valkey_version") or info["redis_version"]
    cc = subprocess.run(
        [os.environ.get("CC", "cc"), "-dumpfullversion", "-dumpversion"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return {
        "interlock": version_of("interlock"),
        "hiredis": hiredis_version(),
        "cpu": f"{len(CPUS)} x {model}",
        "kernel": f"{platform.system()} {platform.release()}",
        "server": f"{kind} {version}, CPU {SERVER_CPU}",
        "python": platform.python_version(),
        "redis-py": f"{redis.__version__} with hiredis-py {version_of('hiredis')}",
        "python-redis-lock": version_of("python-redis-lock"),
        "cc": cc.stdout.strip(),
        "load": f"{os.getloadavg()[0]:.2f} before the run",
    }
