"""Checks and selection of the rows of an assessment."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from puoc.datasets.readers.row_contents import ALIKE
from puoc.records import Array

MIN_ROWS: Final = 20  # of P, of U and of V; half of them are scored
MAX_ROWS: Final = 5000  # of each that are used


class Checked(NamedTuple):
    """Checked rows in random order, with notes on them."""

    X_p: Array  # (n_p, columns) float64
    X_u: Array
    X_v: Array | None
    group_p: NDArray[np.int64]  # (n_p,) equal numbers: equal rows, of P and U together
    group_u: NDArray[np.int64]
    place_p: NDArray[np.int64]  # (n_p,) position of a row of P in the file, from 0
    columns: int
    notes: tuple[str, ...]


def checked(X_p: Array, X_u: Array, X_v: Array | None, seed: int) -> Checked:
    """Check the rows, remove rows of P from U, and draw at most 5,000 rows of each.

    Raises
    ------
    ValueError : as ``assess``.
    """
    parts = {"labelled positives": X_p, "unlabelled rows": X_u} | ({} if X_v is None else {"incoming rows": X_v})
    flat = {name: _flat(name, X, np.asarray(X_p).shape[1:]) for name, X in parts.items()}
    P, U = flat["labelled positives"], flat["unlabelled rows"]
    if not (np.ptp(np.concatenate([P, U]), axis=0) > 0).any():
        raise ValueError("all rows of P and U are the same; at least one column that varies expected")
    _, group = np.unique(np.concatenate([P, U]), axis=0, return_inverse=True)
    group_p, group_u = np.split(group.ravel(), [len(P)])
    notes: list[str] = []
    repeats = 1 - len(np.unique(group_p)) / len(P)
    inside = np.isin(group_u, group_p)
    if inside.all():
        raise ValueError(
            f"each of the {len(U)} unlabelled rows is a labelled one; unlabelled rows that P does not hold expected"
        )
    if inside.any() and repeats < ALIKE:
        notes.append(f"{inside.sum()} unlabelled rows repeat labelled ones and were left out of U")
        U, group_u = U[~inside], group_u[~inside]
        _enough("unlabelled rows that P does not hold", U)
    elif inside.any():
        notes.append(f"{inside.sum()} unlabelled rows equal labelled ones; rows repeat within P too, so they stay")
    V = flat.get("incoming rows")
    if V is not None and repeats < ALIKE:
        seen = _in(V, np.concatenate([P, U]))
        if seen.any():
            notes.append(f"{seen.sum()} incoming rows repeat rows of P or U and were left out")
            V = V[~seen]
            _enough("incoming rows that neither P nor U holds", V)
    for name, rows in {"labelled positives": P, "unlabelled rows": U, "incoming rows": V}.items():
        if rows is not None:
            notes += _repeats(name, rows)
    rng = np.random.default_rng([seed, len(P), len(U)])
    at_p, at_u = _order(P, "P", rng, notes), _order(U, "U", rng, notes)
    if V is not None:
        V = V[_order(V, "the incoming rows", rng, notes)]
    return Checked(P[at_p], U[at_u], V, group_p[at_p], group_u[at_u], at_p, P.shape[1], tuple(notes))


def _flat(name: str, X: Array, shape: tuple[int, ...]) -> Array:
    X = np.asarray(X)
    if X.ndim < 2 or X.shape[1:] != shape:
        raise ValueError(f"{name}: got rows of shape {X.shape[1:]}, those of P have {shape}; equal ones expected")
    _enough(name, X)
    rows = X.reshape(len(X), -1).astype(np.float64)
    if not np.isfinite(rows).all():
        raise ValueError(f"{name}: got NaN or infinite values, finite numbers expected; drop or fill those rows")
    return rows


def _enough(name: str, X: Array) -> None:
    if len(X) < MIN_ROWS:
        raise ValueError(f"got {len(X)} {name}, at least {MIN_ROWS} expected")


def _repeats(name: str, rows: Array) -> list[str]:
    """Return a warning on repeated rows: halves keep them together, but intervals and tests count each of them."""
    repeats = len(rows) - len(np.unique(rows, axis=0))
    if repeats < ALIKE * len(rows):
        return []
    return [
        f"{repeats} of {len(rows)} {name} repeat another one; if they are copies, not rows alike by nature, intervals "
        "are too narrow and changes are found too easily, since each counts as an independent row"
    ]


def _in(rows: Array, others: Array) -> NDArray[np.bool_]:
    _, group = np.unique(np.concatenate([others, rows]), axis=0, return_inverse=True)
    of_others, of_rows = np.split(group.ravel(), [len(others)])
    is_in: NDArray[np.bool_] = np.isin(of_rows, of_others)
    return is_in


def _order(X: Array, name: str, rng: np.random.Generator, notes: list[str]) -> NDArray[np.int64]:
    if len(X) > MAX_ROWS:
        notes.append(f"{MAX_ROWS} of the {len(X)} rows of {name} were used, drawn at random")
    return rng.permutation(len(X))[:MAX_ROWS]
