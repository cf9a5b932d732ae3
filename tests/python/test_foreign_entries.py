# SPDX-License-Identifier: MIT
"""A wait queue full of entries that no version of the library wrote."""

from __future__ import annotations

import threading

import pytest

MANY = 100_000


def fill(server, key):
    for at in range(0, MANY, 2000):
        pairs = [part for i in range(at, at + 2000) for part in (str(i), f"x{i}")]
        server.call("ZADD", key, *pairs)


@pytest.mark.parametrize("kind", ["lock", "semaphore", "election"])
def test_a_hundred_thousand_cost_a_waiter_one_refresh(
    server, client, other, name, kind
):
    """They are removed a thousand at a time, without a pause in between."""
    make = {
        "lock": lambda of: of.lock(name, ttl=30),
        "semaphore": lambda of: of.semaphore(name, 1, ttl=30),
        "election": lambda of: of.election(name, ttl=30),
    }[kind]
    holder, waiter = make(other), make(client)
    take = "campaign" if kind == "election" else "acquire"
    give = "resign" if kind == "election" else "release"
    getattr(holder, take)()
    fill(server, f"ilk:{kind}:wait:{{{name}}}")
    got = threading.Thread(target=lambda: getattr(waiter, take)(timeout=60))
    got.start()
    while server.call("ZCARD", f"ilk:{kind}:wait:{{{name}}}") <= MANY:
        pass
    before = client.stats().commands

    getattr(holder, give)()
    got.join(60)

    assert waiter.held if kind != "election" else waiter.is_leader
    assert server.call("ZCARD", f"ilk:{kind}:wait:{{{name}}}") == 0
    assert client.stats().commands - before < 150
