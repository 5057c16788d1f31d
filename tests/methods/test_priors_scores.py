"""DEDPUL's and BBE's priors on scores whose densities are known, their parts by other means, and cross-fitting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import gaussian_kde

from puoc.analysis.statistics.auc import auc
from puoc.methods.priors import make
from puoc.methods.priors.bbe import BBE
from puoc.methods.priors.dedpul import DedpulPrior, density, density_ratio, fixed_point, posteriors, running_median
from puoc.methods.priors.dedpul_isotonic import DedpulIsotonic, isotonic_ratio
from puoc.methods.training.estimator import Compute, PUSample

LINEAR: dict[str, Any] = {
    "classifier": "linear",
    "lr": 0.1,
    "lr_decay": 0.9,
    "epochs": 6,
    "batch_size": 100,
    "batching": "union",
    "folds": 3,
}
BANDS: dict[str, Any] = {"bandwidth_p": 0.1, "bandwidth_u": 0.05, "share": "positive"}
ALPHAS = (0.05, 0.25, 0.5, 0.75, 0.95)
Floats = NDArray[np.float64]


def dedpul(**changed: Any) -> DedpulPrior:
    made = make("dedpul_alpha", LINEAR | BANDS | changed)
    assert isinstance(made, DedpulPrior)
    return made


def bbe(**changed: Any) -> BBE:
    made = make("bbe", LINEAR | {"delta": 0.1, "gamma": 0.01} | changed)
    assert isinstance(made, BBE)
    return made


def gaussians(alpha: float, seed: int, n_p: int = 1000, n_u: int = 2000) -> tuple[Floats, Floats]:
    """P from N(1.5, 1), U from alpha N(1.5, 1) + (1 - alpha) N(-1.5, 1)."""
    rng = np.random.default_rng(seed)
    return rng.normal(1.5, 1, n_p), rng.normal(np.where(np.arange(n_u) < alpha * n_u, 1.5, -1.5), 1)


def bayes(x: Floats, alpha: float) -> Floats:
    """The best classifier's logit of p(s=1 | x) where U has twice the rows of P."""
    logit: Floats = -np.log(alpha + (1 - alpha) * np.exp(-3 * x)) - np.log(2)
    return logit


@pytest.mark.parametrize("alpha", ALPHAS)
def test_by_the_scores_of_the_best_classifier_alpha_is_known_up_to_a_twentieth(alpha: float) -> None:
    d, b = [], []
    for seed in range(3):
        f_p, f_u = (bayes(x, alpha) for x in gaussians(alpha, seed))
        found = dedpul().decompose(f_p, f_u)
        assert found.alpha_pos + found.alpha_neg == pytest.approx(1)
        d.append(found.alpha_pos)
        b.append(bbe().best_bin(f_p, f_u))
    # DEDPUL errs downwards, by up to .08 of the share: where negatives are rare the largest ratios are noise
    assert 0.90 * alpha - 0.01 < np.mean(d) < alpha + 0.02
    assert abs(np.mean(d) - alpha) < 0.07
    assert abs(np.mean(b) - alpha) < 0.04


def test_the_kernel_estimate_is_scipys() -> None:
    rng = np.random.default_rng(0)
    of, at = rng.normal(3, 2, 300), rng.uniform(-4, 9, 400)
    for bandwidth in (0.05, 0.3):
        np.testing.assert_allclose(density(of, at, bandwidth), gaussian_kde(of, bandwidth)(at), rtol=1e-9, atol=1e-300)
    assert np.isfinite(density(np.ones(5), np.ones(3), 0.1)).all()
    assert np.isfinite(density(np.ones(1), np.zeros(1), 0.1)).all()


def test_a_running_median_sees_as_many_values_on_both_sides() -> None:
    values = np.array([5.0, 1, 9, 2, 8, 3, 7])
    assert running_median(values, 2).tolist() == [5, 5, 5, 3, 7, 7, 7]
    assert running_median(values, 0).tolist() == values.tolist()
    assert running_median(values, 100).tolist() == [5, 5, 5, 5, 7, 7, 7]


def test_the_ratio_of_known_densities_is_recovered_and_never_falls() -> None:
    x_p, x_u = gaussians(0.5, 0, 3000, 3000)
    f_u, ratio = density_ratio(x_p, x_u, 0.1, 0.05)
    np.testing.assert_array_equal(f_u, np.sort(x_u))
    assert (np.diff(ratio) >= 0).all()
    # its running maximum errs upwards at the top, where posteriors are cut at 1
    true = 1 / (0.5 + 0.5 * np.exp(-3 * f_u))
    assert np.abs(ratio - true).mean() < 0.3
    assert np.abs(posteriors(ratio, 0.5) - true / 2).mean() < 0.03


