# SPDX-License-Identifier: MIT
"""The servers of other tests, and where the stores' backends are."""

from __future__ import annotations

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
for place in ("stores", "topologies", "python", "shared"):
    sys.path.append(str(TESTS / place))
sys.path.insert(0, str(Path(__file__).parent))

from store_kinds import point_at_backends  # noqa: E402

point_at_backends()
