"""The share of common rows as foretold, against draws."""

from __future__ import annotations

import numpy as np
import pytest
from plans import entry_plan, table_plan
from test_draws import data

from puoc.analysis.statistics.significance import UNIT_NOTE, unit_note
from puoc.scenarios import sample_and_test
from puoc.scenarios.drawing import draws
from puoc.scenarios.drawing.overlap import shared_rows
from puoc.store.cells import Cell, Choice
from puoc.store.plans import SharedRows

FIXED = {"pos": (0, 1), "neg": (2, 3)}
CHOSEN = {"pos": Choice(of=(0, 1, 2), stop=2), "neg": (3,), "neg_test": (4,)}


def common(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.isin(first, second).mean())


@pytest.mark.parametrize("kind", ["unique", "standard"])
@pytest.mark.parametrize("classes", [FIXED, CHOSEN], ids=["fixed", "chosen"])
def test_two_seeds_share_as_many_rows_as_foretold(kind: str, classes: dict[str, object]) -> None:
    prepared = data(kind)
    cell = Cell(scenario="s", name="c", n_pos_lab=20, n_pos_unl=15, n_neg_unl=18, **classes)  # type: ignore[arg-type]
    told = shared_rows(cell, prepared.meta.counts)
    found = []
    for seed in range(0, 400, 2):
        pair = []
        for one in (seed, seed + 1):
            sample, test = sample_and_test(cell, one, prepared.name, prepared.digest)
            drawn = draws.draw(prepared, sample, one)
            pair.append((drawn.p, drawn.u, draws.test_rows(prepared, test, one)[0]))
        found.append([common(first, second) for first, second in zip(*pair, strict=True)])
    assert list(dict(told)) == ["P", "U", "test"]
    assert np.mean(found, axis=0) == pytest.approx(list(dict(told).values()), abs=0.03)


def test_shared_rows_are_said_beside_the_unit_of_replication() -> None:
    shares = SharedRows(P=0.5, U=0.01, test=1.0)
    plan = table_plan("t", "s", "d", "T", ("c",), [entry_plan("e", "en", "pu", None)], (0, 1), shared_rows=shares)
    assert unit_note(plan) == f"{UNIT_NOTE}; two seeds share 50% of P, 100% of test, so they are not independent"
    few = plan.model_copy(update={"shared_rows": SharedRows(P=0.01, U=0.0, test=0.0)})
    assert unit_note(few) == UNIT_NOTE
    assert unit_note(plan.model_copy(update={"shared_rows": None})) == UNIT_NOTE
