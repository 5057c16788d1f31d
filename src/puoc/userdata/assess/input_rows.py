"""Checks and selection of the rows of an assessment."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from puoc.datasets.readers.row_contents import ALIKE
from puoc.records import Array
from puoc.userdata.row_digests import row_digests

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
    same = {name: row_digests(rows) for name, rows in flat.items()}
    same_p, same_u = same["labelled positives"], same["unlabelled rows"]
    if len(np.unique(np.concatenate([same_p, same_u]))) == 1:
        raise ValueError("all rows of P and U are the same; at least one column that varies expected")
    notes: list[str] = []
    repeats = 1 - len(np.unique(same_p)) / len(P)
    inside = np.isin(same_u, same_p)
    if inside.all():
        raise ValueError(
            f"each of the {len(U)} unlabelled rows is a labelled one; unlabelled rows that P does not hold expected"
        )
    if inside.any() and repeats < ALIKE:
        notes.append(f"{inside.sum()} unlabelled rows repeat labelled ones and were left out of U")
        same_u = same_u[~inside]
        U = U[~inside]
        _enough("unlabelled rows that P does not hold", U)
    elif inside.any():
        notes.append(f"{inside.sum()} unlabelled rows equal labelled ones; rows repeat within P too, so they stay")
    V, same_v = flat.get("incoming rows"), same.get("incoming rows")
    if V is not None and same_v is not None and repeats < ALIKE:
        seen = np.isin(same_v, np.concatenate([same_p, same_u]))
        if seen.any():
            notes.append(f"{seen.sum()} incoming rows repeat rows of P or U and were left out")
            V, same_v = V[~seen], same_v[~seen]
            _enough("incoming rows that neither P nor U holds", V)
    for name, contents in {"labelled positives": same_p, "unlabelled rows": same_u, "incoming rows": same_v}.items():
        if contents is not None:
            notes += _repeats(name, contents)
    rng = np.random.default_rng([seed, len(P), len(U)])
    at_p, at_u = _order(P, "P", rng, notes), _order(U, "U", rng, notes)
    if V is not None:
        V = V[_order(V, "the incoming rows", rng, notes)]
    X_p, X_u = P[at_p].astype(np.float64), U[at_u].astype(np.float64)
    _, group = np.unique(np.concatenate([X_p, X_u]), axis=0, return_inverse=True)  # slow, and so of the drawn rows only
    group_p, group_u = np.split(group.ravel(), [len(X_p)])
    X_v = None if V is None else V.astype(np.float64)
    return Checked(X_p, X_u, X_v, group_p, group_u, at_p, P.shape[1], tuple(notes))


def _flat(name: str, X: Array, shape: tuple[int, ...]) -> Array:
    X = np.asarray(X)
    if X.ndim < 2 or X.shape[1:] != shape:
        raise ValueError(f"{name}: got rows of shape {X.shape[1:]}, those of P have {shape}; equal ones expected")
    _enough(name, X)
    rows: Array = X.reshape(len(X), -1)
    if not np.isfinite(rows).all():
        raise ValueError(f"{name}: got NaN or infinite values, finite numbers expected; drop or fill those rows")
    return rows


def _enough(name: str, X: Array) -> None:
    if len(X) < MIN_ROWS:
        raise ValueError(f"got {len(X)} {name}, at least {MIN_ROWS} expected")


def _repeats(name: str, rows: NDArray[np.bytes_]) -> list[str]:
    """Return a warning on repeated rows: halves keep them together, but intervals and tests count each of them."""
    repeats = len(rows) - len(np.unique(rows))
    if repeats < ALIKE * len(rows):
        return []
    return [
        f"{repeats} of {len(rows)} {name} repeat another one. Each counts as an independent row. If they are copies, "
        "intervals are too narrow and changes are found too easily"
    ]


def _order(X: Array, name: str, rng: np.random.Generator, notes: list[str]) -> NDArray[np.int64]:
    if len(X) > MAX_ROWS:
        notes.append(f"{MAX_ROWS} of the {len(X)} rows of {name} were used, drawn at random")
    return rng.permutation(len(X))[:MAX_ROWS]
