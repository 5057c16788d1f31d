"""Elo ratings against a computation by hand."""

from __future__ import annotations

from math import log10

import pytest

from puoc.analysis.statistics.elo import CENTRE, elo_ratings


def test_two_entries_have_the_odds_of_their_wins() -> None:
    # a wins 3 of 4 cells. With half a win and half a loss of each against strength 1, the strengths are s and 1 / s:
    # 3.5 = 4 s / (s + 1 / s) + s / (s + 1), whose solution is s = 1.54917 (by bisection)
    low, high = 1.0, 10.0
    for _ in range(100):
        s = (low + high) / 2
        low, high = (s, high) if 4 * s / (s + 1 / s) + s / (s + 1) < 3.5 else (low, s)
    cells = [(f"t{i}", {"a": 0.9, "b": 0.8} if i else {"a": 0.7, "b": 0.8}) for i in range(4)]
    first, second = elo_ratings(cells)
    assert (first.entry, second.entry) == ("a", "b")
    assert first.elo - CENTRE == pytest.approx(400 * log10(s), abs=0.01)
    assert first.elo + second.elo == pytest.approx(2 * CENTRE)
    assert first.low < first.elo < first.high
    assert (first.n_cells, first.n_tables) == (4, 4)


def test_ties_are_half_a_win_and_entries_need_not_meet() -> None:
    equal = elo_ratings([("t", {"a": 0.8, "b": 0.8})])
    assert [rating.elo for rating in equal] == pytest.approx([CENTRE, CENTRE])
    chain = [(t, means) for t in "uvw" for means in ({"a": 0.9, "b": 0.8}, {"b": 0.9, "c": 0.8})]
    assert [rating.entry for rating in elo_ratings(chain)] == ["a", "b", "c"]  # a and c have no common cell
    always = elo_ratings([("t", {"a": 1.0, "b": 0.5})] * 50)
    assert always[0].elo - always[1].elo < 1500  # finite without a single loss


def test_of_groups_that_never_meet_the_largest_is_rated() -> None:
    apart = [("t", {"x": 0.9, "y": 0.8}), ("u", {"a": 0.9, "b": 0.8}), ("v", {"b": 0.9, "c": 0.8})]
    assert [rating.entry for rating in elo_ratings(apart)] == ["a", "b", "c"]


def test_the_order_of_cells_changes_nothing_and_cells_of_one_entry_do_not_count() -> None:
    cells = [("t", {"a": 0.9, "b": 0.8}), ("u", {"a": 0.6, "b": 0.8, "c": 0.7}), ("v", {"c": 0.9})]
    found = elo_ratings(cells)
    turned = elo_ratings(cells[::-1])
    assert [rating.entry for rating in found] == [rating.entry for rating in turned]
    assert [rating.elo for rating in found] == pytest.approx([rating.elo for rating in turned])
    assert {rating.entry: rating.n_cells for rating in found} == {"a": 2, "b": 2, "c": 1}
    assert elo_ratings([]) == []
