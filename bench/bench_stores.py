# SPDX-License-Identifier: MIT
"""Locks in other stores, each beside the store's own clients.

Nothing here fails on a figure: the report says which goals are met.
"""

from __future__ import annotations

import store_etcd
import store_gateway
import store_mysql
import store_zookeeper
from harness import Report, build_c, interlock_flags, run_parts

PARTS = {
    "etcd": store_etcd,
    "zookeeper": store_zookeeper,
    "mysql": store_mysql,
    "gateway": store_gateway,
}


def main(words: list[str]) -> Report | None:
    build_c("side", interlock_flags())
    return run_parts("stores", __doc__, PARTS, words)
