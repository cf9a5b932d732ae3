# SPDX-License-Identifier: MIT
"""Every verb, of every driver, at each topology and store, through outages.

docs/connections.md is the specification. A cell is one call of one verb by one driver
in one outage.
"""

from __future__ import annotations

import collections
import shutil

import pytest
import verbs
from places import PLACES, Place, StorePlace
from store_kinds import absence
from walk import DRIVERS, verbs_of, walk


def have_or_skip(place: type[Place]) -> None:
    if issubclass(place, StorePlace):
        lacks = absence(place.kind.scheme)
        if lacks:
            lacks.report()


DRIVEN = [one for one in DRIVERS if one != "Lua" or shutil.which("lua5.4")]
KINDS = ("back", "gone", "frozen", "failover")


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(one, id=one.name, marks=pytest.mark.xdist_group(one.name))
        for one in PLACES
    ],
)
def place(request):
    have_or_skip(request.param)
    running = request.param()
    try:
        yield running
    finally:
        running.stop()


@pytest.mark.parametrize("kind", KINDS)
def test_every_verb_ends_as_the_page_says(place, kind):
    if kind == "failover" and not place.fails_over:
        pytest.skip("no other server takes the place of one")
    wrong = walk(place, DRIVEN, kind)
    assert not wrong, f"{len(wrong)} cells:\n" + "\n".join(wrong[:200])


def test_every_function_that_blocks_has_a_row():
    assert verbs.blocking() == set(verbs.VERBS) | set(verbs.LEFT_OUT)


def test_every_row_is_called_by_the_drivers_that_have_the_verb():
    called = collections.Counter()
    for driver in DRIVEN:
        called.update(verbs_of(None, driver))

    assert set(called) == set(verbs.VERBS)
    assert sorted(called) == sorted(verbs.VERBS)
    for verb in verbs.VERBS:
        if verb not in verbs.C_ALONE:
            assert called[verb] >= 4, f"{verb}: {called[verb]} drivers"
