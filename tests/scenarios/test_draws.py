"""What holds of every draw, whatever the sample, the seed and the duplicates in the data."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from puoc.datasets.declare.dataset import Arrays
from puoc.datasets.prepare.arrays import Prepared
from puoc.records import Sample, TestSet
from puoc.scenarios.drawing import draws
from puoc.scenarios.drawing.draws import Draw, check_disjoint, draw, split_rows, train_count, train_pool_rows

N_CLASSES, PER_CLASS = 5, 60
seeds = st.integers(0, 2**32)
kinds = st.sampled_from(["unique", "duplicates", "standard", "standard with duplicates"])


@cache
def data(kind: str) -> Prepared:
    """300 rows of 5 classes; with duplicates inside classes, across classes and across the standard split."""
    n = N_CLASSES * PER_CLASS
    y = np.arange(n) % N_CLASSES
    content = np.arange(n)
    if "duplicates" in kind:
        content[10:60:10] = 10  # five rows of class 0
        content[101], content[201], content[251] = 6, 6, 6  # four rows of class 1
        content[[7, 13, 24]] = 7  # the same content as classes 2, 3 and 4
        content[[15, 16]] = 15  # and as classes 0 and 1
    split = (np.arange(n) >= 200).astype(np.uint8) if "standard" in kind else None
    X = np.stack([content // 256, content % 256], axis=1).astype(np.uint8)
    return Prepared.of(Arrays(X, y, split), name="made_up", inputs="vector", classes=tuple("abcde"), scale=255.0)


def sample(prepared: Prepared, **changed) -> Sample:
    asked = {"pos": (0, 1), "neg": (2, 3), "n_pos_lab": 20, "n_pos_unl": 15, "n_neg_unl": 25} | changed
    return Sample(dataset=prepared.name, data_digest=prepared.digest, **asked)


def all_rows(drawn: Draw) -> np.ndarray:
    return np.concatenate([drawn.p, drawn.u, drawn.p_held, drawn.u_held])


@settings(max_examples=60, deadline=None)
@given(kinds, seeds, st.sampled_from([0.0, 0.2, 0.5]))
def test_p_u_and_the_test_rows_are_disjoint_by_content(kind, seed, holdout):
    prepared, refused = data(kind), ""
    try:
        drawn = draw(prepared, sample(prepared, holdout=holdout), seed)
    except ValueError as error:  # rare: all that is withheld repeats what is kept
        refused = str(error)
    if refused:
        assert holdout
        assert "which repeat a kept row" in refused
        return
    test, y = draws.test_rows(prepared, TestSet(pos=(0, 1), neg=(2, 3, 4)), seed)
    sides = [drawn.p, drawn.u, drawn.p_held, drawn.u_held, test]
    contents = [{prepared.X[row].tobytes() for row in rows} for rows in sides]
    assert sum(map(len, contents)) == len(set().union(*contents))
    assert len(np.unique(all_rows(drawn))) == len(all_rows(drawn))
    check_disjoint(prepared, drawn, test)
    assert y.tolist() == [number in (0, 1) for number in prepared.y[test]]


@settings(max_examples=40, deadline=None)
@given(kinds, seeds)
def test_counts_and_alpha_are_exact_and_y_u_tells_the_truth(kind, seed):
    prepared = data(kind)
    drawn = draw(prepared, sample(prepared), seed)
    assert (len(drawn.p), len(drawn.u), int(drawn.y_u.sum())) == (20, 40, 15)
    assert set(prepared.y[drawn.p]) <= {0, 1}
    assert set(prepared.y[drawn.u]) <= {0, 1, 2, 3}
    assert drawn.y_u.tolist() == [number in (0, 1) for number in prepared.y[drawn.u]]
    assert len(drawn.p_held) == len(drawn.u_held) == 0


@settings(max_examples=30, deadline=None)
@given(kinds, seeds)
def test_a_holdout_keeps_exact_counts_and_withholds_the_rest(kind, seed):
    prepared = data(kind)
    refused = ""
    try:
        drawn = draw(prepared, sample(prepared, holdout=0.2), seed)
    except ValueError as error:
        refused = str(error)
    if refused:  # every withheld row repeats a kept one
        assert "duplicates" in kind
        assert "withholds 4, 4 of which repeat a kept row" in refused
        return
    assert (len(drawn.p), len(drawn.u), int(drawn.y_u.sum())) == (16, 32, 12)
    assert 0 < len(drawn.p_held) <= 4
    assert 0 < len(drawn.u_held) <= 8
    if "duplicates" not in kind:
        assert (len(drawn.p_held), len(drawn.u_held)) == (4, 8)
        assert int(np.isin(prepared.y[drawn.u_held], (0, 1)).sum()) == 3


def test_a_holdout_of_repeated_rows_alone_is_refused_in_words():
    prepared = data("standard with duplicates")
    with pytest.raises(ValueError, match="withholds 4, 4 of which repeat a kept row; at least 1 must be withheld"):
        draw(prepared, sample(prepared, holdout=0.2), 5000)  # four of five rows of one content, the fifth is kept


@settings(max_examples=30, deadline=None)
@given(kinds, seeds, st.integers(1, 12), st.integers(0, 12), st.integers(0, 12))
def test_smaller_sizes_are_nested_in_larger_ones(kind, seed, n_pos_lab, n_pos_unl, n_neg_unl):
    prepared = data(kind)
    large = draw(prepared, sample(prepared), seed)
    fewer_labelled = draw(prepared, sample(prepared, n_pos_lab=n_pos_lab), seed)
    assert fewer_labelled.p.tolist() == large.p[:n_pos_lab].tolist()
    small = draw(prepared, sample(prepared, n_pos_unl=n_pos_unl, n_neg_unl=n_neg_unl), seed)
    assert small.p.tolist() == large.p.tolist()
    assert set(small.u[small.y_u]) <= set(large.u[large.y_u])
    assert set(small.u[~small.y_u]) <= set(large.u[~large.y_u])


@settings(max_examples=20, deadline=None)
@given(kinds, seeds)
def test_a_one_class_sample_has_the_same_labelled_positives_as_every_sample_with_u(kind, seed):
    prepared = data(kind)
    wanted = draw(prepared, sample(prepared).labelled_only(), seed)
    assert len(wanted.u) == len(wanted.y_u) == 0
    for neg in ((2, 3), (4,)):
        assert draw(prepared, sample(prepared, neg=neg), seed).p.tolist() == wanted.p.tolist()


def test_other_negatives_draw_other_unlabelled_positives():
    prepared = data("unique")
    one, other = (draw(prepared, sample(prepared, neg=neg), 0) for neg in ((2, 3), (2, 4)))
    assert set(one.u[one.y_u]) != set(other.u[other.y_u])


def test_the_order_of_u_does_not_tell_the_class():
    prepared = data("unique")
    ranks = [np.flatnonzero(draw(prepared, sample(prepared), seed).y_u).mean() for seed in range(200)]
    assert abs(np.mean(ranks) - 19.5) < 0.5  # 15 of 40 places at random: sd of the mean .15


def test_a_u_without_negatives_is_the_positive_part_of_one_that_has_some():
    prepared = data("unique")
    mixed, pure = (draw(prepared, sample(prepared, n_neg_unl=n), 0) for n in (25, 0))
    assert pure.y_u.all()
    assert set(pure.u) == set(mixed.u[mixed.y_u])
    assert pure.p.tolist() == mixed.p.tolist()


def test_different_seeds_draw_different_rows():
    prepared = data("unique")
    assert len({tuple(draw(prepared, sample(prepared), seed).p) for seed in range(10)}) == 10


def test_every_row_is_drawn_about_equally_often():
    prepared = data("standard")
    drawn = np.concatenate([draw(prepared, sample(prepared), seed).p for seed in range(400)])
    times = np.bincount(drawn, minlength=len(prepared.y))[split_rows(prepared, 0).train]
    positives = times[np.isin(prepared.y[split_rows(prepared, 0).train], (0, 1))]
    assert len(positives) == 80
    assert 60 < positives.min() < positives.max() < 140  # 100 expected, sd 8.7


@settings(max_examples=40, deadline=None)
@given(kinds, seeds)
def test_no_content_lies_on_both_sides_of_a_split(kind, seed):
    prepared = data(kind)
    train, test = split_rows(prepared, seed)
    assert not set(prepared.group[train]) & set(prepared.group[test])
    if prepared.split is not None:
        assert test.tolist() == np.flatnonzero(prepared.split == 1).tolist()
    else:
        assert sorted([*train, *test]) == list(range(len(prepared.y)))
        assert np.bincount(prepared.y[train]).tolist() == [train_count(PER_CLASS)] * N_CLASSES


def test_the_split_is_drawn_by_each_seed_where_there_is_no_standard_one():
    assert split_rows(data("unique"), 0).test.tolist() != split_rows(data("unique"), 1).test.tolist()
    assert split_rows(data("standard"), 0).test.tolist() == split_rows(data("standard"), 1).test.tolist()


@settings(max_examples=20, deadline=None)
@given(kinds, seeds)
def test_the_train_pool_has_all_training_positives_and_as_many_negatives(kind, seed):
    prepared = data(kind)
    train = split_rows(prepared, seed).train
    rows, y = train_pool_rows(prepared, sample(prepared), TestSet(pos=(0, 1), neg=(2, 3, 4)), seed)
    assert set(rows) <= set(train)
    assert rows[y].tolist() == train[np.isin(prepared.y[train], (0, 1))].tolist()
    assert (~y).sum() == y.sum()
    assert set(prepared.y[rows[~y]]) == {2, 3, 4}
    rows, y = train_pool_rows(prepared, sample(prepared), TestSet(pos=(0, 1), neg=(4,)), seed)
    assert rows[~y].tolist() != train[prepared.y[train] == 4].tolist()
    assert set(rows[~y]) == set(train[prepared.y[train] == 4])


def test_shared_content_is_counted():
    prepared = data("duplicates")
    twin = np.array([13, 24, 100])  # 13 and 24 repeat row 7
    leaking = Draw(np.array([7]), *(np.array([], dtype=int),) * 4)
    with pytest.raises(ValueError, match="2 of 3 test rows have the content of a training row"):
        check_disjoint(prepared, leaking, twin)


def test_too_few_rows_are_named_with_what_is_there():
    prepared = data("standard")
    with pytest.raises(ValueError, match="100 labelled positives wanted, 80 available"):
        draw(prepared, sample(prepared, n_pos_lab=100), 0)
    with pytest.raises(ValueError, match="61 unlabelled positives wanted, 60 available"):
        draw(prepared, sample(prepared, n_pos_unl=61), 0)
    with pytest.raises(ValueError, match=r"holdout 0\.2 of 1 rows of P withholds 0"):
        draw(prepared, sample(prepared, n_pos_lab=1, holdout=0.2), 0)


def test_a_sample_of_other_data_is_refused():
    with pytest.raises(ValueError, match="the sample is of made_up with digest"):
        draw(data("unique"), sample(data("duplicates")), 0)


def test_known_rows():
    """Draws must not move with versions of numpy or of this code: published rows depend on them."""
    prepared = data("duplicates")
    drawn = draw(prepared, sample(prepared, n_pos_lab=6, n_pos_unl=3, n_neg_unl=4, holdout=0.2), 7)
    assert drawn.p.tolist() == [66, 180, 166, 106, 25]
    assert drawn.u.tolist() == [0, 261, 48, 23, 107]
    assert drawn.y_u.tolist() == [True, True, False, False, False]
    assert drawn.p_held.tolist() == [100]
    assert drawn.u_held.tolist() == [45, 32]
