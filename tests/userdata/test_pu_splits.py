"""Splitters and measures of positive and unlabelled rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from puoc import PUKFold, PUShuffleSplit, lee_liu_score, make_pu, proxy_accuracy_score, pu_auc_score, pu_scorer

X, Y, TRUTH = make_pu(23, 50, alpha=0.4)


@pytest.mark.parametrize("rows", [X, pd.DataFrame(X), np.array([["a", str(i)] for i in range(len(X))], dtype=object)])
def test_each_fold_has_its_share_of_both_kinds(rows: object) -> None:
    folds = [test for _, test in PUKFold(5).split(rows, Y)]
    assert sorted(np.concatenate(folds).tolist()) == list(range(len(X)))
    assert sorted(int(Y[test].sum()) for test in folds) == [4, 4, 5, 5, 5]
    assert [len(test) - int(Y[test].sum()) for test in folds] == [10] * 5


@pytest.mark.parametrize("splitter", [PUKFold(3), PUKFold(3, shuffle=False), PUShuffleSplit(4, test_size=0.3)])
def test_equal_rows_are_on_one_side(splitter: PUKFold | PUShuffleSplit) -> None:
    copies = np.concatenate([X, X[Y == 1], X[:5]])
    y = np.concatenate([Y, np.zeros(Y.sum(), dtype=int), Y[:5]])
    for train, test in splitter.split(copies, y):
        assert not {row.tobytes() for row in copies[train]} & {row.tobytes() for row in copies[test]}
        assert y[test].sum() >= 1
        assert y[train].sum() >= 1
        assert len(np.intersect1d(train, test)) == 0


def test_a_split_is_the_same_for_the_same_seed_and_another_for_another_seed() -> None:
    first, same, other = ([test.tolist() for _, test in PUKFold(3, random_state=s).split(X, Y)] for s in (0, 0, 1))
    assert first == same
    assert first != other


@pytest.mark.parametrize(
    ("splitter", "y", "words"),
    [
        (PUKFold(30), Y, "n_splits=30: got 23 different rows of P"),
        (PUKFold(1), Y, "n_splits: got 1"),
        (PUKFold(2), None, "y: got None"),
        (PUKFold(2), Y[:4], "as many"),
        (PUShuffleSplit(test_size=2), Y, "test_size: got 2"),
    ],
)
def test_a_split_that_cannot_be_is_refused(splitter: PUKFold, y: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        list(splitter.split(X, y))


def test_the_measures_are_their_formulas() -> None:
    y, called = np.array([1, 1, 1, 1, 0, 0, 0, 0, 0]), np.array([1, 1, 1, 0, 1, 1, 0, 0, 0])
    assert lee_liu_score(y, called) == pytest.approx(0.75**2 / 0.4)
    assert proxy_accuracy_score(y, called, alpha=0.4) == pytest.approx(0.4 * 0.75 + 0.6 - (0.4 - 0.4 * 0.75))
    assert lee_liu_score(y, np.where(called == 1, 1, -1)) == lee_liu_score(y, called)
    assert pu_auc_score(np.where(y == 1, "yes", "no"), np.arange(9.0)[::-1], pos_label="yes") == 1


def test_proxy_accuracy_is_the_accuracy_on_unlabelled_rows_where_labelling_is_at_random() -> None:
    rows, y, truth = make_pu(20_000, 20_000, alpha=0.3, random_state=4)
    called = rows.sum(axis=1) < 2
    true = (called == (truth == 1))[y == 0].mean()
    assert proxy_accuracy_score(y, called, alpha=0.3) == pytest.approx(true, abs=0.01)


def test_an_unknown_scorer_or_a_wrong_share_is_refused() -> None:
    with pytest.raises(ValueError, match="expected one of pu_auc, proxy_accuracy, lee_liu"):
        pu_scorer("auc")
    with pytest.raises(ValueError, match="alpha: got 2"):
        proxy_accuracy_score(Y, Y, alpha=2)
    with pytest.raises(ValueError, match=r"scores has shape \(3,\)"):
        pu_auc_score(Y, [1, 2, 3])
