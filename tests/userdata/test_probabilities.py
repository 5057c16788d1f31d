"""Which estimators have ``predict_proba``: those that the documentation names, by the numbers that it shows."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benches import bench

import puoc

ROOT = Path(__file__).parents[2]
MEASURED = bench("probabilities")
calibration_error, matched = MEASURED.calibration_error, MEASURED.matched
ROWS = pd.read_parquet(ROOT / "docs" / "evidence" / "probabilities.parquet")
SAID = ROWS[ROWS["way"] == "as said"].groupby(["method", "prior", "table"])[["error", "skill"]].mean()


def section() -> str:
    page = (ROOT / "docs" / "python.md").read_text()
    return page.partition("## Probabilities")[2].partition("\n## ")[0]


def with_probabilities() -> set[str]:
    return {cls()._method() for cls in puoc.all_estimators().values() if hasattr(cls(), "predict_proba")}


def test_predict_proba_exists_exactly_where_the_documentation_says() -> None:
    lines = re.findall(r"^\| `(\w+)` \|.*\| (yes)? ?\|$", section(), re.MULTILINE)
    assert {method for method, _ in lines} == set(ROWS["method"])
    assert {method for method, yes in lines if yes} == with_probabilities()


def test_it_exists_for_the_methods_that_say_more_than_alpha_on_each_table() -> None:
    lowest = SAID["skill"].groupby("method").min()
    assert set(lowest.index[lowest > 0]) == with_probabilities()


def test_the_docstring_has_the_errors_of_the_committed_rows() -> None:
    text = " ".join((puoc.PUClassifier.predict_proba.__doc__ or "").split())
    errors = SAID.loc["dedpul", "error"].groupby("table").mean()
    found = re.search(r"on (\d+) tables, .* was (0\.\d+), and (0\.\d+) on the worst table", text)
    assert found is not None
    assert found.groups() == (str(len(errors)), f"{errors.mean():.2f}", f"{errors.max():.2f}")


def test_rows_are_of_all_tables_alphas_and_seeds_with_each_prior_and_way() -> None:
    assert ROWS["table"].nunique() >= 8
    sizes = ROWS.groupby(["table", "alpha", "seed", "method", "prior", "way"]).size()
    whole = np.prod([ROWS[name].nunique() for name in sizes.index.names])
    assert len(ROWS) == len(sizes) == whole


def test_the_error_of_true_probabilities_is_small_and_that_of_moved_ones_is_the_distance() -> None:
    rng = np.random.default_rng(0)
    p = rng.uniform(0.1, 0.6, 50_000)
    positive = rng.random(len(p)) < p
    assert calibration_error(p, positive) < 0.01
    assert calibration_error(p + 0.3, positive) == pytest.approx(0.3, abs=0.01)


def test_matched_probabilities_keep_the_order_and_have_the_mean_that_is_asked() -> None:
    rng = np.random.default_rng(1)
    said, of_u = rng.uniform(size=40), np.concatenate([rng.uniform(size=200), [0.0, 1.0]])
    for alpha in (0.05, 0.3, 0.9):
        assert matched(of_u, of_u, alpha).mean() == pytest.approx(alpha, abs=1e-6)
        np.testing.assert_array_equal(np.argsort(matched(said, of_u, alpha)), np.argsort(said))
