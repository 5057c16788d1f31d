"""Signs of a file in numbers: a value that is filled in, digits after the point, units, the order of the rows."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from puoc.datasets.audit.two_groups import Numbers, fisher_p, of_sorted

_DIGITS: Final = 15  # of a float64 that are exact
_FULL: Final = 6  # digits after the point from which numbers are not rounded
_COUNTED: Final = 500  # numbers whose digits are counted
_CONTINUOUS: Final = 0.5  # share of different values from which numbers are taken for continuous
_LEAST: Final = 8  # times that a value is filled in, at least
_RARER: Final = 20  # times that it is rarer in the other group
_SENTINELS: Final = frozenset({-1.0, -2.0, -8.0, -9.0, -88.0, -99.0, -888.0, -999.0, -9999.0, -99999.0, -999999.0}) | {
    99.0,
    999.0,
    9999.0,
    99999.0,
    999999.0,
}
#: Factors between usual units, each with an example.
UNITS: Final = {
    10.0: "10",
    100.0: "100, as of m and cm or of shares and %",
    1000.0: "1000, as of m and mm or of kg and g",
    1e6: "1000000",
    2.54: "2.54, as of inches and cm",
    2.20462: "2.2046, as of kg and lb",
    3.28084: "3.2808, as of m and feet",
    1.60934: "1.609, as of miles and km",
    12.0: "12, as of years and months or of feet and inches",
    7.0: "7, as of weeks and days",
    24.0: "24, as of days and hours",
    60.0: "60, as of hours and minutes",
    365.25: "365.25, as of years and days",
    3600.0: "3600, as of hours and seconds",
    86400.0: "86400, as of days and seconds",
    1024.0: "1024, as of MiB and KiB",
}
_SAME_SHAPE: Final = 0.01  # p-value above which two samples may have one distribution
_APART: Final = 0.9  # AUC from which a factor is looked for
_FAR_APART: Final = 0.97  # the same for a factor that is no power of ten
_GAP: Final = 0.7  # logarithm of the ratio between two parts of a group that no value lies between
_CLOSE: Final = 0.75  # AUC below which two groups lie in one place


class Repeated(NamedTuple):
    """A value that many rows of a group have and hardly any row of the other one."""

    value: float
    share: float  # in the group that has it
    other: float  # in the other group
    inside: bool  # True if it lies within the values of the other group, False for a mark such as -999


_SMALLEST: Final = 1e-290  # a smaller number times a power of ten that shows its digits is infinite


class Resolution(NamedTuple):
    """Digits of numbers: after the point, negative for whole tens or hundreds; and significant ones."""

    sorted: Numbers  # digits after the point, sorted
    finest: int  # the largest number of them
    significant: float  # median number of significant digits


def resolution(x: Numbers) -> Resolution:
    """Count the digits of numbers (n,), zeros and numbers below 1e-290 left out, as the shortest notation has them."""
    size = np.abs(x)
    x = size[size >= _SMALLEST][:: 1 + len(x) // _COUNTED]
    if not len(x):
        return Resolution(np.zeros(0), 0, 0.0)
    size = np.floor(np.log10(x)).astype(np.int64)
    digits = np.full(len(x), _DIGITS, dtype=np.int64)  # significant ones
    open_ = np.arange(len(x))
    for k in range(1, _DIGITS):
        scaled = x[open_] * 10.0 ** (k - 1 - size[open_]).astype(np.float64)
        exact = np.abs(scaled - np.round(scaled)) <= max(1e-9, 2e-15 * 10.0**k)  # of rounding
        digits[open_[exact]] = k
        open_ = open_[~exact]
        if not len(open_):
            break
    after = np.sort((digits - 1 - size).astype(np.float64))
    return Resolution(after, int(after[-1]), float(np.median(digits)))


def coarser(fine: Resolution, coarse: Resolution) -> bool:
    """Return True if all numbers of one group are rounded to fewer digits than most of the other one.

    Both the digits after the point and the significant ones are fewer. Numbers of other sizes differ in one of them
    alone, depending on how a program writes numbers.
    """
    if not len(fine.sorted) or not len(coarse.sorted):
        return False
    return bool(np.mean(fine.sorted > coarse.finest) >= 0.8) and fine.significant > coarse.significant


def repeated_value(x: Numbers, y: Numbers) -> Repeated | None:
    """Return the most frequent value of x if it seems to be filled in: y is without it, and the rest is continuous.

    A value within the range of y counts if y has values on both sides of it, and if it has as many digits as the
    others, or one less; or if it has more digits after the point than all others, as a mean of whole numbers has. Round
    values, and limits at the end of the range, occur in measurements. A usual mark for a missing value, such as -999,
    counts if it lies outside of all other values.

    Parameters
    ----------
    x, y : (n,), (m,) sorted values.
    """
    ends = np.flatnonzero(np.append(x[1:] != x[:-1], True))
    counts = np.diff(ends, prepend=-1)
    most = int(counts.argmax())
    value, n = float(x[ends[most]]), int(counts[most])
    if n < _LEAST or n < 0.05 * len(x):
        return None
    left, right = int(np.searchsorted(y, value, "left")), int(np.searchsorted(y, value, "right"))
    share, other = n / len(x), (right - left) / len(y)
    if other * _RARER > share or fisher_p(n, len(x), right - left, len(y)) > 1e-5:
        return None
    rest = x[x != value]
    inside = 0.02 * len(y) <= left and right <= 0.98 * len(y)
    finest = max(resolution(part).finest for part in (rest, y))
    if inside and resolution(np.array([value])).finest > finest:
        return Repeated(value, share, other, inside=True)
    if inside and _continuous(y) and (len(rest) < _LEAST or _continuous(rest)) and not _round(value, y):
        return Repeated(value, share, other, inside=True)
    beyond = value in _SENTINELS and all(not len(v) or value < v[0] or value > v[-1] for v in (rest, y))
    return Repeated(value, share, other, inside=False) if beyond and len(np.unique(y)) > 2 else None


def _continuous(x: Numbers) -> bool:
    return len(np.unique(x)) >= _CONTINUOUS * len(x)


def _round(value: float, y: Numbers) -> bool:
    """Return True for zero, and for a value with fewer digits than most others have."""
    return value == 0 or resolution(np.array([value])).significant < min(
        4, resolution(y[:: 1 + len(y) // 200]).significant - 1
    )


class Unit(NamedTuple):
    """A factor between two groups, as between two units."""

    text: str
    by_digits: bool  # True if the digits after the point are shifted by the same power of ten


def unit_between(x: Numbers, y: Numbers) -> Unit | None:
    """Return the factor between the units of two groups that lie apart; None if there is none.

    After the division by the factor, both groups have one distribution. With a power of ten, it suffices that they lie
    in one place, far closer than before, since the unlabelled rows are a mixture. The factor must be larger than the
    spread of each group, since any two wide groups are like that for some factor.

    Parameters
    ----------
    x, y : (n,), (m,) sorted values.
    """
    if min(len(x), len(y)) < 20 or not (x[0] > 0 and y[0] > 0):
        return None
    before = of_sorted(x, y)
    if before is None or before.says < _APART:
        return None
    large, small = (x, y) if before.auc > 0.5 else (y, x)
    shift = float(np.median(np.log(large)) - np.median(np.log(small)))
    noise = 3 * float(np.hypot(np.log(large).std() / len(large) ** 0.5, np.log(small).std() / len(small) ** 0.5))
    digits = resolution(large), resolution(small)
    for factor, text in UNITS.items():
        power = round(float(np.log10(factor)))
        decimal = factor == 10.0**power
        if abs(shift - np.log(factor)) > max(noise, 0.02) + (0.7 if decimal else 0.0):
            continue
        if factor >= 10 and digits[0].finest >= digits[1].finest and digits[1].finest < _FULL:
            continue  # large numbers in a small unit have fewer digits after the point
        after = of_sorted(large / factor, small)
        assert after is not None, "as many values as before"
        width = max(np.log(v[-1 - len(v) // 10]) - np.log(v[len(v) // 10]) for v in (large, small))
        if width < np.log(factor) and (
            (decimal and after.says <= _CLOSE) or (after.p > _SAME_SHAPE and before.says >= _FAR_APART)
        ):
            shifted = digits[1].finest - digits[0].finest == power
            same = abs(digits[1].significant - digits[0].significant) < 1
            return Unit(text, decimal and shifted and same)
    return None


class PartInUnit(NamedTuple):
    """Some values of a group that are in another unit than the rest of it."""

    text: str  # the factor
    share: float


def part_in_other_unit(x: Numbers, y: Numbers) -> PartInUnit | None:
    """Return the factor between two parts of the values of y that a wide gap separates; None if there is none.

    Divided by the factor, the large part is distributed as the small one. The other group has no such large values.

    Parameters
    ----------
    x, y : (n,), (m,) sorted values of the other and of this group.
    """
    if min(len(x), len(y)) < 20 or not (x[0] > 0 and y[0] > 0):
        return None
    steps = np.diff(np.log(y))
    at = int(steps.argmax()) + 1
    small, large = y[:at], y[at:]
    if steps[at - 1] < _GAP or min(len(small), len(large)) < 20 or np.mean(x >= large[0]) > 0.02:
        return None
    shift = float(np.median(np.log(large)) - np.median(np.log(small)))
    for factor, text in UNITS.items():
        if abs(shift - np.log(factor)) > 0.3:
            continue
        after = of_sorted(large / factor, small)
        if after is not None and after.p > _SAME_SHAPE and after.says <= _CLOSE:
            return PartInUnit(text, len(large) / len(y))
    return None


def follows_order(p: Numbers, u: Numbers) -> float:
    """Return the rank correlation of numbers with their place in the file, the weaker one of two groups; 0 if unlike.

    Parameters
    ----------
    p, u : (n,), (m,) numbers in the order of the file, NaN where missing.
    """
    found = [_with_place(x[~np.isnan(x)]) for x in (p, u)]
    if found[0] * found[1] <= 0:
        return 0.0
    return min(found, key=abs)


def _with_place(x: NDArray[np.float64]) -> float:
    if len(x) < 30:
        return 0.0
    if len(x) > 400:  # most columns have no order, and a part of the rows shows it
        part = _rank_correlation(x[:: len(x) // 200])
        if abs(part) < 0.5:
            return part
    return _rank_correlation(x)


def _rank_correlation(x: NDArray[np.float64]) -> float:
    _, place, count = np.unique(x, return_inverse=True, return_counts=True)
    if len(count) < 2:
        return 0.0
    ranks = (np.cumsum(count) - (count - 1) / 2)[place.ravel()]  # of equal values, their mean
    return float(np.corrcoef(ranks, np.arange(len(x)))[0, 1])
