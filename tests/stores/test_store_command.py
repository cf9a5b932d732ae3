# SPDX-License-Identifier: MIT
"""The command on other stores: what ls, inspect and break show of them."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import threading
from typing import Any

import fastjsonschema
import interlock
import pytest
from store import Store
from store_kinds import BUILD, ROOT
from test_store_names import BYTES
from waiting import await_waiters

IS_OUTPUT = fastjsonschema.compile(
    json.loads((ROOT / "cli" / "output.schema.json").read_text())
)
CLI = os.environ.get("ILK_CLI") or str(BUILD / "bin" / "interlock")


def run(store: Store, *words: str) -> subprocess.CompletedProcess[bytes]:
    done = subprocess.run(
        [CLI, *words, "--url", store.url()],
        capture_output=True,
        timeout=60,
        check=False,
    )
    if "--json" in words:
        for line in done.stdout.splitlines():
            IS_OUTPUT(json.loads(line))
    return done


def listed(store: Store, *words: str) -> list[dict[str, Any]]:
    done = run(store, "ls", "--json", *words)
    assert done.returncode == 0, done
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_ls_shows_a_hold_as_on_redis(
    store: Store, client: interlock.Client, name: str
) -> None:
    lock = client.lock(name)
    assert lock.acquire(10)

    found = listed(store, f"{name}*")

    assert [(one["kind"], one["name"]) for one in found] == [("lock", name)]
    assert found[0]["state"] == "held"
    assert found[0]["token"] == lock.token
    assert found[0]["fence"] == lock.fence
    assert found[0]["holder"].endswith(f":{os.getpid()}")
    assert found[0]["since_ms"] > 0
    shown = json.loads(run(store, "inspect", "--json", name).stdout)
    for one in (found[0], shown, found[0]["held_by"][0], shown["held_by"][0]):
        lease_ms = one.pop("lease_ms")
        # The end of a session of ZooKeeper is known to its own client alone.
        assert lease_ms is None if store.scheme == "zookeeper" else lease_ms > 0
    assert found[0] == shown


def test_ls_finds_all_kinds_that_the_store_has(
    store: Store, client: interlock.Client, name: str
) -> None:
    expected = []
    for kind in sorted({"semaphore", "election", "register", "group"} & store.offers):
        at = f"{name}.{kind}"
        if kind == "semaphore":
            assert client.semaphore(at, 2).acquire(10)
        elif kind == "election":
            assert client.election(at).campaign(10)
        elif kind == "register":
            client.register(at).set(b"value")
        else:
            client.group(at).join(b"member")
        expected.append((kind, at))

    found = listed(store, f"{name}*")

    assert sorted((one["kind"], one["name"]) for one in found) == expected
    for kind, at in expected:
        assert [one["name"] for one in listed(store, "--kind", kind, at)] == [at]


@pytest.mark.parametrize("raw", BYTES.values(), ids=list(BYTES))
def test_ls_finds_any_name(store: Store, client: interlock.Client, raw: bytes) -> None:
    lock = client.lock(raw)
    assert lock.acquire(10)

    found = listed(store, "--kind", "lock", "--held")

    assert lock.token in [one["token"] for one in found if one["name_hex"] == raw.hex()]
    assert lock.release()


def test_ls_walks_over_several_pages(
    store: Store, client: interlock.Client, name: str
) -> None:
    names = [f"{name}.{number:04}" for number in range(1100)]
    for number, one in enumerate(names):
        if number % 275:
            continue
        assert client.lock(one).acquire(10)
    with interlock.connect(store.url()) as other:
        registers = [f"{name}.r{number:04}" for number in range(600)]
        for one in registers:
            other.register(one).set(b"")

    assert client.ls(f"{name}.0*") == names[::275]
    assert client.ls(f"{name}.r*", kind="register") == registers


def test_a_kind_that_the_store_lacks_is_refused_and_not_shown_empty(
    store: Store,
) -> None:
    for words in (["ls", "--kind", "queue"], ["inspect", "--kind", "queue", "x"]):
        done = run(store, *words)

        assert done.returncode == 64
        assert done.stdout == b""
        assert done.stderr.count(b"\n") == 1
        assert b"no queue" in done.stderr or b"keep" in done.stderr


def test_break_takes_a_hold_away(
    store: Store, client: interlock.Client, other: interlock.Client, name: str
) -> None:
    lock = client.lock(name)
    assert lock.acquire(10)

    assert run(store, "break", name, "--token", "no" * 16).returncode == 1
    assert other.lock(name).acquire(0) is False
    assert run(store, "break", name).returncode == 0

    assert other.lock(name).acquire(10)
    assert run(store, "break", name, "--kind", "election").returncode == 1


def take_turn(lock: interlock.Lock) -> None:
    if lock.acquire(30):
        lock.release()


def test_inspect_names_those_who_wait_elsewhere(
    store: Store, client: interlock.Client, name: str
) -> None:
    labels = ["a,b*/%2C\u00e9+", "!40000"]
    with contextlib.ExitStack() as stack:
        lock = client.lock(name)
        assert lock.acquire(10)
        for count, label in enumerate(labels, 1):
            other = stack.enter_context(interlock.connect(store.url(), label=label))
            waits = threading.Thread(target=take_turn, args=(other.lock(name),))
            waits.start()
            stack.callback(waits.join)
            await_waiters(store, client, name, count)

        found = json.loads(run(store, "inspect", "--json", name).stdout)
        assert lock.release()

    assert found["waiters"] == 2
    assert [one["label"] for one in found["wait_queue"]] == labels
    assert all(re.fullmatch("[0-9a-f]{16}", w["client"]) for w in found["wait_queue"])
