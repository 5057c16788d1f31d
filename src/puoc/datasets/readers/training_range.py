"""Range of the training values of a column of numbers, and which later values lie far outside of it.

A value is far if it lies more than the width of the range outside of it. Heavy tails have such values too, so that a
few of them say nothing. They are noted if there are more, or larger ones, than new rows of the same distribution have:

* If n training and m new values are exchangeable, k or more new ones exceed the largest training value with a
  probability of at most (m / (n + m))^k, for any distribution.
* One value is noted if it exceeds what the tail of the training values predicts for the largest of m values. In a
  log-log plot, the line through the quartile and the extreme of the training values gives this tail.
"""

from __future__ import annotations

import math
from typing import Annotated, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, FiniteFloat, model_validator

from puoc.records import Record

_QUANTILES: Final = (0.0, 0.01, 0.25, 0.5, 0.75, 0.99, 1.0)
_LEVEL: Final = 0.01  # probability of a note on some column of a sample of the same distribution
_HEAVIEST: Final = 3.0  # 1 / tail index that is assumed at most, and where quantiles do not show it
_MIN_SAMPLE: Final = 20  # values from which a factor is measured
_FACTOR: Final = 20  # between medians, and between quartile distances, from which the unit seems to be another one
_AGREE: Final = 2  # ratio up to which the two factors agree
_POWER: Final = 1.15  # ratio up to which a factor is given as a power of ten


class TrainingRange(Record):
    """Quantiles of the training values of a column, missing ones not counted."""

    n: int = Field(ge=1)  # values
    quantiles: Annotated[tuple[FiniteFloat, ...], Field(min_length=len(_QUANTILES), max_length=len(_QUANTILES))]
    size: FiniteFloat = Field(ge=0)  # median of the absolute values

    @model_validator(mode="after")
    def _rising(self) -> Self:
        if any(low > high for low, high in zip(self.quantiles, self.quantiles[1:], strict=False)):
            raise ValueError(f"the quantiles {self.quantiles} do not rise; expected the quantiles {_QUANTILES}")
        return self

    @classmethod
    def of(cls, x: NDArray[np.float64]) -> Self:
        """Return the range of training values (n,), NaN where missing; at least one is there."""
        return cls.with_median(x)[0]

    @classmethod
    def with_median(cls, x: NDArray[np.float64]) -> tuple[Self, float]:
        """Return the range of training values, as ``of``, and their median."""
        present = x[~np.isnan(x)]
        n = len(present)
        # places of the quantiles by the inverted distribution function: values of the sample, so they rise
        places = [max(math.ceil(n * share - 1), 0) for share in _QUANTILES]
        middle = [(n - 1) // 2, n // 2]
        # one partition finds all of them, in less time than the quantiles and the median one after the other
        values = np.partition(present, sorted({*places, *middle}))
        quantiles = tuple(float(values[place]) for place in places)
        sizes = np.partition(np.abs(present), sorted(set(middle)))
        return cls(n=n, quantiles=quantiles, size=_between(*sizes[middle])), _between(*values[middle])

    @property
    def limits(self) -> tuple[float, float]:
        """Return the smallest and the largest value that is not far."""
        low, high = self.quantiles[0], self.quantiles[-1]
        return low - (high - low), high + (high - low)

    def is_noted(self, met: Far, m: int, tests: int) -> bool:
        """Return True if far values are more or larger than a sample of the same distribution has.

        Parameters
        ----------
        m : new values in all.
        tests : columns that are looked at; the probability of a note on any of them stays the same.
        """
        level = _LEVEL / (2 * tests)
        low, _, lower, middle, upper, _, high = self.quantiles
        sides = (
            (met.below, middle - met.lowest, middle - low, middle - lower),
            (met.above, met.highest - middle, high - middle, upper - middle),
        )
        for count, largest, extreme, quartile in sides:
            if not count:
                continue
            if count * math.log(m / (self.n + m)) <= math.log(level):
                return True
            growth = max(1.0, m / (self.n * level)) ** _inverse_tail(extreme, quartile, self.n)
            if largest > extreme * growth:
                return True
        return False

    def factor(self, sample: NDArray[np.float64]) -> float | None:
        """Return the factor between a sample of new values (k,) and those of training; None if there is no clear one.

        The median of the absolute values and the distance of the quartiles have to change by it, both.
        """
        _, _, lower, _, upper, _, _ = self.quantiles
        if min(self.n, len(sample)) < _MIN_SAMPLE or not self.size or upper <= lower:
            return None
        found = np.quantile(sample, (0.25, 0.75))
        of_size, of_spread = float(np.median(np.abs(sample)) / self.size), float(found[1] - found[0]) / (upper - lower)
        if not (math.isfinite(of_size) and math.isfinite(of_spread)) or min(of_size, of_spread) <= 0:
            return None
        if not 1 / _AGREE <= of_size / of_spread <= _AGREE:
            return None
        factor = math.sqrt(of_size) * math.sqrt(of_spread)
        if 1 / _FACTOR < factor < _FACTOR:
            return None
        power: float = 10.0 ** round(math.log10(factor))
        return power if 1 / _POWER <= factor / power <= _POWER else float(f"{factor:.2g}")


def _between(low: float, high: float) -> float:
    """Return the mean of the two middle values, which is finite where their sum is not."""
    low, high = float(low), float(high)
    mean = (low + high) / 2
    return mean if math.isfinite(mean) else low / 2 + high / 2


class Far(NamedTuple):
    """Far values that were met, by side."""

    below: int = 0
    above: int = 0
    lowest: float = math.inf
    highest: float = -math.inf

    def with_more(self, other: Far) -> Far:
        """Return the counts and extremes of both."""
        return Far(
            self.below + other.below,
            self.above + other.above,
            min(self.lowest, other.lowest),
            max(self.highest, other.highest),
        )


def _inverse_tail(extreme: float, quartile: float, n: int) -> float:
    """Return 1 / a of a tail that falls as x^-a, from the distances of extreme and quartile to the median."""
    if not 0 < quartile < extreme or n <= 4 or not math.isfinite(extreme):
        return _HEAVIEST
    steps = math.log(n / 4)
    # the logarithm of the extreme varies by 1 / a from sample to sample, which is 1 / steps of the distance
    return min(_HEAVIEST, math.log(extreme / quartile) / steps * (1 + 1 / steps))
