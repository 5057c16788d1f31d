"""Every registered method obeys the estimator contract, by the checks that other packages run too (puoc.testing)."""

from __future__ import annotations

import pytest
from toys import CASES, SETTINGS

from puoc.methods import METHODS, make, normalise
from puoc.methods.contract.checks import *  # noqa: F403
from puoc.methods.contract.checks import give_cases
from puoc.methods.training.estimator import PUSample


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each check the cases of all methods."""
    give_cases(metafunc, SETTINGS)


def test_every_method_has_hyperparameters_for_these_tests() -> None:
    lacking = [f"{name} ({METHODS[name].__module__})" for name in sorted(METHODS.keys() - SETTINGS.keys())]
    assert not lacking, (
        f"the contract tests have no hyperparameters for {', '.join(lacking)}: add the method to "
        "tests/contracts/toy_params.yaml, or an entry of it to the section methods of params.yaml"
    )


def test_a_whole_number_is_the_float_it_stands_for() -> None:
    floats = [(case, key) for case in CASES for key, value in case.params.items() if isinstance(value, float)]
    n_seen = 0
    for case, key in floats:
        try:
            as_float = normalise(case.name, case.params | {key: 1.0})
        except ValueError:
            continue  # out of its range
        n_seen += 1
        assert normalise(case.name, case.params | {key: 1}) == as_float
        assert type(normalise(case.name, case.params | {key: 1})[key]) is float
    assert n_seen > len(floats) / 2


def test_an_unknown_method_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match=f"unknown name 'svdd'; expected one of {', '.join(sorted(METHODS))}"):
        make("svdd", {})


def test_a_sample_is_all_a_method_sees() -> None:
    assert PUSample._fields == ("X_p", "X_u", "alpha", "seed")
