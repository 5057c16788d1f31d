"""Situations with known truth, and the robustness map that is learned from them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from benches import bench

from puoc.analysis.reliability.robustness_map import ALPHAS, SIZES, packaged, region
from puoc.scenarios.drawing.simulate import Gaussian, Incoming, Pool, Scores, Truth, situation


def test_a_situation_is_what_its_truth_says() -> None:
    truth = Truth(50, 4000, 0.7, (Incoming(4000, 0.4), Incoming(4000, 0.4, 0.5)))
    found = situation(Gaussian(d=2, distance=50.0), truth, np.random.default_rng(0))
    assert found.X_p.shape == (50, 2)
    assert abs(found.X_p).max() < 10
    for X, kinds, shares in (
        (found.X_u, found.u_kind, (0.7, 0.3, 0.0)),
        (found.X_v[0], found.v_kind[0], (0.4, 0.6, 0.0)),
        (found.X_v[1], found.v_kind[1], (0.4, 0.3, 0.3)),
    ):
        np.testing.assert_array_equal(X[:, 0] > 25, kinds == 1)
        np.testing.assert_array_equal(X[:, 1] > 25, kinds == 2)
        np.testing.assert_allclose(np.bincount(kinds, minlength=3) / 4000, shares, atol=0.03)
        assert 0 < np.bincount(kinds, minlength=3)[0] != round(4000 * shares[0]), "binomial, not exact"
    again = situation(Gaussian(d=2, distance=50.0), truth, np.random.default_rng(0))
    np.testing.assert_array_equal(again.X_v[1], found.X_v[1])


def test_a_finite_pool_gives_no_row_twice_and_says_when_it_is_empty() -> None:
    pool = Pool(*(np.arange(n)[:, None] + at for n, at in ((300, 0), (200, 1000), (100, 2000))))
    found = situation(pool, Truth(50, 150, 0.5, (Incoming(80, 0.5, 0.5),)), np.random.default_rng(1))
    rows = np.concatenate([found.X_p, found.X_u, found.X_v[0]]).ravel()
    assert len(np.unique(rows)) == len(rows)
    with pytest.raises(ValueError, match="new rows wanted, the pool has 100"):
        situation(pool, Truth(10, 10, 0.5, (Incoming(200, 0.0, 1.0),)), np.random.default_rng(1))
    with pytest.raises(ValueError, match=r"shares in \[0, 1\]"):
        situation(pool, Truth(10, 10, 1.5), np.random.default_rng(1))


def test_scores_are_tied_and_an_embedding_keeps_the_classes_apart() -> None:
    drawn = situation(Scores(), Truth(500, 500, 0.5), np.random.default_rng(2))
    assert len(np.unique(drawn.X_p)) < 100
    X = np.repeat(np.eye(3) * 5, 20, axis=0) + np.random.default_rng(3).normal(size=(60, 3))
    pool = bench("false_alarms").embedded(
        X, np.repeat([0, 1, 2], 20), {"positive": (0,), "known": (1,), "new": (2,)}, d=2
    )
    assert pool.positive.shape == pool.known.shape == (20, 2)
    assert np.linalg.norm(pool.positive.mean(0) - pool.new.mean(0)) > 4


def rows() -> pd.DataFrame:
    found = []
    for shift in ("none", "new"):
        for n_u in SIZES:
            for alpha in ALPHAS:
                for at in (0, 1):
                    aucs = {"OC": 0.8, "PU-OC": 0.85 + 0.02 * at, "PU": 0.9 - 0.2 * (alpha > 0.9) + 0.01 * at}
                    found.append({"shift": shift, "n_u": n_u, "alpha": alpha} | aucs)
    return pd.DataFrame(found)


def test_a_region_is_the_mean_over_the_alphas_of_an_interval_at_the_nearest_size() -> None:
    table = bench("robustness_map").aggregate_regions(rows())
    assert len(table) == 2 * len(SIZES) * len(ALPHAS)
    at = region(table, (0.45, 0.55), 700, "none")
    assert at.name == "alpha 0.5, |U| 500, no new negatives"
    assert at.auc == pytest.approx({"OC": 0.8, "PU-OC": 0.86, "PU": 0.905})
    assert at.lead == pytest.approx({"OC": -0.06, "PU-OC": 0.0, "PU": 0.045})
    assert at.n == 2
    assert at.base_worst == 0.0
    wide = region(table, (0.6, 1.0), 10**6, "new")
    assert wide.name == "alpha 0.5 to 1, |U| 5000, new negatives"
    assert wide.auc["PU"] == pytest.approx(np.mean([0.905, 0.905, 0.705, 0.705]))
    assert wide.spread["PU"] > at.spread["PU"], "that of the alphas comes on top"
    assert region(table, (1.0, 1.0), 1, "none").name == "alpha 1, |U| 50, no new negatives"


def test_where_a_size_lacks_an_alpha_the_nearest_that_has_it_stands_in_and_few_situations_are_not_sure() -> None:
    table = bench("robustness_map").aggregate_regions(rows())
    table = table[(table["n_u"] < 5000) | (table["alpha"] < 0.9)]
    at = region(table, (0.7, 1.0), 4000, "none")
    assert at.name == "alpha 0.8 to 1, |U| 500 to 5000, no new negatives"
    assert at.auc["PU"] == pytest.approx(np.mean([0.905, 0.705, 0.705]))
    many = pd.concat([table.assign(n=2), table.assign(n=2, OC_spread=0.3)])
    sure, unsure = (region(part, (0.5, 0.5), 500, "none") for part in (many.assign(n=9), many))
    assert unsure.spread["OC"] > 0.1 > sure.spread["OC"]


def test_the_packaged_map_has_every_alpha_with_and_without_new_negatives() -> None:
    table = packaged()
    for shift in ("none", "new"):
        for n_u in (20, 500, 10_000):
            for alpha in (0.0, *ALPHAS):
                at = region(table, (alpha, alpha), n_u, shift)
                assert all(0 < value < 1 for value in at.auc.values())
                assert at.lead["PU-OC"] == 0.0
                assert min(at.spread["OC"], at.spread["PU"]) >= 0.02
