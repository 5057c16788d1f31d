"""The search spaces that come with puoc: each method has its own, to the letter where the paper prints one."""

from __future__ import annotations

import re
import sys
from math import prod
from typing import Any

import optuna
import pytest
from project import REPOSITORY

from puoc.methods import METHODS, normalise
from puoc.plan.search_spaces import enumerate_grid, read_space
from puoc.store.yaml_file import InvalidInput, YamlFile

sys.path.insert(0, str(REPOSITORY / "tests" / "contracts"))
from toys import SETTINGS

SPACES = REPOSITORY / "tuning" / "spaces"
EPOCHS, LR = (50, 100, 200), (1e-3, 1e-4)
# as printed in the appendix, by the names used here
SVM = {"kernel": ("rbf", "linear"), "gamma": (0.01, 0.1, 1.0)}
LSTM = {"hidden": (4, 16), "batch_size": (128, 256), "lr": (1e-2, *LR), "epochs": EPOCHS}
CNN = {"lr_decay": (0.9, 1.0), "lr": LR, "epochs": (10, 20, 40)}
CSI = {
    "lam": (0.01, 0.1, 0.5),
    "lr": (1e-5, 1e-4, 1e-3),
    "temperature": (0.01, 0.05, 0.1, 0.5),
    "batch_size": (32, 64, 128),
    "lr_decay": (0.9, 0.96, 0.99),
}
SHORT = {"lr": LR, "lr_decay": (0.96, 0.99), "epochs": (10, 20, 50)}
PRINTED: dict[str, dict[str, tuple[Any, ...]]] = {
    "oc_svm": SVM | {"nu": (0.1, 0.5, 0.9)},
    "pu_svm": SVM | {"lam": (0.01, 0.1, 1.0), "lr": LR, "epochs": EPOCHS},
    "oc_lstm": LSTM | {"nu": (0.1, 0.5, 0.9)},
    "pu_lstm": LSTM | {"lam": (0.1, 0.5, 0.9)},
    "oc_cnn": CNN,
    "pu_cnn": CNN,
    "csi": CSI,
    "pu_csi": CSI,
    "drpu": SHORT | {"alpha_min": (0.001, 0.01, 0.1)},
    "pan": SHORT | {"lam": (0.001, 0.01, 0.1)},
}


def base(method: str) -> dict[str, Any]:
    return next(iter(SETTINGS[method].values()))


def spaces_of(method: str) -> list[str]:
    return list(YamlFile(SPACES / f"{method}.yaml").data)


def configs(method: str, space: str) -> list[dict[str, Any]]:
    return enumerate_grid(read_space(SPACES, method, space))


def is_in(value: Any, distribution: Any) -> bool:
    if isinstance(distribution, optuna.distributions.CategoricalDistribution):
        return value in distribution.choices
    return bool(distribution.low <= value <= distribution.high)


def drawn(part: dict[str, Any], seed: int) -> dict[str, Any]:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))
    return study.ask(part).params


def test_there_is_a_file_for_each_method_and_for_nothing_else() -> None:
    assert {path.stem for path in SPACES.glob("*.yaml")} == set(METHODS)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_each_method_has_published_values_and_a_wide_space_that_holds_them_and_the_grid(method: str) -> None:
    spaces = spaces_of(method)
    assert {"published", "wide"} <= set(spaces)
    wide = read_space(SPACES, method, "wide")
    for space in spaces:
        if space == "grid" or space.startswith("published"):
            for config in configs(method, space):
                given = {name: value for name, value in config.items() if value is not None}
                assert any(
                    given.keys() <= part.keys() and all(is_in(value, part[name]) for name, value in given.items())
                    for part in wide
                ), (space, config)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_configuration_is_one_that_its_method_takes(method: str) -> None:
    for space in spaces_of(method):
        parts = read_space(SPACES, method, space)
        found = (
            [drawn(part, seed) for part in parts for seed in range(10)] if space == "wide" else enumerate_grid(parts)
        )
        for config in found:
            normalise(method, base(method) | config)


@pytest.mark.parametrize("method", sorted(PRINTED))
def test_a_printed_grid_is_there_to_the_letter_and_counted_in_the_readme(method: str) -> None:
    grid, printed = configs(method, "grid"), PRINTED[method]
    for name, values in printed.items():
        assert {config[name] for config in grid if config.get(name) is not None} == {
            {"rbf": "single_vector_rbf"}.get(value, value) if method == "pu_svm" else value for value in values
        }
    others = {name for config in grid for name, value in config.items() if value is not None} - printed.keys()
    assert all(len({config.get(name) for config in grid}) == 1 for name in others)  # no list of ours is multiplied in
    fits = [normalise(method, base(method) | config) for config in grid]
    effective = [fit for i, fit in enumerate(fits) if fit not in fits[:i]]
    assert len(effective) == len(grid)
    text = (REPOSITORY / "tuning" / "README.md").read_text()
    counts = re.search(rf"^\| {method} \| (\d+) \| (\d+) \|$", text, re.MULTILINE)
    assert counts, f"{method} is not in the table of tuning/README.md"
    assert [int(number) for number in counts.groups()] == [prod(map(len, printed.values())), len(effective)]


@pytest.mark.parametrize("method", sorted(METHODS.keys() - PRINTED.keys()))
def test_a_grid_that_is_not_printed_is_refused_with_what_there_is(method: str) -> None:
    with pytest.raises(InvalidInput, match=r"no space 'grid'; it has: .*published.*wide"):
        read_space(SPACES, method, "grid")
