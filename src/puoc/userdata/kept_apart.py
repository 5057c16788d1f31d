"""Unlabelled rows that a model does not learn from, since a bound of false alarms or of a precision rests on them."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from puoc.datasets.readers import Pair
from puoc.datasets.readers.pu_data import Rows
from puoc.registry import METHODS
from puoc.userdata.preflight import learns_from_u as encoder_learns_from_u
from puoc.userdata.settings import Settings
from puoc.userdata.thresholds import ThresholdRule, check_rule


class Apart(NamedTuple):
    """Places of unlabelled rows: those that the model learns from, and those that are new to it."""

    learned: NDArray[np.int64]
    new: NDArray[np.int64]


def learns_from_u(settings: Settings) -> bool:
    """Return True if the method or its encoder looks at unlabelled rows."""
    return METHODS[settings.method].kind != "oc" or encoder_learns_from_u(settings.encoder)


def kept_apart(pair: Pair, settings: Settings, rule: ThresholdRule, seed: int) -> Apart:
    """Return the unlabelled rows that the model learns from and those that a bound of false alarms rests on.

    A model that learns from U gives these rows lower scores than new ones. So a half of them is kept from it. The
    estimator of the prior sees the same half as the method.
    """
    assert pair.unlabelled is not None, "checked by the caller"
    n = len(pair.unlabelled)
    places = np.arange(n)
    if not rule.flags or not learns_from_u(settings):
        return Apart(places, places)
    return _halves(n, seed)


def _halves(n: int, seed: int) -> Apart:
    drawn = np.random.default_rng(seed).permutation(n)
    return Apart(np.sort(drawn[n // 2 :]), np.sort(drawn[: n // 2]))


def rows_to_choose_by(pair: Pair, rule: ThresholdRule, seed: int) -> Pair:
    """Return the rows by which a method may be chosen, without unlabelled rows that a bound will rest on.

    The withheld positives are not among ``pair.positives`` anyway.

    Raises
    ------
    ValueError : there are too few rows for the threshold, whatever the method.
    """
    n = 0 if pair.unlabelled is None else len(pair.unlabelled)
    halves = _halves(n, seed)
    check_rule(rule, 0 if pair.held is None else len(pair.held), len(halves.new))
    if pair.unlabelled is None or not rule.flags:
        return pair
    return replace(pair, unlabelled=taken(pair.unlabelled, halves.learned))


def taken(rows: Rows, places: NDArray[np.int64]) -> Rows:
    """Return the rows at these places, in the order of the file."""
    mask = np.isin(np.arange(len(rows)), places)
    return replace(rows, X=rows.X[mask], numbers=rows.numbers[mask], raw=rows.raw.rows(mask))
