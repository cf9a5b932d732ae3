# SPDX-License-Identifier: MIT
"""The peers exclude each other: the ground that the other files stand on."""

from __future__ import annotations

import itertools

import pytest
from peers import PLAIN, Redisson


@pytest.mark.parametrize(
    ("first", "second"),
    list(itertools.combinations(PLAIN, 2)),
    ids=lambda kind: kind.__name__,
)
def test_two_plain_peers_exclude_each_other(first, second, peer_of, name):
    one, other = peer_of(first), peer_of(second)
    name = (first.prefix or second.prefix) + name

    assert one.acquire(name, 5)
    assert not other.acquire(name, 5)
    assert one.release()
    assert other.acquire(name, 5)
    assert not one.acquire(name, 5)
    assert other.release()


def test_two_redissons_exclude_each_other(peer_of, name):
    one, other = peer_of(Redisson), peer_of(Redisson, 1)

    assert one.acquire(name, 5)
    assert not other.acquire(name, 5)
    assert one.acquire(name, 5)
    assert one.count() == 2
    assert one.release()
    assert not other.acquire(name, 5)
    assert one.release()
    assert other.acquire(name, 5)
    assert other.release()
