# SPDX-License-Identifier: MIT
"""The package as a whole: types, examples, and no function of the core forgotten."""

from __future__ import annotations

import asyncio
import doctest
import importlib
import logging
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import interlock
import pytest
from interlock import aio
from interlock._core import lib

PACKAGE = Path(interlock.__file__).parent
ROOT = Path(__file__).resolve().parents[2]

# Functions of the core that Python does without, and why.
UNUSED = {
    "ilk_inspect": "locks are inspected as other kinds are",
    "ilk_inspect_start": "locks are inspected as other kinds are",
    "ilk_info_get_state": "the state is a word",
    "ilk_list_next": "a list of names is complete",
    "ilk_list_walk": "a list of names is complete",
    "ilk_list_kind": "one kind at a time is listed",
    "ilk_list_open": "locks are listed as other kinds are",
    "ilk_queue_open": "one queue is opened as several are",
    "ilk_ring_node": "a ring keeps its nodes as they were given",
    "ilk_op_set_user": "operations are found by their number",
    "ilk_client_adopt_node": "the command takes in nodes of a quorum",
    "ilk_member_id": "objects keep the ids that they were made with",
    "ilk_op_user": "operations are found by their number",
    **dict.fromkeys(
        (
            f"ilk_{noun}_name"
            for noun in (
                *("lock", "semaphore", "election", "event", "latch"),
                *("barrier", "register", "signal", "queue", "group", "store", "kv"),
            )
        ),
        "objects keep the names that they were made with",
    ),
}


def modules():
    names = [
        found.name
        for found in pkgutil.walk_packages([str(PACKAGE)], "interlock.")
        if found.name != "interlock._core" and "tooz" not in found.name  # not here
    ]
    return ["interlock", *names]


def test_every_function_of_the_core_is_used_or_left_out_on_purpose():
    source = "\n".join(path.read_text() for path in PACKAGE.rglob("*.py"))
    used = set(re.findall(r"lib\.(ilk_\w+)", source))
    public = {name for name in dir(lib) if name.startswith("ilk_")}

    assert len(public) > 60
    assert used - public == set()
    assert public - used == set(UNUSED)


def test_the_core_is_generated_from_all_the_headers():
    headers = (ROOT / "libcore" / "include" / "interlock").glob("*.h")
    declared = set()
    for header in headers:
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        declared |= set(re.findall(r"\b(ilk_\w+)\(", text))

    assert declared == {name for name in dir(lib) if name.startswith("ilk_")}


@pytest.mark.parametrize("module", modules())
def test_examples_in_docstrings_run(module, client, url):
    found = importlib.import_module(module)
    extra = {"client": client, "url": url, "connect": interlock.connect}
    if module.startswith("interlock.aio"):
        extra.update(asyncio=asyncio, aio=aio, connect=aio.connect)

    failed, _ = doctest.testmod(
        found,
        extraglobs=extra,
        optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL,
    )
    assert failed == 0


def test_there_are_examples_to_run():
    examples = 0
    for module in modules():
        if not module.startswith("interlock.compat.redis"):
            tests = doctest.DocTestFinder().find(importlib.import_module(module))
            examples += sum(len(one.examples) for one in tests)
    assert examples > 25


def test_public_functions_say_what_they_raise_whether_they_block_and_where():
    missing = []
    for module in modules():
        if module.startswith("interlock.compat"):
            continue
        found = importlib.import_module(module)
        for name, thing in vars(found).items():
            if name.startswith("_") or getattr(thing, "__module__", "") != module:
                continue
            if module.rpartition(".")[2].startswith("_"):
                continue
            doc = getattr(thing, "__doc__", None) or ""
            if not doc:
                missing.append(f"{module}.{name}")
            if type(thing).__name__ == "function" and "Thread:" not in doc:
                missing.append(f"{module}.{name}: Thread")
    public = (
        interlock.barrier, interlock.inspect, interlock.latch, interlock.lock,
        interlock.semaphore, interlock.signal,
    )  # fmt: skip
    allowed = {f"{m.__name__}.{n}: Thread" for m in public for n in vars(m)}
    allowed.add("interlock.errors.from_status: Thread")
    assert set(missing) - allowed == set()


def test_all_names_exist_and_none_is_forgotten():
    public = {
        name
        for name, thing in vars(interlock).items()
        if not name.startswith("_")
        and name != "annotations"
        and (
            getattr(thing, "__module__", "").startswith("interlock")
            or name in ("errors", "guard", "recipes", "server")
        )
    }
    assert set(interlock.__all__) == public
    assert len(interlock.__all__) == len(set(interlock.__all__))


def test_the_version_is_that_of_the_header():
    header = (ROOT / "libcore" / "include" / "interlock" / "base.h").read_text()
    numbers = re.findall(r"ILK_VERSION_(?:MAJOR|MINOR|PATCH) = (\d+)", header)

    assert interlock.__version__ == ".".join(numbers)


def test_the_logger_is_quiet():
    assert any(
        isinstance(handler, logging.NullHandler)
        for handler in logging.getLogger("interlock").handlers
    )


def test_importing_needs_no_server_and_no_other_library():
    code = (
        "import sys, interlock;"
        "print([m for m in ('redis', 'gevent', 'eventlet', 'asyncio')"
        " if m in sys.modules])"
    )
    env = {"PYTHONPATH": str(PACKAGE.parent), "PATH": ""}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True
    )
    assert (ran.stderr, ran.stdout) == ("", "[]\n")


def test_the_package_says_that_it_is_typed():
    """`./dev lint` checks the types."""
    assert (PACKAGE / "py.typed").exists()
