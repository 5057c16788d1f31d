"""A sign of a file in numbers: one group is cut off at a limit, with many rows at it, and the other group is not."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from puoc.datasets.audit.two_groups import Numbers, fisher_p

_LEAST: Final = 8  # rows at the limit
_SHARE: Final = 0.01  # and their share of the group
_BEYOND: Final = 5  # rows of the other group beyond the limit
_RARER: Final = 3.0  # times that the limit is rarer in the other group
_TIMES: Final = 3.0  # times that the limit is more frequent than any value of its group between the ends
_VALUES: Final = 10  # different values of a group that can be cut off
_CHANCE: Final = 1e-6  # that equal groups give rows at the limit and rows beyond it, each in one group alone


class Limit(NamedTuple):
    """A smallest or largest value of a group that many of its rows have, and beyond which the other group goes on."""

    value: float
    upper: bool
    share: float  # of the group's rows that are at the limit
    beyond: float  # share of the other group's rows that are beyond it


def limits(x: Numbers, y: Numbers) -> list[Limit]:
    """Return the limits at which x is cut off and y is not, such as caps, floors and detection limits.

    A scale ends for both groups at one place, and numbers of few values are never cut off. Both the rows at the limit
    and those beyond it must be in one group alone, more than chance explains.

    Parameters
    ----------
    x, y : (n,), (m,) sorted values.
    """
    ends = np.flatnonzero(np.append(x[1:] != x[:-1], True))
    counts = np.diff(ends, prepend=-1)
    if len(ends) < _VALUES:
        return []
    found = []
    for at, others, upper in ((-1, counts[1:-1], True), (0, counts[1:-1], False)):
        value, count = float(x[ends[at]]), int(counts[at])
        if count < max(_LEAST, _SHARE * len(x), _TIMES * others.max()):
            continue
        left, right = int(np.searchsorted(y, value, "left")), int(np.searchsorted(y, value, "right"))
        beyond, equal = (len(y) - right if upper else left), right - left
        if beyond < _BEYOND or equal * _RARER * len(x) > count * len(y):
            continue
        chance = fisher_p(count, len(x), equal, len(y)) * fisher_p(beyond, len(y), 0, len(x))
        if chance < _CHANCE:
            found.append(Limit(value, upper, count / len(x), beyond / len(y)))
    return found
