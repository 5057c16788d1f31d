"""Coverage of the intervals of a verdict, with each column's own spread and with moderated spreads, on made tables.

    python bench/moderated.py --tables 2000 --out docs/evidence/moderated.parquet

A made table has ten columns. A column has a true mean difference of 0 between ours (n seeds) and the paper's (10
repetitions), both with the column's true spread. Under ``inverse chi2`` the true spreads follow the law that moderation
assumes; under the others they do not. ``near 1`` draws AUCs of a skewed law near their upper limit.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from puoc.analysis.paper.published import REPETITIONS
from puoc.analysis.statistics.moderated import moderated_variances

COLUMNS = 10
SEEDS = (2, 3, 5, 12)
_TYPICAL = 0.02  # spread of an AUC over seeds

Floats = NDArray[np.float64]


def _equal(_: np.random.Generator) -> Floats:
    return np.full(COLUMNS, _TYPICAL)


def _inverse_chi2(df: float) -> Callable[[np.random.Generator], Floats]:
    return lambda rng: _TYPICAL * np.sqrt(df / rng.chisquare(df, COLUMNS))


def _lognormal(rng: np.random.Generator) -> Floats:
    return _TYPICAL * np.exp(rng.normal(0, 0.5, COLUMNS))


def _two_groups(_: np.random.Generator) -> Floats:
    return _TYPICAL * np.repeat([1.0, 5.0], COLUMNS // 2)


def _one_wide(_: np.random.Generator) -> Floats:
    return _TYPICAL * np.array([5.0] + [1.0] * (COLUMNS - 1))


#: True spreads of the columns by law, whether moderation's assumption holds, and whether single AUCs are normal.
LAWS: dict[str, tuple[Callable[[np.random.Generator], Floats], bool, bool]] = {
    "equal": (_equal, True, True),
    "inverse chi2, 4 df": (_inverse_chi2(4), True, True),
    "inverse chi2, 10 df": (_inverse_chi2(10), True, True),
    "lognormal, sd 0.5": (_lognormal, False, True),
    "five times one to five": (_two_groups, False, True),
    "one of ten five times wider": (_one_wide, False, True),
    "near 1": (_inverse_chi2(10), False, False),
}


def _values(rng: np.random.Generator, spread: Floats, n: int, normal: bool) -> Floats:
    """Draw n values for each column, (columns, n), with mean 0 and the column's spread."""
    if normal:
        return rng.normal(0, spread[:, None], (len(spread), n))
    return spread[:, None] * (1 - rng.exponential(1, (len(spread), n)))  # skewed to the left, as an AUC near 1


def simulate(law: str, n: int, tables: int, seed: int) -> list[dict[str, object]]:
    """Return coverage and mean half width of both intervals, for all columns and for the widest fifth of them."""
    from scipy.special import stdtrit

    draw, holds, normal = LAWS[law]
    rng = np.random.default_rng([seed, n, *law.encode()])
    covered: dict[str, list[Floats]] = {"plain": [], "moderated": []}
    widths: dict[str, list[Floats]] = {"plain": [], "moderated": []}
    wide: list[NDArray[np.bool_]] = []
    for _ in range(tables):
        spread = draw(rng)
        ours, theirs = (_values(rng, spread, size, normal) for size in (n, REPETITIONS))
        difference = ours.mean(axis=1) - theirs.mean(axis=1)
        variances = ours.var(axis=1, ddof=1)
        moderated = moderated_variances(variances, [n - 1] * COLUMNS)
        assert moderated is not None
        sides = {"plain": (variances, np.full(COLUMNS, n - 1.0)), "moderated": (moderated.variances, moderated.df)}
        for name, (variance, df) in sides.items():
            half = stdtrit(df, 0.975) * np.sqrt(variance * (1 / n + 1 / REPETITIONS))
            covered[name].append((np.abs(difference) <= half).astype(float))
            widths[name].append(half)
        wide.append(np.argsort(np.argsort(spread, kind="stable"), kind="stable") >= COLUMNS - COLUMNS // 5)
    is_wide = np.concatenate(wide)
    rows: list[dict[str, object]] = []
    for name in covered:
        hits, half = np.concatenate(covered[name]), np.concatenate(widths[name])
        rows.append(
            {
                "law": law,
                "assumption_holds": holds,
                "seeds": n,
                "interval": name,
                "tables": tables,
                "intervals": len(hits),
                "coverage": float(hits.mean()),
                # intervals of one table share its moderated spread, so the error is of the means of tables
                "coverage_error": float(hits.reshape(tables, COLUMNS).mean(axis=1).std(ddof=1) / np.sqrt(tables)),
                "coverage_widest_fifth": float(hits[is_wide].mean()),
                "half_width": float(half.mean()),
            }
        )
    return rows


def main() -> None:
    """Simulate every law and number of seeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    rows = [row for law in LAWS for n in SEEDS for row in simulate(law, n, options.tables, options.seed)]
    table = pd.DataFrame(rows)
    table.to_parquet(options.out, index=False)


if __name__ == "__main__":
    main()
