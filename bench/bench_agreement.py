# SPDX-License-Identifier: MIT
"""The answers that programs agree on, such as the node of a key, and their price.

Nothing here fails on a figure: the report says which goals are met.
"""

from __future__ import annotations

import group_alone
import register_alone
import register_quorum
import ring_lookups
import ring_servers
import store_alone
from harness import Report, run_parts

PARTS = {
    "ring": ring_lookups,
    "register": register_alone,
    "quorum": register_quorum,
    "group": group_alone,
    "store": store_alone,
    "servers": ring_servers,
}


def main(words: list[str]) -> Report | None:
    return run_parts("agreement", __doc__, PARTS, words, quick=tuple(PARTS))
