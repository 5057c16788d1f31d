"""What must be true of every verdict."""

from __future__ import annotations

import numpy as np
import pytest
from beside_paper import plan_beside, rows_beside
from hypothesis import given, settings
from hypothesis import strategies as st

from puoc.analysis.paper.deviations import reservations
from puoc.analysis.paper.published import REPETITIONS
from puoc.analysis.paper.spreads import Spread
from puoc.analysis.paper.verdicts import BAND, decide, half_width, verdicts
from puoc.analysis.tables.results import planned_rows
from puoc.analysis.tables.summary import summarise

aucs = st.floats(-0.5, 0.5, allow_nan=False)


@settings(max_examples=300, deadline=None)
@given(aucs, st.floats(0, 0.3), st.integers(2, 40), st.integers(1, 40), st.sampled_from([0.005, 0.0005]))
def test_more_seeds_never_take_a_decision_back(difference: float, std: float, n: int, more: int, unit: float) -> None:
    before, after = half_width(Spread(std, n - 1), n, unit), half_width(Spread(std, n + more - 1), n + more, unit)
    assert after <= before
    decided = decide(difference, before)
    assert decided in ("not decided", decide(difference, after))


@settings(max_examples=300, deadline=None)
@given(aucs, st.floats(0, 0.3))
def test_a_verdict_is_about_the_whole_interval(difference: float, half: float) -> None:
    found = decide(difference, half)
    ends = (difference - half, difference + half)
    assert (found == "reproduced") == all(abs(end) <= BAND + 1e-12 for end in ends)
    if found == "differs":
        assert min(ends) > BAND or max(ends) < -BAND
    assert decide(-difference, half) == found


def test_the_interval_covers_the_true_difference_at_its_level() -> None:
    gen, n, sd, times = np.random.default_rng(0), 5, 0.02, 4000
    ours, theirs = gen.normal(0.73, sd, (times, n)), gen.normal(0.70, sd, (times, REPETITIONS)).mean(axis=1)
    printed = np.round(theirs, 2)
    halves = np.array([half_width(Spread(float(std), n - 1), n, 0.005) for std in ours.std(axis=1, ddof=1)])
    covered = np.abs(ours.mean(axis=1) - printed - 0.03) <= halves
    # 95 % but for the noise of 4,000 draws; rounding only adds
    assert 0.95 - 3 * np.sqrt(0.05 * 0.95 / times) <= covered.mean() < 0.99


@pytest.mark.parametrize("seed", range(3))
def test_rows_in_any_order_give_the_same_verdicts_to_the_last_digit(seed: int) -> None:
    plan = plan_beside("lstm", 5)
    gen = np.random.default_rng(seed)
    rows = rows_beside(plan, lambda method, column, repeat: float(gen.uniform(0.5, 1)))
    shuffled = planned_rows(rows.sample(frac=1, random_state=seed), plan, "test")
    found = [
        verdicts([plan], summarise(plan, some), [], reservations([plan], {plan.table: some}))
        for some in (rows, shuffled)
    ]
    assert found[0] == found[1]
