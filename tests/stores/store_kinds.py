# SPDX-License-Identifier: MIT
"""Which stores these tests can have here, and why not the others.

$ILK_TEST_STORES names some of them, or `redis`: the control, a server without any
backend.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from pathlib import Path

import pytest
from control_store import Control
from etcd_store import Etcd
from mysql_store import MySql
from store import Store
from zookeeper_store import ZooKeeper

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("ILK_BUILD", ROOT / "build" / "release"))
STORES: tuple[type[Store], ...] = (Etcd, ZooKeeper, MySql)
ALL: tuple[type[Store], ...] = (*STORES, Control)
KINDS = {one.scheme: one for one in ALL}
CHOSEN = os.environ.get("ILK_TEST_STORES", "etcd,zookeeper,mysql").split(",")


def backends() -> Path:
    """The directory of the shared objects: $INTERLOCK_BACKENDS, or of the build."""
    named = os.environ.get("INTERLOCK_BACKENDS")
    if named:
        return Path(named)
    places = [BUILD / "lib" / "interlock", BUILD / "lib", BUILD / "backends"]
    found = [one for one in places if any(one.glob("libinterlock-*.so"))]
    return found[0] if found else places[0]


def point_at_backends() -> None:
    """For this process and those that it starts."""
    os.environ["INTERLOCK_BACKENDS"] = str(backends())


@dataclasses.dataclass(frozen=True)
class Absence:
    """Why a store cannot be had. Where the server is there, the build machine insists
    on the backend."""

    text: str
    is_ours: bool

    def report(self) -> None:
        if self.is_ours and os.environ.get("CI") == "true":
            pytest.fail(self.text, pytrace=False)
        pytest.skip(f"SKIPPED STORE: {self.text}")


@functools.cache
def absence(scheme: str) -> Absence | None:
    kind = KINDS[scheme]
    lacks = kind.missing()
    if lacks:
        return Absence(f"{scheme} needs {lacks} ({kind.packages})", False)
    if kind is Control:
        return None
    wanted = backends() / f"libinterlock-{scheme}.so"
    if not wanted.exists():
        return Absence(f"{scheme}: {wanted.name} was not built", True)
    return None
