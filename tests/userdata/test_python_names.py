"""The public names of ``import puoc``: each is explained, with an example that runs."""

from __future__ import annotations

import doctest
import re
from inspect import getdoc, signature

import numpy as np
import pytest

import puoc


@pytest.mark.parametrize("name", sorted(puoc._PUBLIC))
def test_a_public_name_has_a_docstring_with_an_example_that_runs(name: str) -> None:
    there = getattr(puoc, name)
    text = getdoc(there) or ""
    assert "Examples\n--------\n" in text
    found = doctest.DocTestFinder(recurse=False).find(there, name)
    outcome = [doctest.DocTestRunner().run(test, out=print) for test in found]
    assert sum(one.attempted for one in outcome) > 0
    assert sum(one.failed for one in outcome) == 0


@pytest.mark.parametrize("name", sorted(puoc._PUBLIC))
def test_a_public_name_says_shapes_errors_and_source(name: str) -> None:
    there = getattr(puoc, name)
    text = getdoc(there) or ""
    parts = ["Source: "]
    if signature(there).parameters:
        parts += ["Parameters\n----------\n", "Raises\n------\n"]
    if not isinstance(there, type):
        parts.append("Returns\n-------\n")
    assert [part for part in parts if part not in text] == []
    names = {one for entry in re.findall(r"^([\w, ]+) : ", text, re.MULTILINE) for one in entry.split(", ")}
    given = {one.name for one in signature(there).parameters.values()}
    assert given - names == set(), "each parameter is explained"


@pytest.mark.parametrize("name", sorted(puoc.all_estimators()))
def test_the_class_of_a_method_says_errors_source_and_has_an_example(name: str) -> None:
    text = getdoc(getattr(puoc, name)) or ""
    for part in ("Parameters\n", "Raises\n", "Source: "):
        assert part in text
    [test] = doctest.DocTestFinder(recurse=False).find(getattr(puoc, name), name)
    assert doctest.DocTestRunner().run(test, out=print).failed == 0
    assert test.examples


@pytest.mark.parametrize("name", ["PUSVM", "CSI", "OCLSTM"])
def test_a_class_names_each_hyperparameter_with_its_default(name: str) -> None:
    text = getdoc(getattr(puoc, name)) or ""
    for argument in getattr(puoc, name)().get_params():
        assert argument in text


def test_a_star_gives_the_public_names_and_no_others() -> None:
    found: dict[str, object] = {}
    exec("from puoc import *", found)
    assert found.keys() - {"__builtins__"} == {"__version__", *puoc._PUBLIC} == set(puoc.__all__)
    assert set(puoc.__all__) <= set(dir(puoc))


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'NoSuch'.*all_estimators"):
        puoc.NoSuch  # noqa: B018
    with pytest.raises(AttributeError, match=r"did you mean DROCC\?"):
        puoc.DRROC  # noqa: B018


def test_functions_refuse_what_they_do_not_take() -> None:
    X, y, _ = puoc.make_pu(30, 30)
    with pytest.raises(ValueError, match=r"X_u has rows of shape \(2,\); expected \(5,\)"):
        puoc.tice(X, X[:, :2])
    with pytest.raises(ValueError, match="unknown hyperparameter 'fold'"):
        puoc.tice(X[y == 1], X[y == 0], fold=3)
    with pytest.raises(ValueError, match="X_p: got <U1"):
        puoc.assess(np.array([["a"]]), X)
    with pytest.raises(ValueError, match="alpha=2"):
        puoc.make_pu(alpha=2)
    with pytest.raises(ValueError, match=r"n_u=10\.5.*expected whole numbers"):
        puoc.make_pu(n_u=10.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="got 2; expected p-values in"):
        puoc.holm([0.1, 2])
    with pytest.raises(ValueError, match="effect='a'"):
        puoc.power(10, effect="a")  # type: ignore[arg-type]
    for arguments in ({}, {"alpha": 2}, {"alpha": "tice"}):  # not only when a search has fitted its first model
        with pytest.raises(ValueError, match="alpha: got"):
            puoc.pu_scorer("proxy_accuracy", **arguments)


def test_a_missing_library_of_an_extra_is_named_with_its_pip_line() -> None:
    from puoc.userdata.estimators.words import errors_in_arguments

    with pytest.raises(ModuleNotFoundError, match=r"pip install 'puoc\[images\]'"), errors_in_arguments():
        raise ModuleNotFoundError("No module named 'torchvision.models'", name="torchvision.models")
    with pytest.raises(ModuleNotFoundError, match="other"), errors_in_arguments():
        raise ModuleNotFoundError("other", name="other")


def test_a_class_prior_of_none_means_tice() -> None:
    X, y, _ = puoc.make_pu(40, 60, random_state=0)
    by_none, by_name = (puoc.PUSVM(class_prior=prior).fit(X, y) for prior in (None, "tice"))
    assert by_none.class_prior_ == by_name.class_prior_ == puoc.tice(X[y == 1], X[y == 0])
    assert puoc.PUTrees(class_prior=None, threshold=None).fit(X, y).class_prior_ is not None
    assert puoc.Naive(class_prior=None, threshold=None, epochs=1).fit(X, y).class_prior_ is None
