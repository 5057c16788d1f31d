"""Toy problems, and the cases of a method: its settings on every kind of rows that it takes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from puoc.methods import inputs_of, make
from puoc.methods.training.estimator import Compute, Estimator, PUSample
from puoc.records import Array

SHAPES = {"vector": (8,), "image": (1, 8, 8), "sequence": (6, 3)}
LOOP = Compute(lane_map="loop")
SEED = 7  # of the fits that tests share: every case solves its problem
SHORT = 2  # epochs: in the second one, a rate that decays and the state of the optimiser have changed


#: Hyperparameters by method and setting. Who runs the checks adds those of the methods that are to be checked.
SETTINGS: dict[str, dict[str, dict[str, Any]]] = {}


class Case(NamedTuple):
    """A method with hyperparameters, on rows of one kind.

    Attributes
    ----------
    name, setting : keys of ``SETTINGS``.
    inputs : kind of rows: ``vector``, ``image`` or ``sequence``.
    epochs : at most; None: those of the setting.
    """

    name: str
    setting: str
    inputs: str
    epochs: int | None = None

    @property
    def params(self) -> dict[str, Any]:
        """The hyperparameters."""
        params = SETTINGS[self.name][self.setting]
        if self.epochs is None or "epochs" not in params:
            return params
        return params | {"epochs": min(self.epochs, params["epochs"])}

    @property
    def short(self) -> Case:
        """The case with few epochs, for what two fits must share to the last bit however long they are."""
        return self._replace(epochs=SHORT)

    def make(self) -> Estimator:
        """Return the method, not yet fitted."""
        return make(self.name, self.params)

    def fit(self, sample: PUSample) -> Estimator:
        """Return the method, fitted to a sample."""
        return self.make().fit(sample.X_p, sample.X_u, alpha=sample.alpha, seed=sample.seed)

    def sample(self, seed: int, *, swapped: bool = False, dtype: str = "float32") -> PUSample:
        """Return rows to fit to, as ``sample``."""
        return sample(self.inputs, seed, swapped=swapped, dtype=dtype)

    def test_rows(self, n: int = 40, dtype: str = "float32") -> tuple[Array, Array]:
        """Return rows (n, *shape) and their true classes (n,), half positive."""
        rng, y = np.random.default_rng(99), np.arange(n) % 2
        return rows(rng, y, self.inputs).astype(dtype), y


@cache
def fitted(case: Case) -> Estimator:
    """Return the case fitted to the sample SEED, once for all tests that only look at it."""
    return case.fit(case.sample(SEED))


@cache
def fitted_swapped(case: Case) -> Estimator:
    """Return the case fitted to sample 1 with swapped classes, once for all tests that only look at it."""
    return case.fit(case.sample(1, swapped=True))


def cases(names: Iterable[str]) -> list[Case]:
    """Return the cases of methods: each setting on each kind of rows that it takes."""
    return [
        Case(name, setting, inputs)
        for name in sorted(names)
        for setting, params in SETTINGS[name].items()
        for inputs in sorted(inputs_of(name, params))
    ]


def rows(rng: np.random.Generator, y: Array, inputs: str) -> Array:
    """Return rows (n, *shape) of classes y (n,).

    Positives are bright in the first half of the columns and dark in the others, negatives the other way
    round.
    """
    if inputs == "sequence":
        return _sequences(rng, y)
    return _patterned(rng, y, SHAPES[inputs])


def _sequences(rng: np.random.Generator, y: Array) -> Array:
    """Steps as the other rows, after a mask that is 1 for the first half of the steps at least and 0 in the padding."""
    steps, width = SHAPES["sequence"]
    mask = (np.arange(steps) < rng.integers(steps // 2, steps, len(y), endpoint=True)[:, None])[..., None].astype(float)
    return np.concatenate([mask, mask * _patterned(rng, y, (steps, width - 1))], axis=2)


def _patterned(rng: np.random.Generator, y: Array, shape: tuple[int, ...]) -> Array:
    pattern = np.where(np.arange(shape[-1]) < shape[-1] / 2, 1.0, -1.0)
    sign = (2 * y - 1).reshape(-1, *[1] * len(shape))
    made: Array = sign * np.broadcast_to(pattern, shape) + rng.normal(0, 0.8, (len(y), *shape))
    return made


def sample(inputs: str, seed: int, *, swapped: bool = False, dtype: str = "float32") -> PUSample:
    """Return 24 labelled positives, and unlabelled rows: 24 positives and 24 negatives."""
    rng = np.random.default_rng([seed, 7])
    y_p, y_u = np.ones(24, dtype=int), np.repeat([1, 0], 24)
    if swapped:
        y_p, y_u = 1 - y_p, 1 - y_u
    return PUSample(rows(rng, y_p, inputs).astype(dtype), rows(rng, y_u, inputs).astype(dtype), 0.5, seed)
