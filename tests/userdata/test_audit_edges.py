"""What ``puoc audit`` says of files at the edge: long values, tiny numbers, no column that varies, too few rows."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from own_files import puoc

FILES = ("--positives", "p.csv", "--unlabelled", "u.csv")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(p: dict[str, object], u: dict[str, object], n_p: int = 30, n_u: int = 40) -> None:
    """Write P and U with one column of random numbers and with further columns."""
    rng = np.random.default_rng(0)
    for name, n, more in (("p.csv", n_p, p), ("u.csv", n_u, u)):
        pd.DataFrame({"a": rng.normal(size=n).round(3)}).assign(**more).to_csv(name, index=False)


LONG = "y" * 5000


@pytest.mark.parametrize(
    ("p", "u", "part"),
    [
        (LONG, "z" * 100, "is 'yyyyyy"),  # another value in each file
        (["9" * 400, "1"] * 15, ["8" * 400, "2"] * 20, "too large for a number of 64 bits"),
        ([LONG, *"1" * 29], ["2"] * 40, "no number"),
        ([f"{k}{LONG}" for k in range(30)], [f"{k}{LONG}" for k in range(40)], "different texts"),
        (["a", LONG] * 15, ["b", "c"] * 20, "no category in common"),
        (["x y", LONG] * 15, ["x  y", "c"] * 20, "spelt differently"),
    ],
)
def test_a_message_cuts_long_values_and_keeps_the_options(p: object, u: object, part: str) -> None:
    write({"m": p}, {"m": u})
    for command in (("audit", *FILES, "--no-effect"), ("fit", "--method", "knn", *FILES, "--out", "model")):
        _, said = puoc(*command)
        assert part in said, said[:2000]
        assert "--drop 'm'" in said
        assert len(said) < 4000, len(said)


def test_labels_that_are_many_or_long_are_listed_in_part() -> None:
    rng = np.random.default_rng(0)
    labels = ["1"] * 30 + [LONG] * 30 + [f"class {k}" for k in range(100)]
    pd.DataFrame({"a": rng.normal(size=160).round(3), "y": labels}).to_csv("all.csv", index=False)
    for positive in ((), ("--positive", "1")):
        _, said = puoc("fit", "--data", "all.csv", "--label", "y", "--method", "knn", *positive, "--check")
        assert len(said) < 4000, len(said)
    assert "and 95 further values as unlabelled" in said, said


@pytest.mark.parametrize("size", [1e-310, 5e-324, 1e-300, 1e-292, 1e-20, 1e300, 1.7e307])
def test_numbers_of_any_size_have_digits_without_a_warning(size: float) -> None:
    rng = np.random.default_rng(0)
    write(*({"m": size * rng.integers(1, 9, n), "signed": size * rng.integers(-9, 9, n)} for n in (30, 40)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        code, said = puoc("audit", *FILES, "--no-effect")
    assert code == 0, said


def test_the_audit_suggests_the_answer_that_fit_suggests() -> None:
    rng = np.random.default_rng(0)
    write(*({"key": [f"{k:08x}" for k in rng.integers(0, 2**32, n)]} for n in (30, 40)))
    _, audited = puoc("audit", *FILES, "--no-effect")
    _, fitted = puoc("fit", "--method", "knn", *FILES, "--out", "model")
    assert "to answer: --drop key" in audited, audited
    assert fitted.rstrip().endswith("--drop key"), fitted


def test_an_audit_says_why_nothing_was_compared_or_measured() -> None:
    write({"a": 1}, {"a": 1})
    _, said = puoc("audit", *FILES)
    assert "no column was compared: each has one value, or none" in said
    assert "was not measured; expected 20 rows of P and of U, or more" in said
    write({}, {}, n_p=8)
    _, said = puoc("audit", *FILES, "--effect")
    assert "was not measured; expected 20 rows of P and of U, or more" in said
    _, said = puoc("audit", *FILES, "--no-effect")
    assert "--effect measures what a column does" in said


def test_numbers_that_repeat_without_a_common_value_are_asked_about() -> None:
    rng = np.random.default_rng(0)
    odd, even = rng.choice([1, 3, 5, 7], 60), rng.choice([2, 4, 6, 8], 80)  # days of two exports
    write({"day": odd, "level": odd}, {"day": even, "level": rng.integers(1, 9, 80)}, n_p=60, n_u=80)
    _, said = puoc("audit", *FILES, "--no-effect")
    assert "column 'day' has no frequent value in common, though they lie in one range: 1, 3, 5 in the" in said, said
    assert "column 'level' has" not in said


@pytest.mark.parametrize("copies", ["all three times", "drawn with replacement"])
def test_measurements_that_repeat_since_rows_were_copied_are_not_asked_about(copies: str) -> None:
    rng = np.random.default_rng(0)

    def rows(n: int) -> dict[str, np.ndarray]:
        once = rng.normal(size=(n // 3, 2)).round(3)
        taken = np.tile(np.arange(n // 3), 3) if copies == "all three times" else rng.integers(0, n // 6, n)
        return {"size": once[taken, 0], "age": once[taken, 1]}

    write(rows(90), rows(120), n_p=90, n_u=120)
    _, said = puoc("audit", *FILES, "--no-effect")
    assert "no frequent value in common" not in said, said


def test_numbers_of_two_ranges_may_be_those_of_two_classes() -> None:
    rng = np.random.default_rng(0)
    write({"grade": rng.integers(1, 4, 60)}, {"grade": rng.integers(4, 8, 80)}, n_p=60, n_u=80)
    _, said = puoc("audit", *FILES, "--no-effect")
    assert "no frequent value in common" not in said, said
