"""The model of the families' leads, against situations that are drawn and weighed one by one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from puoc.analysis.reliability.leads import (
    COLUMNS,
    LABELLED,
    LEAST_SHARE,
    SHARES,
    UNLABELLED,
    LeadModel,
    Normals,
    packaged_leads,
    terms,
)
from puoc.userdata.assess.alpha_bounds import TABLES, TASKS
from puoc.userdata.assess.expected_auc import standing


def test_gains_correct_the_leads_as_drawn_situations_do() -> None:
    """Against a million leads from the model's normal, each weighed by the density of the gains that were seen."""
    rng, model = np.random.default_rng(0), packaged_leads()["random"]
    before = Normals(np.zeros(1), np.array([[-0.05, 0.03]]), np.array([[[0.01, 0.002], [0.002, 0.004]]]))
    gains, errors, share = np.array([-0.04, 0.02]), np.array([[4e-4, 1e-4], [1e-4, 2e-4]]), 0.4
    of = model.of_u
    after = of.observe(before, gains, errors, np.array([share]))
    drawn = rng.multivariate_normal(before.mean[0], before.covariance[0], 10**6)
    between = np.diag(of.spread) @ np.array([[1, of.correlation], [of.correlation, 1]]) @ np.diag(of.spread)
    apart = np.diag(of.apart) @ np.array([[1, of.correlation], [of.correlation, 1]]) @ np.diag(of.apart)
    noise = share**2 * between + of.error**2 * errors + apart + 1e-5 * np.eye(2)
    off = gains - share * of.factor * drawn
    w = np.exp(-0.5 * np.einsum("ni,ij,nj->n", off, np.linalg.inv(noise), off))
    mean = w @ drawn / w.sum()
    np.testing.assert_allclose(after.mean[0], mean, atol=5e-4)
    centred = drawn - mean
    np.testing.assert_allclose(after.covariance[0], (w[:, None] * centred).T @ centred / w.sum(), atol=1e-4)


def test_a_gain_counts_by_its_error_and_not_where_there_are_no_negatives() -> None:
    of = packaged_leads()["random"].of_u
    before = Normals(np.zeros(1), np.zeros((1, 2)), 0.01 * np.eye(2)[None])
    gains = np.array([0.1, -0.1])

    def moved(error: float, share: float) -> float:
        return float(np.abs(of.observe(before, gains, error**2 * np.eye(2), np.array([share])).mean).max())

    assert moved(0.01, 0.5) > 2 * moved(0.2, 0.5) > 0
    assert moved(0.01, 0.0) == 0


def test_chances_and_losses_are_those_of_drawn_leads() -> None:
    rng = np.random.default_rng(1)
    leads = Normals(
        np.log([0.7, 0.3]),
        np.array([[-0.05, 0.03], [0.1, -0.1]]),
        np.array([[[0.01, 0.002], [0.002, 0.004]], [[0.002, 0.0], [0.0, 0.01]]]),
    )
    found = standing(leads)
    which = rng.random(10**6) < 0.3
    drawn = np.where(
        which[:, None],
        rng.multivariate_normal(leads.mean[1], leads.covariance[1], 10**6),
        rng.multivariate_normal(leads.mean[0], leads.covariance[0], 10**6),
    )
    auc = np.stack([drawn[:, 0], np.zeros(len(drawn)), drawn[:, 1]], axis=1)
    for at, family in enumerate(("OC", "PU-OC", "PU")):
        assert found.loss[family] == pytest.approx((auc.max(axis=1) - auc[:, at]).mean(), abs=0.003)
        assert found.best[family] == pytest.approx((auc.argmax(axis=1) == at).mean(), abs=0.02)
        assert found.worst[family] == pytest.approx((auc.argmin(axis=1) == at).mean(), abs=0.02)
    assert found.loss[found.first] == min(found.loss.values())


def test_the_packaged_models_say_what_the_paper_says_of_the_families() -> None:
    for model in packaged_leads().values():
        assert LeadModel.of(json.loads(json.dumps(model.document()))).document() == model.document()
        leads = model.situations(150, 500, np.zeros(len(SHARES))).mean
        few, none = leads[np.isclose(SHARES, 0.3)][0], leads[SHARES == 1][0]
        assert few[1] > none[1], "PU needs negatives in U"
        assert none[0] > 0 > few[0], "OC leads where U has none"


