# SPDX-License-Identifier: MIT
"""The sides of queues: ours, the limit, and the peers that can be had."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import peers
from harness import OUT, ROOT, Server
from lock_sides import sha1s
from tables import LIMIT

WORKER = ROOT / "bench" / "worker_queue.py"


@dataclass(frozen=True)
class QueueKind:
    """`share` is of the messages that others get, for those that are slow."""

    command: list
    batches: bool = True
    share: float = 1.0


def queue_kinds(server: Server) -> dict[str, QueueKind]:
    url = server.url

    def python(kind: str) -> QueueKind:
        return QueueKind([sys.executable, WORKER, kind, url])

    loaded = sha1s(server, "queue_push", "queue_reserve")
    kinds = {
        LIMIT: QueueKind([OUT / "limit_queue", "127.0.0.1", server.port, *loaded]),
        "C": QueueKind([OUT / "queue", url]),
        "Python": python("interlock"),
        "redis-py lists": python("lists"),
        "redis-py streams": python("streams"),
    }
    node = peers.node("bullmq.js", "bullmq", "ioredis")
    if node:
        kinds["BullMQ"] = QueueKind([*node, url])
    for name, share in (("RQ", 0.1), ("dramatiq", 0.25), ("Celery", 0.25)):
        command = peers.python("queue-peers", WORKER, name.lower(), url)
        if command:
            kinds[name] = QueueKind(command, False, share)
    return kinds
