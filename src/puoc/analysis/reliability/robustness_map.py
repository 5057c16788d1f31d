"""The robustness map: AUCs of the three families by the share of positives in U, the size of U, and a shift.

``bench/robustness_map.py`` computes it from situations with known truth. ``puoc assess`` looks up the region of a
user's data.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Final, Literal, NamedTuple

import numpy as np
import pandas as pd

ShiftKind = Literal["none", "new"]

ALPHAS: Final = (0.3, 0.5, 0.8, 0.95, 1.0)  # centre of each region in alpha
SIZES: Final = (50, 500, 5000)  # centre of each region in |U|, by ratio
LABELLED: Final = (80, 300)  # fewest and most labelled positives of a situation
COLUMNS: Final = (2, 784)  # fewest and most values of a row

_FAMILIES = ("OC", "PU-OC", "PU")
_BASE = "PU-OC"  # the family that the others are compared with
_FEW_SITUATIONS = 4  # with fewer, the spread of a region is unreliable
_MIN_SPREAD = 0.02  # of a difference between datasets: the map is not more certain for data that it does not include


class Region(NamedTuple):
    """The expected results in the region of a user's data."""

    auc: dict[str, float]  # mean AUC by family
    lead: dict[str, float]  # mean lead over PU-OC by family
    spread: dict[str, float]  # standard deviation of the lead over situations
    base_worst: float  # share of situations in which PU-OC was the worst of the three
    n: int  # situations
    name: str


@lru_cache(maxsize=1)
def packaged() -> pd.DataFrame:
    """Read the table that is included in the package."""
    with files("puoc.analysis.reliability").joinpath("robustness.csv").open() as file:
        return pd.read_csv(file)


def region(table: pd.DataFrame, alpha: tuple[float, float], n_u: int, shift: ShiftKind) -> Region:
    """Average the map over all its alphas within an interval (at least the nearest), at the nearest |U|.

    Parameters
    ----------
    alpha : lower and upper end.
    n_u : number of unlabelled rows; at each alpha, the size of the map that is nearest by ratio is used.
    """
    inside = alphas_within(*alpha)
    rows = table[(table["shift"] == shift) & table["alpha"].isin(inside)]
    rows = rows.assign(distance=np.log(rows["n_u"] / max(n_u, 1)).abs()).sort_values("distance", kind="stable")
    rows = rows.drop_duplicates("alpha").sort_values("alpha")
    within = {family: _spread(table[table["shift"] == shift], rows, family) for family in _FAMILIES}
    between = {family: rows[f"{family}_lead"].var(ddof=0) for family in _FAMILIES}
    sizes = sorted(rows["n_u"].unique().tolist())
    return Region(
        {family: float(rows[f"{family}_auc"].mean()) for family in _FAMILIES},
        {family: float(rows[f"{family}_lead"].mean()) for family in _FAMILIES},
        {family: float(np.sqrt((within[family] ** 2).mean() + between[family])) for family in _FAMILIES},
        float(rows["base_worst"].mean()),
        int(rows["n"].sum()),
        f"alpha {_ends(inside)}, |U| {_ends(sizes)}, {'new negatives' if shift == 'new' else 'no new negatives'}",
    )


def alphas_within(low: float, high: float) -> tuple[float, ...]:
    """Return the alphas of the map within an interval, or at least the nearest."""
    borders = [(lower + upper) / 2 for lower, upper in pairwise(ALPHAS)]
    first, last = (int(np.searchsorted(borders, end, side="left")) for end in (low, high))
    return ALPHAS[first : last + 1]


def _spread(table: pd.DataFrame, rows: pd.DataFrame, family: str) -> pd.Series[float]:
    """Return the spread of each row; with few situations, whose data may be alike, at least the mean spread."""
    own, usual = rows[f"{family}_spread"].fillna(0), table[f"{family}_spread"].mean()
    floor = np.where(rows["n"] < _FEW_SITUATIONS, max(usual, _MIN_SPREAD), _MIN_SPREAD)
    return own.clip(lower=pd.Series(floor, index=rows.index))


def _ends(values: Sequence[float]) -> str:
    return f"{values[0]:g}" if len(values) == 1 else f"{values[0]:g} to {values[-1]:g}"
