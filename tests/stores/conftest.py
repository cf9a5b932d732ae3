# SPDX-License-Identifier: MIT
"""Stores that tests leave in peace, stores that they take to pieces, and clients."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
for place in ("topologies", "python", "shared"):
    sys.path.append(str(TESTS / place))
sys.path.insert(0, str(Path(__file__).parent))

import interlock  # noqa: E402
from member import Member  # noqa: E402
from store import BRIEF_S, Store  # noqa: E402
from store_kinds import CHOSEN, KINDS, absence, point_at_backends  # noqa: E402

point_at_backends()


@pytest.fixture(scope="session", params=CHOSEN)
def kind(request: pytest.FixtureRequest) -> type[Store]:
    """A test runs for each store that this machine can have."""
    if request.param not in CHOSEN:
        pytest.skip("ILK_TEST_STORES names others")
    lacks = absence(request.param)
    if lacks:
        lacks.report()
    return KINDS[request.param]


@pytest.fixture(scope="session")
def store(kind: type[Store]) -> Iterator[Store]:
    """A store that no test breaks."""
    with kind() as running:
        yield running


@pytest.fixture(scope="session")
def brief(kind: type[Store]) -> Iterator[Store]:
    """One that no test breaks either, and that forgets dead clients soon."""
    with kind(session_s=BRIEF_S) as running:
        yield running


@pytest.fixture
def own(kind: type[Store]) -> Iterator[Store]:
    """A store to take to pieces."""
    with kind() as running:
        yield running


@pytest.fixture
def client(store: Store) -> Iterator[interlock.Client]:
    with interlock.connect(store.url()) as opened:
        yield opened


@pytest.fixture
def other(store: Store) -> Iterator[interlock.Client]:
    """A second client, as in another process."""
    with interlock.connect(store.url()) as opened:
        yield opened


@pytest.fixture
def name() -> str:
    return f"test-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def join() -> Iterator[Callable[[str], Member]]:
    """Start a client in a process of its own, ended at the end."""
    members: list[Member] = []

    def start(url: str) -> Member:
        members.append(Member(url))
        return members[-1]

    yield start
    for member in members:
        member.close()
