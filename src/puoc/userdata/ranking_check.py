"""Whether a method ranks labelled positives that it has not seen above unlabelled rows, checked after every fit.

A model that does not is useless, and its scores look like any others. The labelled positives and the unlabelled rows
are split in two halves, a model is fitted to each half, and scores the other one. The two models are as expensive as
one more fit, or less: at most ``MOST`` rows of each kind take part. The model that is written is not changed.

A one-class method that withheld positives for its threshold needs no further fit: the written model has seen neither
those positives nor an unlabelled row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from puoc.analysis.statistics.auc import auc
from puoc.analysis.statistics.auc_interval import auc_interval
from puoc.methods.persistence.header import Ranking, Threshold
from puoc.records import Array
from puoc.registry import ENCODERS, METHODS
from puoc.userdata.row_digests import row_digests

MOST = 2000  # rows of each kind that take part
_FEWEST = 4  # of each kind in a half
_OTHERS = "Another --method, --encoder or other --params may fit these rows"
_DOUBTED = "Check the labels of the test rows, and whether they are of the same kind as P and U"
_ALIKE = 0.5  # share of rows that equal another one, from which rows are taken to repeat by nature

#: Fits a model to rows of P and U, and returns its scores (n,) of rows.
FitScorer = Callable[[Array, Array], Callable[[Array], Array]]


class AucInterval(NamedTuple):
    """An AUC with its 95 % interval."""

    auc: float
    low: float
    high: float


class _Side(NamedTuple):
    """Masks of the rows that are learned from; the others are scored."""

    p: NDArray[np.bool_]
    u: NDArray[np.bool_]


def seen_by_nothing(held: Array, unlabelled: Array) -> Ranking:
    """Return the ranking by scores of the written model, which has learned from neither kind of rows."""
    return _ranking([(held, unlabelled)])


def cross_fitted(X_p: Array, X_u: Array, fit: FitScorer, seed: int) -> Ranking | str:
    """Return the ranking by models fitted to halves of the rows, or in words why there is none.

    Parameters
    ----------
    X_p, X_u : stored rows (n, *shape).
    """
    rng = np.random.default_rng([seed, 16])
    X_p, X_u = (X[np.sort(rng.permutation(len(X))[:MOST])] for X in (X_p, X_u))
    keys = [row_digests(X).tolist() for X in (X_p, X_u)]
    if len({*keys[0], *keys[1]}) < (1 - _ALIKE) * (len(X_p) + len(X_u)):  # rows repeat by nature, as yes/no columns do
        keys = [[str(i).encode() for i in range(len(X_p))], [str(-1 - i).encode() for i in range(len(X_u))]]
    else:  # copies count once
        X_p, X_u = (X[_first(own)] for X, own in zip((X_p, X_u), keys, strict=True))
        keys = [list(dict.fromkeys(own)) for own in keys]
    first = _half(keys[0], keys[1], rng)
    scores = []
    for side in (first, _Side(~first.p, ~first.u)):
        fewest = min(int(mask.sum()) for mask in (*side, ~side.p, ~side.u))
        if fewest < _FEWEST:
            return f"a half of the different rows would be {fewest} rows"
        try:
            score = fit(X_p[side.p], X_u[side.u])
        except (ValueError, FloatingPointError, RuntimeError, np.linalg.LinAlgError) as error:
            return f"half of the rows are too few for a fit ({error})"
        scores.append((score(X_p[~side.p]), score(X_u[~side.u])))
    return _ranking(scores)


def is_of_written_model(method: str, encoder: str | None, threshold: Threshold | None) -> bool:
    """Return True if the written model was checked itself, not models of half of the rows.

    Parameters
    ----------
    method, encoder : registered names.
    threshold : of the model. All but that by alpha mean that positives were withheld.
    """
    sees_u = METHODS[method].kind != "oc" or hasattr(ENCODERS.get(encoder or ""), "learns_from")
    return not sees_u and threshold is not None and threshold.by != "alpha"


def warning_of(ranking: Ranking, *, of_written: bool, test: AucInterval | None = None) -> str | None:
    """Return the warning of a model that is not shown to rank positives above unlabelled rows; None for others.

    Parameters
    ----------
    of_written : as ``is_of_written_model``.
    test : AUC of the written model on labelled test rows, if there are any. A contradiction to it is named.
    """
    on_test = "" if test is None else f"an AUC of {test.auc:.3f} (95 % interval {test.low:.3f} to {test.high:.3f})"
    who, rank = ("this model", "ranks") if of_written else ("models fitted to half of the rows", "rank")
    if ranking.low > 0.5:
        if test is None or test.high >= 0.5:
            return None
        return (
            "WARNING: the two checks of the ranking contradict each other. On the test rows, this model has "
            f"{on_test}, which is worse than chance. But {who} {rank} labelled positives above unlabelled rows: "
            f"{described(ranking)}. {_DOUBTED}"
        )
    if ranking.high < 0.5:
        too = "" if of_written else ", so this one may too"
        found = f"WARNING: {who} {rank} labelled positives BELOW unlabelled rows{too}: "
        if test is not None and test.low > 0.5:
            found += f"{described(ranking)}. The test rows contradict this: on them, this model has {on_test}"
            return f"{found}. {_DOUBTED}"
        scores = "are worse than chance; do not use them" if of_written else "may be worse than chance"
        return f"{found}{described(ranking)}. Its scores {scores}. {_OTHERS}"
    either = "" if of_written else ", so this one may not either"
    verb = "is" if of_written else "are"
    found = f"WARNING: {who} {verb} not shown to rank labelled positives above unlabelled rows{either}: "
    found += f"{described(ranking)}, which includes chance (.5). "
    if test is not None and test.low > 0.5:
        return f"{found}But on the test rows, this model has {on_test}, which is better than chance"
    reasons = "Its scores may be no better than chance, U may be nearly all positive, or there are too few rows to tell"
    return f"{found}{reasons}"


def described(ranking: Ranking) -> str:
    """Return the AUC with its interval and the numbers of rows."""
    return (
        f"AUC {ranking.auc:.3f} (95 % interval {ranking.low:.3f} to {ranking.high:.3f}) of {ranking.positives} "
        f"labelled positives against {ranking.unlabelled} unlabelled rows, none of which was learned from"
    )


def _ranking(scores: Sequence[tuple[Array, Array]]) -> Ranking:
    n_p, n_u = (sum(len(side[kind]) for side in scores) for kind in (0, 1))
    found = sum(len(p) * auc(p, u, "the check of the ranking") for p, u in scores) / n_p
    low, high = auc_interval(found, n_p, n_u)
    return Ranking(auc=found, low=low, high=high, positives=n_p, unlabelled=n_u)


def _first(keys: Sequence[bytes]) -> list[int]:
    """Return the first position of every key, in order."""
    return list({key: place for place, key in reversed(list(enumerate(keys)))}.values())[::-1]


def _half(keys_p: Sequence[bytes], keys_u: Sequence[bytes], rng: np.random.Generator) -> _Side:
    """Return half of the rows. A row of U is in the same half as an equal row of P."""
    chosen: dict[bytes, bool] = {}
    for keys in (keys_p, keys_u):
        new = [key for key in keys if key not in chosen]
        for place, index in enumerate(rng.permutation(len(new))):
            chosen[new[index]] = place % 2 == 0
    return _Side(np.array([chosen[key] for key in keys_p]), np.array([chosen[key] for key in keys_u]))
