# SPDX-License-Identifier: MIT
"""`./dev demo --quorum`: what it proves, and what it does not let pass."""

import copy
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from shell import is_alive, wait_until

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "quorum"
PATIENCE = float(os.environ.get("ILK_TEST_PATIENCE", "1"))
sys.path.append(str(FOLDER))

from verdict import Verdict  # noqa: E402


def start(folder, *options):
    return subprocess.Popen(
        [sys.executable, FOLDER / "demo.py", "--quorum", *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(folder)},
    )  # fmt: skip


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def test_the_lock_holds_while_nodes_fail_and_a_seller_is_frozen(tmp_path):
    running = start(tmp_path, "--json", "--items", "100", "--processes", "5")
    out, errors = running.communicate(timeout=100 * PATIENCE)
    assert errors == ""
    found = json.loads(out)

    assert [check for check in found["checks"] if not check["ok"]] == []
    assert (running.returncode, found["ok"]) == (0, True)
    assert (found["quorum"], found["sold"], found["left"]) == (3, 100, 0)
    assert [fault["killed"] for fault in found["faults"]] == [True, False]
    assert found["frozen"]["ms"] > found["lease_ms"]
    assert found["late"]["write"] == "StaleError"


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_its_end_ends_nodes_and_sellers(tmp_path, how):
    running = start(tmp_path, "--processes", "3")
    started = wait_until(
        lambda: len(children(running.pid)) == 4 + 3 and children(running.pid),
        "four servers and three sellers",
        60 * PATIENCE,
    )

    running.send_signal(how)

    running.communicate(timeout=30 * PATIENCE)
    wait_until(lambda: not any(map(is_alive, started)), "their end", 30 * PATIENCE)


def hold(number, **more):
    """One of three sales: the second begins where the first ends, and so on."""
    before = {"seller": number - 1, "item": number - 1, "fence": 10 * (number - 1)}
    return {
        "seller": number, "item": number, "fence": 10 * number, "before": before,
        "entered": float(number), "late": False, "sure": number + 0.5, **more,
    }  # fmt: skip


def ended_well():
    return SimpleNamespace(
        given=SimpleNamespace(items=3, processes=3),
        holds=[hold(1), hold(2), hold(3)],
        first={"seller": 0, "item": 0, "fence": 0},
        stock={"left": 0, "seller": 3, "item": 3, "fence": 30},
        faults=[{"node": 2, "killed": True, "holds": 9, "next_ms": 1, "votes_ms": 2000}],
        frozen={"seller": 1, "ms": 1300},
        late={"notified": True, "check": "LostError", "write": "StaleError", "fence": 5},
        longest_ms=2000,
    )  # fmt: skip


def failed(run):
    return [check["name"] for check in Verdict(run).checks if not check["ok"]]


def test_a_good_end_is_accepted():
    assert failed(ended_well()) == []


def test_a_hold_that_was_over_before_it_began_is_no_flaw():
    run = ended_well()
    run.holds.append(hold(2, fence=25, entered=3.2, item=0, late=True))

    assert failed(run) == []


@pytest.mark.parametrize(
    "name, where, change",
    [
        ("one_holder", lambda run: run.holds[0], {"sure": 2.1}),
        ("fences_rise", lambda run: run.holds[1], {"fence": 30, "item": 0}),
        ("none_twice", lambda run: run.holds[1], {"item": 1}),
        ("all_sold", lambda run: run.holds[1], {"item": 0}),
        ("all_sold", lambda run: run.stock, {"left": 1}),
        ("chain_whole", lambda run: run.stock, {"fence": 31}),
        ("node_killed", lambda run: run.faults[0], {"holds": 0}),
        ("node_killed_votes_again", lambda run: run.faults[0], {"votes_ms": 900}),
        ("frozen_notified", lambda run: run.late, {"notified": False}),
        ("late_write_refused", lambda run: run.late, {"write": ""}),
    ],
)
def test_each_flaw_is_found(name, where, change):
    run = copy.deepcopy(ended_well())

    where(run).update(change)

    assert name in failed(run)
