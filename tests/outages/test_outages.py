# SPDX-License-Identifier: MIT
"""Every verb, of every driver, at each topology and store, through outages.

docs/connections.md is the specification. A cell is one call of one verb by one driver
in one outage. known.txt has those that do not answer as the page says, yet.
"""

from __future__ import annotations

import collections
import dataclasses
import fnmatch
import shutil
from pathlib import Path

import pytest
import verbs
from places import PLACES, Place, StorePlace
from store_kinds import absence
from walk import DRIVERS, verbs_of, walk

KNOWN = Path(__file__).parent / "known.txt"


@dataclasses.dataclass
class Known:
    """A line of known.txt: patterns of place, kind of outage, driver and cell. One that
    begins with `~` fails sometimes."""

    text: str
    met: int = 0

    @property
    def line(self) -> str:
        return self.text.lstrip("~ ")

    @property
    def is_rare(self) -> bool:
        return self.text.startswith("~")

    def covers(self, complaint: str) -> bool:
        found = [part.strip() for part in complaint.split("|", 4)]
        wanted = [part.strip() for part in self.line.split("|", 3)]
        return all(map(fnmatch.fnmatchcase, found, wanted))

    def is_of(self, place: type[Place], kind: str) -> bool:
        wanted = [part.strip() for part in self.line.split("|", 3)]
        return all(map(fnmatch.fnmatchcase, [place.name, kind], wanted))


def known_cells() -> list[Known]:
    lines = KNOWN.read_text().splitlines() if KNOWN.exists() else []
    return [Known(line) for line in lines if "|" in line]


def judge(place: type[Place], kind: str, complaints: list[str]) -> None:
    """No cell is wrong but those that are known; none of these is right by now."""
    known = [one for one in known_cells() if one.is_of(place, kind)]
    new = []
    for complaint in complaints:
        by = [one for one in known if one.covers(complaint)]
        for one in by:
            one.met += 1
        if not by:
            new.append(complaint)
    for one in known:
        print(f"KNOWN TO FAIL: {one.met} cells: {one.line}")
    right = [one.line for one in known if not one.met and not one.is_rare]
    assert not new, f"{len(new)} cells:\n" + "\n".join(new[:200])
    assert not right, "right by now, so known.txt must not have them:\n" + "\n".join(
        right
    )


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
    judge(type(place), kind, walk(place, DRIVEN, kind))


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