def test_the_ratio_is_smoothed_made_monotone_among_likely_positives_and_sorted() -> None:
    def medians(values: list[float], half: int) -> list[float]:
        reach = [min(half, i, len(values) - 1 - i) for i in range(len(values))]
        return [float(np.median(values[i - r : i + r + 1])) for i, r in enumerate(reach)]

    x_p, x_u = gaussians(0.4, 3, 150, 400)
    f_u = np.sort(x_u)
    ratio = medians(np.minimum(gaussian_kde(x_p, 0.1)(f_u) / gaussian_kde(x_u, 0.05)(f_u), 50).tolist(), 5)
    p, u = 1 / (1 + np.exp(-x_p)), 1 / (1 + np.exp(-f_u))
    begin = int((u < (p.mean() + u.mean()) / 2).sum())
    for i in range(begin + 1, 400):
        ratio[i] = max(ratio[i - 1 : i + 1])
    np.testing.assert_allclose(density_ratio(x_p, x_u, 0.1, 0.05)[1], sorted(medians(ratio, 20)), rtol=1e-9)


def test_an_isotonic_ratio_is_the_nearest_one_that_never_falls() -> None:
    x_p, x_u = gaussians(0.4, 3, 150, 400)
    f_u = np.sort(x_u)
    raw = running_median(np.minimum(gaussian_kde(x_p, 0.1)(f_u) / gaussian_kde(x_u, 0.05)(f_u), 50), 5)
    smooth = running_median(raw, 20)
    means = [[float(value), 1] for value in smooth]  # pools of neighbours, with their numbers
    at = 0
    while at + 1 < len(means):
        if means[at][0] <= means[at + 1][0]:
            at += 1
            continue
        (a, n), (b, m) = means[at : at + 2]
        means[at : at + 2] = [[(a * n + b * m) / (n + m), n + m]]
        at = max(at - 1, 0)
    found = isotonic_ratio(x_p, x_u, 0.1, 0.05)
    np.testing.assert_array_equal(found[0], f_u)
    np.testing.assert_allclose(found[1], np.repeat(*zip(*[(v, int(n)) for v, n in means], strict=True)), rtol=1e-9)
    assert (np.diff(found[1]) >= 0).all()


def test_where_negatives_are_rare_isotonic_regression_finds_fewer_of_them() -> None:
    sort, isotonic = [], []
    made = make("dedpul_isotonic", LINEAR | BANDS)
    assert isinstance(made, DedpulIsotonic)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        f_p, f_u = rng.normal(2, 1, 500), rng.normal(np.where(np.arange(1000) < 950, 2, -2), 1)
        sort.append(dedpul().decompose(f_p, f_u).alpha_neg)
        isotonic.append(made.decompose(f_p, f_u).alpha_neg)
    assert abs(np.mean(isotonic) - 0.05) < abs(np.mean(sort) - 0.05) - 0.01, (sort, isotonic)


def test_the_fixed_point_of_separate_classes_is_the_share_of_positives() -> None:
    for alpha in (0.02, 0.3, 0.5, 0.97, 1.0):
        ratio = np.where(np.arange(2000) < alpha * 2000, 1 / alpha, 0.0)
        assert fixed_point(ratio) == pytest.approx(alpha, abs=2e-5)
        assert posteriors(ratio, alpha).mean() == pytest.approx(alpha)


def test_where_noise_leads_past_the_fixed_point_its_bend_is_found() -> None:
    # of the positives, .3 of U, a twentieth seem twice as frequent in P and the others too rare by a tenth
    ratio = np.zeros(4000)
    ratio[:1200] = 0.9 / 0.3
    ratio[:60] = 2 / 0.3
    alpha = 1.0
    for _ in range(1000):
        alpha = float(np.minimum(1, alpha * ratio).mean())
    assert alpha < 0.01
    assert fixed_point(ratio) == pytest.approx(0.3 / 0.9, abs=0.003)


def test_rows_of_u_all_unlike_p_are_negative() -> None:
    rng = np.random.default_rng(0)
    found = dedpul().decompose(rng.normal(5, 1, 200), rng.normal(-5, 1, 300))
    assert found.alpha_pos < 0.01
    assert found.posterior.max() < 0.01
    assert fixed_point(np.zeros(100)) == 0
    assert fixed_point(np.full(100, 0.97)) == pytest.approx(0.97)  # all alike, but for what smoothing loses


def test_the_negative_share_is_the_rest() -> None:
    x_p, x_u = gaussians(0.25, 0, 300, 600)
    shares = [dedpul(share=share).named_share(dedpul().decompose(x_p, x_u)) for share in ("positive", "negative")]
    assert shares[0] < 0.35
    assert sum(shares) == pytest.approx(1)


