"""The default method of a family by kind and number of rows: each can be fitted, and too slow ones are passed over."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import pytest

from puoc.cli.recommended import default_of, method_of
from puoc.datasets.readers import read_pair
from puoc.datasets.readers.options import How
from puoc.registry import METHODS
from puoc.userdata.assess.decision import Recommended
from puoc.userdata.assess.reference_methods import question
from puoc.userdata.family_defaults import Family, Rows, chosen, defaults_of
from puoc.userdata.settings import settings
from puoc.userdata.thresholds import ThresholdRule

KINDS: dict[Family, str] = {"OC": "oc", "PU-OC": "pu_oc", "PU": "pu"}
EVERY = [(rows, family) for rows in get_args(Rows) for family in get_args(Family)]


@pytest.mark.parametrize(("rows", "family"), EVERY)
def test_each_default_is_a_method_of_its_family_and_the_last_takes_any_number(rows: Rows, family: Family) -> None:
    defaults = defaults_of(rows, family)
    for default in defaults:
        if default.method is None:
            continue
        read = settings(default.method, given=dict(default.params), encoder=default.encoder)
        assert METHODS[read.method].kind == KINDS[family]
    limits = [default.most_rows for default in defaults]
    assert limits[-1] is None
    bounds = [limit for limit in limits[:-1] if limit is not None]
    assert len(bounds) == len(limits) - 1
    assert bounds == sorted(set(bounds))


@pytest.mark.parametrize(("rows", "family"), EVERY)
def test_a_default_takes_as_many_rows_as_stated_and_one_more_is_passed_over(rows: Rows, family: Family) -> None:
    defaults = defaults_of(rows, family)
    for place, default in enumerate(defaults[:-1]):
        assert default.most_rows is not None
        assert chosen(defaults, default.most_rows, "assessed")[0] == default
        after, passed = chosen(defaults, default.most_rows + 1, "assessed")
        assert after == defaults[place + 1]
        assert len(passed) == place + 1
        name = default.method or "assessed"
        assert passed[-1] == (
            f"{name} is passed over: with more than {default.most_rows:,} rows it takes minutes to fit and score, and "
            f"it would learn from {default.most_rows + 1:,}; --method {name} takes it all the same"
        )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table of 30 labelled positives and 60 unlabelled rows, and texts."""
    X = np.random.default_rng(0).normal(size=(90, 3))
    pd.DataFrame(X, columns=list("abc")).assign(y=np.repeat([1, 0], [30, 60])).to_csv(tmp_path / "t.csv", index=False)
    for name, n in (("p", 30), ("u", 60)):
        lines = [f"word{i % 7} other{i % 5} {name}{i}" for i in range(n)]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n")
    return tmp_path


def assessed(family: Family) -> Recommended:
    """What an assessment of rows with three components recommends."""
    method, params = question(family, 3)
    return Recommended(method=method, params=params, components=3)


def test_rows_of_a_table_have_other_defaults_than_texts_which_have_the_method_of_the_assessment(folder: Path) -> None:
    table = read_pair(how=How(label="y"), data=folder / "t.csv")
    texts = read_pair(folder / "p.txt", folder / "u.txt")
    for family in get_args(Family):
        of_table, of_texts = (default_of(pair, family, assessed(family))[0] for pair in (table, texts))
        first = defaults_of("table", family)[0]
        assert (of_table.method, of_table.encoder) == (first.method, first.encoder)
        assert (of_texts.method, of_texts.encoder) == (assessed(family).method, "components")
        assert method_of(of_table, settings, None, ThresholdRule()).method == first.method
        params = method_of(of_texts, settings, None, ThresholdRule()).params
        assert params.items() >= assessed(family).params.items()


def test_the_rows_that_count_are_those_that_the_method_learns_from(folder: Path) -> None:
    pair = read_pair(how=How(label="y"), data=folder / "t.csv")
    assert pair.unlabelled is not None
    many = replace(pair.unlabelled, X=np.zeros((5000, 3), np.float32))
    assert default_of(replace(pair, unlabelled=many), "PU", assessed("PU"))[0].method == "naive_forest"
    texts = read_pair(folder / "p.txt", folder / "u.txt")
    assert texts.unlabelled is not None
    one_class, _ = default_of(
        replace(texts, unlabelled=replace(texts.unlabelled, X=np.zeros((10**5, 3), np.float32))), "OC", assessed("OC")
    )
    assert one_class.method == "oc_svm"  # which learns from P alone
