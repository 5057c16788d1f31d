"""Cross-fitted scores: P and U are halved, and each half is scored by models that are fitted to the other half."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from puoc.analysis.reliability.alpha import combined_p
from puoc.analysis.reliability.gain import placements
from puoc.analysis.reliability.two_sample import two_sample_p
from puoc.records import Array
from puoc.userdata.assess.input_rows import Checked
from puoc.userdata.assess.reference_methods import FAMILIES, Family, fit, fit_one, values_seen

Scores = dict[Family, NDArray[np.float64]]


class Half(NamedTuple):
    """Scores by family, of models fitted to the other half."""

    p: Scores
    u: Scores
    v: Scores  # of all incoming rows; empty where there are none
    place_p: NDArray[np.int64]  # positions of the rows of P in their file


class CrossFitScores(NamedTuple):
    """Scores of both halves."""

    halves: list[Half]


class _Sides(NamedTuple):
    fit_p: NDArray[np.bool_]
    fit_u: NDArray[np.bool_]


def crossed(rows: Checked, seed: int, families: Sequence[Family] = FAMILIES) -> CrossFitScores:
    """Fit families to each half and score the other half.

    The scores of a family do not depend on the other families.

    Raises
    ------
    ValueError : a half has too few rows.
    """
    halves = []
    for number, side in enumerate(_sides(rows, seed)):
        fitted = fit(rows.X_p[side.fit_p], rows.X_u[side.fit_u], seed + number, values_of(rows), families)
        incoming: Scores = {} if rows.X_v is None else fitted.scores(rows.X_v)
        of_p, of_u = fitted.scores(rows.X_p[~side.fit_p]), fitted.scores(rows.X_u[~side.fit_u])
        halves.append(Half(of_p, of_u, incoming, rows.place_p[~side.fit_p]))
    return CrossFitScores(halves)


def values_of(rows: Checked) -> int:
    """Return the number of components by which the rows are seen; it is the same in both halves."""
    return values_seen(rows.columns, len(rows.X_p) + len(rows.X_u))


def order_p(scores: CrossFitScores) -> float:
    """Return the p-value of equal scores of the first and the last half of P in the file, by the one-class method."""
    p_values = []
    for half in scores.halves:
        late = half.place_p >= np.median(half.place_p)
        p_values.append(two_sample_p(half.p["OC"][~late], half.p["OC"][late]))
    return combined_p(p_values)


def learning_curve(rows: Checked, seed: int, scores: CrossFitScores) -> list[tuple[int, float]]:
    """Return |U| of the PU method and its AUC of withheld P against withheld U, for a quarter, a half and all of U.

    Parameters
    ----------
    scores : as ``crossed`` has them of the same rows and seed; those with all of U are taken from here.
    """
    points = []
    for part in (4, 2):
        aucs, sizes = [], []
        for number, side in enumerate(_sides(rows, seed)):
            X_u: Array = rows.X_u[side.fit_u]
            X_u = X_u[: max(len(X_u) // part, 1)]
            seen, model = fit_one("PU", rows.X_p[side.fit_p], X_u, seed + number, values_of(rows))
            f_p, f_u = (model.decision_function(seen(X)) for X in (rows.X_p[~side.fit_p], rows.X_u[~side.fit_u]))
            aucs.append(placements(f_p, f_u)[0].mean())
            sizes.append(len(X_u))
        points.append((round(float(np.mean(sizes))), float(np.mean(aucs))))
    aucs = [placements(half.p["PU"], half.u["PU"])[0].mean() for half in scores.halves]
    points.append((round(float(np.mean([side.fit_u.sum() for side in _sides(rows, seed)]))), float(np.mean(aucs))))
    return points


def _sides(rows: Checked, seed: int) -> list[_Sides]:
    """Return two complementary halves; equal rows are in the same half."""
    rng = np.random.default_rng([seed, 2])
    fit_p, fit_u = _half(rows.group_p, rng), _half(rows.group_u, rng)
    shared = np.intersect1d(rows.group_p, rows.group_u)
    if len(shared):  # a row of U is in the same half as an equal row of P
        side = dict(zip(rows.group_p.tolist(), fit_p.tolist(), strict=True))
        fit_u = np.array(
            [side.get(group, own) for group, own in zip(rows.group_u.tolist(), fit_u.tolist(), strict=True)]
        )
    for name, mask in (("P", fit_p), ("U", fit_u)):
        fewer = int(min(mask.sum(), (~mask).sum()))
        if fewer < 10:
            raise ValueError(
                f"{name} has so few different rows that a half would be {fewer} rows; at least 10 expected"
            )
    return [_Sides(fit_p, fit_u), _Sides(~fit_p, ~fit_u)]


def _half(group: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return a mask of half of the rows; a group of equal rows is not split."""
    _, place, count = np.unique(group, return_inverse=True, return_counts=True)
    order = rng.permutation(len(count))
    before = np.cumsum(count[order]) - count[order]
    chosen = np.zeros(len(count), dtype=np.bool_)
    chosen[order] = before < len(group) / 2
    mask: NDArray[np.bool_] = chosen[place.ravel()]
    return mask
