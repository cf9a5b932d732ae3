# SPDX-License-Identifier: MIT
"""Libraries with one fault each, which the harness has to find.

python tests/chaos/controls.py [--seed N] [NAME...]

Each is a build of the library from a copy of the sources in which one file, most often
a script, is changed; C processes load it. One tree of objects serves all, so that only
what differs is compiled again.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "shared"))

from arenas import arena_of, can_run
from faults import (
    EXCLUDING,
    MAJORITY,
    ORDERLY,
    SHARDED,
    SHARDED_IN_ORDER,
    TWO_PRIMARIES,
    Plan,
)
from patched import copy_sources, patch
from server import BUILD
from violation import Violation

SECONDS, BOUND, ATTEMPTS = 8.0, 12.0, 3
KINDS = ["c", "c", "c", "c"]
PROGRAM = os.environ.get("ILK_TEST_SERVER") or shutil.which("redis-server") or ""


@dataclass(frozen=True)
class Control:
    """A fault of the library, and the rules of which it must break one."""

    name: str
    file: str  # from libcore/scripts
    changes: tuple[tuple[str, str], ...]
    rules: tuple[str, ...]
    plan: Plan = EXCLUDING
    seconds: float = SECONDS


LAST_FIRST = (("stamp or math.max(greatest + 1, now), text", "-now, text"),)
CONTROLS = [
    Control(
        "release without comparing",
        "lock/lock_release.lua",
        (('redis.call("GET", lock) == token', 'redis.call("GET", lock)'),),
        ("exclusion", "release"),
    ),
    Control(
        "fence from a counter that restarts",
        "include/next_fence.lua",
        (("math.max(last + 1, now, floor + 1)", "last % 100 + 1"),),
        ("fence",),
    ),
    Control(
        "grant without liveness",
        "include/serve_exclusive.lua",
        (
            ("if receivers == 0 then", "if receivers == -1 then"),
            (', e.token, "PX", lease)', ", e.token)"),
        ),
        ("wait",),
    ),
    Control(
        "renewal after loss",
        "lock/lock_extend.lua",
        (
            (
                'if redis.call("GET", lock) ~= token then',
                'if not redis.call("GET", lock) then',
            ),
        ),
        ("exclusion",),
    ),
    Control(
        "last come, first served",
        "include/enqueue.lua",
        LAST_FIRST,
        ("order",),
        ORDERLY,
    ),
    Control(
        "youngest message first, now and then",
        "include/reserve_one.lua",
        (
            (
                'order == "fifo" and "LPOP"',
                'order == "fifo" and now % 16 > 0 and "LPOP"',
            ),
        ),
        ("order",),
    ),
    Control(
        "register that is changed over a later version",
        "register/register_set.lua",
        (("known ~= last then", "known > last then"),),
        ("register",),
    ),
    Control(
        "barrier that is full too early",
        "barrier/barrier_wait.lua",
        (("here + 1 == parties", "here + 1 >= parties - 1"),),
        ("barrier",),
    ),
    Control(
        "signal that is handed on although it was received",
        "signal/signal_cancel.lua",
        (('string.sub(what, index, index) == "1"', "false"),),
        ("signal",),
    ),
    Control(
        "signal that is counted although its waiter was not reached",
        "include/give_signal.lua",
        (("    return 0, denied, true\n", "    return 1, 0, true\n"),),
        ("signal",),
        ORDERLY,
        20.0,
    ),
    Control(
        "node of a quorum that confirms the vote of another",
        "include/confirm_vote.lua",
        (
            ('if redis.call("GET", key.lock) ~= token then', "if false then"),
            ("record_token ~= token or last_given ~= given or given <= base", "false"),
        ),
        ("exclusion",),
        MAJORITY,
        20.0,
    ),
    Control(
        "node of a quorum that votes at once after it was wiped",
        "quorum/quorum_join.lua",
        (
            (
                'text(ms + longest), "early", text(ms + early)',
                'text(ms), "early", text(ms)',
            ),
        ),
        ("exclusion", "release"),
        MAJORITY,
        20.0,
    ),
    Control(
        "node of a quorum that hands a reserved vote to anybody",
        "quorum/quorum_acquire.lua",
        (
            (
                'redis.call("EXISTS", wait) == 0 and redis.call("SET", lock, token,'
                ' "NX", "PX", lease)',
                '(redis.call("EXISTS", wait) == 0 and'
                ' (mark == RESERVED or redis.call("EXISTS", lock) == 0)) and'
                ' redis.call("SET", lock, token, "PX", lease)',
            ),
        ),
        ("exclusion",),
        MAJORITY,
    ),
    Control(
        "node of a quorum that keeps its own fence",
        "include/confirm_vote.lua",
        (("math.max(last, fence)", "last"),),
        ("fence",),
        MAJORITY,
    ),
    Control(
        "client that believes a hold that no replica has",
        "../src/client/confirmer.c",
        (("if (self->wait.count < self->replicas)", "if (self->wait.count < 0)"),),
        ("exclusion", "fence", "release"),
        TWO_PRIMARIES,
        30.0,
    ),
    Control(
        "client that believes a hold that the new primary lacks",
        "../src/client/confirmer.c",
        (
            (
                "    if (status == ILK_OK) {",
                "    if (status == ILK_OK || !is_silence(status)) {",
            ),
        ),
        ("exclusion", "fence", "release"),
        TWO_PRIMARIES,
        30.0,
    ),
    Control(
        "grant of a cluster that is undone when nobody at its node has it",
        "../stores/cluster/cluster_requests.c",
        (
            ("text[script->cluster_at] = '1';", "text[script->cluster_at] = '0';"),
            ("&& ilk__node_messages_are_subscribed(&node->messages)", ""),
        ),
        ("exclusion", "fence", "release", "signal"),
        SHARDED,
        30.0,
    ),
    Control(
        "last come, first served, in a cluster",
        "include/enqueue.lua",
        LAST_FIRST,
        ("order",),
        SHARDED_IN_ORDER,
        20.0,
    ),
]


def build(tree: Path, control: Control) -> dict[str, str]:
    """Where programs find the library of the control."""
    source = tree / "source"
    copy_sources(source)
    scripts = source / "libcore" / "scripts"
    for old, new in control.changes:
        patch(scripts / control.file, old, new)
    # The copies have the times of the sources, which are older than the objects.
    for one in CONTROLS:
        os.utime(scripts / one.file)
    if not (tree / "build" / "build.ninja").exists():
        options = ["-DILK_TESTS=OFF", "-DILK_LUA=OFF", "-DILK_CLI=OFF"]
        options += ["-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS=-O1 -g0"]
        quietly("cmake", "-S", source, "-B", tree / "build", "-G", "Ninja", *options)
    quietly("cmake", "--build", tree / "build", "--target", "interlock")
    # Holders that come too late are the ones that some of these faults need.
    return {"LD_LIBRARY_PATH": str(tree / "build" / "lib"), "CHAOS_LATE": "0.1"}


def quietly(*argv: object) -> None:
    done = subprocess.run(
        [str(word) for word in argv],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]


def run(control: Control, env: dict[str, str], seed: str) -> list[Violation]:
    """Faults that an arena of C processes with this library finds."""
    with tempfile.TemporaryDirectory(prefix="ilk-chaos-") as directory:
        place = Path(directory) / "control"
        arena = arena_of(control.plan)(control.plan, PROGRAM, KINDS, place, seed, env)
        arena.bound = BOUND
        arena.run(control.seconds, 1.0)
        assert not arena.trouble, arena.trouble
        return arena.violations


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    seed = os.environ.get("ILK_TEST_SEED") or random.SystemRandom().randrange(10**6)
    parser.add_argument("--seed", type=int, default=int(seed))
    parser.add_argument("name", nargs="*")
    args = parser.parse_args()
    tree, missed, began = BUILD.parent / "chaos-controls", 0, time.monotonic()
    chosen = [one for one in CONTROLS if not args.name or one.name in args.name]
    for control in [one for one in chosen if not can_run(one.plan, PROGRAM)]:
        print(f"controls: SKIPPED {control.name}: {PROGRAM} is too old")
        chosen.remove(control)
    for control in chosen:
        env = build(tree, control)
        for attempt in range(ATTEMPTS):
            found = run(control, env, f"{args.seed} {attempt}")
            fitting = [one for one in found if one.rule in control.rules]
            if fitting:
                break
        text = fitting[0].text[:150] if fitting else "NOT FOUND"
        print(f"controls: {control.name}: {len(found)} violations: {text}", flush=True)
        missed += not fitting
    print(
        f"controls: {'FAILED' if missed else 'passed'}, seed {args.seed},"
        f" {len(chosen) - missed} of {len(chosen)} faulty libraries found,"
        f" {time.monotonic() - began:.0f} s"
    )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
