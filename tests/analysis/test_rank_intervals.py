"""Rank intervals and chances against the best rival, on values whose order is known."""

from __future__ import annotations

import numpy as np
import pytest

from puoc.analysis.statistics.rank_intervals import against_best, rank_intervals
from puoc.analysis.statistics.signed_rank import smallest_p

STEPS = np.arange(8) / 1000  # differences that are never tied


def test_entries_that_always_differ_have_one_rank_each() -> None:
    values = np.stack([0.9 + STEPS, 0.7 + 2 * STEPS, 0.5 + 4 * STEPS])
    assert [tuple(one) for one in rank_intervals(values) if one] == [(1, 1, 3), (2, 2, 3), (3, 3, 3)]


def test_few_seeds_give_all_ranks() -> None:
    values = np.stack([0.9 + STEPS, 0.7 + 2 * STEPS, 0.5 + 4 * STEPS])[:, :5]
    assert smallest_p(5) > 0.05
    assert [tuple(one) for one in rank_intervals(values) if one] == [(1, 3, 3)] * 3


def test_equal_entries_share_their_ranks_and_a_worse_one_does_not() -> None:
    gen = np.random.default_rng(0)
    noise = gen.normal(0, 0.01, (2, 12))
    values = np.stack([0.8 + noise[0], 0.8 + noise[1], 0.5 + np.arange(12) / 1000])
    assert [tuple(one) for one in rank_intervals(values) if one] == [(1, 2, 3), (1, 2, 3), (3, 3, 3)]


def test_an_entry_without_values_is_left_out_of_the_ranks() -> None:
    values = np.stack([0.9 + STEPS, np.full(8, np.nan), 0.5 + 4 * STEPS])
    first, none, last = rank_intervals(values)
    assert none is None
    assert (first, last) == ((1, 1, 2), (2, 2, 2))
    assert rank_intervals(values[:2]) == [None, None]  # no rival


def test_the_interval_covers_the_true_rank_as_often_as_it_says() -> None:
    """Four entries, of which two are equal; the true rank of the third is 3."""
    gen = np.random.default_rng(1)
    covered = 0
    for _ in range(60):
        values = np.array([0.8, 0.8, 0.79, 0.7])[:, None] + gen.normal(0, 0.01, (4, 10))
        third = rank_intervals(values)[2]
        assert third is not None
        covered += third.low <= 3 <= third.high
    assert covered >= 55


def test_chances_are_against_the_best_other_entry_and_do_not_depend_on_the_order_of_seeds() -> None:
    values = np.stack([0.9 + STEPS, 0.7 + 2 * STEPS, 0.901 + STEPS])
    first, second, third = against_best(values)
    assert (first.rival, second.rival, third.rival) == (2, 2, 0)  # type: ignore[union-attr]
    assert second.worse > 0.9  # type: ignore[union-attr]
    assert first.equal > 0.9  # type: ignore[union-attr]
    assert sum(first[1:]) == pytest.approx(1)  # type: ignore[index]
    assert against_best(values[:, ::-1]) == [first, second, third]
    assert rank_intervals(values[:, ::-1]) == rank_intervals(values)


def test_an_entry_alone_has_no_chance() -> None:
    assert against_best(np.stack([0.9 + STEPS])) == [None]
    assert against_best(np.full((2, 3), np.nan)) == [None, None]
