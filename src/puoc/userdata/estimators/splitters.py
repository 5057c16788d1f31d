"""Splitters of scikit-learn's kind for positive and unlabelled rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import BaseCrossValidator

from puoc.userdata.estimators.labels import labels_of
from puoc.userdata.estimators.rows import is_frame, plain_rows
from puoc.userdata.row_digests import row_digests

Split = tuple[NDArray[np.int64], NDArray[np.int64]]


class PUKFold(BaseCrossValidator):  # type: ignore[misc]
    """K folds, each with its share of labelled positives and of unlabelled rows.

    Equal rows are in one fold, whatever their labels: U often holds copies of labelled rows, and a model must not be
    tested on a row that it was fitted to.

    Parameters
    ----------
    n_splits : folds, at least 2.
    shuffle : whether rows are drawn at random; False keeps the order of the rows.
    random_state : seed of the draw.
    pos_label : label of positives in y, as for ``PUClassifier``.

    Raises
    ------
    ValueError : in ``split``: no labels, fewer than 2 folds, or fewer groups of P or of U than folds.

    Source: ours; folds keep their shares as those of ``sklearn.model_selection.StratifiedGroupKFold``.

    Examples
    --------
    >>> import numpy as np
    >>> from puoc import PUKFold
    >>> X, y = np.arange(12.0)[:, None], np.array([1, 0, 0] * 4)
    >>> [int(y[test].sum()) for _, test in PUKFold(4).split(X, y)]
    [1, 1, 1, 1]
    """

    def __init__(
        self, n_splits: int = 5, *, shuffle: bool = True, random_state: Any = 0, pos_label: Any = None
    ) -> None:
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state
        self.pos_label = pos_label

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """Yield the positions of training and test rows, (n_train,) and (n_test,).

        Parameters
        ----------
        X : (n, *shape) rows.
        y : (n,) 1 for labelled positives, 0 or -1 for unlabelled rows.
        groups : (n,) rows of one group are in one fold; absent: equal rows are a group.

        Raises
        ------
        ValueError : no labels, or fewer groups of P or of U than folds.
        """
        if not isinstance(self.n_splits, int | np.integer) or self.n_splits < 2:
            raise ValueError(f"n_splits: got {self.n_splits!r}; expected a whole number from 2 on")
        labelled, of_group = _groups(X, y, groups, self.pos_label)
        fold_of = _folds(labelled, of_group, self.n_splits, _generator(self.random_state) if self.shuffle else None)
        for fold in range(self.n_splits):
            test = fold_of == fold
            yield np.flatnonzero(~test), np.flatnonzero(test)


class PUShuffleSplit(BaseCrossValidator):  # type: ignore[misc]
    """Random splits in which the test part has its share of labelled positives and of unlabelled rows.

    Equal rows are on one side of a split, as in ``PUKFold``.

    Parameters
    ----------
    n_splits : number of splits.
    test_size : share of the rows in the test part, in (0, 1).
    random_state : seed of the draws.
    pos_label : label of positives in y, as for ``PUClassifier``.

    Raises
    ------
    ValueError : in ``split``: no labels, a ``test_size`` outside (0, 1), or fewer than 2 different rows of P or of U.

    Source: ours; the interface is that of ``sklearn.model_selection.ShuffleSplit``.

    Examples
    --------
    >>> import numpy as np
    >>> from puoc import PUShuffleSplit
    >>> X, y = np.arange(12.0)[:, None], np.array([1, 0, 0] * 4)
    >>> [(len(train), len(test)) for train, test in PUShuffleSplit(2, test_size=0.25).split(X, y)]
    [(9, 3), (9, 3)]
    """

    def __init__(
        self, n_splits: int = 10, *, test_size: float = 0.2, random_state: Any = 0, pos_label: Any = None
    ) -> None:
        self.n_splits = n_splits
        self.test_size = test_size
        self.random_state = random_state
        self.pos_label = pos_label

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits."""
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """Yield the positions of training and test rows. Parameters and errors as ``PUKFold.split``."""
        if not 0 < self.test_size < 1:
            raise ValueError(f"test_size: got {self.test_size!r}; expected a share of the rows in (0, 1)")
        labelled, of_group = _groups(X, y, groups, self.pos_label)
        rng = _generator(self.random_state)
        for _ in range(self.n_splits):
            test = np.zeros(len(labelled), dtype=np.bool_)
            for side in _sides(labelled, of_group):
                order = rng.permutation(side)
                n = min(max(round(self.test_size * len(side)), 1), len(side) - 1)
                if n < 1:
                    raise ValueError(f"got {len(side)} different rows of one kind; expected 2 of P and of U")
                test |= np.isin(of_group, order[:n])
            yield np.flatnonzero(~test), np.flatnonzero(test)


def _generator(random_state: Any) -> np.random.Generator:
    from sklearn.utils import check_random_state

    if random_state is None or isinstance(random_state, int | np.integer):
        return np.random.default_rng(random_state)
    return np.random.default_rng(int(check_random_state(random_state).randint(2**31 - 1)))


def _groups(X: Any, y: Any, groups: Any, pos_label: Any) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return which rows are labelled, and the group (n,) of each row, numbered by first appearance."""
    if y is None:
        raise ValueError("y: got None; expected 1 for labelled positives, and 0 or -1 for unlabelled rows")
    labelled = labels_of(y, pos_label).labelled
    keys = _keys(X) if groups is None else np.asarray(groups)
    if len(keys) != len(labelled):
        raise ValueError(f"got {len(keys)} rows or groups, and {len(labelled)} labels; expected as many")
    _, first, of_group = np.unique(keys, return_index=True, return_inverse=True)
    return labelled, np.argsort(np.argsort(first))[of_group.ravel()]


def _keys(X: Any) -> NDArray[Any]:
    X = plain_rows(X)
    if is_frame(X):
        from pandas.util import hash_pandas_object

        return np.asarray(hash_pandas_object(X, index=False))
    array = np.asarray(X)
    if array.dtype.kind in "biuf":
        return row_digests(array)
    return np.array(["\x1f".join(map(repr, row)) for row in array.reshape(len(array), -1)])


def _sides(labelled: NDArray[np.bool_], of_group: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the groups with a labelled row, and those without one."""
    with_p = np.unique(of_group[labelled])
    return with_p, np.setdiff1d(of_group, with_p)


def _folds(
    labelled: NDArray[np.bool_], of_group: NDArray[np.int64], k: int, rng: np.random.Generator | None
) -> NDArray[np.int64]:
    """Return the fold (n,) of each row: groups are dealt out one after the other, to the folds with the fewest rows."""
    fold_of_group = np.zeros(int(of_group.max()) + 1, dtype=np.int64)
    for name, side in zip(("P", "U"), _sides(labelled, of_group), strict=True):
        if len(side) < k:
            raise ValueError(f"n_splits={k}: got {len(side)} different rows of {name}; expected {k} at least")
        counted = labelled if name == "P" else ~labelled
        sizes = np.bincount(of_group[counted], minlength=len(fold_of_group))
        order = side if rng is None else rng.permutation(side)
        filled = np.zeros(k, dtype=np.int64)
        for group in order[np.argsort(-sizes[order], kind="stable")]:
            fold = int(np.argmin(filled))
            fold_of_group[group] = fold
            filled[fold] += max(sizes[group], 1)
    return fold_of_group[of_group]
