"""The robustness map: what a method of each family is worth by the share of positives in U, its size, and a shift.

Learned by ``bench/robustness_map.py`` from situations with known truth; ``puoc assess`` asks it where data lie.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Final, Literal, NamedTuple

import numpy as np
import pandas as pd

ShiftKind = Literal["none", "new"]

ALPHAS: Final = (0.3, 0.5, 0.8, 0.95, 1.0)  # middle of each region in alpha
SIZES: Final = (50, 500, 5000)  # and in |U|, by ratio

_FAMILIES = ("OC", "PU-OC", "PU")
_BASE = "PU-OC"  # the family that the others are compared with
_LEAST_SPREAD = 0.02  # of a difference between datasets: no map is surer than that of data it has not seen


class Region(NamedTuple):
    """What the map expects where a user's data lie."""

    auc: dict[str, float]  # mean AUC by family
    lead: dict[str, float]  # mean lead over PU-OC by family
    spread: dict[str, float]  # standard deviation of the lead over situations
    base_worst: float  # share of situations in which PU-OC was the worst of the three
    n: int  # situations
    name: str


def learned(rows: pd.DataFrame) -> pd.DataFrame:
    """A row for each region, from a row for each situation with the families' AUCs (columns OC, PU-OC, PU)."""
    rows = rows.assign(worst=rows[_BASE] < rows[["OC", "PU"]].min(axis=1) - 1e-9)
    found = []
    for (shift, n_u, alpha), part in rows.groupby(["shift", "n_u", "alpha"], sort=True):
        row = {"shift": shift, "n_u": n_u, "alpha": alpha, "n": len(part), "base_worst": part["worst"].mean()}
        for family in _FAMILIES:
            lead = part[family] - part[_BASE]
            row |= {f"{family}_auc": part[family].mean(), f"{family}_lead": lead.mean()}
            row |= {f"{family}_spread": lead.std(ddof=1) if len(part) > 1 else np.nan}
        found.append(row)
    return pd.DataFrame(found)


@lru_cache(maxsize=1)
def packaged() -> pd.DataFrame:
    """The table that comes with the package."""
    with files("puoc.analysis").joinpath("maps/robustness.csv").open() as file:
        return pd.read_csv(file)


def region(table: pd.DataFrame, alpha: tuple[float, float], n_u: int, shift: ShiftKind) -> Region:
    """The mean over all alphas of the map within an interval of alpha (at least the nearest), at the nearest |U|.

    Parameters
    ----------
    alpha : lower and upper end.
    n_u : unlabelled rows; the nearest of the map's sizes by ratio.
    """
    borders = [(low + high) / 2 for low, high in pairwise(ALPHAS)]
    first, last = (int(np.searchsorted(borders, end, side="left")) for end in alpha)
    inside = ALPHAS[first : last + 1]
    rows = table[(table["shift"] == shift) & table["alpha"].isin(inside)]
    size = min(rows["n_u"].unique().tolist(), key=lambda one: abs(np.log(one / max(n_u, 1))))
    rows = rows[rows["n_u"] == size]
    within = {family: np.maximum(rows[f"{family}_spread"].fillna(0), _LEAST_SPREAD) for family in _FAMILIES}
    between = {family: rows[f"{family}_lead"].var(ddof=0) for family in _FAMILIES}
    ends = f"{inside[0]:g}" if len(inside) == 1 else f"{inside[0]:g} to {inside[-1]:g}"
    return Region(
        {family: float(rows[f"{family}_auc"].mean()) for family in _FAMILIES},
        {family: float(rows[f"{family}_lead"].mean()) for family in _FAMILIES},
        {family: float(np.sqrt((within[family] ** 2).mean() + between[family])) for family in _FAMILIES},
        float(rows["base_worst"].mean()),
        int(rows["n"].sum()),
        f"alpha {ends}, |U| {size}, {'new negatives' if shift == 'new' else 'no new negatives'}",
    )
