# SPDX-License-Identifier: MIT
"""Rings of each kind, see worker.py: where keys are, and how long a lookup takes."""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import Any, Callable

BENCH = Path(__file__).parent.parent / "build" / "bench"
KEYS = [f"key:{i}" for i in range(20000)]


def nodes_of(count: int) -> list[str]:
    """As c/ring.c has them."""
    return [f"10.0.{i // 256}.{i % 256}:11211" for i in range(count)]


def opened(kind: str, layout: str, nodes: list[str]) -> Callable[[Any], str]:
    """Make the function that finds the node of a key."""
    if kind == "interlock":
        import interlock

        return interlock.Ring(nodes, layout=layout).get
    sys.path.append(str(BENCH / kind))
    if kind == "uhashring":
        import uhashring

        return uhashring.HashRing(nodes, hash_fn="ketama").get_node
    warnings.simplefilter("ignore")  # of what tooz stands on
    from tooz import hashring

    ring = hashring.HashRing(nodes)
    return lambda key: next(iter(ring[key]))


def keys_of(kind: str) -> list[Any]:
    """tooz takes bytes."""
    return [key.encode() for key in KEYS] if kind == "tooz" else KEYS


def owners(kind: str, layout: str, nodes: str) -> list[str]:
    """The node of each key."""
    get = opened(kind, layout, nodes_of(int(nodes)))
    return [get(key) for key in keys_of(kind)]


def on_points(kind: str, nodes: str) -> list[int]:
    """The numbers of the keys whose hash is a point: libketama puts them on the node
    of that point, uhashring on the next."""
    get = opened(kind, "ketama", nodes_of(int(nodes)))
    ring = get.__self__
    return [i for i, key in enumerate(KEYS) if ring.hashi(key) in ring.ring]


def lookups(kind: str, layout: str, nodes: str, seconds: str) -> dict:
    """Microseconds of CPU time for one: nothing waits, whatever else runs."""
    get, keys = opened(kind, layout, nodes_of(int(nodes))), keys_of(kind)
    count, began = 0, time.thread_time()
    while time.thread_time() - began < float(seconds):
        for key in keys:
            get(key)
        count += len(keys)
    return {"us": (time.thread_time() - began) * 1e6 / count}
