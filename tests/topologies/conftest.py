# SPDX-License-Identifier: MIT
"""Services that a test may take to pieces, and names that nobody else has."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import interlock
import pytest

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "python"))

import quorum_nodes  # noqa: E402
from quorum_nodes import Quorum  # noqa: E402
from sentinel_service import Service  # noqa: E402


@pytest.fixture
def service():
    with Service() as running:
        yield running


@pytest.fixture
def name():
    return f"test:{uuid.uuid4().hex[:12]}"


@pytest.fixture(scope="module")
def kept() -> Iterator[Quorum]:
    """Three nodes that no test breaks."""
    with quorum_nodes.running() as nodes, interlock.connect(nodes.url()):
        nodes.settle()
        yield nodes


@pytest.fixture
def nodes() -> Iterator[Quorum]:
    """Three nodes to take to pieces."""
    with quorum_nodes.running() as own, interlock.connect(own.url()):
        own.settle()
        yield own
