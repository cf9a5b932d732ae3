# SPDX-License-Identifier: MIT
"""The examples of event loops, each driven by the loop that it is named after."""

from __future__ import annotations

import re
import subprocess

import programs
import pytest
from programs import EXAMPLES

LOOPS = EXAMPLES / "loops"
TOLD = ["one has waited in vain", "one was cancelled", "98 had the lock"]


def names(ending):
    return sorted(path.stem for path in LOOPS.glob(f"*.{ending}"))


def has_module(lua, name):
    tried = subprocess.run([lua, "-e", f"require '{name}'"], capture_output=True)
    return tried.returncode == 0


def programs_here():
    """Each C program, and each Lua one by each Lua that is here."""
    return [("c", name) for name in names("c")] + [
        (lua, name) for name in names("lua") for lua in programs.luas()
    ]


@pytest.mark.parametrize("language, name", programs_here())
def test_a_hundred_waits_in_one_loop(stage, server, language, name):
    if language != "c" and not has_module(language, name):
        pytest.skip(f"{language} has no module {name} on this machine")

    assert stage.run(language, f"loops/{name}") == TOLD

    assert server.call("EXISTS", "orders", "ilk:lock:wait:{orders}") == 0
    assert int(server.call("HGET", "ilk:lock:fence:{orders}", "fence")) > 0


def test_each_loop_is_there_and_listed():
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    section = readme[readme.index("## Event loops") :]
    listed = re.findall(r"^\| `(\w+)\.(?:c|lua|py)`", section, re.MULTILINE)

    assert names("c") == ["libev", "libuv", "poll"]
    assert sorted(listed) == sorted(names("c") + names("lua") + names("py"))
