"""Functions of plain arrays: the class prior, an assessment, and rows to try things on. ``puoc`` exports them."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from puoc.methods.training.estimator import PUSample
from puoc.methods.training.fitting import estimate_prior
from puoc.userdata.assess.decision import Assessment
from puoc.userdata.assess.decision import assess as _assess
from puoc.userdata.settings import Part, settings


class MadeRows(NamedTuple):
    """Rows drawn by ``make_pu``."""

    X: NDArray[np.float64]  # (n_p + n_u, d), the labelled positives first
    y: NDArray[np.int64]  # (n_p + n_u,) 1 labelled, 0 unlabelled
    truth: NDArray[np.int64]  # (n_p + n_u,) 1 positive, 0 negative, which no method may see


def tice(X_p: ArrayLike, X_u: ArrayLike, *, random_state: int = 0, **hyperparameters: Any) -> float:
    """Estimate the class prior alpha, the share of positives among the unlabelled rows, by TIcE.

    The estimate assumes that labelled positives are a random sample of the positives. It is the one of ``puoc fit``
    on these columns before they are scaled; TIcE scales each to [0, 1] itself.

    Parameters
    ----------
    X_p : (n_p, d) labelled positives, finite numbers in any unit.
    X_u : (n_u, d) unlabelled rows.
    random_state : seed of the folds.
    hyperparameters : those of TIcE that replace the packaged ones, such as ``folds=10``.

    Returns
    -------
    Alpha in [0, 1].

    Raises
    ------
    ValueError : too few rows, rows of different shapes, values that are not finite, or an unknown hyperparameter.

    Source: Bekker and Davis (2018), Estimating the Class Prior in Positive and Unlabeled Data through Decision Tree
    Induction.

    Examples
    --------
    >>> from puoc import make_pu, tice
    >>> X, y, _ = make_pu(n_p=300, n_u=600, alpha=0.4, separation=6.0, random_state=0)
    >>> 0.3 < tice(X[y == 1], X[y == 0]) < 0.5
    True
    """
    from puoc.userdata.estimators.words import errors_in_arguments

    P, U = _rows("X_p", X_p), _rows("X_u", X_u)
    if P.shape[1:] != U.shape[1:]:
        raise ValueError(f"X_u has rows of shape {U.shape[1:]}; expected {P.shape[1:]}, as X_p has")
    part = settings("nnpu", prior="tice").prior
    assert isinstance(part, Part), "an estimator was named"
    with errors_in_arguments():
        return estimate_prior("tice", part.params | hyperparameters, PUSample(P, U, None, random_state))


def assess(X_p: ArrayLike, X_u: ArrayLike, X_incoming: ArrayLike | None = None, *, random_state: int = 0) -> Assessment:
    """Assess whether OC, PU-OC or PU methods can be trusted on these rows, as ``puoc assess``.

    Parameters
    ----------
    X_p : (n_p, d) labelled positives, finite numbers in any unit; at least 20.
    X_u : (n_u, d) unlabelled rows; at least 20.
    X_incoming : (n_v, d) rows as they come in now, for the test of a distribution shift; at least 20.
    random_state : seed of the halves of the rows.

    Returns
    -------
    An ``Assessment``: ``answer`` ("OC", "PU-OC", "PU" or "cannot tell"), ``advice``, ``reasons`` and ``evidence``.
    ``print`` shows it in lines; ``model_dump()`` gives plain values.

    Raises
    ------
    ValueError : the rows are too few, not finite, all equal or of different shapes, or all of X_u is in X_p.

    Source: docs/reliability.md, with the measured error rates.

    Examples
    --------
    >>> from puoc import assess, make_pu
    >>> X, y, _ = make_pu(n_p=60, n_u=120, alpha=0.5, random_state=0)
    >>> result = assess(X[y == 1], X[y == 0])
    >>> result.answer in ("OC", "PU-OC", "PU", "cannot tell")
    True
    >>> str(result).splitlines()[0] == f"answer: {result.verdict}"
    True
    """
    return _assess(
        _rows("X_p", X_p),
        _rows("X_u", X_u),
        None if X_incoming is None else _rows("X_incoming", X_incoming),
        seed=random_state,
    )


def make_pu(
    n_p: int = 100,
    n_u: int = 200,
    *,
    alpha: float = 0.5,
    d: int = 5,
    separation: float = 3.0,
    random_state: int = 0,
) -> MadeRows:
    """Draw labelled positives and unlabelled rows from two normal distributions.

    Positives are N(0, I), and negatives N(m, I) with a vector m of length ``separation`` and equal components. The
    number of positives among the unlabelled rows is exact, and their order is random.

    Parameters
    ----------
    n_p, n_u : numbers of labelled positives and of unlabelled rows, at least 1.
    alpha : share of positives among the unlabelled rows, in [0, 1]; n_u times it is rounded.
    d : columns.
    separation : distance of the means, in standard deviations; the best AUC is Phi(separation / sqrt(2)).
    random_state : seed of the draw.

    Returns
    -------
    ``X`` (n_p + n_u, d) with the labelled positives first, ``y`` (1 labelled, 0 unlabelled), and ``truth`` (1 positive,
    0 negative).

    Raises
    ------
    ValueError : a number that is not whole or below 1, alpha outside [0, 1], or a separation that is not finite.

    Source: ours; no dataset of the benchmark.

    Examples
    --------
    >>> from puoc import make_pu
    >>> X, y, truth = make_pu(n_p=10, n_u=20, alpha=0.25)
    >>> X.shape, int(y.sum()), int(truth[y == 0].sum())
    ((30, 5), 10, 5)
    """
    whole = all(isinstance(number, Integral) and number >= 1 for number in (n_p, n_u, d))
    if not whole or not isinstance(alpha, Real) or not 0 <= alpha <= 1:
        raise ValueError(
            f"got n_p={n_p}, n_u={n_u}, d={d}, alpha={alpha}; expected whole numbers of at least 1, and alpha in [0, 1]"
        )
    if not isinstance(separation, Real) or not np.isfinite(separation):
        raise ValueError(f"separation: got {separation!r}; expected a finite number")
    rng = np.random.default_rng(random_state)
    n_pos = round(alpha * n_u)
    truth = np.concatenate([np.ones(n_p + n_pos, dtype=np.int64), np.zeros(n_u - n_pos, dtype=np.int64)])
    X = rng.standard_normal((n_p + n_u, d)) + (1 - truth)[:, None] * separation / np.sqrt(d)
    order = np.concatenate([np.arange(n_p), n_p + rng.permutation(n_u)])
    y = (np.arange(n_p + n_u) < n_p).astype(np.int64)
    return MadeRows(X[order], y, truth[order])


def _rows(name: str, X: ArrayLike) -> NDArray[Any]:
    """Return rows (n, *shape) of numbers. Raises ValueError for anything else."""
    rows = np.asarray(X)
    if rows.dtype.kind not in "biuf" or rows.ndim < 2:
        raise ValueError(f"{name}: got {rows.dtype} of shape {rows.shape}; expected numbers of shape (n, d)")
    return np.asarray(rows, order="C")
