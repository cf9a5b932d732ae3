# SPDX-License-Identifier: MIT
"""Backends of other stores beside the package: there, and loaded by their URLs only."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import interlock
import pytest
from interlock import _core

BESIDE = Path(_core.__file__).parent / "interlock"
SCHEMES = ("etcd", "zookeeper", "mysql")
# Parts of the names of what only a backend needs.
OTHERS = ("libinterlock-", "nghttp2", "zookeeper", "mariadb", "mysql")

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/maps").exists(), reason="there is no /proc/self/maps"
)


BUILD = Path(os.environ.get("ILK_BUILD", "no-build"))


def object_of(scheme):
    """That of the package: a machine that can build it has it in the wheel."""
    path = BESIDE / f"libinterlock-{scheme}.so"
    if not path.exists():
        assert not (BUILD / "lib" / "interlock" / path.name).exists()
        pytest.skip(f"this machine cannot build the backend of {scheme}")
    return path


def mapped(statements):
    """The files of the process that has run the statements."""
    code = f"{statements}\nprint(open('/proc/self/maps').read())"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return {line.split()[-1] for line in done.stdout.splitlines() if "/" in line}


def needed(path):
    """The libraries that the linker finds for a file, by their names."""
    if not shutil.which("ldd"):
        pytest.skip("there is no ldd")
    said = subprocess.run(["ldd", path], capture_output=True, text=True, check=True)
    lines = (line.split() for line in said.stdout.splitlines())
    return {words[0]: words[2] for words in lines if words[1:2] == ["=>"]}


def test_the_import_loads_none_of_them():
    files = mapped("import interlock, interlock.aio; interlock.guard")

    assert any("_core" in file for file in files)
    assert not [file for file in files if any(one in file for one in OTHERS)]


def test_the_module_needs_none_of_them():
    found = needed(_core.__file__)

    assert not [name for name in found if any(one in name for one in OTHERS)]


@pytest.mark.parametrize("built", ["lib/libinterlock.so", "bin/interlock"])
def test_the_library_and_the_command_need_none_of_them(built):
    path = BUILD / built
    if not path.exists():
        pytest.skip("ILK_BUILD names no build of the library")

    found = needed(path)

    assert any(name.startswith("libc.so") for name in found)
    assert not [name for name in found if any(one in name for one in OTHERS)]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_url_loads_its_own_and_no_other(scheme):
    path = object_of(scheme)
    url = f"{scheme}://u:p@127.0.0.1:1/" + ("d" if scheme == "mysql" else "")
    files = mapped(f"import interlock; interlock.connect({url!r}, lazy=True)")

    loaded = [file for file in files if "libinterlock-" in file]
    assert [Path(file).resolve() for file in loaded] == [path.resolve()]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_its_client_library_goes_along(scheme):
    found = needed(object_of(scheme))

    for name, place in found.items():
        assert place != "not", f"{name} is not found"
        if any(one in name for one in OTHERS):
            assert Path(place).resolve().parent == BESIDE.resolve(), name


@pytest.mark.parametrize("scheme", SCHEMES)
def test_without_its_backend_a_url_says_what_to_install(scheme):
    if (BESIDE / f"libinterlock-{scheme}.so").exists():
        pytest.skip(f"the package has one for {scheme}")
    with pytest.raises(interlock.UnsupportedError, match=f"built without {scheme}: "):
        interlock.connect(f"{scheme}://127.0.0.1:1")
