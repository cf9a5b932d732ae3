# SPDX-License-Identifier: MIT
"""The seven steps of Redlock as they are usually written down, with redis-py."""

from __future__ import annotations

import time
import uuid

import redis
from quorum_nodes import Node, Quorum

RELEASE = """if redis.call("GET", KEYS[1]) == ARGV[1] then
    return redis.call("DEL", KEYS[1]) end return 0"""
EXTEND = """if redis.call("GET", KEYS[1]) == ARGV[1] then
    return redis.call("PEXPIRE", KEYS[1], ARGV[2]) end return 0"""


class Redlock:
    """A client of its own. Requests may go to `nodes` one by one, to choose a schedule."""

    def __init__(self, quorum: Quorum, name: str, ttl: float):
        self.nodes = quorum.nodes
        self.name = name
        self.ttl_ms = int(ttl * 1000)
        self.token = uuid.uuid4().hex
        self.until = 0.0

    def ask(self, node: Node) -> bool:
        try:
            return bool(
                node.redis().set(self.name, self.token, nx=True, px=self.ttl_ms)
            )
        except redis.RedisError:
            return False

    def call(self, node: Node, script: str, *args: object) -> int:
        try:
            return int(node.redis().eval(script, 1, self.name, self.token, *args))
        except redis.RedisError:
            return 0

    def count(self, votes: int, began: float) -> bool:
        """Steps 3 to 5: a majority in time, and what is left of the lease."""
        until = began + self.ttl_ms / 1000
        if votes > len(self.nodes) // 2 and time.monotonic() < until:
            self.until = until
            return True
        self.release()
        return False

    def acquire(self, *nodes: Node) -> bool:
        """Steps 1 to 5, at all nodes or at these."""
        began = time.monotonic()
        return self.count(sum(map(self.ask, nodes or self.nodes)), began)

    def extend(self) -> bool:
        began = time.monotonic()
        votes = sum(self.call(node, EXTEND, self.ttl_ms) for node in self.nodes)
        if votes > len(self.nodes) // 2:
            self.until = began + self.ttl_ms / 1000
            return True
        return False

    def release(self) -> None:
        """Step 7."""
        for node in self.nodes:
            self.call(node, RELEASE)

    @property
    def believes(self) -> bool:
        return time.monotonic() < self.until
