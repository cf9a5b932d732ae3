# SPDX-License-Identifier: MIT
"""Stores and replicated values of the table that every language runs, over the servers of
a ring."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ring_servers
from ring_servers import Servers

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))
sys.path.append(str(Path(__file__).resolve().parents[1] / "stores"))

import table_rules
from awaited import Face, OneTask
from test_conformance import TABLE, Case, read_table

OFFERS = ("kv", "store")


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with ring_servers.running() as one:
        yield one


@pytest.fixture(params=["blocking", "awaited"])
def face(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "blocking":
        yield Face()
        return
    with contextlib.closing(OneTask()) as task:
        yield Face(task)


def is_offered(case: Any) -> bool:
    kind = case.id.partition(":")[0]
    return kind in OFFERS and case.id in table_rules.titles(OFFERS)


@pytest.mark.parametrize("lines", [*filter(is_offered, read_table(TABLE))])
def test_conformance(face: Any, servers: Servers, lines: Any) -> None:
    with contextlib.closing(face.connect(servers.url())) as client:
        case = Case(face, client, None)
        for where, text in lines:
            print(where, text.decode("utf-8", "backslashreplace"))
            case.run(text)
