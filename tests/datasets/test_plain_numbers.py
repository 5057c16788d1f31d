"""Columns of plain numbers in text files are read without a look at their texts, and as all others are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from puoc.datasets.readers import How
from puoc.datasets.readers.cells import Cells
from puoc.datasets.readers.tables import read_table
from puoc.datasets.readers.training_files import Paths, audit_files


def cells(folder: Path, *values: str, how: How | None = None) -> Cells:
    (folder / "t.csv").write_text("x,y\n" + "".join(f"{value},1\n" for value in values))
    return Cells([read_table(folder / "t.csv", how)], "x", how or How())


@pytest.mark.parametrize("values", [("1", "2.50", "-3e2", "+.5", "007"), ("1", "", "4"), ("2.", "1E-3")])
def test_plain_numbers_and_empty_cells_need_no_texts(values: tuple[str, ...], tmp_path: Path) -> None:
    found = cells(tmp_path, *values)
    numbers = found.measured()
    assert numbers is not None
    assert np.array_equal(numbers[0], [float(value) if value else np.nan for value in values], equal_nan=True)
    assert "texts" not in found.__dict__
    assert found.numbers() is numbers


@pytest.mark.parametrize(
    "values",
    [("1", "1"), ("", ""), ("1", "NA"), ("1", "nan"), ("1", "inf"), ("1", "abc"), ("1", "1e999"), ("1", "0x1f")],
)
def test_other_columns_are_looked_at_as_texts(values: tuple[str, ...], tmp_path: Path) -> None:
    assert cells(tmp_path, *values).measured() is None


@pytest.mark.parametrize("how", [How(category=("x",)), How(missing=("2",)), How(decimal=",")])
def test_options_that_change_what_a_text_means_are_kept(how: How, tmp_path: Path) -> None:
    assert cells(tmp_path, "1", "2", how=how).measured() is None


def test_an_audit_of_plain_numbers_is_that_of_numbers_written_in_another_way(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for at, name in enumerate("pu"):
        rows = pd.DataFrame(rng.normal(at / 2, 1, size=(80, 9)).round(2), columns=list("abcdefghi"))
        rows.insert(0, "nr", range(80))
        rows["flag"] = at
        rows.loc[::7, "a"] = np.nan
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
        rows.astype(object).to_csv(tmp_path / f"{name}2.csv", index=False, na_rep=" NA ")
        text = (tmp_path / f"{name}2.csv").read_text().replace(",", " , ").replace(" \n", "\n")
        head, _, body = text.partition("\n")
        (tmp_path / f"{name}2.csv").write_text(head.replace(" ", "") + "\n" + body)
    plain, spaced = (audit_files(Paths(tmp_path / f"p{n}.csv", tmp_path / f"u{n}.csv"), How()) for n in ("", "2"))
    assert plain[0].audited == spaced[0].audited
    assert [doubt.column for doubt in plain[1]] == [doubt.column for doubt in spaced[1]] == ["nr", "flag"]
