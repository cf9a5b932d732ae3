# SPDX-License-Identifier: MIT
"""Draw what build/bench/*.json has: a picture for each series of cases.

`./dev bench --plot` writes docs/plots/NAME-SERIES.svg and a page with all of
them. Points are medians, whiskers reach from the least round to the most.
"""

from __future__ import annotations

import itertools
import json
import re
import sys
from pathlib import Path

from harness import OUT, ROOT
from peers import python_place
from tables import LIMIT, MORE, OURS

PLOTS = ROOT / "docs" / "plots"
PANEL = (4.2, 3.2)  # inches of one measure
COLUMNS = 4
WIDE = 20  # from this ratio on an axis is logarithmic, else it begins at 0

# Ours and the limit look the same everywhere, peers as they come.
STYLES = {
    LIMIT: {"color": "black", "linestyle": "--", "marker": "None"},
    "C": {"color": "#c1121f", "linewidth": 2.5, "marker": "o"},
    "Python": {"color": "#f77f00", "linewidth": 2.5, "marker": "s"},
}
PEER_COLORS = [
    "#1f77b4", "#2ca02c", "#9467bd", "#8c564b", "#17becf", "#7f7f7f", "#bcbd22",
    "#e377c2",
]  # fmt: skip


def main() -> int:
    if python_place("matplotlib") is None:
        return 1
    sys.path.insert(0, str(OUT / "matplotlib"))
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update(
        {"svg.hashsalt": "interlock", "svg.fonttype": "none", "font.size": 9}
    )
    PLOTS.mkdir(parents=True, exist_ok=True)
    drawn: dict[str, Path] = {}
    for found in sorted(OUT.glob("*.json")):
        drawn.update(draw(found))
    for path in drawn.values():
        print(path.relative_to(ROOT))
    if not drawn:
        print(f"bench: nothing to draw in {OUT}; measure first", file=sys.stderr)
        return 1
    (PLOTS / "README.md").write_text(page(drawn))
    return 0


def draw(source: Path) -> dict[str, Path]:
    """All series of one benchmark, and where each is drawn."""
    report = json.loads(source.read_text())
    drawn = {}
    for series, cases in by_series(report.get("cases", [])).items():
        drawn[series] = PLOTS / f"{source.stem}-{slug(series, source.stem)}.svg"
        picture(series, cases, footnote(report), drawn[series])
    return drawn


def page(drawn: dict[str, Path]) -> str:
    """All pictures one below the other."""
    lines = [
        "<!-- SPDX-License-Identifier: MIT -->",
        "# Pictures of what was measured",
        "",
        "Drawn by `./dev bench --plot`; the figures and what they mean are in",
        "[performance.md](../performance.md).",
    ]
    for series, path in drawn.items():
        lines += ["", f"## {series}", "", f"![{series}]({path.name})"]
    return "\n".join(lines) + "\n"


def by_series(cases: list[dict]) -> dict[str, list[dict]]:
    found: dict[str, list[dict]] = {}
    for case in cases:
        found.setdefault(case["series"], []).append(case)
    return {name: sorted(own, key=lambda c: c["x"]) for name, own in found.items()}


def slug(series: str, name: str) -> str:
    """The series as a file's name, without the benchmark's."""
    words = re.sub(r"[^a-z0-9]+", "-", series.lower()).strip("-")
    return words.removeprefix(f"{name}-")


def footnote(report: dict) -> str:
    machine = report["machine"]
    rounds = {
        len(side["values"])
        for case in report["cases"]
        for measure in case["measures"].values()
        for side in measure["sides"].values()
    }
    counted = "/".join(map(str, sorted(rounds)))
    return (
        f"{machine['cpu']}; {machine['kernel']}; {machine['server']}; "
        f"load {machine['load']}; medians of {counted} rounds, whiskers: least to most"
    )


def picture(series: str, cases: list[dict], note: str, target: Path) -> None:
    from matplotlib.figure import Figure

    measures = cases[0]["measures"]
    columns = min(COLUMNS, max(1, -(-len(measures) // 2)))
    rows = -(-len(measures) // columns)
    figure = Figure((PANEL[0] * columns, PANEL[1] * rows + 0.9), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).flatten()
    styles = styles_of(cases)
    for panel, key in zip(panels, measures):
        (lines if len(cases) > 1 else bars)(panel, cases, key, styles)
    for panel in panels[len(measures) :]:
        panel.axis("off")
    figure.suptitle(series, fontsize=13)
    if len(cases) > 1:
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right upper")
    figure.supxlabel(note, fontsize=7, color="#666666")
    figure.savefig(target, metadata={"Date": None})


def styles_of(cases: list[dict]) -> dict[str, dict]:
    names = dict.fromkeys(
        name
        for case in cases
        for measure in case["measures"].values()
        for name in measure["sides"]
    )
    colors = itertools.cycle(PEER_COLORS)
    return {
        name: STYLES.get(name) or {"color": next(colors), "marker": "."}
        for name in names
    }


def title(measure: dict) -> str:
    unit = f", {measure['unit']}" if measure["unit"] else ""
    better = "more" if measure["better"] == MORE else "less"
    return f"{measure['title']}{unit} ({better} is better)"


def lines(panel: object, cases: list[dict], key: str, styles: dict) -> None:
    """A line for each side over what the cases differ in."""
    for name, style in styles.items():
        found = [
            (case["x"], case["measures"][key]["sides"][name])
            for case in cases
            if name in case["measures"][key]["sides"]
        ]
        if not found:
            continue
        xs, ys = [x for x, _ in found], [side["median"] for _, side in found]
        whiskers = [
            [side["median"] - side["least"] for _, side in found],
            [side["most"] - side["median"] for _, side in found],
        ]
        panel.errorbar(xs, ys, yerr=whiskers, label=name, capsize=2,
                       elinewidth=0.8, **style)  # fmt: skip
    panel.set_xscale("log")
    least, most = extent(cases, key)
    if 0 < least < most / WIDE:
        panel.set_yscale("log")
    else:
        panel.set_ylim(0, 1.1 * most or 1)
    panel.set_xticks(
        [case["x"] for case in cases], labels=[f"{case['x']:,.0f}" for case in cases]
    )
    panel.minorticks_off()
    panel.grid(alpha=0.3)
    panel.set_title(title(cases[0]["measures"][key]), fontsize=9)
    panel.set_xlabel(cases[0]["x_name"])


def extent(cases: list[dict], key: str) -> tuple[float, float]:
    sides = [s for case in cases for s in case["measures"][key]["sides"].values()]
    return min(s["least"] for s in sides), max(s["most"] for s in sides)


def bars(panel: object, cases: list[dict], key: str, styles: dict) -> None:
    """One case: a bar for each side."""
    measure = cases[0]["measures"][key]
    for place, (name, side) in enumerate(measure["sides"].items()):
        whiskers = [[side["median"] - side["least"]], [side["most"] - side["median"]]]
        panel.barh(place, side["median"], xerr=whiskers, capsize=2,
                   color=styles[name]["color"],
                   alpha=1.0 if name in OURS else 0.6)  # fmt: skip
    panel.set_yticks(range(len(measure["sides"])), labels=list(measure["sides"]))
    panel.invert_yaxis()
    panel.locator_params(axis="x", nbins=5)
    panel.grid(axis="x", alpha=0.3)
    panel.set_title(title(measure), fontsize=9)
