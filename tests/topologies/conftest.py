# SPDX-License-Identifier: MIT
"""Services that a test may take to pieces, and names that nobody else has."""

from __future__ import annotations

import sys
import uuid
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "python"))

from sentinel_service import Service  # noqa: E402


@pytest.fixture
def service():
    with Service() as running:
        yield running


@pytest.fixture
def name():
    return f"test:{uuid.uuid4().hex[:12]}"
