"""Draws whose P is not a random part of the positives: biased labelling, a single training set, negatives in P.

U is drawn first and as under SCAR, so that the cells of a sweep over labellings have the same U and differ in P alone.
P is drawn without replacement with probabilities proportional to the propensity: each content has a random time, which
is the same in every cell, and the rows with the smallest time / propensity are labelled. The model of true labels is
fitted on training rows that are neither in P nor in U. Rows of equal content are never on two sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from puoc.datasets.prepare.arrays import Prepared
from puoc.records import Sample
from puoc.scenarios.drawing.draws import (
    Draw,
    Mask,
    Rows,
    _of_classes,
    _ordered,
    _withheld,
    _withhold,
    draw,
    split_rows,
    stream,
)
from puoc.scenarios.drawing.propensity import FEWEST, MOST, log_propensities


@dataclass(frozen=True)
class LabelledDraw(Draw):
    """A draw with what only references and tests may know of P."""

    y_p: Mask  # (n_p,) true labels of p
    propensity: NDArray[np.float64]  # (n_p,) of p, relative to the largest among the candidates; NaN for a negative


class _Free(NamedTuple):
    """Training rows beside U, in random order."""

    positives: Rows
    negatives: Rows


def draw_labelled(prepared: Prepared, sample: Sample, seed: int) -> Draw:
    """Draw the rows of any sample; a plain one (see ``Sample.is_plain``) as ``draw``.

    Raises
    ------
    ValueError : as ``draw``; the mechanism leaves too few rows to label; the propensity cannot be fitted; there are too
        few negatives for the noise in P.
    """
    if sample.is_plain:
        return draw(prepared, sample, seed)
    n_noise = sample.n_noise or 0
    n_pos = sample.n_pos_lab - n_noise
    single = sample.setting is not None
    base = draw(prepared, _plain(sample, n_pos, n_noise), seed)
    key = (prepared.name, sample.pos, sample.neg, seed)
    train = split_rows(prepared, seed).train
    free = _free(prepared, sample, train, base, key)
    in_u = base.u[base.y_u]
    n_known = _n_known(prepared, sample, n_pos, len(free.positives), len(free.negatives))
    known = free.positives[len(free.positives) - n_known :], free.negatives[len(free.negatives) - n_known :]
    candidates = in_u if single else free.positives[: len(free.positives) - n_known]
    candidates = _apart(prepared, candidates, base.u[~base.y_u], *known)
    weights = log_propensities(sample.labelling, prepared, candidates, known, _of_classes(prepared, train, sample.pos))
    if sample.labelling is None and not single:
        positives = base.p[:n_pos]
    else:
        positives = _raced(prepared, sample, candidates, weights, n_pos, key)
    noise = free.negatives[: len(free.negatives) - n_known]
    if single:  # not in the order of U, which would tell the class of those that stay
        noise = _ordered(prepared, base.u[~base.y_u], stream("labelling negatives", *key))
    noise = _apart(prepared, noise, positives, *known, in_u if single else base.u)
    noise = _first_whole(prepared, noise, n_noise, single)
    if len(noise) < n_noise:
        raise ValueError(
            f"{prepared.name}: {n_noise} negatives wanted in P, {len(noise)} available in train "
            f"{'among the negatives of the sample' if single else 'beside U'}; expected a smaller p_noise, or fewer "
            "negatives in U"
        )
    of_row = dict(zip(candidates.tolist(), np.exp(weights - weights.max(initial=-np.inf)).tolist(), strict=True))
    return _labelled(prepared, sample, base, positives, noise, of_row, key)


def _plain(sample: Sample, n_pos: int, n_noise: int) -> Sample:
    """Return the plain sample that has U, or the single training set, as its U. Nothing of it is withheld yet."""
    taken = (n_pos, n_noise) if sample.setting else (0, 0)
    return sample.model_copy(
        update={
            "labelling": None,
            "setting": None,
            "n_noise": None,
            "holdout": 0.0,
            "n_pos_unl": (sample.n_pos_unl or 0) + taken[0],
            "n_neg_unl": (sample.n_neg_unl or 0) + taken[1],
        }
    )


def _free(prepared: Prepared, sample: Sample, train: Rows, base: Draw, key: tuple[object, ...]) -> _Free:
    train = _apart(prepared, train, base.u)
    return _Free(
        _ordered(prepared, _of_classes(prepared, train, sample.pos), stream("labelling positives", *key)),
        _ordered(prepared, _of_classes(prepared, train, sample.neg or ()), stream("labelling negatives", *key)),
    )


def known_count(free_pos: int, free_neg: int, n_pos: int, n_noise: int, single: bool) -> int:
    """Return the number of rows of each class that the model of the true labels is fitted on, at most ``MOST``.

    Parameters
    ----------
    free_pos, free_neg : training rows beside U.
    n_pos, n_noise : positives and negatives of P.
    single : P is taken out of the sample that has U, so all rows beside U are free for the model.
    """
    if not single:
        free_pos, free_neg = min(free_pos // 2, free_pos - n_pos), free_neg - n_noise
    return max(0, min(MOST, free_pos, free_neg))


def _n_known(prepared: Prepared, sample: Sample, n_pos: int, free_pos: int, free_neg: int) -> int:
    if sample.labelling is None or not sample.labelling.needs_model:
        return 0
    n_known = known_count(free_pos, free_neg, n_pos, sample.n_noise or 0, sample.setting is not None)
    if n_known < FEWEST:
        raise ValueError(too_few_known(n_known, prepared.name))
    return n_known


def too_few_known(n_known: int, dataset: str) -> str:
    """Return the message for a propensity that cannot be fitted."""
    return (
        f"{dataset}: the propensity is fitted on training rows that are neither in P nor in U, and {n_known} of each "
        f"class are left; expected at least {FEWEST}: fewer rows of P or U, or sar: linear or by_class, which need none"
    )


def _apart(prepared: Prepared, rows: Rows, *others: Rows) -> Rows:
    """Return the rows that have the content of no other row."""
    for other in others:
        rows = rows[~np.isin(prepared.group[rows], prepared.group[other])]
    return rows


def _raced(
    prepared: Prepared,
    sample: Sample,
    candidates: Rows,
    weights: NDArray[np.float64],
    n: int,
    key: tuple[object, ...],
) -> Rows:
    """Return n candidates, drawn without replacement with probabilities proportional to exp(weights)."""
    uniform = stream("labelling race", *key).random(len(prepared.y))
    time = np.log(-np.log1p(-uniform))[prepared.group[candidates]] - weights
    able = np.isfinite(weights)
    able &= ~np.isin(prepared.group[candidates], prepared.group[candidates[~able]])  # no content is on two sides
    if able.sum() < n:
        name = sample.labelling.label if sample.labelling else "scar"
        raise ValueError(
            f"{prepared.name}: labelling {name} leaves {int(able.sum())} positives that can be labelled, {n} wanted; "
            "expected a smaller strength or n_pos_lab"
        )
    ordered = candidates[able][np.argsort(time[able], kind="stable")]
    chosen = _first_whole(prepared, ordered, n, sample.setting is not None)
    if len(chosen) < n:
        raise ValueError(
            f"{prepared.name}: {len(chosen)} of {n} positives can be taken out of U without a row of equal content "
            "that stays; expected a smaller n_pos_lab"
        )
    return chosen


def _first_whole(prepared: Prepared, rows: Rows, n: int, whole: bool) -> Rows:
    """Return the first n rows. If ``whole``, a content whose rows do not all fit is passed over."""
    if not whole or len(np.unique(prepared.group[rows])) == len(rows):
        return rows[:n]
    chosen: list[int] = []
    for content in dict.fromkeys(prepared.group[rows].tolist()):
        members = rows[prepared.group[rows] == content].tolist()
        if len(chosen) + len(members) <= n:
            chosen += members
    return np.array(chosen, dtype=np.int64)


def _labelled(
    prepared: Prepared,
    sample: Sample,
    base: Draw,
    positives: Rows,
    noise: Rows,
    of_row: dict[int, float],
    key: tuple[object, ...],
) -> LabelledDraw:
    """Return the draw with P of these rows, its parts withheld and in random order."""
    (pos, pos_held), (neg, neg_held) = _withhold(positives, sample.holdout), _withhold(noise, sample.holdout)
    p, p_held = np.concatenate([pos, neg]), np.concatenate([pos_held, neg_held])
    order = stream("labelling order", *key).permutation(len(p))
    p_held = p_held[stream("labelling held order", *key).permutation(len(p_held))]
    stays = ~np.isin(base.u, np.concatenate([positives, noise]))  # all of U, unless P is taken out of it
    u, y_u = base.u[stays], base.y_u[stays]
    parts = [_withhold(u[side], sample.holdout) for side in (y_u, ~y_u)]
    is_kept = np.isin(u, np.concatenate([kept for kept, _ in parts]))
    u_held = np.concatenate([held for _, held in parts])
    u_held = u_held[stream("labelling U held order", *key).permutation(len(u_held))]
    u, y_u = u[is_kept], y_u[is_kept]
    if sample.holdout:  # the last rows of each class are withheld, so the order of the others would tell the class
        in_order = stream("labelling U order", *key).permutation(len(u))
        u, y_u = u[in_order], y_u[in_order]
    p, is_pos = p[order], order < len(pos)
    known = [of_row.get(row, np.nan) if yes else np.nan for row, yes in zip(p.tolist(), is_pos.tolist(), strict=True)]
    return LabelledDraw(
        p=p,
        u=u,
        y_u=y_u,
        p_held=_withheld(prepared, p, p_held, sample.holdout, "P"),
        u_held=_withheld(prepared, u, u_held, sample.holdout, "U"),
        y_p=is_pos,
        propensity=np.array(known),
    )
