# SPDX-License-Identifier: MIT
"""Locks, elections and registers of the table that every language runs, over a quorum."""

from __future__ import annotations

import collections
import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import quorum_nodes
from one_command import call_at

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))

from awaited import Face, OneTask
from test_conformance import TABLE, Case, read_table

LONGEST_MS = 60000  # as by default; the table's locks have the default lease

# Verbs that a quorum does not offer; and a key of another type, for a majority hides it.
LEFT_OUT = ("barging", "identity", "another type at the key is an error")


class Commands:
    """The table's own commands go to all nodes, and most of them are right."""

    def __init__(self, nodes: quorum_nodes.Quorum):
        self.nodes = nodes.nodes

    def call(self, *words: bytes) -> Any:
        replies = [call_at(node.port, words) for node in self.nodes]
        return collections.Counter(replies).most_common(1)[0][0]


@pytest.fixture(scope="module")
def nodes() -> Iterator[quorum_nodes.Quorum]:
    settings = quorum_nodes.durable()
    with quorum_nodes.running(longest_ms=LONGEST_MS, settings=settings) as one:
        one.declare_members()
        yield one


@pytest.fixture(params=["blocking", "awaited"])
def face(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "blocking":
        yield Face()
        return
    with contextlib.closing(OneTask()) as task:
        yield Face(task)


def is_offered(case: Any) -> bool:
    kind, _, title = case.id.partition(": ")
    return kind in ("lock", "lease", "election", "register") and not any(
        word in title for word in LEFT_OUT
    )


@pytest.mark.parametrize("lines", [*filter(is_offered, read_table(TABLE))])
def test_conformance(face: Any, nodes: quorum_nodes.Quorum, lines: Any) -> None:
    with contextlib.closing(face.connect(nodes.url())) as client:
        case = Case(face, client, Commands(nodes))
        for where, text in lines:
            print(where, text.decode("utf-8", "backslashreplace"))
            case.run(text)
