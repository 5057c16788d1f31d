"""Moderated variances: against limma's published formulas, against simulation, and at their limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import polygamma

from puoc.analysis.statistics.moderated import inverse_trigamma, moderated_variances


@pytest.mark.parametrize("y", [1e-3, 0.1, 1.0, 7.3, 1e3, 1e6])
def test_the_inverse_of_trigamma_is_its_inverse(y: float) -> None:
    assert inverse_trigamma(float(polygamma(1, y))) == pytest.approx(y, rel=1e-6)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan")])
def test_trigamma_has_only_positive_values(value: float) -> None:
    with pytest.raises(ValueError, match="expected a positive value"):
        inverse_trigamma(value)


@pytest.mark.parametrize(("df_prior", "df"), [(4.0, 4), (10.0, 2), (30.0, 11)])
def test_the_prior_is_recovered_from_many_samples(df_prior: float, df: int) -> None:
    rng = np.random.default_rng(0)
    true = 0.0004 * df_prior / rng.chisquare(df_prior, 20_000)
    sample = true * rng.chisquare(df, len(true)) / df
    moderated = moderated_variances(sample, [df] * len(sample))
    assert moderated is not None
    assert moderated.prior == pytest.approx(0.0004, rel=0.05)
    assert moderated.df_prior == pytest.approx(df_prior, rel=0.15)
    # nearer to the true variances than the samples
    error = np.abs(np.log(moderated.variances / true)).mean()
    assert error < 0.9 * np.abs(np.log(sample / true)).mean()


def test_a_variance_is_the_weighted_mean_of_the_prior_and_its_own() -> None:
    sample, df = [1.0, 4.0, 0.25, 9.0, 0.5], [4, 4, 2, 9, 4]
    moderated = moderated_variances(sample, df)
    assert moderated is not None
    assert np.isfinite(moderated.df_prior)
    d0, s0 = moderated.df_prior, moderated.prior
    expected = [(d0 * s0 + d * s) / (d0 + d) for s, d in zip(sample, df, strict=True)]
    assert np.allclose(moderated.variances, expected)
    assert np.allclose(moderated.df, [min(d + d0, sum(df)) for d in df])


def test_samples_of_equal_spread_are_pooled_and_their_degrees_of_freedom_are_limited_by_the_sum() -> None:
    moderated = moderated_variances([1.0, 1.01, 0.99, 1.0], [4, 4, 4, 4])
    assert moderated is not None
    assert moderated.df_prior == float("inf")
    assert set(moderated.df) == {16.0}
    assert len(set(moderated.variances)) == 1


def test_a_sample_of_one_seed_gets_the_prior() -> None:
    moderated = moderated_variances([1.0, 4.0, 0.2, float("nan")], [4, 4, 4, 0])
    assert moderated is not None
    assert moderated.variances[3] == pytest.approx(moderated.prior)
    assert moderated.df[3] == pytest.approx(min(moderated.df_prior, 12))


def test_an_auc_without_spread_does_not_make_the_prior_zero() -> None:
    moderated = moderated_variances([0.0, 1e-4, 2e-4, 1.5e-4], [4] * 4)
    assert moderated is not None
    assert (moderated.variances > 0).all()


@pytest.mark.parametrize(("variances", "df"), [([], []), ([0.0, 0.0], [4, 4]), ([1.0, 2.0], [4, 0]), ([1.0], [4])])
def test_too_little_to_learn_from_gives_none(variances: list[float], df: list[float]) -> None:
    assert moderated_variances(variances, df) is None


@pytest.mark.parametrize(
    ("variances", "df", "message"),
    [([1.0], [4, 4], "one length"), ([-1.0, 1.0], [4, 4], "0 or more"), ([float("nan"), 1.0], [4, 4], "finite")],
)
def test_what_is_no_variance_is_refused(variances: list[float], df: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        moderated_variances(variances, df)


def test_the_interval_covers_where_the_assumption_holds() -> None:
    """3,000 tables of 10 columns with 3 seeds: 95 % of the moderated intervals cover, and they are narrower."""
    rng = np.random.default_rng(1)
    covered, widths, plain_widths = [], [], []
    for _ in range(300):
        sd = np.sqrt(0.02**2 * 6 / rng.chisquare(6, 10))
        values = rng.normal(0, sd[:, None], (10, 3))
        moderated = moderated_variances(values.var(axis=1, ddof=1), [2] * 10)
        assert moderated is not None
        half = stats.t.ppf(0.975, moderated.df) * np.sqrt(moderated.variances / 3)
        covered += list(np.abs(values.mean(axis=1)) <= half)
        widths.append(half.mean())
        plain_widths.append((stats.t.ppf(0.975, 2) * values.std(axis=1, ddof=1) / np.sqrt(3)).mean())
    assert np.mean(covered) == pytest.approx(0.95, abs=0.02)
    assert np.mean(widths) < 0.75 * np.mean(plain_widths)
