"""The page's rates of what `puoc assess` finds are those of the present command."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import benches
import pandas as pd
import pytest
from scipy.stats import binom

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "docs" / "evidence" / "assess_power.parquet"
DRAWS = 12
CHANCE = 1e-4  # of a count as far off at the nearer end of the published interval
START = 1000  # the published draws have smaller numbers


@pytest.mark.slow
@pytest.mark.parametrize(("n_u", "alpha"), [(50, 0.5), (200, 0.5), (200, 0.95)])
def test_what_assess_finds_is_as_frequent_as_the_page_says(n_u: int, alpha: float) -> None:
    """The page had rates of other scorers than those of the command: .76 where it found 3 of 20."""
    bench = benches.bench("assess_power")
    found: Counter[tuple[str, str]] = Counter()
    for number in range(START, START + DRAWS):
        found.update((what, f"{new:g}") for what, new, yes in bench.found("gaussian", n_u, alpha, number) if yes)
    rows = pd.read_parquet(PUBLISHED).query("kind == 'gaussian' and n_u == @n_u and alpha == @alpha")
    assert len(rows) == 2 + len(bench.NEW)
    for row in rows.itertuples():
        k = found[row.finding, f"{row.new:g}"]
        assert binom.sf(k - 1, DRAWS, row.high) > CHANCE, (row.finding, row.new, k)
        assert binom.cdf(k, DRAWS, row.low) > CHANCE, (row.finding, row.new, k)
