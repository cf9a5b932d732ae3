# SPDX-License-Identifier: MIT
"""Peers that are fetched when they are wanted, at pinned versions.

One that cannot be installed is skipped by name. The versions in use are printed
and kept in VERSIONS.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from harness import OUT, PIP_INSTALL, PYTHON_PINS, ROOT

PINS = ROOT / "tests" / "interop" / "peers"  # go.sum and pom.xml serve both
VERSIONS: dict[str, str] = {}


def skipped(what: str, why: str) -> None:
    VERSIONS[what] = f"SKIPPED: {why}"
    print(f"SKIPPED: {what}: {why}", flush=True)


def used(what: str, version: str) -> None:
    if what not in VERSIONS:
        print(f"{what}: {version}", flush=True)
    VERSIONS[what] = version


def set_up(what: str, needs: list[str], place: Path, *commands: list) -> bool:
    """Run the commands in the place; whether all went well."""
    missing = [tool for tool in needs if not shutil.which(tool)]
    if missing:
        skipped(what, f"needs {' and '.join(missing)}")
        return False
    for command in commands:
        done = subprocess.run(
            [str(word) for word in command], cwd=place, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        if done.returncode:
            print(done.stdout[-2000:], flush=True)
            skipped(what, f"{command[0]} could not set it up")
            return False
    return True


def copied(language: str, *more: Path, peer: str = "") -> Path:
    """A folder in the build tree with that language's sources, and the peer's."""
    place, sources = OUT / language / peer, ROOT / "bench" / language
    place.mkdir(parents=True, exist_ok=True)
    own = (sources / peer).iterdir() if peer else ()
    for source in (*sources.iterdir(), *own, *more):
        if source.is_file():
            shutil.copy(source, place)
    return place


# --- By language.


@functools.cache
def node_place() -> Path | None:
    place = copied("node")
    install = ["npm", "install", "--no-audit", "--no-fund", "--silent"]
    return place if set_up("Node", ["node", "npm"], place, install) else None


def node(script: str, *packages: str) -> list | None:
    """The command of a peer in Node, its packages installed; else None."""
    place = node_place()
    if place is None:
        for package in packages:
            skipped(package, "see Node")
        return None
    for package in packages:
        found = place / "node_modules" / package / "package.json"
        used(package, json.loads(found.read_text())["version"] + " (npm)")
    return ["node", place / script]


def go_side(peer: str, what: str, modules: Path, versions: str) -> list | None:
    """The command of a peer in Go; `versions` finds (module, version) in go.mod."""
    place = copied("go", modules / "go.mod", modules / "go.sum", peer=peer)
    build = ["go", "build", "-mod=readonly", "-o", "side", "."]
    if not set_up(what, ["go"], place, build):
        return None
    for module, version in re.findall(versions, (place / "go.mod").read_text()):
        used(module.rpartition("/")[2], f"{version} (Go)")
    return [place / "side", peer]


@functools.cache
def go() -> list | None:
    """The command of redsync's side."""
    versions = r"(go-redsync/redsync|redis/go-redis)/v\d+ v(\S+)"
    return go_side("redsync", "redsync", PINS / "go", versions)


@functools.cache
def clientv3() -> list | None:
    """The command of the side of etcd's own client."""
    return go_side("etcd", "clientv3", PINS / "etcd", r"(etcd/client)/v3 v(\S+)")


def java_side(peer: str, what: str, project: Path, jar: str) -> Path | None:
    """The folder of a peer in Java, compiled, with its jars; `jar` is its own."""
    place = copied("java", project / "pom.xml", peer=peer)
    fetch = [
        "mvn", "-B", "-q", f"-Dmaven.repo.local={OUT / 'm2'}",
        "dependency:copy-dependencies", "-DincludeScope=runtime",
        f"-DoutputDirectory={place / 'jars'}",
    ]  # fmt: skip
    if not (place / "jars").is_dir() and not set_up(what, ["mvn"], place, fetch):
        return None
    sources = [path.name for path in place.glob("*Side.java")]
    compile_it = ["javac", "-cp", f"{place}/jars/*", *sources]
    if not set_up(what, ["java", "javac"], place, compile_it):
        return None
    (found,) = (place / "jars").glob(f"{jar}-[0-9]*.jar")
    used(jar, found.stem.removeprefix(f"{jar}-") + " (Maven)")
    return place


def java_command(place: Path | None, main: str, kind: str) -> list | None:
    quiet = "-Dslf4j.internal.verbosity=ERROR"
    return place and ["java", quiet, "-cp", f"{place}:{place}/jars/*", main, kind]


@functools.cache
def redisson_place() -> Path | None:
    return java_side("redisson", "Redisson", PINS / "java", "redisson")


@functools.cache
def curator_place() -> Path | None:
    return java_side("curator", "Curator", PINS / "curator", "curator-recipes")


def java(kind: str) -> list | None:
    """The command of one of Redisson's sides."""
    return java_command(redisson_place(), "RedissonSide", kind)


def curator() -> list | None:
    """The command of Curator's side."""
    return java_command(curator_place(), "CuratorSide", "lock")


def wanted(name: str) -> list[tuple[str, str]]:
    """The packages that bench/python/NAME.in names, with their versions."""
    lines = (PYTHON_PINS / f"{name}.in").read_text().splitlines()
    pins = [line.partition("==") for line in lines if not line.startswith("#")]
    return [(package, version) for package, _, version in pins]


@functools.cache
def python_place(name: str) -> Path | None:
    """A folder with these packages, beside what ./dev has installed."""
    place = OUT / name
    pins = PYTHON_PINS / f"{name}.txt"
    stamp = place / "pins.txt"
    if not (stamp.exists() and stamp.read_text() == pins.read_text()):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        install = [*PIP_INSTALL, "--target", place, "-r", pins]
        what = ", ".join(package for package, _ in wanted(name))
        if not set_up(what, [], place, install):
            return None
        stamp.write_text(pins.read_text())
    for package, version in wanted(name):
        if package not in ("redis", "hiredis"):
            used(package, f"{version} (PyPI)")
    return place


def python(name: str, *command: object) -> list | None:
    """The command, run where these packages are found; else None."""
    place = python_place(name)
    if place is None:
        return None
    paths = [str(place), os.environ.get("PYTHONPATH", "")]
    path = os.pathsep.join(filter(None, paths))
    return ["env", f"PYTHONPATH={path}", sys.executable, *command]


def tooz() -> bool:
    """Install it into build/bench/tooz; whether it is there."""
    return python_place("tooz") is not None


def uhashring() -> bool:
    """Install it into build/bench/uhashring; whether it is there."""
    return python_place("uhashring") is not None
