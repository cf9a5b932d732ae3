# SPDX-License-Identifier: MIT
"""A proxy before etcd that lies ends, hangs and bloats no process of its clients."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "shared"))

import store_calls
from cluster import PATIENCE
from etcd_store import Etcd
from lying_etcd import FLOODS, Flood, LyingEtcd, RevisionsGoBack, Spoils
from store_kinds import CHOSEN, absence

WAIT_S = 2.0
LATE_S = 1.0
RSS_MB = 64.0


@pytest.fixture(scope="module")
def etcd() -> Iterator[Etcd]:
    if "etcd" not in CHOSEN:
        pytest.skip("ILK_TEST_STORES names others")
    lacks = absence("etcd")
    if lacks:
        lacks.report()
    with Etcd() as running:
        yield running


def calls(server: LyingEtcd, *names: str) -> store_calls.Report:
    limits = (len(names) + 3) * 3 * (WAIT_S + LATE_S)
    return store_calls.run(server.url(), names, WAIT_S, limits * PATIENCE)


def check(report: store_calls.Report) -> None:
    assert report.status == 0, report
    assert not report.late(LATE_S * PATIENCE), report.late(LATE_S * PATIENCE)
    assert report.rss_mb < RSS_MB, report.rss_mb


def test_an_honest_proxy_changes_nothing(etcd: Etcd) -> None:
    with LyingEtcd(etcd.ports[0]) as proxy:
        report = calls(proxy, "acquire", "extend", "release", "campaign", "resign")

    check(report)
    assert [one.result for one in report.calls[1:6]] == ["True"] * 5, report.calls
    assert proxy.connections == 1


@pytest.mark.parametrize("flood", FLOODS, ids=lambda one: one.__name__)
def test_frames_that_bring_nothing_delay_no_call(
    etcd: Etcd, flood: type[Flood]
) -> None:
    with flood(etcd.ports[0]) as proxy:
        report = calls(proxy, "acquire", "inspect", "set", "wait")

    check(report)
    assert 1 <= proxy.faults <= 60, proxy.faults


def test_frames_that_are_spoilt_by_chance_end_no_process(etcd: Etcd) -> None:
    seed = int(os.environ.get("ILK_TEST_SEED", "7"))
    names = ["acquire", "extend", "release", "campaign", "resign", "set", "get"] * 4
    with Spoils(etcd.ports[0], random.Random(seed)) as proxy:
        report = calls(proxy, *names)

    check(report)
    assert proxy.faults > 0


def test_revisions_that_go_back_get_few_calls(etcd: Etcd) -> None:
    with LyingEtcd(etcd.ports[0]) as holder:
        holding = calls(holder, "acquire")
    with RevisionsGoBack(etcd.ports[0]) as proxy:
        report = calls(proxy, "acquire", "campaign")

    check(holding)
    check(report)
    assert proxy.faults > 0
    assert proxy.calls <= 100, proxy.calls