def test_best_bin_minimises_the_upper_bound_over_all_thresholds() -> None:
    for seed, delta, gamma in [(seed, delta, gamma) for seed in range(5) for delta in (0.01, 0.5) for gamma in (0, 2)]:
        rng = np.random.default_rng(seed)
        f_p, f_u = np.round(rng.normal(1, 1, 60), 1), np.round(rng.normal(0, 1.5, 90), 1)
        best = (np.inf, 0.0)
        for threshold in sorted({*f_p, *f_u}):
            q_p, q_u = (f_p >= threshold).mean(), (f_u >= threshold).mean()
            if q_p > 0:
                bands = np.sqrt(np.log(4 / delta) / 120) + np.sqrt(np.log(4 / delta) / 180)
                best = min(best, (q_u / q_p + (1 + gamma) * bands / q_p, q_u / q_p))
        assert bbe(delta=delta, gamma=float(gamma)).best_bin(f_p, f_u) == pytest.approx(min(best[1], 1), abs=1e-12)
    assert bbe().best_bin(np.zeros(5), np.ones(5)) == 1.0
    assert bbe().best_bin(np.ones(5), np.zeros(5)) == 0.0


def two_clouds(alpha: float, shape: tuple[int, ...], seed: int = 0, n_p: int = 400, n_u: int = 800) -> PUSample:
    rng = np.random.default_rng(seed)
    y = np.arange(n_u) < alpha * n_u
    centre = 2.5 / np.sqrt(np.prod(shape))

    def rows(sign: Floats) -> NDArray[np.float32]:
        centres = centre * sign.reshape(-1, *[1] * len(shape))
        return rng.normal(centres, 1, (len(sign), *shape)).astype(np.float32)

    return PUSample(rows(np.ones(n_p)), rows(np.where(y, 1.0, -1.0)), None, seed)


@pytest.mark.parametrize("alpha", [0.25, 0.75])
@pytest.mark.parametrize("shape", [(3,), (1, 8, 8)])
def test_from_rows_to_alpha_by_a_cross_fitted_classifier(alpha: float, shape: tuple[int, ...]) -> None:
    s = two_clouds(alpha, shape)
    assert abs(dedpul().estimate(s) - alpha) < 0.12
    assert abs(bbe().estimate(s) - alpha) < 0.12


def test_the_seed_decides() -> None:
    s = two_clouds(0.5, (3,), 0, 60, 90)
    for estimator in (dedpul(epochs=1), bbe(epochs=1)):
        assert estimator.estimate(s) == estimator.estimate(s)
        assert len({estimator.estimate(s._replace(seed=seed)) for seed in range(3)}) > 1


def test_a_network_finds_a_difference_that_is_none_unless_its_scores_are_out_of_fold() -> None:
    rng = np.random.default_rng(0)
    s = PUSample(rng.normal(size=(60, 40)), rng.normal(size=(90, 40)), None, 0)
    params = {"classifier": "network", "lr": 1e-2, "lr_decay": 1.0, "epochs": 15, "batch_size": 50}
    aucs, alphas = {}, {}
    for folds in (1, 3):
        estimator = dedpul(**params, folds=folds)
        ((classifiers, f_p, f_u),) = estimator.cross_fit([s], Compute())
        assert len(classifiers) == folds
        aucs[folds], alphas[folds] = auc(f_p, f_u, "scores"), estimator.decompose(f_p, f_u).alpha_pos
    assert aucs[1] > 0.95
    assert 0.35 < aucs[3] < 0.65
    assert alphas[1] < 0.3
    assert alphas[3] > 0.6


def test_samples_are_cross_fitted_alike_alone_and_as_lanes() -> None:
    samples = [two_clouds(0.5, (3,), seed, 40, 60) for seed in (0, 1)]
    together = dedpul().cross_fit(samples, Compute(lane_map="loop"))
    alone = dedpul().cross_fit(samples[1:], Compute(lane_map="loop"))
    np.testing.assert_array_equal(together[1].f_p, alone[0].f_p)
    np.testing.assert_array_equal(together[1].f_u, alone[0].f_u)
    assert not np.array_equal(together[0].f_u, together[1].f_u)


def test_fewer_rows_than_folds_are_refused() -> None:
    X = np.zeros((5, 2))
    for X_p, X_u in ((X[:2], X), (X, X[:2]), (X, None)):
        with pytest.raises(ValueError, match="for 3 folds; at least as many of each as folds expected"):
            dedpul().estimate(PUSample(X_p, X_u, None, 0))
    with pytest.raises(ValueError, match="hyperparameter 'folds': got 1, expected greater than or equal to 2"):
        bbe(folds=1)
