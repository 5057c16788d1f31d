"""The model of the families' leads, against situations that are drawn and weighed one by one."""

from __future__ import annotations

import json

import numpy as np
import pytest

from puoc.analysis.reliability.leads import SHARES, LeadModel, Normals, packaged_leads
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
