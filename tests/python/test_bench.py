# SPDX-License-Identifier: MIT
"""The events that the benchmarks count, and the lines that their sides receive."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
MS = 1_000_000


def bench(program):
    """The JSON that a program in bench/ prints.

    In a process of its own: modules there and here have names in common.
    """
    done = subprocess.run(
        [sys.executable, "-c", f"import json\n{program}"],
        cwd=BENCH, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def figures(logs, end):
    return bench(f"import crowd; print(json.dumps(crowd.figures({logs}, {end})))")


def test_a_crowd_is_counted_until_its_end():
    first = [0, 1 * MS, 2 * MS, 3 * MS]
    second = [0, 2 * MS, 3 * MS, 12 * MS]

    found = figures([first, second], 10 * MS)

    assert found["total"] == 4
    assert found["per_s"] == pytest.approx(300)
    assert found["changes_per_s"] == pytest.approx(200)
    assert (found["least"], found["most"]) == (1, 2)
    assert found["jain"] == pytest.approx(9 / 10)
    assert found["wait_longest_ms"] == pytest.approx(9)


def test_a_waiter_that_enters_after_the_end_has_waited_all_the_same():
    found = figures([[0, 20 * MS]], 10 * MS)

    assert (found["per_s"], found["jain"]) == (0, 0)
    assert found["wait_median_ms"] == pytest.approx(20)


COMPARED = """
from harness import Report
from tables import Case, Measure, compare
report = Report()
results = {
    "raw hiredis": [{"v": 10.0}], "C": [{"v": 8.0}, {"v": 6.0}],
    "slow": [{"v": 2.0}], "quick": [{"v": 3.5}], "gone": [None],
}
compare(report, Case("series", "threads", 1), results, [
    Measure("v", "many", "/s", "more"), Measure("v", "few", "us", "less"),
])
print(json.dumps(report.cases))
"""


def test_ours_is_held_against_the_limit_and_the_best_peer():
    (case,) = bench(COMPARED.replace('Measure("v", "few", "us", "less"),', ""))
    measure = case["measures"]["v"]

    assert measure["sides"]["C"] == {
        "median": 7.0, "least": 6.0, "most": 8.0, "values": [8.0, 6.0],
    }  # fmt: skip
    against = measure["against"]["C"]
    assert against["limit"] == pytest.approx(0.7)
    assert (against["best_peer"], against["best"]) == ("quick", pytest.approx(2))
    assert "gone" not in measure["sides"]


def test_where_less_is_better_the_best_peer_has_least():
    (case,) = bench(COMPARED.replace('Measure("v", "many", "/s", "more"),', ""))
    against = case["measures"]["v"]["against"]["C"]

    assert (against["best_peer"], against["best"]) == ("slow", pytest.approx(3.5))


def test_a_series_is_drawn_in_order_of_what_its_cases_differ_in():
    program = """
import plots
cases = [{"series": "lock, alone", "x": x} for x in (64, 1, 8)]
found = plots.by_series(cases)["lock, alone"]
print(json.dumps([plots.slug("lock, alone", "lock"), [c["x"] for c in found]]))
"""
    assert bench(program) == ["alone", [1, 8, 64]]


class Side:
    """A Python side as the benchmarks start it."""

    def __init__(self, script, *words):
        self.process = subprocess.Popen(
            [sys.executable, str(BENCH / script), *map(str, words)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
        )  # fmt: skip
        assert self.hear() == "ready"

    def hear(self):
        return json.loads(self.process.stdout.readline())

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        return self.hear()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


@pytest.mark.parametrize("kind", ["interlock", "redis-py"])
def test_a_side_answers_each_request(server, name, kind):
    with Side("worker_side.py", kind, server.tcp_url) as side:
        pairs = side.ask("pairs", name, 2, 0.05)
        acquires = side.ask("acquires", name, 0.05)
        standing = side.ask("crowd", name, 3, 0)
        began = time.monotonic()
        logs = side.ask("go", began, began + 0.05)
        waiting = side.ask("next", name, 5000)
        entered = side.hear()
        held = side.ask("hold", name, 5000)

    assert pairs["pairs"] >= 32
    assert 0 < pairs["p50_us"] <= pairs["p99_us"]
    assert 0 < acquires["p50_us"] < 1e6 / acquires["per_s"]
    assert (standing, waiting, held) == ("standing", "waiting", "held")
    assert len(logs) == 3 and all(log and log == sorted(log) for log in logs)
    assert entered / 1e9 == pytest.approx(time.monotonic(), abs=20)


@pytest.mark.parametrize("kind", ["interlock", "lists", "streams"])
def test_a_queue_side_takes_what_it_has_pushed(own_server, kind):
    with Side("worker_queue.py", kind, own_server.tcp_url) as side:
        pushed = side.ask("push", 10, 40)
        taken = side.ask("take", 10, 40)
    left = {
        "interlock": ("LLEN", "ilk:queue:ready:{bench}"),
        "lists": ("LLEN", "taken"),
        "streams": ("XLEN", "stream"),
    }[kind]

    assert pushed["messages"] == taken["messages"] == 40
    assert own_server.call(*left) == 0


def test_a_far_server_answers_later(server):
    program = f"""
import time, redis
from quorum_sides import far
with far([{server.port}], [30]) as (port,):
    it = redis.Redis(port=port)
    it.ping()
    began = time.monotonic()
    it.ping()
    print(json.dumps(time.monotonic() - began))
"""
    assert bench(program) >= 0.03


QUORUM = """
import argparse
import quorum_alone, quorum_crowd, quorum_sides
from harness import Report

# Programs that would have to be compiled first are left out.
def python_only(ports):
    quorum_sides.peers.go = lambda: None
    return {"Python": quorum_sides.kinds(ports)["Python"]}

report = Report()
for part in (quorum_alone, quorum_crowd):
    part.OURS = ("Python",)
    part.kinds = python_only
quorum_alone.round_trip = lambda ports, seconds: {"p50_us": 100.0}
PART.measure(None, report, argparse.Namespace(rounds=1, seconds=0.1))
print(json.dumps({row["what"]: row["value"] for row in report.rows}))
"""


@pytest.mark.parametrize("part", ["quorum_alone", "quorum_crowd"])
def test_a_quorum_is_measured(part):
    rows = bench(QUORUM.replace("PART", part))

    if part == "quorum_alone":
        assert rows["quorum, near: acquire / round trip, Python"] > 0
        # 4 ms, in parts of what is said to be a round trip.
        assert rows["quorum, far: acquire / round trip, Python"] >= 40
    else:
        assert 2 <= rows["quorum, Python: commands per acquisition and node"] <= 6
        assert 0 < rows["quorum, Python: Jain fairness"] <= 1
