"""The twin tests of a table for the page, and sentences on what its seeds can show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from puoc.analysis.statistics.significance import SignificanceRow
from puoc.analysis.tables.results import UNTESTED
from puoc.reporting.page.format import p_value
from puoc.store.counting import counted

#: Level at which the page calls a difference significant.
ALPHA = 0.05


class TestView(NamedTuple):
    """One test of the significance table, and its verdict."""

    test: SignificanceRow
    verdict: str


def test_views(tests: Sequence[SignificanceRow]) -> list[TestView]:
    """Return the rows of the significance table, with verdicts. The average of a single cell is not repeated.

    A pair that could not be tested in any cell, for one reason, gets a single row.
    """
    pairs: dict[tuple[str, str], list[SignificanceRow]] = {}
    for test in tests:
        if not (test.is_average and _has_one_cell(tests)):
            pairs.setdefault((test.entry, test.twin_entry), []).append(test)
    views = []
    for pair in pairs.values():
        reasons = {test.note for test in pair if not test.is_average}
        untested = all(test.p is None for test in pair) and len(reasons) == 1
        shown = [replace(pair[0], cell="all cells")] if untested else pair
        views += [TestView(test, verdict(test)) for test in shown]
    return views


def evidence_sentences(tests: Sequence[SignificanceRow], *, run: bool, tested: bool = True) -> list[str]:
    """Return sentences on what the tests of a table show, or why they cannot show anything.

    Parameters
    ----------
    tested : whether there are labelled test rows.
    """
    if not run:
        return ["This table was not run."]
    if not tested:
        return [f"There are {UNTESTED}, so there is no AUC and nothing is tested."]
    if not tests:
        return ["This table has no twin pair (a PU-OC method and the OC method it extends), so nothing is tested."]
    sentences = [_family_sentence([test for test in tests if not test.is_average], "cells")]
    if not _has_one_cell(tests):
        sentences.append(_family_sentence([test for test in tests if test.is_average], "averages"))
    return sentences


def _has_one_cell(tests: Sequence[SignificanceRow]) -> bool:
    return max(test.cell_index for test in tests) == 1


def _family_sentence(family: Sequence[SignificanceRow], plural: str) -> str:
    tested = [test for test in family if test.p is not None]
    if not tested:
        return f"No pair of {plural} could be tested: {family[0].note}."
    n, size = max(test.n for test in tested), max(test.family_size for test in tested)
    floor = min(test.min_p_adjusted for test in tested if test.min_p_adjusted is not None)
    seeds = counted(n, "seed")
    if floor >= ALPHA:
        where = "in this table" if plural == "cells" else "between averages"
        return (
            f"With {seeds} no difference {where} can be significant after Holm "
            f"({counted(size, 'twin test')} of {plural}, smallest attainable adjusted p {p_value(floor)})."
        )
    n_significant = sum(test.p_adjusted is not None and test.p_adjusted < ALPHA for test in tested)
    are = "is" if n_significant == 1 else "are"
    sentence = (
        f"Of {counted(size, 'twin test')} of {plural}, {n_significant} {are} significant after Holm "
        f"at {ALPHA} ({seeds}; smallest attainable adjusted p {p_value(floor)})"
    )
    size_all = max(test.family_size_all for test in tested)
    if size_all <= size:
        return f"{sentence}."
    n_all = sum(test.p_adjusted_all is not None and test.p_adjusted_all < ALPHA for test in tested)
    return f"{sentence}. That holds for this table; after Holm over the {size_all} of all tables, {n_all} of them."


def verdict(test: SignificanceRow) -> str:
    """Say which entry of a pair is significantly better after Holm, or why neither is."""
    if test.p is None:
        return "not tested"
    if test.p_adjusted is not None and test.p_adjusted < ALPHA:
        return "PU-OC better" if test.shift is not None and test.shift > 0 else "OC better"
    if test.p < ALPHA:
        return "raw p only"
    if test.min_p_adjusted is not None and test.min_p_adjusted >= ALPHA:
        return "cannot tell"
    return "no difference shown"
