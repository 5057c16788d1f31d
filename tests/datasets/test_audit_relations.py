"""Two columns that say only together which file a row is from are asked about, if no class can do that."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from puoc.datasets.audit.relations import Sample, relations
from puoc.datasets.readers import How
from puoc.datasets.readers.training_files import Paths, audit_files

Change = Callable[[pd.DataFrame], dict[str, object]]


def rows(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    found = pd.DataFrame(rng.normal(size=(n, 2)).round(3), columns=["a", "b"])
    return found.assign(e=rng.uniform(1, 99, n).round(1), f=rng.uniform(1, 99, n).round(1),
                        g=np.exp(rng.normal(2, 0.3, n)).round(3), h=np.exp(rng.normal(2, 0.3, n)).round(3),
                        k=rng.choice(list("ABCDE"), n), m=rng.choice(list("ABCDE"), n))  # fmt: skip


def found(folder: Path, p: Change | None, u: Change | None, how: How | None = None) -> dict[str, tuple[str, str]]:
    for name, n, seed, change in (("p", 90, 1, p), ("u", 140, 2, u)):
        table = rows(n, seed)
        if change is not None:
            table = table.assign(**change(table))
        table.to_csv(folder / f"{name}.csv", index=False)
    audited = audit_files(Paths(folder / "p.csv", folder / "u.csv"), how or How())[0].audited
    assert audited is not None
    return {one.name: (one.verdict, "; ".join(one.reasons)) for one in audited.columns if one.verdict != "shown"}


def with_gaps(x: pd.DataFrame) -> dict[str, object]:
    at = np.arange(len(x))
    return {"e": x.e.where(at % 9 > 0), "f": (100 - x.e).round(1).where(at % 8 > 0)}


KINDS: dict[str, tuple[Change | None, Change | None, str, str]] = {
    "equal": (lambda x: {"f": x.e}, None, "f", "equals column 'e' in all labelled positives and not in the unlabelled"),
    "equal in U": (None, lambda x: {"f": x.e}, "f", "equals column 'e' in all unlabelled rows and not in the labelled"),
    "equal categories": (lambda x: {"m": x.k}, None, "m", "equals column 'k' in all labelled positives"),
    "sum": (lambda x: {"f": (100 - x.e).round(1)}, None, "f", "and column 'e' have the sum 100 in all labelled"),
    "sum, with gaps": (with_gaps, None, "f", "and column 'e' have the sum 100 in all labelled positives"),
    "factor": (lambda x: {"f": (0.5 * x.e).round(1)}, None, "f", "is column 'e' times 0.5 in all"),
    "product": (lambda x: {"h": (50 / x.g).round(3)}, None, "h", "and column 'g' have the product "),
    "decimals": (lambda x: {"h": (x.h // 1 + x.g % 1).round(3)}, None, "h",
                 "has the digits after the point of column 'g'"),
    "signs": (lambda x: {"b": x.b.abs() * np.sign(x.a)}, lambda x: {"b": -x.b.abs() * np.sign(x.a)}, "b",
              "and column 'a' have equal signs in all labelled positives"),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_relation_of_one_file_is_asked_about(kind: str, tmp_path: Path) -> None:
    p, u, column, text = KINDS[kind]
    columns = found(tmp_path, p, u)
    assert [name for name, (verdict, _) in columns.items() if verdict == "asked"] == [column]
    assert text in columns[column][1]


def half(x: pd.DataFrame) -> dict[str, object]:
    return {"f": x.f.where(np.arange(len(x)) % 3 > 0, x.e)}


def nearly(x: pd.DataFrame) -> dict[str, object]:
    return {"f": (x.e + np.random.default_rng(5).normal(0, 3, len(x))).round(1)}


def test_a_relation_that_a_class_can_have_is_noted_and_one_that_is_kept_too(tmp_path: Path) -> None:
    equal: Change = lambda x: {"f": x.e}  # noqa: E731
    columns = found(tmp_path, equal, half)  # a third of U has it, as positives would
    assert columns["f"][0] == "noted"
    assert "in all labelled positives and in 34 % of the unlabelled rows" in columns["f"][1]
    assert found(tmp_path, equal, None, How(number=("f",)))["f"][0] == "noted"


@pytest.mark.parametrize(
    ("p", "u"),
    [
        (None, None),
        (lambda x: {"f": x.e}, lambda x: {"f": x.e}),  # a column twice, in both files
        (nearly, None),  # a correlation, as of a class
        (lambda x: {"m": x.k}, lambda x: {"m": x.k.where(np.arange(len(x)) % 2 > 0, x.m)}),  # U may have this class
        (
            lambda x: {"a": (x.a > 0) * 1.0, "b": (x.a > 0) * 2.0},
            lambda x: {"a": (x.a > 0) * 1.0, "b": (x.b > 0) * 2.0},
        ),
    ],
)
def test_what_both_files_or_a_class_can_have_is_not(p: Change | None, u: Change | None, tmp_path: Path) -> None:
    assert not [name for name, (verdict, _) in found(tmp_path, p, u).items() if verdict == "asked"]


def test_no_relation_is_found_among_many_columns_of_few_rows() -> None:
    rng = np.random.default_rng(0)
    common = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 150))  # classes whose columns are correlated
    X = (common + 0.3 * rng.normal(size=(60, 150))).round(1)
    assert relations([Sample(f"x{j}", X[:25, j], X[25:, j], True) for j in range(150)]) == []
