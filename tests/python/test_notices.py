# SPDX-License-Identifier: MIT
"""Code that is compiled into the package brings its licence."""

from __future__ import annotations

from pathlib import Path

import pytest
from interlock import _core

PACKAGE = Path(_core.__file__).parent


def test_the_notice_of_hiredis_goes_along():
    if b"libhiredis.so" in Path(_core.__file__).read_bytes():
        pytest.skip("hiredis is the system's here")

    notice = PACKAGE / "interlock" / "licences" / "hiredis"

    assert "Salvatore Sanfilippo" in notice.read_text(encoding="utf-8")
