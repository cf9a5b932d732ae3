# SPDX-License-Identifier: MIT
"""The server's price of an uncontended pair of a lock, in other forms than ours.

Counted in instructions, on each server that is installed: times are noise beside what a
variant saves.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import peers
import redis
from harness import ROOT, Report, Server

sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests" / "counts")]
import expand_scripts  # noqa: E402
from counted import COMPARE_AND_DELETE, CountedServer, token  # noqa: E402

TIMES = 400
NAME = "orders"
SIDE_KEYS = [
    f"ilk:lock:{kind}:{{{NAME}}}" for kind in ("fence", "wait", "live", "readers")
]
KEYS = [NAME, *SIDE_KEYS]
WAIT = SIDE_KEYS[1]
CLIENT = "c" * 22
# The side keys' names made by the script, from the lock's.
DERIVED = 'local KEYS = {KEYS[1], "ilk:lock:fence:{" .. KEYS[1] .. "}", "ilk:lock:wait:{" .. KEYS[1] .. "}"}\n'
Send = Callable[[redis.client.Pipeline, int], None]


class Calls:
    """Our two scripts as they are, as functions, and with fewer keys."""

    def __init__(self, server: CountedServer) -> None:
        found, _ = expand_scripts.load(
            expand_scripts.SCRIPTS, [expand_scripts.SCRIPTS / "include"]
        )
        text = {script.name: script.text for script in found}
        self.request = 2**32
        self.sha, self.derived = {}, {}
        library = "#!lua name=variants\n"
        for name in ("lock_acquire", "lock_release"):
            self.sha[name] = server.redis.script_load(text[name])
            self.derived[name] = server.redis.script_load(DERIVED + text[name])
            library += (
                f"redis.register_function('{name}', function(KEYS, ARGV)\n"
                f"{text[name]}\nend)\n"
            )
        server.redis.function_load(library, replace=True)

    def _send(self, pipeline, verb, what, keys, *args) -> None:
        self.request += 1
        pipeline.execute_command(verb, what, len(keys), *keys, *args, self.request)

    @staticmethod
    def _acquire(number: int) -> tuple:
        return token(number), 30000, "host:1234:worker", 0, "", CLIENT

    def acquire(self, pipeline, number: int) -> None:
        self._send(
            pipeline, "EVALSHA", self.sha["lock_acquire"], KEYS, *self._acquire(number)
        )

    def by_script(self, pipeline, number: int) -> None:
        self.acquire(pipeline, number)
        self._send(pipeline, "EVALSHA", self.sha["lock_release"], KEYS, token(number))

    def by_function(self, pipeline, number: int) -> None:
        self._send(pipeline, "FCALL", "lock_acquire", KEYS, *self._acquire(number))
        self._send(pipeline, "FCALL", "lock_release", KEYS, token(number))

    def by_one_key(self, pipeline, number: int) -> None:
        self._send(
            pipeline, "EVALSHA", self.derived["lock_acquire"], [NAME],
            *self._acquire(number),
        )  # fmt: skip
        self._send(
            pipeline, "EVALSHA", self.derived["lock_release"], [NAME], token(number)
        )

    def by_native_release(self, pipeline, number: int) -> None:
        self.acquire(pipeline, number)
        pipeline.execute_command("DELIFEQ", NAME, token(number))
        pipeline.exists(WAIT)


def plain(server: CountedServer) -> Send:
    compare = server.redis.script_load(COMPARE_AND_DELETE)

    def send(pipeline, number: int) -> None:
        pipeline.set("plain", token(number), nx=True, px=30000)
        pipeline.evalsha(compare, 1, "plain", token(number))

    return send


def plain_native(pipeline, number: int) -> None:
    pipeline.set("plain", token(number), nx=True, px=30000)
    pipeline.execute_command("DELIFEQ", "plain", token(number))


def has_native_delete(server: CountedServer) -> bool:
    try:
        server.redis.execute_command("DELIFEQ", "nothing", "x")
    except redis.ResponseError:
        return False
    return True


def programs() -> list[str]:
    bundled = Path(sys.prefix).rglob("_binaries/**/valkey-server")
    found = [shutil.which("redis-server"), shutil.which("valkey-server"), *bundled]
    return [str(program) for program in dict.fromkeys(found) if program]


def count(program: str, report: Report) -> None:
    with tempfile.TemporaryDirectory() as folder:
        server = CountedServer(Path(folder), program)
        try:
            info = server.redis.info("server")
            which = "Valkey" if "valkey_version" in info else "Redis"
            which += " " + (info.get("valkey_version") or info["redis_version"])
            calls = Calls(server)
            ways = {
                "two scripts": calls.by_script,
                "the same as functions": calls.by_function,
                "scripts that make the side keys' names": calls.by_one_key,
            }
            if has_native_delete(server):
                ways["acquire's script, DELIFEQ and EXISTS"] = calls.by_native_release
                ways["SET and DELIFEQ"] = plain_native
            least = server.least(plain(server), TIMES, enough=0)
            report.row(f"{which}: SET and compare-and-delete", least, "")
            for name, send in ways.items():
                found = server.least(send, TIMES, enough=0)
                report.row(f"{which}: {name}, over it", found / least, "x")
        finally:
            server.close()


def measure(_: Server, report: Report, given: argparse.Namespace) -> None:
    print("\n-- A pair in other forms: instructions of the server")
    if not shutil.which("callgrind_control"):
        peers.skipped("variants", "needs valgrind")
        return
    for program in programs():
        count(program, report)
