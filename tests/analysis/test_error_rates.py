"""Simulated tables whose truth is known: errors at or below the nominal level, power as it was forecast."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from puoc.analysis.statistics.effects import rank_biserial_interval
from puoc.analysis.statistics.holm import holm
from puoc.analysis.statistics.power import power
from puoc.analysis.statistics.signed_rank import shift_with_interval, signed_rank_test

pytestmark = pytest.mark.slow

LEVEL = 0.05
TABLES, CELLS = 2000, 10


def upper_bound(count: int, n: int) -> float:
    """99.9 % binomial upper bound on a rate of which ``count`` of ``n`` were seen, by a scan."""
    rates = np.linspace(0, 1, 2001)
    return float(rates[binom.cdf(count, n, rates) > 0.001].max())


def tables(n_seeds: int, effect: float, *, shared: float = 0.0, ties: bool = False) -> np.ndarray:
    """Paired differences (tables, cells, seeds) in AUC; ``shared`` correlates the cells of a seed, ``ties`` rounds."""
    gen = np.random.default_rng(17)
    own = gen.standard_normal((TABLES, CELLS, n_seeds))
    common = gen.standard_normal((TABLES, 1, n_seeds))
    differences = 0.02 * (np.sqrt(1 - shared) * own + np.sqrt(shared) * common + effect)
    return differences.round(2) if ties else differences


def p_values(differences: np.ndarray) -> np.ndarray:
    return np.array([[signed_rank_test(cell).p for cell in table] for table in differences])


@pytest.mark.parametrize(
    ("n_seeds", "shared", "ties"), [(6, 0.0, False), (10, 0.0, True), (12, 0.0, False), (12, 0.8, False)]
)
def test_error_rates_without_a_difference(n_seeds: int, shared: float, ties: bool) -> None:
    found = p_values(tables(n_seeds, 0.0, shared=shared, ties=ties))
    one_cell = int((found[:, 0] < LEVEL).sum())
    family = sum(bool((holm(table) < LEVEL).any()) for table in found)
    assert one_cell / TABLES <= LEVEL + 0.015  # three standard errors
    assert family / TABLES <= LEVEL + 0.015
    assert upper_bound(family, TABLES) < 0.08
    if not ties and not shared:
        uncorrected = (found < LEVEL).any(axis=1).mean()
        assert uncorrected > 3 * LEVEL  # what Holm is for
    assert n_seeds > 6 or family == 0  # six seeds cannot reject after Holm over ten cells


@pytest.mark.parametrize(("n_seeds", "effect"), [(8, 1.0), (12, 0.7), (12, 1.5), (20, 0.5)])
def test_power_is_as_forecast(n_seeds: int, effect: float) -> None:
    found = p_values(tables(n_seeds, effect)[:, :1])
    assert np.mean(found < LEVEL) == pytest.approx(power(n_seeds, effect), abs=0.035)
    assert np.mean(found < LEVEL / CELLS) == pytest.approx(power(n_seeds, effect, CELLS), abs=0.035)


@pytest.mark.parametrize("n_seeds", [6, 9, 12])
def test_the_interval_of_the_shift_covers_at_least_as_often_as_it_says(n_seeds: int) -> None:
    hit = 0
    for cell in tables(n_seeds, 1.0)[:, 0]:
        _, low, high = shift_with_interval(cell)
        assert low is not None
        assert high is not None
        hit += low <= 0.02 <= high
    assert hit / TABLES >= 0.95 - 0.015


@pytest.mark.parametrize("n_seeds", [5, 8, 12, 30])
@pytest.mark.parametrize("kind", ["normal", "heavy tails", "skewed"])
def test_the_interval_of_the_effect_covers_as_the_docs_say(kind: str, n_seeds: int) -> None:
    """docs/results.md gives the least and the largest of these rates."""
    gen = np.random.default_rng(1)
    draw = {
        "normal": gen.standard_normal,
        "heavy tails": lambda shape: gen.standard_t(3, shape) / np.sqrt(3),
        "skewed": lambda shape: gen.standard_exponential(shape) - 1,
    }[kind]
    for effect in (0.0, 0.5, 1.5, 3.0):
        truth = 2 * float((draw((2, 1_000_000)).sum(axis=0) + 2 * effect > 0).mean()) - 1
        hit = 0
        for differences in draw((400, n_seeds)) + effect:
            low, high = rank_biserial_interval(differences)
            assert low is not None
            assert high is not None
            hit += low - 1e-3 <= truth <= high + 1e-3
        assert hit / 400 >= 0.91
