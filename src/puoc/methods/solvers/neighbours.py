"""Distances of rows to their nearest neighbours among reference rows."""

from __future__ import annotations

import numpy as np

from puoc.records import Array

_TREE_UP_TO = 15  # columns; a k-d tree visits nearly all rows beyond
_VALUES_AT_ONCE = 4_000_000  # distances in memory, in double precision 32 MB
_TINY = 1e-12  # distance between equal rows, so that its logarithm is finite


def kept(X: Array, most: int, seed: int) -> Array:
    """Return all rows, or ``most`` of them drawn at random and in their order, in double precision."""
    if len(X) > most:
        X = X[np.sort(np.random.default_rng(seed).choice(len(X), most, replace=False))]
    return np.asarray(X, dtype=np.float64)


def distances(reference: Array, X: Array, k: int, *, to_itself: bool = False) -> Array:
    """Return the Euclidean distances to the ``k`` nearest reference rows, in rising order.

    Parameters
    ----------
    reference : (m, d) rows.
    X : (n, d) rows.
    k : at most m, or m - 1 with ``to_itself``.
    to_itself : X are the reference rows themselves, and no row counts as its own neighbour.

    Returns
    -------
    (n, k) distances, float64, at least 1e-12.
    """
    reference, X = np.asarray(reference, dtype=np.float64), np.asarray(X, dtype=np.float64)
    if not len(X):
        return np.empty((0, k))
    wanted = k + to_itself
    if reference.shape[1] <= _TREE_UP_TO:
        from scipy.spatial import cKDTree

        near = cKDTree(reference).query(X, k=wanted)[0].reshape(len(X), wanted)
    else:
        near = _brute_force(reference, X, wanted)
    # a row's own distance is 0, so it comes first; an equal row takes the same place
    found: Array = np.maximum(near[:, 1:] if to_itself else near, _TINY)
    return found


def _brute_force(reference: Array, X: Array, k: int) -> Array:
    from scipy.spatial.distance import cdist

    near = np.empty((len(X), k))
    at_once = max(_VALUES_AT_ONCE // len(reference), 1)
    for start in range(0, len(X), at_once):
        of_all = cdist(X[start : start + at_once], reference)
        near[start : start + at_once] = np.sort(np.partition(of_all, k - 1, axis=1)[:, :k], axis=1)
    return near


def within(reference: Array, X: Array, radius: Array) -> Array:
    """Return the numbers of reference rows within a distance of each row.

    Parameters
    ----------
    reference : (m, d) rows.
    X : (n, d) rows.
    radius : (n,) distances.
    """
    reference, X = np.asarray(reference, dtype=np.float64), np.asarray(X, dtype=np.float64)
    counts = np.zeros(len(X))
    if reference.shape[1] <= _TREE_UP_TO and len(X):
        from scipy.spatial import cKDTree

        counts[:] = cKDTree(reference).query_ball_point(X, radius, return_length=True)
        return counts
    from scipy.spatial.distance import cdist

    at_once = max(_VALUES_AT_ONCE // len(reference), 1)
    for start in range(0, len(X), at_once):
        rows = slice(start, start + at_once)
        counts[rows] = (cdist(X[rows], reference) <= radius[rows, None]).sum(axis=1)
    return counts
