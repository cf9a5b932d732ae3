# SPDX-License-Identifier: MIT
"""The election: how soon the next one leads, and what standing by costs.

Nothing here fails on a figure: the report says which goals are met.
"""

from __future__ import annotations

import election_change
import election_idle
from harness import Report, run_parts

PARTS = {"change": election_change, "idle": election_idle}


def main(words: list[str]) -> Report | None:
    return run_parts("election", __doc__, PARTS, words, quick=("change",))
