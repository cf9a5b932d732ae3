# SPDX-License-Identifier: MIT
"""Set up the peers of other languages in a cache, once per version.

What a peer needs is pinned beside its source (package-lock.json, go.sum,
pom.xml) and fetched by that language's own tool. A machine without the tool
skips the peer's tests; with CI=true and the tool there, a peer that cannot be
set up is a failure.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

PEERS = Path(__file__).parent / "peers"
ROOT = PEERS.parents[2]
TOOLS = {"node": ["node", "npm"], "go": ["go"], "java": ["java", "javac", "mvn"]}


def cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return Path(base) / "interlock" / "interop" if base else ROOT / "build" / "interop"


def command(language: str) -> tuple[str, ...]:
    """The command that runs a language's peer, less the server's URL."""
    found, trouble, here = _find(language)
    if found:
        return found
    if here and os.environ.get("CI") == "true":
        pytest.fail(trouble, pytrace=False)
    pytest.skip(f"SKIPPED PEER: {trouble}")


@functools.cache
def _find(language: str) -> tuple[tuple[str, ...], str, bool]:
    """The command, or why there is none, and whether the tools are there."""
    missing = [tool for tool in TOOLS[language] if not shutil.which(tool)]
    if language == "go" and not missing and _go() < (1, 22):
        missing = ["go >= 1.22"]
    if missing:
        return (), f"{language} needs {', '.join(missing)}", False
    source = PEERS / language
    digest = hashlib.sha256()
    for path in sorted(source.iterdir()):
        digest.update(path.read_bytes())
    place = cache() / f"{language}-{digest.hexdigest()[:12]}"
    try:
        if not place.exists():
            work = place.with_name(f"{place.name}.{os.getpid()}")
            _set_up(language, source, work)
            work.rename(place)
    except (OSError, subprocess.SubprocessError) as error:
        if not place.exists():  # otherwise another run was faster
            output = str(getattr(error, "stderr", None) or error).strip()
            return (), f"{language} peer cannot be set up: {output[-2000:]}", True
    return _command(language, place), "", True


def _go() -> tuple[int, ...]:
    """Go's version; Debian 12 has one that is too old for go.mod."""
    said = subprocess.check_output(["go", "env", "GOVERSION"], text=True)
    return tuple(int(number) for number in re.findall(r"[0-9]+", said))


def _set_up(language: str, source: Path, place: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(source, place)
    if language == "node":
        _run(place, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
    elif language == "go":
        _run(place, "go", "build", "-mod=readonly", "-o", "peer", ".")
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
        return (str(place / "peer"),)
    return ("java", "-Xmx128m", "-cp", f"{place}:{place}/jars/*", "Peer")
