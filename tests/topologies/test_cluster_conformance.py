# SPDX-License-Identifier: MIT
"""The table that every language runs, over a cluster: names with one hash tag.

A case about names that have no such tag, and one that works on all keys, is left out.
Cases with several names in one call run with names of several slots as well.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cluster
import pytest
from one_command import call_at

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))

from awaited import Face, OneTask
from support import ReplyError
from test_conformance import TABLE, Case, read_table

SIDE_KEY = re.compile(rb":\{(\{[^}]*\}[^}]*)\}$")
RECORD = re.compile(rb":\{(\{[^}]*\}[^}]*)\}/(.*)$", re.S)


def key_of_tagged(word: bytes) -> bytes:
    """The side keys of a name with a tag of its own have another form."""
    word = SIDE_KEY.sub(rb"=\1", word)
    return RECORD.sub(lambda of: b"=%s/%s/%d" % (of[1], of[2], len(of[2])), word)


class TaggedCase(Case):  # type: ignore[misc]
    """A case whose names share a hash tag, and so a slot."""

    def __init__(self, face: Any, client: Any, server: Any):
        super().__init__(face, client, server)
        self.unique = b"{p%d.%s}." % (os.getpid(), uuid.uuid4().hex[:8].encode())

    def redis(self, words: list[bytes], wanted: list[bytes]) -> None:
        super().redis([key_of_tagged(word) for word in words], wanted)


class Commands:
    """The table's own commands, at the node that has the key."""

    def __init__(self, one: cluster.Cluster):
        self.nodes = one.nodes

    def call(self, *words: bytes) -> Any:
        if words[0].upper().startswith(b"FLUSH"):
            answers = [call_at(node.port, words) for node in self.nodes]
            return answers.pop()
        if words[0].upper() in (b"EXISTS", b"DEL") and len(words) > 2:
            return sum(self.call(words[0], key) for key in words[1:])
        try:
            return call_at(self.nodes[0].port, words)
        except ReplyError as error:
            word, *_, target = str(error).split()
            if word != "MOVED":
                raise
            return call_at(int(target.rpartition(":")[2]), words)


@pytest.fixture(scope="module")
def nodes() -> Iterator[cluster.Cluster]:
    with cluster.running(primaries=3, replicas=0) as one:
        yield one


@pytest.fixture(scope="module")
def commands(nodes: cluster.Cluster) -> Commands:
    return Commands(nodes)


@pytest.fixture(params=["blocking", "awaited"])
def face(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "blocking":
        yield Face()
        return
    with contextlib.closing(OneTask()) as task:
        yield Face(task)


@pytest.mark.parametrize("lines", read_table(TABLE))
def test_conformance(
    face: Any, nodes: cluster.Cluster, commands: Commands, lines: Any
) -> None:
    with contextlib.closing(face.connect(nodes.url())) as client:
        case = TaggedCase(face, client, commands)
        for where, text in lines:
            print(where, text.decode("utf-8", "backslashreplace"))
            case.run(text)


def has_several_names(lines: Any) -> bool:
    return any(re.search(rb" = (many|queues) |^(any|both) ", text) for _, text in lines)


@pytest.mark.parametrize(
    "lines", [case for case in read_table(TABLE) if has_several_names(case.values[0])]
)
def test_conformance_in_several_slots(
    face: Any, nodes: cluster.Cluster, commands: Commands, lines: Any
) -> None:
    with contextlib.closing(face.connect(nodes.url())) as client:
        case = Case(face, client, commands)
        for where, text in lines:
            print(where, text.decode("utf-8", "backslashreplace"))
            case.run(text)
