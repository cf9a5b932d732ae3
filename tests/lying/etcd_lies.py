# SPDX-License-Identifier: MIT
"""Proxies that lie before one etcd, which all of them share: by chance, or one lie each."""

from __future__ import annotations

import atexit
import functools
import os
import random
import sys
from collections.abc import Callable

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "stores"))
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "topologies"))

from etcd_store import Etcd
from lying_etcd import FLOODS, LyingEtcd, RevisionsGoBack, Spoils


@functools.cache
def port() -> int:
    """Of an etcd that ends with this process."""
    etcd = Etcd()
    etcd.__enter__()
    atexit.register(etcd.stop)
    return etcd.ports[0]


def spoils(rng: random.Random) -> LyingEtcd:
    return Spoils(port(), rng)


def with_one(lie: type[LyingEtcd]) -> Callable[[random.Random], LyingEtcd]:
    return lambda rng: lie(port())


SERVERS: list[Callable[[random.Random], LyingEtcd]] = [
    spoils,
    *map(with_one, [*FLOODS, RevisionsGoBack]),
]
