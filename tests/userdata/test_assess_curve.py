"""The curve over the size of U takes its last point from the scores that the assessment has."""

from __future__ import annotations

import numpy as np
import pytest

from puoc.analysis.reliability.gain import placements
from puoc.store.steps import heard_by
from puoc.userdata.assess.cross_scores import _sides, crossed, learning_curve, values_of
from puoc.userdata.assess.input_rows import checked
from puoc.userdata.assess.reference_methods import fit_one, work_of


def test_the_last_point_is_that_of_a_fit_to_all_of_u() -> None:
    rng = np.random.default_rng(0)
    rows = checked(rng.normal(size=(40, 3)), rng.normal(1, 1, size=(60, 3)), None, 0)
    reported: list[float] = []
    with heard_by(reported.append):
        points = learning_curve(rows, 0, crossed(rows, 0))
    assert sum(reported) == pytest.approx(work_of(60), rel=0.02)
    aucs = []
    for number, side in enumerate(_sides(rows, 0)):
        seen, model = fit_one("PU", rows.X_p[side.fit_p], rows.X_u[side.fit_u], number, values_of(rows))
        of_p, of_u = (model.decision_function(seen(X)) for X in (rows.X_p[~side.fit_p], rows.X_u[~side.fit_u]))
        aucs.append(placements(of_p, of_u)[0].mean())
    assert points[-1] == (30, float(np.mean(aucs)))
    assert [n for n, _ in points] == [7, 15, 30]
