# SPDX-License-Identifier: MIT
"""Set up programs in other languages, and packages of Python, in a cache, once per
version.

The needs of a program are pinned beside its source (package-lock.json, go.sum,
pom.xml) and fetched by that language's own tool. A machine without the tool
skips the tests that need the program; with CI=true and the tool there, a program
that cannot be set up is a failure.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / "tests" / "interop" / "peers"
TOOLS = {"node": ["node", "npm"], "go": ["go"], "java": ["java", "javac", "mvn"]}


def cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return Path(base) / "interlock" / "interop" if base else ROOT / "build" / "interop"


def command(language: str, folder: str = "") -> tuple[str, ...]:
    """The command that runs a language's peer, less the server's URL: that in the
    folder of the language's name, or in another one."""
    found, trouble = find(language, PEERS / (folder or language))
    if not found:
        pytest.skip(f"SKIPPED PEER: {trouble}")
    return found


def find(language: str, source: Path) -> tuple[tuple[str, ...], str]:
    """The command that runs the program of this folder; or none, and why."""
    found, trouble, here = _find(language, source)
    if not found and here and os.environ.get("CI") == "true":
        pytest.fail(trouble, pytrace=False)
    return found, trouble


@functools.cache
def _find(language: str, source: Path) -> tuple[tuple[str, ...], str, bool]:
    """The command, or why there is none, and whether the tools are there."""
    missing = [tool for tool in TOOLS[language] if not shutil.which(tool)]
    if language == "go" and not missing and _go() < (1, 22):
        missing = ["go >= 1.22"]
    if missing:
        return (), f"{source.name} needs {', '.join(missing)}", False
    digest = hashlib.sha256(Path(__file__).read_bytes())  # how it is set up
    for path in sorted(source.iterdir()):
        digest.update(path.read_bytes())
    place = cache() / f"{source.name}-{digest.hexdigest()[:12]}"
    trouble = _made(place, source.name, lambda work: _set_up(language, source, work))
    return (() if trouble else _command(language, place)), trouble, True


def python_packages(pins: Path) -> Path:
    """A folder with the packages that a file with their hashes names."""
    digest = hashlib.sha256(pins.read_bytes() + sys.version.encode())
    place = cache() / f"{pins.stem}-{digest.hexdigest()[:12]}"

    def install(work: Path) -> None:
        work.mkdir(parents=True)
        pip = [sys.executable, "-m", "pip", "install", "-q", "--require-hashes"]
        pip += ["--disable-pip-version-check", "--target", str(work), "-r", str(pins)]
        _run(work, *pip)

    trouble = _made(place, pins.stem, install)
    if trouble and os.environ.get("CI") == "true":
        pytest.fail(trouble, pytrace=False)
    if trouble:
        pytest.skip(f"SKIPPED PEER: {trouble}")
    return place


def _made(place: Path, what: str, set_up: Callable[[Path], None]) -> str:
    """Make a folder that is not there yet; why that failed, or nothing."""
    try:
        if not place.exists():
            work = place.with_name(f"{place.name}.{os.getpid()}")
            shutil.rmtree(work, ignore_errors=True)
            set_up(work)
            work.rename(place)
    except (OSError, subprocess.SubprocessError) as error:
        if not place.exists():  # otherwise another run was faster
            output = str(getattr(error, "stderr", None) or error).strip()
            return f"{what} cannot be set up: {output[-2000:]}"
    return ""


def _go() -> tuple[int, ...]:
    """Go's version; Debian 12 has one that is too old for go.mod."""
    said = subprocess.check_output(["go", "env", "GOVERSION"], text=True)
    return tuple(int(number) for number in re.findall(r"[0-9]+", said))


def _set_up(language: str, source: Path, place: Path) -> None:
    shutil.copytree(source, place)
    if language == "node":
        _run(place, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
    elif language == "go":
        _run(place, "go", "build", "-mod=readonly", "-o", "program", ".")
    else:
        jars = place / "jars"
        plugin = "dependency:copy-dependencies"
        _run(
            place, "mvn", "-B", "-q", f"-Dmaven.repo.local={cache() / 'm2'}",
            plugin, "-DincludeScope=runtime", f"-DoutputDirectory={jars}",
        )  # fmt: skip
        _run(place, "javac", "-cp", f"{jars}/*", "Peer.java")


def _run(place: Path, *argv: str) -> None:
    subprocess.run(
        argv, cwd=place, check=True, capture_output=True, text=True,
        timeout=600, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def _command(language: str, place: Path) -> tuple[str, ...]:
    if language == "node":
        return ("node", str(place / "peer.js"))
    if language == "go":
        return (str(place / "program"),)
    return ("java", "-Xmx128m", "-cp", f"{place}:{place}/jars/*", "Peer")
