# SPDX-License-Identifier: MIT
"""The numbers that scripts know are those of the library."""

from __future__ import annotations

import re

from expand_scripts import SCRIPTS

HEADER = SCRIPTS.parent / "src" / "wait" / "limits.h"


def test_limits_are_the_librarys():
    names, values = re.search(
        r"^local (.+) = (.+)$", (SCRIPTS / "include" / "limits.lua").read_text(), re.M
    ).groups()
    known = dict(zip(names.split(", "), re.findall(r'"(\d+)"', values)))
    assert known == dict(re.findall(r"ILK__(\w+) = (\d+)", HEADER.read_text()))
