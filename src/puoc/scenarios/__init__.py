"""Scenarios: the classes and shares of positives in each cell of a table.

A scenario of the paper (Bagirov, Ivanov and Shpilman, section "Experiments", one for each table) is an instance of a
class here, with values from params.yaml. ``puoc.scenarios.drawing`` draws the rows of cells.
"""

from __future__ import annotations

from puoc.registry import SCENARIOS
from puoc.scenarios.drawing.cells import check_counts, required, sample_and_test
from puoc.scenarios.drawing.draws import (
    Draw,
    check_disjoint,
    positive_rows,
    split_rows,
    stream,
    test_rows,
    train_pool_rows,
)
from puoc.scenarios.drawing.labelled_draws import LabelledDraw
from puoc.scenarios.drawing.labelled_draws import draw_labelled as draw
from puoc.scenarios.drawing.scenario import Scenario
from puoc.store.cells import Cell, Choice

__all__ = [
    "SCENARIOS",
    "Cell",
    "Choice",
    "Draw",
    "LabelledDraw",
    "Scenario",
    "check_counts",
    "check_disjoint",
    "draw",
    "positive_rows",
    "required",
    "sample_and_test",
    "split_rows",
    "stream",
    "test_rows",
    "train_pool_rows",
]
