# SPDX-License-Identifier: MIT
"""Several names at once, ours and node-redlock's: all of them or none."""

from __future__ import annotations

import interlock
import pytest
from peers import NodeRedlock


@pytest.fixture
def names(name):
    return [f"{name}-{letter}" for letter in "abc"]


@pytest.fixture
def client(url):
    with interlock.connect(url) as client:
        yield client


def test_each_side_finds_a_shared_name_busy(client, peer_of, names, server):
    peer = peer_of(NodeRedlock)
    a, b, c = names
    ours = client.lock_many([b, c], ttl=10)

    assert peer.acquire(f"{a},{b}", 10)
    assert not ours.acquire(timeout=0)
    assert server.exists(c) == 0
    assert peer.release()

    assert ours.acquire(timeout=0)
    assert not peer.acquire(f"{a},{b}", 10)
    assert server.exists(a) == 0
    assert ours.release()
    assert server.exists(a, b, c) == 0


def test_we_wait_for_all_that_it_holds(client, peer_of, names):
    peer = peer_of(NodeRedlock)
    a, b, c = names
    assert peer.acquire(f"{a},{c}", 0.6)

    ours = client.lock_many([a, b, c], ttl=10)

    assert ours.acquire(timeout=5)
    assert not peer.release()
    assert ours.held
    assert ours.release()
