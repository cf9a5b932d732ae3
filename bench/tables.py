# SPDX-License-Identifier: MIT
"""Tables of sides: ours beside the limit and the peers, and their ratios.

A case is one measurement of all sides, such as a hundred waiters; cases of
one series differ in one number, such as the waiters, and make one plot.
"""

from __future__ import annotations

import statistics
from dataclasses import asdict, dataclass

from harness import Report

LIMIT = "raw hiredis"
OURS = ("C", "Python")
MORE, LESS = "more", "less"  # what is better


@dataclass(frozen=True)
class Measure:
    key: str
    title: str
    unit: str = ""
    better: str = LESS


@dataclass(frozen=True)
class Case:
    series: str
    x_name: str
    x: float


Results = dict[str, list]


def middle(values: list[float]) -> dict:
    return {
        "median": statistics.median(values), "least": min(values),
        "most": max(values), "values": values,
    }  # fmt: skip


def against(measure: Measure, sides: dict[str, dict], ours: str) -> dict:
    """Our median in parts of the limit's and of the best peer's."""
    value = sides[ours]["median"]
    peers = {
        name: found["median"]
        for name, found in sides.items()
        if name != LIMIT and name not in OURS
    }
    found = {}
    if sides.get(LIMIT, {}).get("median"):
        found["limit"] = value / sides[LIMIT]["median"]
    if peers:
        best = (max if measure.better == MORE else min)(peers, key=peers.get)
        found["best_peer"] = best
        if peers[best]:
            found["best"] = value / peers[best]
    return found


def compare(
    report: Report, case: Case, results: Results, measures: list[Measure]
) -> None:
    """Keep the case and print it: the figures, then the ratios."""
    kept = keep(report, case, results, measures)
    print(f"\n{case.series}; {case.x_name}: {case.x:,.0f}")
    rows = {
        f"{name} (limit)" if name == LIMIT else name: {
            key: measure["sides"].get(name) for key, measure in kept.items()
        }
        for name in results
    }
    print("\n".join([*figures(kept, rows), "", *ratios(kept)]), flush=True)


def keep(
    report: Report, case: Case, results: Results, measures: list[Measure]
) -> dict[str, dict]:
    kept = {}
    for measure in measures:
        sides = {
            name: middle([result[measure.key] for result in rounds])
            for name, rounds in results.items()
            if all(result and result.get(measure.key) is not None for result in rounds)
        }
        kept[measure.key] = {
            "title": measure.title, "unit": measure.unit, "better": measure.better,
            "sides": sides,
            "against": {o: against(measure, sides, o) for o in OURS if o in sides},
        }  # fmt: skip
    report.cases.append({**asdict(case), "measures": kept, "rounds": results})
    return kept


def show_series(report: Report, series: str, name: str) -> None:
    """One side's figures, a line for each case of the series."""
    cases = [case for case in report.cases if case["series"] == series]
    rows = {
        f"{case['x']:,.0f} {case['x_name']}": {
            key: measure["sides"][name] for key, measure in case["measures"].items()
        }
        for case in cases
    }
    print(f"\n{series}, {name}")
    print("\n".join(figures(cases[0]["measures"], rows)), flush=True)


def figures(measures: dict, rows: dict[str, dict]) -> list[str]:
    """Medians, and how far the rounds are apart; in columns by measure."""
    heads = [(m["title"], m["unit"]) for m in measures.values()]
    lines = [f"{'':<24}" + "".join(f"{head[i]:>17}" for head in heads) for i in (0, 1)]
    for label, found in rows.items():
        cells = [cell(found[key]) for key in measures]
        lines.append(f"{label:<24}" + "".join(f"{one:>17}" for one in cells))
    return lines


def cell(found: dict | None) -> str:
    if found is None:
        return "-"
    spread = (found["most"] - found["least"]) / 2
    share = spread / found["median"] * 100 if found["median"] else 0
    return f"{number(found['median'])} ±{share:3.0f}%"


def number(value: float) -> str:
    return f"{value:,.{0 if abs(value) >= 1000 else 1 if abs(value) >= 10 else 3}f}"


def ratios(kept: dict) -> list[str]:
    """A line for each measure of ours."""
    lines = [
        f"{'':<40}{'better':>8}{'ours / limit':>14}{'ours / best peer':>18}  best peer"
    ]
    for measure in kept.values():
        for ours, found in measure["against"].items():
            limit = f"{found['limit']:,.2f}" if "limit" in found else "-"
            best = f"{found['best']:,.2f}" if "best" in found else "-"
            what = f"{measure['title']}, {ours}"
            lines.append(f"{what:<40}{measure['better']:>8}{limit:>14}{best:>18}"
                         f"  {found.get('best_peer', '-')}")  # fmt: skip
    return lines
