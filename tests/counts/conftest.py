# SPDX-License-Identifier: MIT
"""Lines to be printed at the end."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

_told: list[str] = []


def pytest_terminal_summary(terminalreporter):
    for line in _told:
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def tell():
    """Print a line at the end of the session."""
    return _told.append
