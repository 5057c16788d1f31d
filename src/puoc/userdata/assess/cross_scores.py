"""Scores of rows that no part of their model saw: P and U are halved, each half is scored by what the other gave."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from puoc.analysis.reliability.alpha import combined_p
from puoc.analysis.reliability.gain import placements
from puoc.analysis.reliability.paper_tests import two_sample_p
from puoc.records import Array
from puoc.userdata.assess.input_rows import Checked
from puoc.userdata.assess.reference_methods import Family, fit, fit_one

Scores = dict[Family, NDArray[np.float64]]


class Half(NamedTuple):
    """Scores by family, of models fitted to the other half."""

    p: Scores
    u: Scores
    v: Scores  # of all incoming rows; empty where there are none
    place_p: NDArray[np.int64]  # of the rows of P in their file


class CrossFitScores(NamedTuple):
    """Both halves."""

    halves: list[Half]


class _Sides(NamedTuple):
    fit_p: NDArray[np.bool_]
    fit_u: NDArray[np.bool_]


def crossed(of: Checked, seed: int) -> CrossFitScores:
    """Fit all families to each half and score the other. Raises ValueError where a half has too few rows."""
    halves = []
    for number, side in enumerate(_sides(of, seed)):
        fitted = fit(of.X_p[side.fit_p], of.X_u[side.fit_u], seed + number)
        later: Scores = {} if of.X_v is None else fitted.scores(of.X_v)
        of_p, of_u = fitted.scores(of.X_p[~side.fit_p]), fitted.scores(of.X_u[~side.fit_u])
        halves.append(Half(of_p, of_u, later, of.place_p[~side.fit_p]))
    return CrossFitScores(halves)


def order_p(found: CrossFitScores) -> float:
    """p-value that labelled rows of the first and of the last half of the file score alike, by the one-class method."""
    p_values = []
    for half in found.halves:
        late = half.place_p >= np.median(half.place_p)
        p_values.append(two_sample_p(half.p["OC"][~late], half.p["OC"][late]))
    return combined_p(p_values)


def learning_curve(of: Checked, seed: int) -> list[tuple[int, float]]:
    """|U| that the PU method learned from, and its AUC of withheld P against withheld U: a quarter, a half, all."""
    points = []
    for part in (4, 2, 1):
        aucs, sizes = [], []
        for number, side in enumerate(_sides(of, seed)):
            X_u: Array = of.X_u[side.fit_u]
            X_u = X_u[: max(len(X_u) // part, 1)]
            seen, model = fit_one("PU", of.X_p[side.fit_p], X_u, seed + number)
            f_p, f_u = (model.decision_function(seen(X)) for X in (of.X_p[~side.fit_p], of.X_u[~side.fit_u]))
            aucs.append(placements(f_p, f_u)[0].mean())
            sizes.append(len(X_u))
        points.append((round(float(np.mean(sizes))), float(np.mean(aucs))))
    return points


def _sides(of: Checked, seed: int) -> list[_Sides]:
    """Two complementary halves; equal rows are on one side."""
    rng = np.random.default_rng([seed, 2])
    fit_p, fit_u = _half(of.group_p, rng), _half(of.group_u, rng)
    shared = np.intersect1d(of.group_p, of.group_u)
    if len(shared):  # a row of U goes where its like in P goes
        side = dict(zip(of.group_p.tolist(), fit_p.tolist(), strict=True))
        fit_u = np.array([side.get(group, own) for group, own in zip(of.group_u.tolist(), fit_u.tolist(), strict=True)])
    for name, mask in (("P", fit_p), ("U", fit_u)):
        fewer = int(min(mask.sum(), (~mask).sum()))
        if fewer < 10:
            raise ValueError(
                f"{name} has so few different rows that a half would be {fewer} rows; at least 10 expected"
            )
    return [_Sides(fit_p, fit_u), _Sides(~fit_p, ~fit_u)]


def _half(group: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Half of the rows, whole groups at a time."""
    _, at, count = np.unique(group, return_inverse=True, return_counts=True)
    order = rng.permutation(len(count))
    before = np.cumsum(count[order]) - count[order]
    chosen = np.zeros(len(count), dtype=np.bool_)
    chosen[order] = before < len(group) / 2
    found: NDArray[np.bool_] = chosen[at.ravel()]
    return found
