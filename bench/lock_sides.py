# SPDX-License-Identifier: MIT
"""The sides of locks: ours, the limit, and all peers that can be had."""

from __future__ import annotations

import importlib
import sys

import peers
from harness import OUT, ROOT, Server
from sides import Kind
from tables import LIMIT

SCRIPTS = {"evalsha": 1, "eval": 1}
OURS_SENT = {**SCRIPTS, "subscribe": 1}
SET_AND_SCRIPT = {**SCRIPTS, "set": 1}

# Its script that releases calls GET once; its clients send GET as well.
PYTHON_REDIS_LOCK_SENT = {"evalsha": 0, "set": 1, "blpop": 1, "get": 1}

# A client sends one DEL for each that its script calls.
REDISSON_SENT = {**SCRIPTS, "subscribe": 1, "unsubscribe": 1, "del": 0.5}

WORKER = ROOT / "bench" / "worker_side.py"


def sha1s(server: Server, *names: str) -> list[str]:
    """Load our own scripts and answer what EVALSHA calls them."""
    sys.path.insert(0, str(ROOT / "tools"))
    expand = importlib.import_module("expand_scripts")
    scripts, _ = expand.load(expand.SCRIPTS, [expand.SCRIPTS / "include"])
    text = {script.name: script.text for script in scripts}
    return [server.redis.script_load(text[name]) for name in names]


def limit(server: Server, what: str = "lock", *permits: int) -> list:
    loaded = sha1s(server, f"{what}_acquire", f"{what}_release")
    return [OUT / "limit", "127.0.0.1", server.port, *loaded, *permits]


def python(kind: str, server: Server) -> list:
    return [sys.executable, WORKER, kind, server.url]


def own_kinds(server: Server) -> dict[str, Kind]:
    """Those that need nothing beyond what ./dev installs."""
    url = server.url
    return {
        LIMIT: Kind(limit(server), OURS_SENT, alone=True),
        "C": Kind([OUT / "side", "lock", url], OURS_SENT),
        "Python": Kind(python("interlock", server), OURS_SENT),
        "redis-py": Kind(python("redis-py", server), SET_AND_SCRIPT),
        "python-redis-lock": Kind(
            python("python-redis-lock", server), PYTHON_REDIS_LOCK_SENT, "lock:%s"
        ),
    }


def lock_kinds(server: Server) -> dict[str, Kind]:
    url, kinds = server.url, own_kinds(server)
    for name, key in (("pottery", "redlock:%s"), ("redlock-py", "%s")):
        command = peers.python("lock-peers", WORKER, name, url)
        if command:
            kinds[name] = Kind(command, SET_AND_SCRIPT, key)
    for name, command, sent in (
        ("node-redlock", peers.node("side.js", "redlock", "ioredis"), SCRIPTS),
        ("redsync", peers.go(), SET_AND_SCRIPT),
        ("Redisson", peers.java("lock"), REDISSON_SENT),
    ):
        if command:
            own = ["redlock", url] if name == "node-redlock" else [url]
            kinds[name] = Kind([*command, *own], sent)
    return kinds
