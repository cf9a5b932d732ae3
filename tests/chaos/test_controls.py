# SPDX-License-Identifier: MIT
"""The faults that the harness has to find still fit the scripts."""

from __future__ import annotations

import pytest
from controls import CONTROLS, Control
from server import ROOT


@pytest.mark.parametrize("control", CONTROLS, ids=lambda one: one.name)
def test_each_fault_finds_its_line_once(control: Control) -> None:
    text = (ROOT / "libcore" / "scripts" / control.file).read_text()

    assert [text.count(old) for old, _ in control.changes] == [1] * len(control.changes)
