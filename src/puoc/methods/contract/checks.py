"""Checks of the contract that every method obeys (docs/adding-a-method.md). Nothing here names a method.

These are tests for pytest, which is not imported by any other module of puoc. ``give_cases`` gives them their cases.
The file is longer than others, because it is the list of all checks.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import Field, fields
from importlib.util import find_spec
from typing import Any, TypeVar, cast

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from puoc.methods import METHODS, inputs_of, make, normalise
from puoc.methods.contract.problems import (
    LOOP,
    SEED,
    SETTINGS,
    Case,
    cases,
    fitted,
    fitted_swapped,
    sample,
)
from puoc.methods.training.estimator import Compute
from puoc.records import Params

C = TypeVar("C", bound=Callable[..., None])
_CHOICE = "puoc_cases"  # attribute of a check: which cases of a method it takes, if not all


def give_cases(metafunc: pytest.Metafunc, names: Iterable[str]) -> None:
    """Give a check the cases of methods. To be called by ``pytest_generate_tests``.

    Parameters
    ----------
    metafunc : what pytest gives that hook.
    names : methods that ``problems.SETTINGS`` has hyperparameters of. One whose library is not installed is skipped.
    """
    if "case" in metafunc.fixturenames:
        choose = getattr(metafunc.function, _CHOICE, list)
        metafunc.parametrize("case", [_given(case) for case in choose(cases(names))])
    elif "name" in metafunc.fixturenames:
        metafunc.parametrize("name", sorted(names))


def _given(case: Case) -> Any:
    """Return the case as a parameter with its id, skipped where the library that its method needs is not installed."""
    package = getattr(METHODS[case.name], "package", None)
    lacking = package is not None and find_spec(package) is None
    return pytest.param(
        case, id="-".join(case[:3]), marks=pytest.mark.skipif(lacking, reason=f"{package} is not installed")
    )


def _of_columns_alone(check: C) -> C:
    """Give a check the cases of methods that take columns, and not images or sequences too: those without networks."""
    setattr(check, _CHOICE, lambda found: [case for case in found if METHODS[case.name].inputs == {"vector"}])
    return check


def _one_setting_for_each_kind_of_rows(check: C) -> C:
    """Give a check one case of a method for each kind of rows: settings change the loss, and these the network."""
    setattr(check, _CHOICE, lambda found: list({(one.name, one.inputs): one for one in reversed(found)}.values()))
    return check


def test_scores_are_finite_floats_one_per_row_and_not_all_alike(case: Case) -> None:
    X, _ = case.test_rows()
    scores = fitted(case).decision_function(X)
    got = f"{case.name}.decision_function: got {scores.dtype} of shape {scores.shape}"
    expected = f"expected finite floats of shape ({len(X)},), one for each row, over half of them different"
    assert scores.shape == (len(X),), f"{got}; {expected}"
    assert scores.dtype.kind == "f", f"{got}; {expected}"
    assert np.isfinite(scores).all(), f"{got}, with NaN or infinity; {expected}"
    assert np.unique(scores).size > len(X) // 2, f"{got}, {np.unique(scores).size} different ones; {expected}"


@_of_columns_alone
def test_columns_of_neighbouring_float32_numbers_give_finite_scores(case: Case) -> None:
    """Between two such numbers lies no third, so a threshold that is rounded to float32 leaves a side without rows."""
    rng, low = np.random.default_rng(0), np.float32(0.73)
    X = np.where(rng.random((300, 4)) < 0.5, low, np.nextafter(low, np.float32(1)))
    model = case.short.make().fit(X[:100], X[100:], alpha=0.5, seed=0)
    expected = "expected finite scores; a threshold between float32 numbers must stay a float64"
    assert np.isfinite(model.decision_function(X)).all(), f"{case.name}: got NaN or infinity; {expected}"


def test_an_easy_problem_is_solved_and_turns_round_when_the_classes_are_swapped(case: Case) -> None:
    X, y = case.test_rows(200)
    solved = roc_auc_score(y, fitted(case).decision_function(X))
    turned = roc_auc_score(y, fitted_swapped(case).decision_function(X))
    expected = "expected over .9 on two classes far apart, and below .5 when P comes from the other class"
    hint = "a higher score must mean a more likely positive; does the loss fall, and do the weights change?"
    assert solved > 0.9, f"{case.name}: got AUC {solved:.3f} after a fit; {expected}; {hint}"
    assert turned < 0.5, f"{case.name}: got AUC {turned:.3f} with swapped classes; {expected}; {hint}"


def test_under_loop_a_lane_does_not_depend_on_its_companions(case: Case) -> None:
    X, _ = case.test_rows()
    case = case.short
    together = case.make().fit_lanes([case.sample(seed) for seed in (3, SEED)], LOOP)
    alone = fitted(case)
    np.testing.assert_array_equal(together[1].decision_function(X), alone.decision_function(X))
    assert not np.array_equal(together[0].decision_function(X), together[1].decision_function(X))
    assert {lane.lane_map_ for lane in (*together, alone)} == {"loop"}


@pytest.mark.slow
def test_vmap_gives_the_models_of_loop_in_double_precision(case: Case) -> None:
    X, _ = case.test_rows(dtype="float64")
    case = case.short
    samples = [case.sample(seed, dtype="float64") for seed in (0, 1)]
    looped, mapped = (case.make().fit_lanes(samples, Compute(lane_map=lane_map)) for lane_map in ("loop", "vmap"))
    for one, other in zip(looped, mapped, strict=True):
        np.testing.assert_allclose(other.decision_function(X), one.decision_function(X), rtol=1e-11, atol=1e-12)


@pytest.mark.slow
@_one_setting_for_each_kind_of_rows
def test_vmap_gives_the_auc_of_loop_in_single_precision_and_models_that_are_restored(case: Case) -> None:
    X, y = case.test_rows(400)
    looped = fitted(case), fitted_swapped(case)
    assert {lane.lane_map_ for lane in looped} == {"loop"}
    mapped = case.make().fit_lanes([case.sample(SEED), case.sample(1, swapped=True)], Compute(lane_map="vmap"))
    for by_loop, by_vmap in zip(looped, mapped, strict=True):
        scores = by_vmap.decision_function(X)
        assert abs(roc_auc_score(y, by_loop.decision_function(X)) - roc_auc_score(y, scores)) <= 1e-4
        restored = case.make().restore(by_vmap.state(), X.shape[1:])
        np.testing.assert_array_equal(restored.decision_function(X), scores)


def test_only_a_one_class_method_ignores_the_unlabelled_rows(case: Case) -> None:
    X, _ = case.test_rows()
    case = case.short
    as_drawn = fitted(case).decision_function(X)
    changed = case.fit(case.sample(SEED)._replace(X_u=case.sample(4).X_u)).decision_function(X)
    kind = METHODS[case.name].kind
    same = np.array_equal(as_drawn, changed)
    assert same == (kind == "oc"), (
        f'{case.name}: got {"equal" if same else "other"} scores with other rows U, and kind = "{kind}"; expected '
        'equal ones for kind = "oc" and other ones for "pu" and "pu_oc"; change kind, or what the loss does with x_u'
    )


def test_the_reported_objective_improves(case: Case) -> None:
    for name, values in fitted(case).curve_.items():  # it may be empty
        got = f"{case.name}.curve_[{name!r}]: got {values[0]:.4g} at first and {values[-1]:.4g} at last"
        assert np.isfinite(values).all(), f"{got}, with NaN or infinity between; expected finite values"
        assert values[-1] < values[0], f"{got}; expected an objective that falls, or no such entry"


def test_a_restored_model_gives_identical_scores(case: Case) -> None:
    X, _ = case.test_rows()
    state = fitted(case).state()
    assert all(isinstance(array, np.ndarray) and array.dtype.kind == "f" for array in state.values())
    restored = case.make().restore(state, X.shape[1:])
    np.testing.assert_array_equal(restored.decision_function(X), fitted(case).decision_function(X))


@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_values_that_are_not_finite_are_refused_with_their_row(case: Case, value: float) -> None:
    s = case.sample(0)
    for name in ("X_p", "X_u"):
        rows = getattr(s, name).copy()
        rows[3].reshape(-1)[-1] = value
        if name == "X_u" and METHODS[case.name].kind == "oc":
            case.short.fit(s._replace(X_u=rows))  # it does not look at U
            continue
        with pytest.raises(ValueError, match=f"{name}: row 3 has a value that is NaN or infinite"):
            case.fit(s._replace(**{name: rows}))


def test_a_model_of_other_rows_is_not_restored(case: Case) -> None:
    state, shape = fitted(case).state(), case.sample(0).X_p.shape[1:]
    with pytest.raises(ValueError, match="expected"):
        case.make().restore(state, (*shape[:-1], shape[-1] + 1))
    with pytest.raises(ValueError, match="expected"):
        case.make().restore({}, shape)


def test_a_score_depends_neither_on_the_order_nor_on_the_number_of_rows(case: Case) -> None:
    X, _ = case.test_rows(1500)
    scored = fitted(case).decision_function
    scores = scored(X)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_allclose(scored(X[order]), scores[order], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(scored(X[:3]), scores[:3], rtol=1e-4, atol=1e-5)
    assert scored(X[:0]).shape == (0,)


def test_a_second_fit_gives_the_same_scores_and_leaves_rows_and_generators_alone(
    case: Case, recwarn: pytest.WarningsRecorder
) -> None:
    """One fit for five promises: its seed alone decides, and nothing outside it changes."""
    X, _ = case.test_rows()
    case = case.short
    expected = fitted(case).decision_function(X)
    recwarn.clear()
    torch.manual_seed(1234)
    np.random.seed(1234)  # noqa: NPY002
    before = _generators()
    s, untouched = case.sample(SEED), case.sample(SEED)
    s.X_p.flags.writeable = False
    again = case.fit(s)
    after = _generators()
    np.testing.assert_array_equal(again.decision_function(X), expected)
    assert before == after, f"{case.name}: a fit changed a global generator of random numbers; expected its own"
    np.testing.assert_array_equal(s.X_p, untouched.X_p)
    np.testing.assert_array_equal(s.X_u, untouched.X_u)
    assert [str(warning.message) for warning in recwarn] == []


def _generators() -> tuple[Any, ...]:
    """Return the states of the global generators of random numbers."""
    numpys: Any = np.random.get_state()  # noqa: NPY002
    return random.getstate(), numpys[1].tobytes(), numpys[2], torch.get_rng_state().numpy().tobytes()


def test_missing_rows_are_an_error(case: Case) -> None:
    s = case.sample(9)
    with pytest.raises(ValueError, match="no labelled positives"):
        case.fit(s._replace(X_p=s.X_p[:0]))
    if METHODS[case.name].kind == "oc":
        return
    with pytest.raises(ValueError, match="no unlabelled rows"):
        case.fit(s._replace(X_u=None))


def test_a_missing_class_prior_is_an_error_where_it_is_needed(case: Case) -> None:
    cls, s = METHODS[case.name], case.sample(9)._replace(alpha=None)
    if cls.kind == "oc" or not cls.needs_alpha:  # needs_alpha = False says that the loss does not read alpha
        assert np.isfinite(case.short.fit(s).decision_function(s.X_p)).all()
        return
    with pytest.raises(ValueError, match=r"class prior alpha in \(0, 1\), got None"):
        case.fit(s)


def test_rows_of_a_kind_the_method_does_not_take_are_refused(name: str) -> None:
    for setting in SETTINGS[name].values():
        for inputs in {"image", "vector", "sequence"} - inputs_of(name, setting):
            s = sample(inputs, 0)
            with pytest.raises(ValueError, match="encoder may help"):
                make(name, setting).fit(s.X_p, s.X_u, alpha=0.5)


def test_a_hybrid_names_a_one_class_method_as_its_twin(name: str) -> None:
    cls = METHODS[name]
    assert (cls.twin is not None) == (cls.kind == "pu_oc")
    if cls.twin is not None:
        assert METHODS[cls.twin].kind == "oc"


def test_a_misspelt_hyperparameter_is_named_with_its_nearest_spelling(name: str) -> None:
    params = dict(next(iter(SETTINGS[name].values())))
    known = max(params, key=len)
    params[known + "s"] = params[known]
    with pytest.raises(ValueError, match=rf"unknown hyperparameter '{known}s' \(did you mean '{known}'\?\)"):
        make(name, params)


def test_a_missing_hyperparameter_is_named(name: str) -> None:
    optional = {field.name for field in _fields(name) if field.default is None}
    for params in SETTINGS[name].values():
        for absent in params:
            rest = {key: value for key, value in params.items() if key != absent}
            if absent in optional and _is_made(name, rest):
                assert normalise(name, rest) == rest  # absent means something; no value takes its place
                continue
            with pytest.raises(ValueError, match=f"missing hyperparameter .*{absent}"):
                make(name, rest)


def _fields(name: str) -> tuple[Field[Any], ...]:
    return fields(cast("Any", METHODS[name]))  # the decorator typed makes a dataclass of it


def _is_made(name: str, params: Params) -> bool:
    try:
        make(name, params)
    except ValueError:
        return False
    return True


def test_a_wrong_value_is_named_with_what_was_expected(name: str) -> None:
    params = dict(next(iter(SETTINGS[name].values())))
    for field in _fields(name):
        with pytest.raises(ValueError, match=rf"hyperparameter '{field.name}': got 'no such value', expected"):
            make(name, params | {field.name: "no such value"})


def test_normalised_hyperparameters_are_stable_and_complete(name: str) -> None:
    for params in SETTINGS[name].values():
        plain = normalise(name, params)
        assert plain == params
        assert {key: type(value) for key, value in normalise(name, dict(reversed(plain.items()))).items()} == {
            key: type(value) for key, value in plain.items()
        }