def test_intervals_of_alpha_stay_below_the_guaranteed_end() -> None:
    given = packaged_leads()["random"].alpha_u
    for ends in ((0.0, 1.0), (0.2, 0.5), (0.6, 0.7), (1.0, 1.0)):
        low, high = given.interval(ends, 0.95)
        assert 0 <= low <= high <= ends[1]


def test_a_preferred_family_comes_first_where_the_losses_are_nearly_equal() -> None:
    even = Normals(np.zeros(1), np.array([[-0.001, -0.2]]), 1e-4 * np.eye(2)[None])
    assert (standing(even).first, standing(even, "OC").first) == ("PU-OC", "OC")
    assert standing(even, "OC").above == pytest.approx(1 - standing(even).above, abs=0.02)
    clear = even._replace(mean=np.array([[-0.1, -0.2]]))
    assert standing(clear, "OC").first == "PU-OC"


def test_the_ranges_are_those_of_the_situations_that_the_parameters_are_estimated_from() -> None:
    docs = Path(__file__).parents[2] / "docs" / "evidence"
    tables, tasks = (pd.read_parquet(docs / f"{name}.parquet") for name in ("assess_tables", "robustness_map"))
    tables = tables[tables["side"] == "map"]
    tasks = tasks.assign(columns=[json.loads(text)["columns"] for text in tasks["evidence"]])
    every = pd.concat([part[["n_p", "n_u", "columns", "alpha"]] for part in (tables, tasks)])
    for name, ends in (("n_p", LABELLED), ("n_u", UNLABELLED), ("columns", COLUMNS)):
        assert (every[name].min(), every[name].max()) == ends
    assert every["alpha"].min() == pytest.approx(LEAST_SHARE, abs=5e-5)


def test_as_many_tables_and_tasks_are_named_as_the_parameters_are_estimated_from() -> None:
    docs = Path(__file__).parents[2] / "docs"
    tables, tasks = (pd.read_parquet(docs / f"evidence/{name}.parquet") for name in ("assess_tables", "robustness_map"))
    of_map, judged = (tables.loc[tables["side"] == side, "data"].nunique() for side in ("map", "judge"))
    assert (of_map, tasks["data"].nunique()) == (TABLES, TASKS)
    said = f"{of_map} tables for the model and {judged} for the judgement"
    assert said in (docs / "reliability.md").read_text(encoding="utf-8")


def test_numbers_of_rows_outside_of_the_ranges_count_as_the_nearest_ones() -> None:
    """The slopes in the logarithms would give leads that nobody measured."""
    (few_p, many_p), (few_u, many_u) = LABELLED, UNLABELLED
    for n_p, n_u, as_p, as_u in ((10, 20, few_p, few_u), (2000, 50_000, many_p, many_u), (100, 700, 100, 700)):
        np.testing.assert_array_equal(terms(SHARES, n_p, n_u), terms(SHARES, as_p, as_u))
    for model in packaged_leads().values():
        leads = model.situations(10**6, 10**9, np.zeros(len(SHARES))).mean
        assert np.abs(leads).max() < 1


@pytest.mark.parametrize("error", [0.0, 1e-12, 0.5])
def test_extreme_evidence_gives_finite_leads_with_proper_covariances(error: float) -> None:
    """No error, alpha 0 or 1, gains as large as they can be: all that a small or separable file can show."""
    for model in packaged_leads().values():
        for ends in ((0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.5, 0.5)):
            before = model.situations(20, 20, model.alpha_u.log_weights(ends))
            for gains in ((0.0, 0.0), (1.0, -1.0), (-0.5, 0.5)):
                known = model.of_u.observe(before, np.array(gains), error**2 * np.eye(2), 1 - SHARES)
                for leads in (known, model.over_new(20, 20, known)):
                    assert np.isfinite(leads.mean).all()
                    assert (np.linalg.eigvalsh(leads.covariance) > 0).all()
                    found = standing(leads)
                    assert all(0 <= chance <= 1.0001 for chance in (*found.best.values(), *found.worst.values()))
                    assert sum(found.best.values()) == pytest.approx(1)
                assert np.trace(known.covariance, axis1=1, axis2=2).max() <= (
                    np.trace(before.covariance, axis1=1, axis2=2).max() + 1e-12
                ), "rows never make the leads less certain"
