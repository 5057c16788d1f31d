"""Draw the figures of the documentation from known densities and from the rows committed in docs/evidence.

python docs/figures.py            # write docs/assets/figures
python docs/figures.py --check    # exit 1 if a figure is not what the code draws
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from svg import Panel, figure, legend

DOCS = Path(__file__).parent
EVIDENCE = DOCS / "evidence"
FIGURES = DOCS / "assets" / "figures"
Floats = NDArray[np.float64]
#: A family of methods and the series that draws it.
FAMILIES = {"OC": "a", "PU": "b", "PU-OC": "c"}
_BOX = ((-5.0, 5.0), (-4.0, 4.0))
_ALPHA = 0.5
_IN_U = (2.3, 0.0)  # mean of the negatives of U


def _normal(points: Floats, mean: tuple[float, float], sd: float) -> Floats:
    """Density of a round normal distribution at points (..., 2)."""
    return np.exp(-((points - np.array(mean)) ** 2).sum(axis=-1) / (2 * sd**2)) / (2 * np.pi * sd**2)


def _scores(points: Floats) -> dict[str, Floats]:
    """Ideal score of each family by the known densities; that of PU-OC is the excess of docs/tables.md."""
    (left, right), (bottom, top) = _BOX
    even = 1 / ((right - left) * (top - bottom))
    p, q = _normal(points, (0, 0), 1.0), _normal(points, _IN_U, 1.0)
    excess = np.log(p) - np.log((1 - _ALPHA) * q + _ALPHA * even)
    return {"OC": np.log(p), "PU": np.log(p) - np.log(q), "PU-OC": excess}


def families() -> str:
    """What OC, PU and PU-OC methods accept, with negatives of U on one side and new ones on the other."""
    rng = np.random.default_rng(3)
    many = {name: rng.normal(mean, sd, size=(20_000, 2)) for name, mean, sd in _KINDS}
    P, in_u, new = (rows[:count] for rows, count in zip(many.values(), (40, 20, 14), strict=True))
    U = np.concatenate([many["positives"][100:120], in_u])
    edges = [np.linspace(*ends, count + 1) for ends, count in zip(_BOX, (100, 80), strict=True)]
    grid = np.stack(np.meshgrid(*((edge[1:] + edge[:-1]) / 2 for edge in edges)), axis=-1)
    panels = []
    for number, (family, series) in enumerate(FAMILIES.items()):
        panel = Panel(36 + number * 300, 28, 280, 224, *_BOX)
        level = float(np.quantile(_scores(many["positives"])[family], 0.05))
        panel.region(_scores(grid)[family], level, series)
        panel.frame(_LEARNS[family])
        panel.dots(U, "soft", hollow=True)
        panel.dots(P, "a")
        panel.dots(new, "b")
        taken = {name: (_scores(rows)[family] >= level).mean() for name, rows in many.items()}
        panel.below(
            f"accepts {taken['in U']:.0%} of the negatives of U", f"and {taken['new']:.0%} of the new negatives"
        )
        panels.append(panel)
    key = legend(("a", "labelled positives P"), ("soft", "unlabelled rows U", True), ("b", "new negatives, not in U"))
    return figure("The region that each family accepts: " + ", ".join(_LEARNS.values()), panels, key)


_LEARNS = {"OC": "OC learns from P alone", "PU": "PU learns P against U", "PU-OC": "PU-OC does both"}
_KINDS = (("positives", (0, 0), 1.0), ("in U", _IN_U, 1.0), ("new", (-3.3, -1.9), 0.5))


def alpha() -> str:
    """Density of U for three values of alpha, as the sum of positives and negatives."""
    x = np.linspace(-3.5, 6.5, 101)
    p, q = (np.exp(-((x - mean) ** 2) / 2) / np.sqrt(2 * np.pi) for mean in (0, 3))
    panels = []
    for number, share in enumerate((0.1, 0.5, 0.9)):
        panel = Panel(36 + number * 300, 28, 280, 150, (-3.5, 6.5), (0, 0.4))
        panel.frame(f"alpha = {share}")
        positive, both = share * p, share * p + (1 - share) * q
        panel.area([*zip(x, positive, strict=True), (6.5, 0), (-3.5, 0)], "a", 0.45)
        panel.area([*zip(x, both, strict=True), *zip(x[::-1], positive[::-1], strict=True)], "b", 0.3)
        panel.line(zip(x, both, strict=True), "ink", 1.5)
        panel.below("value of a row")
        panels.append(panel)
    key = legend(("a", "positives in U"), ("b", "negatives in U"), ("ink", "all of U"))
    return figure("Density of U for alpha 0.1, 0.5 and 0.9", panels, key)


def labelling() -> str:
    """Density of the labelled positives if each positive is as likely to be labelled, and if it depends on the row."""
    x = np.linspace(-3.5, 3.5, 101)
    p = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    panels = []
    for number, (title, slope) in enumerate((("at random (SCAR)", 0.0), ("not at random (SAR)", 2.5))):
        chance = np.full_like(x, 0.3) if not slope else 1 / (1 + np.exp(-slope * (x - 1)))
        labelled = p * chance / (p * chance).sum() / (x[1] - x[0])
        panel = Panel(36 + number * 400, 28, 370, 160, (-3.5, 3.5), (0, 0.75))
        panel.frame(title)
        panel.area([*zip(x, labelled, strict=True), (3.5, 0), (-3.5, 0)], "a", 0.35)
        panel.line(zip(x, p, strict=True), "ink", 1.8)
        panel.line(zip(x, chance * 0.7, strict=True), "b")
        panel.below("value of a row")
        panels.append(panel)
    key = legend(("ink", "all positives"), ("a", "labelled positives P"), ("b", "chance of a label"))
    return figure("All positives and labelled ones, by two kinds of labelling", panels, key)


def _map_rows() -> pd.DataFrame:
    rows = pd.read_parquet(EVIDENCE / "robustness_map.parquet")
    return rows[rows["n_u"] == 500]


_TITLES = {"none": "negatives as in U", "new": "new negatives"}


def alpha_near_1() -> str:
    """Mean AUC of each family by alpha, on negatives as in U and on new ones, of the robustness map."""
    rows = _map_rows()
    panels = []
    for number, (shift, title) in enumerate(_TITLES.items()):
        means = rows[rows["shift"] == shift].groupby("alpha")[list(FAMILIES)].mean()
        panel = Panel(36 + number * 400, 28, 360, 220, (0.25, 1.05), (0.4, 1.0))
        panel.ticks(x=means.index.tolist(), y=(0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0))
        panel.frame(f"mean AUC, {title}")
        for family, series in FAMILIES.items():
            panel.line(zip(means.index, means[family], strict=True), series)
            panel.dots(zip(means.index, means[family], strict=True), series, 4)
        panel.below("alpha, the share of positives in U", first=36)
        panels.append(panel)
    return figure("Mean AUC of each family by alpha", panels, _FAMILY_KEY)


_FAMILY_KEY = legend(*((series, family) for family, series in FAMILIES.items()))


def shift() -> str:
    """Mean AUC of each family on negatives as in U and on new ones, for three values of alpha."""
    rows = _map_rows()
    panels = []
    for number, share in enumerate((0.3, 0.5, 0.8)):
        means = rows[rows["alpha"] == share].groupby("shift")[list(FAMILIES)].mean().loc[list(_TITLES)]
        panel = Panel(36 + number * 300, 28, 256, 200, (-0.4, 1.4), (0.6, 1.0))
        panel.ticks(x=(0, 1), y=(0.6, 0.7, 0.8, 0.9, 1.0), words=("as in U", "new"))
        panel.frame(f"mean AUC, alpha = {share}")
        for family, series in FAMILIES.items():
            panel.line(enumerate(means[family]), series)
            panel.dots(enumerate(means[family]), series, 4)
        panel.below("negatives among the test rows", first=36)
        panels.append(panel)
    return figure("Mean AUC of each family without and with new negatives", panels, _FAMILY_KEY)


def tests() -> str:
    """How often puoc assess reports new negatives, by their share of the negatives, rows and data."""
    rows = pd.read_parquet(EVIDENCE / "assess_power.parquet")
    rows = rows[(rows["finding"] == "new negatives in V") & (rows["alpha"] == 0.5)]
    sizes = dict(zip(sorted(rows["n_u"].unique()), "bca", strict=True))
    panels = []
    for number, kind in enumerate(("gaussian", "pendigits", "mnist5k")):
        panel = Panel(36 + number * 300, 28, 256, 200, (-0.08, 1.08), (0, 1))
        panel.ticks(x=sorted(rows["new"].unique()), y=(0, 0.25, 0.5, 0.75, 1))
        panel.frame(f"share of reports, {kind}")
        for size, series in sizes.items():
            part = rows[(rows["kind"] == kind) & (rows["n_u"] == size)].sort_values("new")
            for new, low, high in zip(part["new"], part["low"], part["high"], strict=True):
                panel.spread(new, low, high, series)
            panel.line(zip(part["new"], part["rate"], strict=True), series)
            panel.dots(zip(part["new"], part["rate"], strict=True), series, 4)
        panel.below("new ones among the negatives of V", first=36)
        panels.append(panel)
    key = legend(*((series, f"{size} rows in U and V") for size, series in sizes.items()))
    return figure("How often new negatives are reported, with 95 % intervals", panels, key)


DRAWN: dict[str, Callable[[], str]] = {
    "families": families,
    "alpha": alpha,
    "shift": shift,
    "labelling": labelling,
    "alpha-near-1": alpha_near_1,
    "tests": tests,
}


def main() -> None:
    """Write the figures, or check them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a figure is old")
    asked = parser.parse_args()
    FIGURES.mkdir(parents=True, exist_ok=True)
    stale = []
    for name, draw in DRAWN.items():
        path, drawn = FIGURES / f"{name}.svg", draw()
        if not path.exists() or path.read_text() != drawn:
            stale.append(name)
            if not asked.check:
                path.write_text(drawn)
    if asked.check and stale:
        sys.exit(f"{', '.join(stale)}: a figure differs from what docs/figures.py draws; run it")


if __name__ == "__main__":
    main()
