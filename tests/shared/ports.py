# SPDX-License-Identifier: MIT
"""Ports for the servers of tests.

A server that a test kills gets its port again when it starts, and ZooKeeper opens some of
its ports only now and then. So they are below those that the system gives to connections:
one of these may last for longer than the test.
"""

from __future__ import annotations

import contextlib
import random
import socket
from collections.abc import Sequence

BUS = 10000  # a node of a cluster has this port above its own as well
PORTS = range(12000, 22000)


def free_ports(count: int, above: Sequence[int] = (0,)) -> list[int]:
    """Some at which nothing listens, nor at these numbers above them."""
    found: list[int] = []
    choice = random.SystemRandom().choice
    with contextlib.ExitStack() as probes:
        while len(found) < count:
            port = choice(PORTS)
            try:
                for more in above:
                    probe = probes.enter_context(socket.socket())
                    probe.bind(("", port + more))
            except OSError:
                continue
            found.append(port)
    return found


def free_port() -> int:
    return free_ports(1)[0]


def free_node_port() -> int:
    """Its bus port is free as well."""
    return free_ports(1, (0, BUS))[0]
