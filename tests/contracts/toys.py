"""Toy problems and the settings under test: every registered method, on every kind of input it takes."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from ruamel.yaml import YAML

from puoc.methods import METHODS, inputs_of, make
from puoc.methods.training.estimator import Compute, Estimator, PUSample
from puoc.records import Array

HERE = Path(__file__).parent
SHAPES = {"vector": (8,), "image": (1, 8, 8), "sequence": (6, 3)}
LOOP = Compute(lane_map="loop")
SEED = 7  # of the fits that tests share: every case solves its problem
SHORT = 2  # epochs: in the second one, a rate that decays and the state of the optimiser have changed


def _settings() -> dict[str, dict[str, dict[str, Any]]]:
    """Hyperparameters by method and setting; a method that is in neither file has none, which a test reports."""
    yaml = YAML(typ="safe", pure=True)
    settings = yaml.load(HERE / "toy_params.yaml")
    entries = yaml.load(HERE.parents[1] / "params.yaml")["methods"]
    for entry, spec in entries.items():
        name = spec.get("method") or entry
        if name in METHODS.keys() - settings.keys():
            settings[name] = {"params.yaml": spec["params"]}
    return {name: of for name, of in settings.items() if name in METHODS}


SETTINGS = _settings()


class Case(NamedTuple):
    name: str
    setting: str
    inputs: str
    epochs: int | None = None  # at most; None: those of the setting

    @property
    def params(self) -> dict[str, Any]:
        params = SETTINGS[self.name][self.setting]
        if self.epochs is None or "epochs" not in params:
            return params
        return params | {"epochs": min(self.epochs, params["epochs"])}

    @property
    def short(self) -> Case:
        """The case with few epochs, for what two fits must share to the last bit however long they are."""
        return self._replace(epochs=SHORT)

    def make(self) -> Estimator:
        return make(self.name, self.params)

    def fit(self, sample: PUSample) -> Estimator:
        return self.make().fit(sample.X_p, sample.X_u, alpha=sample.alpha, seed=sample.seed)

    def sample(self, seed: int, *, swapped: bool = False, dtype: str = "float32") -> PUSample:
        return sample(self.inputs, seed, swapped=swapped, dtype=dtype)

    def test_rows(self, n: int = 40, dtype: str = "float32") -> tuple[Array, Array]:
        """Rows and their true classes, half positive."""
        rng, y = np.random.default_rng(99), np.arange(n) % 2
        return rows(rng, y, self.inputs).astype(dtype), y


@cache
def fitted(case: Case) -> Estimator:
    """The case fitted to the sample SEED, once for all tests that only look at it."""
    return case.fit(case.sample(SEED))


@cache
def fitted_swapped(case: Case) -> Estimator:
    """The case fitted to sample 1 with swapped classes, once for all tests that only look at it."""
    return case.fit(case.sample(1, swapped=True))


CASES = [
    Case(name, setting, inputs)
    for name in sorted(SETTINGS)
    for setting in SETTINGS[name]
    for inputs in sorted(inputs_of(name, SETTINGS[name][setting]))
]


def _given(case: Case) -> Any:
    """The case as a parameter with its id, skipped where the library that its method needs is not installed."""
    package = getattr(METHODS[case.name], "package", None)
    lacking = package is not None and find_spec(package) is None
    return pytest.param(
        case, id="-".join(case[:3]), marks=pytest.mark.skipif(lacking, reason=f"{package} is not installed")
    )


every_case = pytest.mark.parametrize("case", [_given(case) for case in CASES])
#: The cases of methods that take columns alone, and not images or sequences too: those without networks.
every_case_of_columns = pytest.mark.parametrize(
    "case", [_given(case) for case in CASES if METHODS[case.name].inputs == {"vector"}]
)
#: One setting of each method for each kind of rows: settings change the loss, and these the network.
_NETWORKS = list({(case.name, case.inputs): case for case in reversed(CASES)}.values())
every_network = pytest.mark.parametrize("case", [_given(case) for case in _NETWORKS])
every_method = pytest.mark.parametrize("name", sorted(SETTINGS))


def rows(rng: np.random.Generator, y: Array, inputs: str) -> Array:
    """Positives are bright in the first half of the columns and dark in the others, negatives the other way round."""
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
    return sign * np.broadcast_to(pattern, shape) + rng.normal(0, 0.8, (len(y), *shape))


def sample(inputs: str, seed: int, *, swapped: bool = False, dtype: str = "float32") -> PUSample:
    """24 labelled positives; 24 positives and 24 negatives in U."""
    rng = np.random.default_rng([seed, 7])
    y_p, y_u = np.ones(24, dtype=int), np.repeat([1, 0], 24)
    if swapped:
        y_p, y_u = 1 - y_p, 1 - y_u
    return PUSample(rows(rng, y_p, inputs).astype(dtype), rows(rng, y_u, inputs).astype(dtype), 0.5, seed)
